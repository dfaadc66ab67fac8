"""What robots are drawn from: meshes of their model, read without trust, or their own links."""

import contextlib
import struct
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import within

from footfall.draw.solids import MOST_TRIANGLES, box, capsule, dressed, look_of
from footfall.errors import InputError, ModelError
from footfall.robot import library
from footfall.robot.files.mesh import Mesh, read_mesh, simplified
from footfall.robot.files.urdf_mjcf import load_model
from footfall.robot.model.json_form import robot_from_json, robot_to_json

TETRA = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
SIDES = ((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2))


def volume(vertices, faces):
    """By Gauss: positive only if triangles are closed and face outwards."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return float((a * np.cross(b, c)).sum() / 6.0)


def binary_stl(scale=1.0):
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *(scale * TETRA[list(side)]).ravel(), 0) for side in SIDES)
    return b" " * 80 + struct.pack("<I", 4) + rows


def text_stl():
    corners = "".join(f"vertex {x} {y} {z}\n" for side in SIDES for x, y, z in TETRA[list(side)])
    return f"solid t\n{corners}endsolid".encode()


def obj():
    lines = [f"v {x} {y} {z}" for x, y, z in TETRA] + [f"f {a + 1}/1 {b + 1}/1 {c - 4}" for a, b, c in SIDES]
    return "\n".join(lines).encode()


def collada(meter=1.0, extra=""):
    numbers = " ".join(str(x) for x in TETRA.ravel())
    index = " ".join(f"{k} 0" for side in SIDES for k in side)
    return f"""<?xml version="1.0"?>{extra}
    <COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"><asset><unit meter="{meter}"/></asset>
    <library_effects><effect id="e"><profile_COMMON><technique><lambert><diffuse><color>1 0 0 1</color></diffuse>
    </lambert></technique></profile_COMMON></effect></library_effects>
    <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
    <library_geometries><geometry id="g"><mesh><source id="p"><float_array>{numbers}</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles material="red"><input semantic="VERTEX" source="#v" offset="0"/>
    <input semantic="NORMAL" source="#n" offset="1"/><p>{index}</p></triangles></mesh></geometry></library_geometries>
    <library_visual_scenes><visual_scene><node><translate>0 0 5</translate><node>
    <rotate>0 0 1 90</rotate><scale>2 2 2</scale><instance_geometry url="#g"><bind_material><technique_common>
    <instance_material symbol="red" target="#m"/></technique_common></bind_material></instance_geometry></node></node>
    </visual_scene></library_visual_scenes></COLLADA>""".encode()


@pytest.mark.parametrize(
    ("name", "data"), [("a.stl", binary_stl()), ("b.stl", text_stl()), ("c.obj", obj()), ("d.STL", binary_stl())]
)
def test_a_tetrahedron_is_one_in_every_format(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    (mesh,) = read_mesh(tmp_path / name)
    assert (len(mesh.vertices), len(mesh.faces)) == (4, 4)
    assert volume(mesh.vertices, mesh.faces) == pytest.approx(1 / 6)


def test_collada_is_placed_scaled_and_coloured(tmp_path):
    (tmp_path / "a.dae").write_bytes(collada(meter=0.01))
    (mesh,) = read_mesh(tmp_path / "a.dae")
    assert mesh.color == (255, 0, 0)
    assert volume(mesh.vertices, mesh.faces) == pytest.approx(8e-6 / 6)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), [0, 0.02, 0.07], atol=1e-12)  # x went to y, y to -x


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.dae", collada(extra=BOMB)),
        ("a.dae", b"<COLLADA>"),
        ("a.dae", b"<COLLADA/>"),
        ("a.dae", b"\0" * 99),
        ("a.stl", b""),
        ("a.stl", b" " * 80 + b"\xff\xff\xff\xff"),
        ("a.stl", b"vertex x y z\n" * 3),
        ("a.stl", binary_stl(np.nan)),
        ("a.stl", binary_stl(1e9)),
        ("a.obj", b"f 1 2 3"),
        ("a.obj", b"v 1 2\nf 1 1 1"),
        ("a.obj", obj() + b"\nf 1 2 99"),
        ("a.msh", b"x"),
        ("a.dae", collada().replace(b"0 0 2 0", b"9 0 2 0")),
    ],
)
def test_junk_is_refused_in_one_sentence(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError) as refused:
        read_mesh(tmp_path / name)
    assert "\n" not in str(refused.value)


@given(data=st.binary(max_size=400), kind=st.sampled_from([".stl", ".obj", ".dae"]))
@settings(max_examples=60, deadline=None)
def test_random_bytes_never_crash_a_reader(tmp_path_factory, data, kind):
    file = tmp_path_factory.getbasetemp() / f"random{kind}"
    file.write_bytes(data)
    with contextlib.suppress(ModelError):
        read_mesh(file)


@given(around=st.integers(3, 20), radius=st.floats(0.01, 1.0), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_capsules_and_boxes_are_closed_and_face_outwards(around, radius, seed):
    start, end = np.random.default_rng(seed).normal(size=(2, 3))
    length = np.linalg.norm(end - start)
    exact = np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3
    found = volume(*capsule(start, end, radius, around))
    assert 0.25 * exact < found < exact
    assert volume(*box(start, [1.0, 2.0, 3.0])) == pytest.approx(6.0)


@pytest.mark.parametrize("most", [100, 1000, 4000])
def test_fewer_triangles_keep_the_shape(most):
    ball = Mesh(*capsule(np.zeros(3), np.zeros(3), 1.0, 60))
    fewer = simplified(ball, most)
    assert len(fewer.faces) <= most
    np.testing.assert_allclose(np.abs(fewer.vertices).max(axis=0), 1.0, atol=0.25)


# -- robots ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["a1", "go2", "anymal_c", "solo12"])
def test_real_robots_are_drawn_from_their_meshes_in_bounded_time(third_party_file, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load_model(third_party_file(name), name=name)
    with within(10.0):
        look = look_of(robot)
    assert look.note == ""
    assert all(look.bodies)
    assert 5_000 < look.triangles < 1.1 * MOST_TRIANGLES
    assert look_of(robot, 6000).triangles < 8000
    again = robot_from_json(robot_to_json(robot))
    assert again.model_file is None  # a file from elsewhere names no path of this machine
    assert look_of(again).triangles < look.triangles
    assert look_of(dressed(again, third_party_file(name))).triangles == look.triangles


def test_a_recording_takes_the_meshes_of_its_own_model_only(third_party_file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load_model(third_party_file("go2"), name="go2")
    with pytest.raises(InputError, match="is not the recorded robot 'go2': their joints differ"):
        dressed(robot, third_party_file("a1"))


def test_a_robots_json_cannot_name_a_file():
    text = robot_to_json(library.load("mini_cheetah"))
    with pytest.raises(ModelError, match="model_file"):
        robot_from_json(text[:-1] + ', "model_file": "/etc/passwd"}')


URDF = """<robot name="r"><material name="green"><color rgba="0 1 0 1"/></material>
<link name="body"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<visual><origin xyz="0 0 1"/><geometry>{geometry}</geometry><material name="green"/></visual></link></robot>"""


def urdf(tmp_path, geometry):
    (tmp_path / "r.urdf").write_text(URDF.format(geometry=geometry))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(tmp_path / "r.urdf", feet=[])


def test_a_mesh_is_placed_mirrored_and_coloured(tmp_path):
    (tmp_path / "m.stl").write_bytes(binary_stl())
    ((solid,),) = look_of(urdf(tmp_path, '<mesh filename="m.stl" scale="1 -1 2"/>')).bodies
    assert solid.color == (0, 255, 0)
    assert volume(solid.vertices - solid.vertices[0], solid.faces) == pytest.approx(2 / 6)
    np.testing.assert_allclose(solid.vertices.min(axis=0), [0, -1, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("geometry", "of"),
    [
        ('<box size="1 2 3"/>', 6.0),
        ('<sphere radius="1"/>', 4.189),
        ('<cylinder radius="1" length="2"/>', 6.283),
    ],
)
def test_simple_visual_shapes_are_drawn(tmp_path, geometry, of):
    ((solid,),) = look_of(urdf(tmp_path, geometry)).bodies
    assert volume(solid.vertices - [0, 0, 1], solid.faces) == pytest.approx(of, rel=0.1)


def test_missing_and_broken_meshes_are_said_once_and_links_are_drawn_instead(tmp_path):
    look = look_of(urdf(tmp_path, '<mesh filename="gone.stl"/>'))
    assert (
        look.note
        == "1 of the mesh files that 'r' names are not in its package folder: it is drawn from its links as capsules"
    )
    (tmp_path / "m.stl").write_bytes(b"junk")
    look = look_of(urdf(tmp_path, '<mesh filename="m.stl"/>'))
    assert "m.stl" in look.note
    assert (
        look_of(urdf(tmp_path, '<ball radius="1"/>')).note
        == "the model of 'r' has no meshes: it is drawn from its links as capsules"
    )


@pytest.mark.parametrize("path", ["../m.stl", "/etc/m.stl", "file:///etc/m.stl", "a/../../m.stl"])
def test_a_mesh_outside_of_the_package_is_left_out(tmp_path, path):
    (tmp_path / "m.stl").write_bytes(binary_stl())
    inner = tmp_path / "pack"
    inner.mkdir()
    look = look_of(urdf(inner, f'<mesh filename="{path}"/>'))
    assert "not in its package folder" in look.note


def test_a_link_out_of_the_package_is_left_out_too(tmp_path):
    (tmp_path / "m.stl").write_bytes(binary_stl())
    inner = tmp_path / "pack"
    inner.mkdir()
    (inner / "m.stl").symlink_to(tmp_path / "m.stl")
    look = look_of(urdf(inner, '<mesh filename="m.stl"/>'))
    assert "not in its package folder" in look.note


def test_mjcf_is_drawn_from_its_meshes_and_shapes(tmp_path):
    (tmp_path / "m.obj").write_bytes(obj())
    (tmp_path / "r.xml").write_text(
        """<mujoco model="r"><asset><mesh name="m" file="m.obj" scale="2 2 2"/></asset><worldbody>
        <body name="b" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
        <geom type="mesh" mesh="m" contype="0" conaffinity="0" pos="0 0 3"/><geom type="sphere" size="0.5"/></body>
        </worldbody></mujoco>"""
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load_model(tmp_path / "r.xml", feet=[])
    solids = [solid for body in look_of(robot).bodies for solid in body]
    assert len(solids) == 1  # the sphere is for collisions alone
    assert solids[0].vertices[:, 2].max() == pytest.approx(5.0)


LEGGED = """<robot name="r"><link name="body"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<{kind}><geometry><box size="0.4 0.2 0.1"/></geometry></{kind}></link><link name="leg"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1"/></inertial><{kind}><origin xyz="0 0 -0.3"/>
<geometry><sphere radius="0.02"/></geometry>
</{kind}></link><joint name="hip" type="revolute"><parent link="body"/><child link="leg"/><origin xyz="0.2 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""


@pytest.mark.parametrize(("kind", "spans"), [("collision", 0.3), ("visual", 0.04)])
def test_a_leg_that_only_collides_with_its_foot_is_drawn_as_a_rod(tmp_path, kind, spans):
    (tmp_path / "r.urdf").write_text(LEGGED.format(kind=kind))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        look = look_of(load_model(tmp_path / "r.urdf", feet=["leg"]))
    vertices = np.concatenate([solid.vertices for solid in look.bodies[1]])
    assert np.ptp(vertices[:, 2]) == pytest.approx(spans, abs=0.05)
