"""Feet of files nobody here had seen: meshes by their vertices, names of meshes, classes and sites, wheels, mirrors."""

import warnings

import numpy as np
import pytest

from footfall.kinematics.forward import foot_positions
from footfall.robot.files.urdf_mjcf import ModelWarning, load_model

LEGS = {"FL": (1, 1), "FR": (1, -1), "RL": (-1, 1), "RR": (-1, -1)}
THICK, LONG = 0.011, 0.23  # half of the pad's thickness; of the shank, from the knee to the pad's end [m]


def stl(triangles):
    rows = b"".join(bytes(12) + np.asarray(t, "<f4").tobytes() + bytes(2) for t in triangles)
    return bytes(80) + len(triangles).to_bytes(4, "little") + rows


def box(low, high):
    """Twelve triangles whose corners are the box's."""
    corner = [[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    return stl([[corner[a], corner[(a + 1) % 8], corner[(a + 3) % 8]] for a in range(8)])


def drum(radius, half_width, middle):
    """A cylinder about y, as an STL."""
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    rim = np.column_stack([radius * np.cos(angles), 0 * angles, radius * np.sin(angles)])
    left, right = (rim + np.array([0, middle + side * half_width, 0]) for side in (-1, 1))
    return stl(
        [[left[k], right[k], left[k - 1]] for k in range(48)]
        + [[right[k], right[k - 1], left[k - 1]] for k in range(48)]
    )


def meshed(foot_first, site="", geom='class="pad"'):
    """A robot whose legs lie level at zero, the pad of every foot a mesh with its origin at the knee."""
    legs = ""
    for leg, (x, y) in LEGS.items():
        pad, shank = f'<geom {geom} mesh="pad"/>', '<geom mesh="shank"/>'
        both = pad + shank if foot_first(leg) else shank + pad
        place = site and f'<site name="{site}_{leg}" pos="{LONG - 0.03} 0 0.002"/>'
        legs += f"""<body name="{leg}_hip" pos="{0.2 * x} {0.1 * y} 0"><joint name="{leg}_abad" axis="1 0 0"/>
          <inertial pos="0 0 0" mass="0.4" diaginertia="1e-3 1e-3 1e-3"/>
          <body name="{leg}_upper" pos="0 {0.05 * y} 0"><joint name="{leg}_hip" axis="0 1 0"/>
          <inertial pos="0.1 0 0" mass="0.6" diaginertia="1e-3 3e-3 3e-3"/>
          <body name="{leg}_lower" pos="0.2 0 0"><joint name="{leg}_knee" axis="0 1 0"/>
          <inertial pos="0.1 0 0" mass="0.2" diaginertia="1e-4 1e-3 1e-3"/>{both}{place}</body></body></body>"""
    return f"""<mujoco model="pads"><compiler angle="radian"/>
      <default><geom type="mesh"/><default class="pad"><geom friction="0.7"/></default>
      <default class="my_foot"><geom friction="0.7"/></default></default>
      <asset><mesh name="pad" file="pad.stl"/><mesh name="shank" file="shank.stl"/></asset>
      <worldbody><body name="trunk"><freejoint/><inertial pos="0 0 0" mass="5" diaginertia="0.05 0.1 0.1"/>{legs}
      </body></worldbody></mujoco>"""


@pytest.fixture
def pads(model_file):
    pytest.importorskip("mujoco")

    def load(*arguments, **options):
        path = model_file(meshed(*arguments, **options), "model.xml")
        pad = box([LONG - 0.05, -THICK, -0.02], [LONG, THICK, 0.02])
        (path.parent / "pad.stl").write_bytes(pad)
        (path.parent / "shank.stl").write_bytes(box([-0.02, -0.015, -0.015], [LONG - 0.06, 0.015, 0.015]))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            robot = load_model(path)
        return robot, "; ".join(str(w.message) for w in said)

    return load


@pytest.mark.parametrize("geom", ['class="pad"', 'class="my_foot"'])
def test_a_mesh_foot_is_the_mesh_that_reaches_furthest_in_whatever_order_the_file_lists_it(pads, geom):
    robot, said = pads(lambda leg: leg in ("FL", "RR"), geom=geom)
    by_hand = np.hypot(LONG, 0.02)  # the pad's far corner from the knee's axis
    for foot in robot.feet:
        from_knee = np.linalg.norm(foot.position[[0, 2]])
        assert foot.radius == pytest.approx(THICK, abs=1e-6)
        assert from_knee + foot.radius == pytest.approx(by_hand, abs=1e-6)
        assert foot.position[1] == pytest.approx(0.0, abs=1e-6)
    assert "furthest from the joint" in said
    assert "mirror" not in said


def test_a_site_that_is_called_a_foot_says_where_a_mesh_foot_is(pads):
    robot, said = pads(lambda leg: True, site="foot")
    for foot in robot.feet:
        assert foot.position == pytest.approx([LONG - 0.03, 0, 0.002])
        assert foot.radius == pytest.approx(THICK, abs=1e-6)
    assert "the site that the file calls a foot" in said


def wheeled(wheel='<mesh filename="wheel.stl"/>', limits="continuous"):
    """Unitree's way: a link FL_foot_motor welded to the shank, and the wheel FL_foot behind a joint without limits."""
    mass = '<inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial>'
    parts = f'<link name="base">{mass.replace("0.5", "8")}</link>'
    for leg, (x, y) in LEGS.items():
        parts += f"""<joint name="{leg}_hip_joint" type="revolute"><origin xyz="{0.2 * x} {0.1 * y} 0"/>
          <parent link="base"/><child link="{leg}_thigh"/><axis xyz="0 1 0"/><limit lower="-2" upper="2"/></joint>
          <link name="{leg}_thigh">{mass}</link><joint name="{leg}_calf_joint" type="revolute"><origin xyz="0 0 -0.2"/>
          <parent link="{leg}_thigh"/><child link="{leg}_calf"/><axis xyz="0 1 0"/><limit lower="-2" upper="2"/></joint>
          <link name="{leg}_calf">{mass}</link><joint name="{leg}_m" type="fixed"><origin xyz="0 0 -0.22"/>
          <parent link="{leg}_calf"/><child link="{leg}_foot_motor"/></joint><link name="{leg}_foot_motor"><collision>
          <origin rpy="1.5707963 0 0"/><geometry><cylinder radius="0.05" length="0.05"/></geometry></collision></link>
          <joint name="{leg}_foot_joint" type="{limits}"><origin xyz="0 0 -0.22"/><parent link="{leg}_calf"/>
          <child link="{leg}_foot"/><axis xyz="0 1 0"/></joint>
          <link name="{leg}_foot">{mass}<collision><geometry>{wheel}</geometry></collision></link>"""
    return f'<robot name="rolling">{parts}</robot>'


@pytest.fixture
def rolling(model_file):
    path = model_file(wheeled())
    (path.parent / "wheel.stl").write_bytes(drum(0.093, 0.02, 0.04))
    return path


def test_a_robot_on_wheels_stands_on_its_wheels_not_on_their_motors(rolling):
    with pytest.warns(ModelWarning, match=r"wheels are locked.*FL_foot_joint.*a wheel of radius 0\.093 m"):
        robot = load_model(rolling)
    assert [foot.link for foot in robot.feet] == ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    assert [foot.radius for foot in robot.feet] == pytest.approx([0.093] * 4, rel=2e-3)
    assert robot.foot("LF").position == pytest.approx([0, 0.04, 0], abs=1e-6)
    assert robot.nj == 8


def test_wheels_turn_when_asked(rolling):
    with pytest.warns(ModelWarning, match="a wheel of radius"):
        assert load_model(rolling, lock_wheels=False).nj == 12


def test_what_turns_within_limits_is_no_wheel(model_file):
    path = model_file(
        wheeled(limits="revolute").replace(
            '<axis xyz="0 1 0"/></joint>\n          <link name="FL_foot">',
            '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint>\n          <link name="FL_foot">',
        )
    )
    (path.parent / "wheel.stl").write_bytes(drum(0.093, 0.02, 0.04))
    with pytest.warns(ModelWarning, match="wheels are locked") as said:
        robot = load_model(path)
    assert "FL_foot_joint" not in str(said[0].message)
    assert robot.nj == 9


def test_feet_that_are_no_mirror_images_are_said(model_file):
    odd = wheeled('<sphere radius="0.03"/>', "fixed").replace("0.2 -0.1 0", "0.2 -0.1 0.0001")
    odd = odd.replace(
        '<link name="FR_foot"><inertial>',
        '<link name="FR_foot"><collision><origin xyz="0 0 0.02"/><geometry><sphere radius="0.03"/></geometry></collision><inertial>',  # noqa: E501
    )
    plain = load_model(model_file(wheeled('<sphere radius="0.03"/>', "fixed")))
    assert foot_positions(plain, plain.state()[0])[:, 2] == pytest.approx([-0.42] * 4)
    text = odd.replace(
        '<origin xyz="0 0 -0.22"/><parent link="FR_calf"/>', '<origin xyz="0 0 -0.16"/><parent link="FR_calf"/>'
    )
    with pytest.warns(ModelWarning, match="feet LF and RF are not mirror images: they differ by 60 mm"):
        load_model(model_file(text))


def test_a_folder_beside_the_model_may_be_called_a_package(model_file):
    path = model_file(wheeled('<mesh filename="package://assets/wheel.stl"/>'))
    (path.parent / "assets").mkdir()
    (path.parent / "assets" / "wheel.stl").write_bytes(drum(0.07, 0.01, 0.0))
    with pytest.warns(ModelWarning, match="a wheel of radius 0.07"):
        load_model(path)
