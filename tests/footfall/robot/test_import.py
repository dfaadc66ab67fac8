"""URDF and MJCF files become the robots that Pinocchio and MuJoCo read from them."""

import re
import sys
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from model_samples import small_mjcf, small_urdf

from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError, MissingExtraError, ModelError
from footfall.robot.files.mesh import fit_sphere
from footfall.robot.files.mjcf_guard import left_out
from footfall.robot.files.urdf_mjcf import ModelWarning, load_model, read_draft
from footfall.robot.model.legs import leg_of
from footfall.robot.model.parts import Foot
from footfall.spatial.transform import Transform

# mass [kg] of facts E.1, degrees of freedom, radius of the feet [m] (fitted where the foot is a mesh)
THIRD_PARTY = {
    "a1": (13.741, 18, 0.02),
    "go1": (13.100529, 18, 0.02),
    "go2": (16.085, 18, 0.02291),
    "b1": (55.689, 18, 0.04),
    "anymal_b": (30.4754, 18, 0.031),
    "anymal_c": (52.13485, 18, 0.03),
    "solo": (2.17785, 14, 0.01492),
    "solo12": (2.50000, 18, 0.01492),
    "hyq": (86.774, 18, 0.02175),
    "laikago": (25.433, 18, 0.0265),
    "quadruped": (2.772, 14, 0.025),
}
MESH_FEET = ("go2", "solo", "solo12")
STATED_FRICTION = ("hyq",)  # by a <gazebo> element, other than 0.8


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_model(path, **options)


def link_poses(robot):
    """Every link's pose in the base, all joints at zero."""
    poses = [Transform.identity()]
    for body in robot.tree.bodies[1:]:
        poses.append(poses[body.parent] @ body.X_PJ)
    return {name: poses[body] @ X_BL for name, (body, X_BL) in robot.tree.frames.items()}


# -- third-party robots ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", THIRD_PARTY)
def test_third_party_robots_have_their_masses_and_their_feet_in_order(third_party, name):
    mass, dof, radius = THIRD_PARTY[name]
    robot = quietly(third_party(name))
    assert robot.mass == pytest.approx(mass, rel=1e-5)
    assert (robot.nv, robot.floating, robot.foot_names) == (dof, True, ("LF", "RF", "LH", "RH"))
    assert [foot.radius for foot in robot.feet] == pytest.approx([radius] * 4, rel=1e-3)
    assert list(robot.tree.feet) == sorted(robot.tree.feet)  # legs are numbered in the order of the feet
    hips = [link_poses(robot)[robot.tree.bodies[robot.tree.support[body][0]].name].p for body in robot.tree.feet]
    corners = np.sign([hip[:2] for hip in hips])
    assert corners.tolist() == [[1, 1], [1, -1], [-1, 1], [-1, -1]]


def with_right_angles(text):
    """A model file with its right angles written out: 1.57079632679 stands for a quarter turn."""

    def written_out(number):
        turns = float(number.group()) / (np.pi / 2)
        whole = round(turns)
        return repr(whole * np.pi / 2) if whole and abs(turns - whole) < 1e-11 else number.group()

    return re.sub(r"-?\d\.\d{9,}", written_out, text)


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_a_file_is_read_to_its_last_digit(third_party, name):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(third_party(name)))
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    for link, X in read_draft(third_party(name))[0].placements().items():
        placement = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
        assert np.abs(X.p - placement.translation).max() < 1e-12
        assert np.abs(X.R - placement.rotation).max() < 1e-12


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_links_at_zero_lie_where_pinocchio_puts_them(third_party, name):
    """If the file has its right angles written out, as ours are exact."""
    pin = pytest.importorskip("pinocchio")
    path = third_party(name)
    model = pin.buildModelFromXML(with_right_angles(path.read_text()))
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    robot = quietly(path, forward="x")  # as the file has it
    for link, X in link_poses(robot).items():
        placement = data.oMf[model.getFrameId(link, pin.FrameType.BODY)]
        assert np.abs(X.p - placement.translation).max() < 1e-12
        assert np.abs(X.R - placement.rotation).max() < 1e-12
    for foot, body, position in zip(robot.feet, robot.tree.feet, robot.tree.foot_positions):
        placement = data.oMf[model.getFrameId(foot.link, pin.FrameType.BODY)]
        p = link_poses(robot)[robot.tree.bodies[body].name].point(position)
        assert np.abs(p - placement.act(foot.position)).max() < 1e-12


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_mass_matrix_is_that_of_pinocchio(third_party, name):
    pin = pytest.importorskip("pinocchio")
    path = third_party(name)
    robot = quietly(path, forward="x")  # as the file has it
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = model.createData()
    rng = np.random.default_rng(1)
    angles = rng.uniform(-1, 1, robot.nj)
    q = np.zeros(model.nq)
    q[6] = 1.0
    order = [3, 4, 5, 0, 1, 2]  # ours: angular first
    for angle, joint in zip(angles, robot.joint_names):
        number = model.getJointId(joint)
        q[model.joints[number].idx_q] = angle
        order.append(model.joints[number].idx_v)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    ours = mass_matrix(robot, robot.state(angles)[0])
    assert np.abs(ours - M[np.ix_(order, order)]).max() < 1e-10 * np.abs(M).max()


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_only_mesh_feet_and_frictions_of_feet_are_warned_about(third_party, name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = load_model(third_party(name))
    expected = ["it"] * (name == "quadruped")  # faces +y by the names of its legs
    expected += ["friction"] * (name in STATED_FRICTION) + ["foot"] * (name in MESH_FEET)
    parts = str(caught[0].message).partition(": ")[2].split("; ") if caught else []
    text = third_party(name).read_text()
    dropped = [part for part in parts if part.startswith("left out")]
    assert len(dropped) == any(f"<{tag}" in text for tag in ("transmission", "safety_controller", "plugin", "kp"))
    assert [part.split(" ")[0] for part in parts if part not in dropped] == expected
    if name in MESH_FEET:
        assert "a mesh, taken as a sphere of radius 0.0" in str(caught[0].message)
        assert robot.provenance_of("LF.radius").status == "chosen"
    assert robot.provenance_of("RH.position").status == ("chosen" if name in MESH_FEET else "imported")


def test_limits_and_losses_are_read(third_party):
    robot = quietly(third_party("hyq"))
    joint = robot.joint("lf_kfe_joint")
    assert (joint.lower, joint.upper) == (-2.44346095279, -0.349065850399)
    actuator = next(a for a in robot.actuators if a.joint == "lf_kfe_joint")
    assert (actuator.torque_limit, actuator.speed_limit) == (150.0, 12.0)
    assert quietly(third_party("go1")).joint("FL_hip_joint").damping == 0.01
    assert quietly(third_party("go1")).joint("FL_hip_joint").dry_friction == 0.2


# -- URDF --------------------------------------------------------------------------------------------------------------
def test_a_continuous_joint_has_no_limits_and_a_name_can_be_given(model_file):
    robot = load_model(model_file(small_urdf()), name="rex", floating=False)
    assert (robot.name, robot.nv) == ("rex", 8)
    assert robot.joint("FL_knee_joint").upper == np.inf
    assert robot.joint_names[:4] == ("FL_hip_joint", "FL_knee_joint", "FR_hip_joint", "FR_knee_joint")
    assert "model.urdf" in robot.provenance_of("trunk.mass").source


def test_an_odd_tensor_counts_with_the_body_that_it_is_welded_into(model_file):
    dummy = '<inertial><mass value="1e-6"/><inertia ixx="1e-6" ixy="1e-6" ixz="1e-6" iyy="1e-6" iyz="1e-6" izz="1e-6"/></inertial>'  # noqa: E501
    point = '<inertial><mass value="0.1"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    zero = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    for inertial, mass in ((dummy, 12.000001), (point, 12.1), (zero, 12.0)):
        robot = load_model(
            model_file(small_urdf().replace('<link name="FL_foot">', f'<link name="FL_foot">{inertial}'))
        )
        assert robot.mass == pytest.approx(mass, rel=1e-12)


def test_a_moving_link_that_is_a_point_mass_is_refused(model_file):
    old = '<inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.001"/>'
    path = model_file(small_urdf().replace(old, '<inertia ixx="0" iyy="0" izz="0"/>', 1))
    with pytest.raises(ModelError, match="inertia of link 'FR_thigh' is not positive"):
        load_model(path)


def test_huge_or_zero_limits_stand_for_none(model_file):
    for old, new in (('effort="20"', 'effort="0"'), ('effort="20"', 'effort="1e9"'), ('upper="2"', 'upper="1e300"')):
        robot = load_model(model_file(small_urdf().replace(old, new, 1)))
        actuator = next(a for a in robot.actuators if a.joint == "FR_hip_joint")
        assert np.inf in (actuator.torque_limit, robot.joint("FR_hip_joint").upper)


# -- feet --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "leg"),
    [
        ("FL_foot", "LF"),
        ("LF_FOOT", "LF"),
        ("fr_foot_link", "RF"),
        ("HL_FOOT", "LH"),
        ("toeRL", "LH"),
        ("RR", "RH"),
        ("BR_contact", "RH"),
        ("front_left_foot", "LF"),
        ("hind-right", "RH"),
        ("footFR", "RF"),
        ("flfoot", "LF"),
        ("rear_left_lower", "LH"),
        ("left_front", "LF"),
        ("foot", None),
        ("trunk", None),
        ("front", None),
    ],
)
def test_names_of_legs_are_understood(name, leg):
    assert leg_of(name) == leg


def anonymous(text: str) -> str:
    """The small robot with names that say nothing."""
    for k, leg in enumerate(("FR", "FL", "RR", "RL")):
        text = text.replace(f"{leg}_foot", f"end{k}").replace(f"{leg}_", f"limb{k}_")
    return text


def test_feet_without_telling_names_are_found_by_geometry_and_named_by_position(model_file):
    robot = load_model(model_file(anonymous(small_urdf())))
    assert [(foot.name, foot.link) for foot in robot.feet] == [
        ("LF", "end1"),
        ("RF", "end0"),
        ("LH", "end3"),
        ("RH", "end2"),
    ]
    assert robot.joint_names[0] == "limb1_hip_joint"


def test_a_robot_without_findable_feet_loads_with_a_warning(model_file):
    text = '<robot name="r"><link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>'  # noqa: E501
    with pytest.warns(ModelWarning, match="no feet were found"):
        robot = load_model(model_file(text))
    assert robot.feet == ()


def test_feet_can_be_given(model_file):
    path = model_file(anonymous(small_urdf()))
    by_list = load_model(path, feet=["end0", "end1", "end2", "end3"])
    assert by_list.foot_names == ("LF", "RF", "LH", "RH")
    by_name = load_model(path, feet={"hand": "end2", "tail": "end1"})
    assert [(foot.name, foot.link, foot.radius) for foot in by_name.feet] == [
        ("hand", "end2", 0.02),
        ("tail", "end1", 0.02),
    ]
    assert by_name.joint_names[0] == "limb2_hip_joint"
    whole = load_model(path, feet=[Foot(name="LF", link="limb1_calf", position=[0, 0, -0.2], radius=0.03)])
    assert whole.foot("LF").radius == 0.03
    assert load_model(path, feet=[]).feet == ()


@pytest.mark.parametrize(
    "feet",
    [
        ["FL_fot"],
        {"LF": "nowhere"},
        [Foot(name="LF", link="nowhere", position=[0, 0, 0])],
        "FL_foot",
        3,
        [3],
        ["FL_foot", Foot(name="RF", link="FR_foot", position=[0, 0, 0])],
    ],
)
def test_a_missing_foot_is_an_error_that_lists_the_candidates(model_file, feet):
    with pytest.raises(InputError) as caught:
        load_model(model_file(small_urdf()), feet=feet)
    assert "feet must be" in str(caught.value) or "FR_foot, FL_foot, RR_foot, RL_foot" in str(caught.value)


def icosphere(radius, centre):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 3))
    return centre + radius * points / np.linalg.norm(points, axis=1)[:, None]


def binary_stl(points):
    corners = points[: len(points) // 3 * 3].reshape(-1, 9).astype("<f4")
    rows = b"".join(bytes(12) + row.tobytes() + bytes(2) for row in corners)
    return bytes(80) + len(corners).to_bytes(4, "little") + rows


def ascii_stl(points):
    return ("solid s\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in points)).encode()


def obj(points):
    return "".join(f"v {x} {y} {z}\n" for x, y, z in points).encode()


@pytest.mark.parametrize(("suffix", "content"), [("stl", binary_stl), ("STL", ascii_stl), ("obj", obj)])
def test_a_mesh_foot_gets_the_sphere_that_fits_it(model_file, suffix, content):
    solid = f'<mesh filename="ball.{suffix}" scale="0.001 0.001 0.001"/>'
    path = model_file(small_urdf().replace('<sphere radius="0.02"/>', solid))
    (path.parent / f"ball.{suffix}").write_bytes(content(icosphere(25.0, np.array([1.0, 2.0, 3.0]))))
    with pytest.warns(ModelWarning, match=r"foot LF, RF, LH, RH: a mesh, taken as a sphere of radius 0\.025 m"):
        robot = load_model(path)
    assert robot.foot("RH").radius == pytest.approx(0.025, rel=1e-5)
    assert robot.foot("RH").position == pytest.approx([0.001, 0.002, 0.003], abs=1e-6)


@pytest.mark.parametrize(
    "content", [b"", b"solid x", bytes(80) + b"\xff" * 40, b"vertex a b c", b"vertex nan 0 0\n" * 9]
)
def test_a_mesh_foot_that_cannot_be_read_gets_two_centimetres(model_file, content):
    path = model_file(small_urdf().replace('<sphere radius="0.02"/>', '<mesh filename="ball.stl"/>'))
    (path.parent / "ball.stl").write_bytes(content)
    with pytest.warns(ModelWarning, match=r"radius 0\.02 m \(its mesh cannot be read\)"):
        robot = load_model(path)
    assert robot.foot("LF").radius == 0.02


def test_a_sphere_fits_its_own_points_and_a_box_gets_one_inside():
    centre, radius, off = fit_sphere(icosphere(0.3, np.array([1.0, 2.0, 3.0])))
    assert off == pytest.approx(0.0, abs=1e-12)
    assert radius == pytest.approx(0.3)
    assert centre == pytest.approx([1, 2, 3])
    rod = np.array([[x, y, z] for x in (0, 1) for y in (0, 4) for z in range(10)], dtype=float)
    centre, radius, off = fit_sphere(rod)
    assert off is None
    assert radius == 0.5
    assert centre == pytest.approx([0.5, 2, 4.5])


def test_a_foot_frame_takes_the_sphere_that_it_lies_in(model_file):
    text = small_urdf().replace('<collision><geometry><sphere radius="0.02"/></geometry></collision>', "")
    with pytest.warns(ModelWarning, match="without a shape, taken as a point"):
        assert load_model(model_file(text)).foot("LF").radius == 0.0
    sphere = '<collision><origin xyz="0 0 -0.19"/><geometry><sphere radius="0.03"/></geometry></collision>'
    for leg in ("FL", "FR", "RL", "RR"):
        text = text.replace(f'<link name="{leg}_calf">', f'<link name="{leg}_calf">{sphere}')
    foot = load_model(model_file(text)).foot("LF")
    assert (foot.link, foot.radius) == ("FL_foot", 0.03)
    assert foot.position == pytest.approx([0, 0, 0.01])


# -- MJCF --------------------------------------------------------------------------------------------------------------
@pytest.fixture
def mjcf(model_file):
    pytest.importorskip("mujoco")
    return lambda text, name="model.xml": model_file(text, name)


def test_an_mjcf_robot_has_what_the_file_says(mjcf):
    robot = quietly(mjcf(small_mjcf()))
    assert (robot.nv, robot.floating, robot.foot_names) == (18, True, ("LF", "RF", "LH", "RH"))
    assert robot.joint_names[:6] == ("FL_abad", "FL_hip", "FL_knee", "FR_abad", "FR_hip", "FR_knee")
    assert robot.poses["home"].height == 0.35
    assert robot.poses["home"].joints == pytest.approx([0, 0.6, -1.2] * 4)
    hip, knee = robot.joint("FL_hip"), robot.joint("FL_knee")
    assert (hip.lower, hip.upper) == pytest.approx((-np.pi / 3, 2 * np.pi / 3))
    assert (knee.stiffness, knee.dry_friction, knee.damping, knee.armature) == (3, 0.1, 0.5, 0.01)
    assert knee.rest == pytest.approx(np.deg2rad(-40))
    assert {actuator.torque_limit for actuator in robot.actuators} == {20.0}
    assert (robot.foot("RH").link, robot.foot("RH").radius) == ("RR_calf", 0.02)


def test_mass_matrix_and_feet_of_an_mjcf_robot_are_those_of_mujoco(mjcf):
    """Two hinges on one body, off-centre anchors, reference angles, shapes that weigh: MuJoCo reads the same file."""
    import mujoco

    text = small_mjcf()
    robot = quietly(mjcf(text))
    plain = text.replace('<geom class="visual" mesh="thigh"/>', "").replace('<mesh file="thigh.stl"/>', "")
    model = mujoco.MjModel.from_xml_string(plain)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(2)
    for _ in range(5):
        angles = rng.uniform(-2, 2, robot.nj)
        data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *angles]
        assert [model.jnt(i).name for i in range(1, model.njnt)] == list(robot.joint_names)
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, M, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(model, data, M)
        order = [3, 4, 5, 0, 1, 2, *range(6, 18)]
        ours = mass_matrix(robot, robot.state(angles)[0])
        assert np.abs(ours - M[np.ix_(order, order)]).max() < 1e-12 * np.abs(M).max()


def test_an_mjcf_robot_without_a_free_joint_is_fixed_unless_asked(mjcf):
    path = mjcf(small_mjcf().replace("<freejoint/>", "").replace('qpos="0 0 0.35 1 0 0 0', 'qpos="'))
    fixed, free = quietly(path), quietly(path, floating=True)
    assert (fixed.nv, fixed.floating, fixed.tree.bodies[0].name) == (12, False, "world")
    assert (free.nv, free.floating, free.tree.bodies[0].name) == (18, True, "trunk")
    assert link_poses(fixed)["trunk"].p == pytest.approx([0, 0, 0.4])
    with pytest.raises(InputError, match="free joint"):
        quietly(mjcf(small_mjcf()), floating=False)


def test_includes_are_followed_inside_the_package(mjcf):
    text = small_mjcf()
    start, end = text.index("<worldbody>"), text.index("</worldbody>") + len("</worldbody>")
    mjcf(f"<mujoco>{text[start:end]}</mujoco>", "bodies.xml")
    mjcf('<mujoco><include file="bodies.xml"/></mujoco>', "robot.xml")
    scene = (
        text[:start]
        + '<include file="robot.xml"/><worldbody><geom type="plane" size="1 1 1"/></worldbody>'
        + text[end:]
    )
    assert quietly(mjcf(scene)).digest == quietly(mjcf(text)).digest


def test_meshes_of_an_mjcf_are_left_out_with_one_warning(mjcf):
    with pytest.warns(ModelWarning, match="meshes/thigh.stl' was not found and is left out") as caught:
        load_model(mjcf(small_mjcf()))
    assert len(caught) == 1


def test_a_mesh_foot_of_an_mjcf_gets_the_sphere_that_fits_it(mjcf):
    text = (
        small_mjcf().replace('type="sphere" size="0.02"', 'type="mesh" mesh="thigh"').replace('mass="0.05"', 'mass="0"')
    )
    path = mjcf(text)
    (path.parent / "meshes").mkdir()
    (path.parent / "meshes" / "thigh.stl").write_bytes(binary_stl(icosphere(0.03, np.zeros(3))))
    with pytest.warns(ModelWarning, match=r"a mesh, taken as a sphere of radius 0\.03 m"):
        robot = load_model(path)
    assert robot.foot("LF").position == pytest.approx([0, 0, -0.2], abs=1e-6)


def test_what_is_left_out_of_an_mjcf_is_said(mjcf):
    tendon = '<tendon><fixed><joint joint="FL_hip" coef="1"/></fixed></tendon><sensor>'
    with pytest.warns(ModelWarning, match=r"tendons, .*sensors \(.*\).* are left out"):
        load_model(mjcf(small_mjcf().replace("<sensor>", tendon)))


EVERYTHING = """<mujoco><option timestep="0.002" cone="elliptic"/>
  <worldbody><body name="b"><freejoint/><geom size="0.1"/>
  <body name="l" pos="0 0 -.3"><joint name="j" axis="0 1 0"/><geom size="0.05" condim="6" solref="0.01 1"/>
  <site name="s"/></body></body></worldbody>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
  <contact><exclude body1="b" body2="l"/></contact>
  <equality><tendon tendon1="t"/></equality>
  <actuator><position joint="j" kp="30" kv="2"/><general joint="j" dyntype="filter"/></actuator>
  <sensor><gyro site="s"/><force site="s"/></sensor>
  <keyframe><key name="k" qpos="0 0 1 1 0 0 0 0.2" qvel="0 0 0 0 0 0 1"/></keyframe></mujoco>"""


def test_everything_that_a_file_says_is_used_or_named_as_left_out_in_one_line(mjcf):
    with pytest.warns(ModelWarning) as said:
        robot = load_model(mjcf(EVERYTHING), feet=[])
    assert len(said) == 1
    line = str(said[0].message)
    for words in (
        "tendons",
        "contact parameters (condim, solref)",
        "servo gains (kp, kv)",
        "sensors (force, gyro)",
        "dynamics of actuators (dyntype)",
        "options (cone, timestep)",
        "contact lists (exclude)",
        "<tendon>",
        "what keyframes contain about qvel",
    ):
        assert words in line, words
    assert "\n" not in line
    assert robot.poses["k"].joints == pytest.approx([0.2])


JOINTED, LINKED, SHAPED = '<joint name="j"', '<body name="l"', '<geom size="0.05"'
WORDS_OF_FILES = {
    "margin of a joint": (JOINTED, '<joint margin="0.1" name="j"', "softness of joint limits and friction (margin)"),
    "soft limits": (JOINTED, '<joint solreflimit="0.01 1" name="j"', "limits and friction (solreflimit)"),
    "soft friction": (JOINTED, '<joint solimpfriction="0.9 0.9 0.01" name="j"', "and friction (solimpfriction)"),
    "lifted by motors": (JOINTED, '<joint actuatorgravcomp="true" name="j"', "gravity compensation"),
    "in a fluid": (SHAPED, '<geom fluidshape="ellipsoid" size="0.05"', "fluid forces (fluidshape)"),
    "mocap": ("<worldbody>", '<worldbody><body name="m" mocap="true"><geom size=".1"/></body>', "mocap bodies ('m')"),
    "soft equality": (
        "<equality>",
        '<equality><connect name="c" body1="b" body2="l" anchor="0 0 0" solref="0.1 1"/>',
        "softness of equalities (solref)",
    ),
    "idle equality": (
        "<equality>",
        '<equality><joint name="idle" joint1="j" active="false"/>',
        "equalities that are not active (joint 'idle')",
    ),
    "held joint": (
        "<equality>",
        '<equality><joint joint1="j" polycoef="0.1 0 0 0 0"/>',
        "equalities fix joint 'j' in place, and are left out",
    ),
}


@pytest.mark.parametrize("case", WORDS_OF_FILES)
def test_words_of_a_file_that_change_nothing_here_are_named(mjcf, case):
    there, instead, words = WORDS_OF_FILES[case]
    text = EVERYTHING.replace(there, instead)
    assert text != EVERYTHING
    with pytest.warns(ModelWarning) as said:
        load_model(mjcf(text), feet=[])
    assert words in str(said[0].message)
    assert "outside it" not in str(said[0].message)


def test_slides_and_position_servos_are_read(mjcf):
    text = """<mujoco><worldbody>
      <body name="cart"><joint name="slide" type="slide" axis="1 0 0" ref="0.5" range="-1 1"/><geom size="0.1"/>
      <body name="arm" pos="0 0 1"><joint name="turn" axis="0 1 0" actuatorfrcrange="-3 3"/><geom size="0.1"/></body>
      </body></worldbody>
      <actuator><position joint="slide" forcerange="-5 4" gear="2"/><position joint="turn"/></actuator></mujoco>"""
    robot = load_model(mjcf(text), feet=[])
    slide = robot.joint("slide")
    assert (slide.kind, slide.lower, robot.nv) == ("prismatic", -1.0, 2)
    assert slide.origin == pytest.approx([-0.5, 0, 0])
    assert [actuator.torque_limit for actuator in robot.actuators] == [10.0, 3.0]


def test_reading_mjcf_without_mujoco_says_what_to_install(mjcf, monkeypatch):
    path = mjcf(small_mjcf())
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"footfall\[models\]"):
        load_model(path)


def test_a_ball_joint_is_refused(mjcf):
    text = '<mujoco><worldbody><body name="b"><joint name="j" type="ball"/><geom size="1"/></body></worldbody></mujoco>'
    with pytest.raises(ModelError, match="joint 'j' is a ball joint"):
        load_model(mjcf(text))


def test_sites_that_mean_nothing_here_are_named_as_left_out():
    root = ET.fromstring(
        "<mujoco><worldbody><body name='a'><geom name='LF' size='0.02'/><site name='imu'/><site name='LF'/>"
        "<site name='FL_foot'/><site name='pin'/></body></worldbody>"
        "<equality><connect site1='pin' site2='pin'/></equality></mujoco>"
    )
    assert left_out(root) == ["sites ('imu')"]
