"""Model files as people have them: legs of other numbers, other roots, feet of other shapes, other scales."""

import warnings

import numpy as np
import pytest

import footfall as ff
from footfall.errors import ModelError
from footfall.robot.files.urdf_mjcf import ModelWarning

INERTIAL = (
    """<inertial><mass value="{}"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""
)
SPHERE = """<collision><geometry><sphere radius="0.02"/></geometry></collision>"""
CORNERS = {"LF": (0.2, 0.1), "RF": (0.2, -0.1), "LH": (-0.2, 0.1), "RH": (-0.2, -0.1)}


def link(name, mass=1.0, shape=""):
    return f"""<link name="{name}">{INERTIAL.format(mass) if mass else ""}{shape}</link>"""


def joint(name, parent, child, xyz="0 0 0", kind="revolute", axis="0 1 0"):
    return (
        f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>"""
        f"""<axis xyz="{axis}"/><limit lower="-3" upper="3" effort="40" velocity="20"/></joint>"""
    )


def leg(name, x, y, scale=1.0, shape=SPHERE):
    parts = [link(f"{name}_hip", 0.5), link(f"{name}_thigh", 0.5), link(f"{name}_shank", 0.3)]
    parts += [link(f"{name}_foot", 0.05, shape), joint(f"{name}_1", "trunk", f"{name}_hip", f"{x} {y} 0", axis="1 0 0")]
    parts += [joint(f"{name}_2", f"{name}_hip", f"{name}_thigh", f"0 {0.05 * scale} 0")]
    parts += [joint(f"{name}_3", f"{name}_thigh", f"{name}_shank", f"0 0 {-0.2 * scale}")]
    return "".join([*parts, joint(f"{name}_4", f"{name}_shank", f"{name}_foot", f"0 0 {-0.2 * scale}", "fixed")])


def urdf(tmp_path, legs=CORNERS, more="", scale=1.0, shape=SPHERE):
    body = link("trunk", 5.0) + "".join(leg(k, x * scale, y * scale, scale, shape) for k, (x, y) in legs.items())
    path = tmp_path / "odd.urdf"
    path.write_text(f"""<robot name="odd">{body}{more}</robot>""")
    return path


def quiet(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ff.load(path, **options)


@pytest.mark.parametrize("names", [("left", "right"), ("A", "B", "C"), ("LF", "LM", "LR", "RF", "RM", "RR")])
def test_every_limb_that_is_called_a_foot_has_one(tmp_path, names):
    robot = quiet(urdf(tmp_path, {name: (0.1 * k, 0.1) for k, name in enumerate(names)}))
    assert set(robot.foot_names) == {f"{name}_foot" for name in names}


def test_a_gripper_with_a_contact_frame_is_no_fifth_foot(tmp_path):
    arm = link("arm") + link("gripper_contact", 0.2) + joint("shoulder", "trunk", "arm")
    robot = quiet(urdf(tmp_path, more=arm + joint("wrist", "arm", "gripper_contact", "0.2 0 0")))
    assert robot.foot_names == ("LF", "RF", "LH", "RH")


def test_a_floating_joint_to_a_bare_root_is_the_floating_base(tmp_path):
    plain = quiet(urdf(tmp_path))
    robot = quiet(urdf(tmp_path, more=link("world", 0) + joint("root", "world", "trunk", kind="floating")))
    q, _ = robot.state(np.full(12, 0.3))
    assert robot.floating
    assert robot.joint_names == plain.joint_names
    np.testing.assert_array_equal(ff.dynamics.mass_matrix(robot, q), ff.dynamics.mass_matrix(plain, q))


def test_a_floating_joint_inside_the_tree_is_refused(tmp_path):
    with pytest.raises(ModelError, match="joint 'neck' has the type 'floating'"):
        ff.load(urdf(tmp_path, more=link("head") + joint("neck", "trunk", "head", kind="floating")))


def test_a_robot_bolted_to_the_world_says_that_it_floats(tmp_path):
    path = urdf(tmp_path, more=link("world", 0) + joint("bolt", "world", "trunk", kind="fixed"))
    with pytest.warns(ModelWarning, match="floating=False fixes it"):
        assert ff.load(path).floating
    assert not quiet(path, floating=False).floating


def test_millimetres_are_pointed_out(tmp_path):
    with pytest.warns(ModelWarning, match="lengths in a model file are metres"):
        ff.load(urdf(tmp_path, scale=1000.0))


def test_a_template_without_links_is_called_one(tmp_path):
    path = tmp_path / "leg.urdf.xacro"
    path.write_text("""<robot name="x" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:leg name="LF"/></robot>""")
    with pytest.raises(ModelError, match="xacro template"):
        ff.load(path)


def test_an_inertia_without_mass_is_left_out_with_a_remark(tmp_path):
    path = urdf(tmp_path, more=link("tail", "0.0") + joint("t", "trunk", "tail", kind="fixed"))
    with pytest.warns(ModelWarning, match="link 'tail' .* no mass"):
        robot = ff.load(path)
    with pytest.raises(ModelError, match="mass of link 'tail' must be positive, since it has an inertia"):
        ff.load(urdf(tmp_path, more=link("tail", "0.0") + joint("t", "trunk", "tail")))
    plain = quiet(urdf(tmp_path))
    np.testing.assert_array_equal(
        ff.dynamics.mass_matrix(robot, robot.state("stand")[0]), ff.dynamics.mass_matrix(plain, plain.state("stand")[0])
    )


def test_feet_on_limbs_that_are_called_arms_are_pointed_out(tmp_path):
    text = urdf(tmp_path).read_text()
    for hind, side in (("LH", "left"), ("RH", "right")):
        text = text.replace(f"{hind}_foot", f"{side}_palm").replace(f"{hind}_shank", f"{side}_wrist")
    for fore, side in (("LF", "left"), ("RF", "right")):
        text = text.replace(f"{fore}_foot", f"{side}_sole")
    text = text.replace("LH_", "left_arm_").replace("RH_", "right_arm_")
    path = tmp_path / "two_armed.urdf"
    path.write_text(text)
    with pytest.warns(
        ModelWarning, match="'left_palm', 'right_palm' belong to arms by their names, but were taken as feet"
    ):
        ff.load(path)


BOX = """<collision><origin xyz="0 0 0.1"/><geometry><box size="0.02 0.03 0.24"/></geometry></collision>"""
ROD = """<collision><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.01" length="0.24"/></geometry></collision>"""
WHEEL = """<collision><origin rpy="1.5707963267948966 0 0"/><geometry><cylinder radius="0.05" length="0.02"/></geometry>
</collision>"""


@pytest.mark.parametrize(("shape", "low"), [(BOX, -0.02), (ROD, -0.02), (WHEEL, -0.05)])
def test_a_foot_of_another_shape_reaches_as_low_as_the_shape(tmp_path, shape, low):
    with pytest.warns(ModelWarning, match="its lowest place"):
        robot = ff.load(urdf(tmp_path, shape=shape))
    for foot in robot.feet:
        assert foot.position[2] - foot.radius == pytest.approx(low, abs=1e-12)


def mjcf(tmp_path, geom, turn="", top="", asset=""):
    legs = "".join(
        f"""<body name="{k}_thigh" pos="{x} {y} 0" {turn}><joint axis="0 1 0"/><inertial pos="0 0 0" mass="1"
        diaginertia="0.01 0.01 0.01"/>{geom.format(k)}</body>"""
        for k, (x, y) in CORNERS.items()
    )
    path = tmp_path / "odd.xml"
    path.write_text(
        f"""<mujoco>{top}<asset>{asset}</asset><worldbody><body name="trunk"><freejoint/><inertial pos="0 0 0" mass="5"
        diaginertia="0.1 0.1 0.1"/>{legs}</body></worldbody></mujoco>"""
    )
    return path


@pytest.mark.parametrize(("turn", "end"), [("", -1), ("euler='180 0 0'", 1)])
def test_the_lower_end_of_a_capsule_is_that_of_the_robot_not_of_its_link(tmp_path, turn, end):
    geom = """<geom name="{}_foot" type="capsule" size="0.02 0.1"/>"""
    with pytest.warns(ModelWarning, match="its lower end"):
        robot = ff.load(mjcf(tmp_path, geom, turn))
    np.testing.assert_allclose([foot.position for foot in robot.feet], np.tile([0, 0, 0.1 * end], (4, 1)), atol=1e-12)


def test_an_ellipsoid_foot_reaches_its_lowest_point(tmp_path):
    with pytest.warns(ModelWarning, match="an ellipsoid"):
        robot = ff.load(mjcf(tmp_path, """<geom name="{}_foot" type="ellipsoid" size="0.02 0.02 0.05"/>"""))
    assert robot.feet[0].position[2] - robot.feet[0].radius == pytest.approx(-0.05, abs=1e-12)


def test_a_mesh_foot_takes_the_scale_of_its_default(tmp_path):
    cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 20.0
    (tmp_path / "foot.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in cube) + "f 1 2 3\n")
    geom = """<geom name="{}_foot" type="mesh" mesh="foot" mass="0"/>"""
    top = """<default><default class="mm"><mesh scale="0.001 0.001 0.001"/></default></default>"""
    path = mjcf(tmp_path, geom, top=top, asset="""<mesh name="foot" class="mm" file="foot.obj"/>""")
    with pytest.warns(ModelWarning, match="as thick as its vertices"):  # the ball around a cube's corners is too large
        robot = ff.load(path)
    assert robot.feet[0].radius == pytest.approx(0.02)


def test_a_gravity_of_its_own_is_pointed_out(tmp_path):
    geom = """<geom name="{}_foot" type="sphere" size="0.02"/>"""
    with pytest.warns(ModelWarning, match="gravity '0 0 -1.62' is left out"):
        ff.load(mjcf(tmp_path, geom, top="""<option gravity="0 0 -1.62"/>"""))
    quiet(mjcf(tmp_path, geom, top="""<option gravity="0 0 -9.81"/>"""))


def test_what_a_file_says_of_friction_servos_and_contacts_is_named_as_left_out(tmp_path):
    geom = """<geom name="{}_foot" type="sphere" size="0.02" friction="0.4" solimp="0.9 0.95 0.001" condim="6"/>"""
    with pytest.warns(ModelWarning) as said:
        ff.load(mjcf(tmp_path, geom))
    text = "; ".join(str(w.message) for w in said)
    assert "contact parameters (condim, solimp)" in text
    assert "friction 0.4 of its feet is left out" in text
    quiet(mjcf(tmp_path, """<geom name="{}_foot" type="sphere" size="0.02" friction="0.8"/>"""))


def test_losses_of_a_free_joint_are_named_as_left_out(tmp_path):
    geom = """<geom name="{}_foot" type="sphere" size="0.02"/>"""
    top = """<default><joint armature="0.1" damping="1"/></default>"""
    path = mjcf(tmp_path, geom, top=top)
    text = path.read_text().replace("<freejoint/>", """<joint name="float" type="free"/>""")
    assert 'type="free"' in text
    path.write_text(text)
    with pytest.warns(ModelWarning, match="free joint 'float' has armature 0.1, damping 1, left out"):
        ff.load(path)
