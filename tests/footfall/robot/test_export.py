"""Robots written as URDF and MJCF come back the same, through our own import, MuJoCo and Pinocchio."""

import dataclasses
import math
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_samples import small_mjcf, small_urdf

from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError, ModelError
from footfall.robot import library
from footfall.robot.files.export import roll_pitch_yaw
from footfall.robot.files.urdf_mjcf import ModelWarning, load_model, to_mjcf, to_urdf, write
from footfall.robot.model.description import Pose, Robot
from footfall.robot.model.parts import Actuator, Foot, Joint, Link
from footfall.spatial.rotation import about_axis, from_euler

LIBRARY = library.names()
IMPORTED = ("a1", "go2", "anymal_c", "hyq", "solo12")


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_model(path, **options)


@pytest.fixture
def robot_of(third_party):
    return lambda name: library.load(name) if name in LIBRARY else quietly(third_party(name))


def same(robot, other, armature=True):
    """Bodies, joint frames, axes, limits and feet agree to 1e-12."""
    assert other.joint_names == robot.joint_names
    assert other.foot_names == robot.foot_names
    for ours, theirs in zip(robot.tree.bodies, other.tree.bodies, strict=True):
        pairs = [
            (ours.inertia.m, theirs.inertia.m),
            (ours.inertia.h, theirs.inertia.h),
            (ours.inertia.I, theirs.inertia.I),
            (ours.X_PJ.R, theirs.X_PJ.R),
            (ours.X_PJ.p, theirs.X_PJ.p),
        ]
        if armature:
            pairs.append((ours.armature, theirs.armature))
        for a, b in pairs:
            assert np.abs(np.asarray(a) - b).max() <= 1e-12 * max(1.0, np.abs(a).max())
        if ours.joint is not None:
            assert np.abs(ours.joint.axis - theirs.joint.axis).max() < 1e-15
            for key in ("kind", "lower", "upper", "damping", "dry_friction"):
                assert getattr(ours.joint, key) == getattr(theirs.joint, key)
    for a, b in zip(robot.tree.foot_positions, other.tree.foot_positions, strict=True):
        assert np.abs(a - b).max() < 1e-12
    assert [foot.radius for foot in other.feet] == [foot.radius for foot in robot.feet]


# -- round trips -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*LIBRARY, *IMPORTED])
def test_urdf_round_trip_keeps_bodies_joints_and_feet(robot_of, tmp_path, name):
    robot = robot_of(name)
    other = load_model(write(robot, "urdf", tmp_path))
    same(robot, other, armature=False)
    limits = {a.joint: (a.torque_limit, a.speed_limit) for a in other.actuators}
    for actuator in robot.actuators:
        assert limits[actuator.joint] == (actuator.torque_limit, actuator.speed_limit)


@pytest.mark.parametrize("name", [*LIBRARY, *IMPORTED])
def test_mjcf_round_trip_keeps_bodies_joints_feet_and_poses(robot_of, tmp_path, name):
    pytest.importorskip("mujoco")
    robot = robot_of(name)
    other = load_model(write(robot, "mjcf", tmp_path, ground=True))
    same(robot, other)
    assert set(other.tree.frames) == set(robot.tree.frames)  # fixed links stay as frames
    assert [(a.joint, a.torque_limit) for a in other.actuators] == [(a.joint, a.torque_limit) for a in robot.actuators]
    assert set(other.poses) == set(robot.poses)
    for key, pose in robot.poses.items():
        assert other.poses[key].joints.tolist() == pose.joints.tolist()
        assert other.poses[key].height == pose.height


@pytest.mark.parametrize("name", [*LIBRARY, *IMPORTED])
def test_mujoco_builds_the_same_mass_matrix(robot_of, name):
    mujoco = pytest.importorskip("mujoco")
    robot = robot_of(name)
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    assert model.body_mass.sum() == pytest.approx(robot.mass, rel=1e-14)
    data = mujoco.MjData(model)
    angles = np.random.default_rng(3).uniform(-1, 1, robot.nj)
    data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *angles]
    mujoco.mj_forward(model, data)
    order = [3, 4, 5, 0, 1, 2, *range(6, robot.nv)]
    M = full_mass_matrix(mujoco, model, data)[np.ix_(order, order)]
    assert np.abs(mass_matrix(robot, robot.state(angles)[0]) - M).max() < 1e-12 * np.abs(M).max()


def full_mass_matrix(mujoco, model, data):
    """M column by column, from inverse dynamics without velocity and gravity."""
    model.opt.gravity[:] = 0
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SPRING) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qvel[:] = 0
    columns = []
    for k in range(model.nv):
        data.qacc[:] = np.eye(model.nv)[k]
        mujoco.mj_inverse(model, data)
        columns.append(data.qfrc_inverse.copy())
    return np.array(columns).T


@pytest.mark.parametrize("name", [*LIBRARY, *IMPORTED])
def test_pinocchio_builds_the_same_mass_matrix(robot_of, name):
    """From URDF, which knows no armature: it is added here. From MJCF Pinocchio takes it itself."""
    pin = pytest.importorskip("pinocchio")
    robot = robot_of(name)
    angles = np.random.default_rng(4).uniform(-1, 1, robot.nj)
    ours = mass_matrix(robot, robot.state(angles)[0])
    armature = np.diag([0.0] * 6 + [body.armature for body in robot.tree.bodies[1:]])
    model = pin.buildModelFromXML(to_urdf(robot), pin.JointModelFreeFlyer())
    q = pin.neutral(model)
    order = [3, 4, 5, 0, 1, 2]
    for angle, joint in zip(angles, robot.joint_names):
        number = model.getJointId(joint)
        q[model.joints[number].idx_q] = angle
        order.append(model.joints[number].idx_v)
    M = pin.crba(model, model.createData(), q)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(order, order)] + armature
    assert np.abs(ours - M).max() < 1e-12 * np.abs(M).max()


@pytest.mark.parametrize("name", LIBRARY)
def test_pinocchio_reads_the_mjcf(robot_of, tmp_path, name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_of(name)
    model = pin.buildModelFromMJCF(str(write(robot, "mjcf", tmp_path)))
    assert (model.nv, pin.computeTotalMass(model)) == (robot.nv, pytest.approx(robot.mass, rel=1e-12))
    assert model.armature[6:].tolist() == pytest.approx([body.armature for body in robot.tree.bodies[1:]], rel=1e-12)


# -- details -----------------------------------------------------------------------------------------------------------
@given(st.lists(st.floats(-math.pi, math.pi), min_size=3, max_size=3), st.sampled_from([0.0, 1.0, -1.0]))
@settings(deadline=None)
def test_roll_pitch_yaw_give_the_rotation_back_to_rounding(angles, upright):
    yaw, pitch, roll = angles
    if upright:
        pitch = upright * (math.pi / 2 + pitch * 1e-9)
    R = from_euler(np.array([yaw, pitch, roll]), "zyx")
    again = from_euler(roll_pitch_yaw(R)[::-1], "zyx")
    assert np.abs(R - again).max() < 2e-15


def odd_robot(**changes):
    """A chain with a massless link, a slide, springs, a spare frame, unlimited and locked joints, a point foot."""
    tensor = np.diag([0.2, 0.3, 0.4])
    turn = about_axis(np.array([0.6, 0.0, 0.8]), 0.7)
    parts = {
        "links": [
            Link(name="base", mass=2.0, com=[0.1, 0, 0], inertia=tensor, box=(0.2, 0.1, 0.1)),
            Link.massless("fork"),
            Link(name="arm", mass=1.0, com=[0, 0, 0.1], inertia=tensor),
            Link(name="tip", mass=0.5, com=[0, 0.1, 0], inertia=turn @ tensor @ turn.T),
            Link.massless("eye"),
        ],
        "joints": [
            Joint(
                name="roll",
                kind="revolute",
                parent="base",
                child="fork",
                origin=[0.1, 0.2, 0.3],
                rotation=turn,
                axis=[3, 0, 4],
                stiffness=2.0,
                rest=0.3,
            ),
            Joint(
                name="pitch",
                kind="revolute",
                parent="fork",
                child="arm",
                origin=[0, 0.1, 0],
                rotation=turn,
                axis=[0, -1, 0],
                lower=0.2,
                upper=0.2,
            ),
            Joint(
                name="slide",
                kind="prismatic",
                parent="arm",
                child="tip",
                origin=[0, 0, 0.2],
                rotation=turn.T,
                axis=[1, 2, 3],
                lower=-0.1,
                armature=0.3,
            ),
            Joint(name="mount", kind="fixed", parent="tip", child="eye", origin=[0.1, 0, 0], rotation=turn),
        ],
        "feet": [
            Foot(name="LF", link="eye", position=[0.01, 0, 0]),
            Foot(name="LH", link="base", position=[0, 0, -0.1], radius=0.04),
        ],
        "actuators": [Actuator(joint="roll", torque_limit=5.0), Actuator(joint="slide")],
        "poses": {"curl": Pose(np.array([0.1, 0.2, 0.3]), 0.7)},
    }
    return Robot(name="odd", **{**parts, **changes})


@pytest.mark.parametrize("floating", [True, False])
def test_a_robot_with_a_massless_moving_link_goes_through_mjcf(tmp_path, floating):
    pytest.importorskip("mujoco")
    robot = odd_robot(floating=floating)
    other = load_model(write(robot, "mjcf", tmp_path), feet={"LF": "LF", "LH": "LH"})
    assert other.joint_names == ("roll", "pitch", "slide")
    assert (other.joint("roll").stiffness, other.joint("roll").rest) == (2.0, 0.3)
    assert (other.joint("slide").lower, other.joint("slide").upper, other.joint("slide").armature) == (
        -0.1,
        np.inf,
        0.3,
    )
    assert [foot.radius for foot in other.feet] == [0.0, 0.04]
    assert other.poses["curl"].height == (0.7 if floating else 0.0)
    angles = np.array([0.3, -0.4, 0.2])
    ours, theirs = (mass_matrix(r, r.state(angles)[0]) for r in (robot, other))
    assert np.abs(ours - theirs).max() < 1e-14


@pytest.mark.parametrize("floating", [True, False])
def test_a_robot_with_a_massless_moving_link_goes_through_urdf(tmp_path, floating):
    robot = odd_robot(floating=floating)
    path = write(robot, "urdf", tmp_path)
    other = load_model(path, feet={"LF": "LF", "LH": "LH"}, floating=floating)
    same(robot, other, armature=False)
    text = path.read_text()
    assert "URDF cannot say of joint slide: armature 0.3" in text
    assert "URDF cannot say of joint roll: stiffness 2, rest 0.3" in text


def test_a_fixed_mjcf_robot_goes_round(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "fixed.xml"
    path.write_text(small_mjcf().replace("<freejoint/>", "").replace('qpos="0 0 0.35 1 0 0 0', 'qpos="'))
    robot = quietly(path)
    other = load_model(write(robot, "mjcf", tmp_path / "again"))
    angles = np.linspace(-1, 1, 12)
    ours, theirs = (mass_matrix(r, angles) for r in (robot, other))
    assert (other.floating, other.tree.bodies[0].name) == (False, "world")
    assert np.abs(ours - theirs).max() < 1e-14


def test_rotors_count_as_the_robot_says(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    masses = {}
    for mode in ("none", "armature"):
        robot = library.load("mini_cheetah").replace(rotors=mode)
        masses[mode] = robot.mass
        model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
        assert model.body_mass.sum() == pytest.approx(robot.mass, rel=1e-14)
        assert model.dof_armature[6:].tolist() == [body.armature for body in robot.tree.bodies[1:]]
        assert load_model(write(robot, "urdf", tmp_path)).mass == pytest.approx(robot.mass, rel=1e-14)
    assert masses["none"] < masses["armature"]
    exact = library.load("mini_cheetah").replace(rotors="exact")
    with pytest.raises(InputError, match=r"spinning rotors.*replace\(rotors='armature'\)"):
        to_mjcf(exact)
    assert "gyroscopic coupling is lost" in to_urdf(exact)


def test_a_tensor_that_no_body_has_is_refused_for_mjcf_but_not_for_urdf(tmp_path):
    flat = Link(name="base", mass=1.0, inertia=np.diag([1.0, 1.0, 3.0]), as_published=True)
    robot = odd_robot(links=[flat, *odd_robot().links[1:]])
    with pytest.raises(InputError, match=r"MuJoCo refuses body 'base'.*not realisable"):
        to_mjcf(robot)
    assert 'izz="3"' in to_urdf(robot)


def test_options_ground_and_contact_reach_mujoco():
    mujoco = pytest.importorskip("mujoco")
    robot = library.load("mini_cheetah")
    text = to_mjcf(
        robot,
        ground=True,
        options={"timestep": 1e-4, "integrator": "implicitfast", "cone": "elliptic"},
        contact={"friction": (1.6, 0.005, 0.0001), "solref": [-1600, -100], "condim": 3},
    )
    model = mujoco.MjModel.from_xml_string(text)
    assert model.opt.timestep == 1e-4
    assert model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    foot, ground = model.geom("LF").id, model.geom("ground").id
    assert model.geom_friction[foot].tolist() == [1.6, 0.005, 0.0001]
    assert model.geom_solref[ground].tolist() == [-1600, -100]
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("stand").id)
    data.qpos[2] -= 0.005
    mujoco.mj_forward(model, data)
    touching = {frozenset(contact.geom.tolist()) for contact in data.contact}
    assert touching == {frozenset((ground, model.geom(leg).id)) for leg in ("LF", "RF", "LH", "RH")}


def test_numbers_are_written_with_all_their_digits(tmp_path):
    path = tmp_path / "a.urdf"
    path.write_text(small_urdf())
    robot = load_model(path)
    other = load_model(write(robot, "urdf", tmp_path / "b"))
    for ours, theirs in zip(robot.links, other.links):
        for key in ("mass", "com", "inertia"):
            assert np.array_equal(getattr(ours, key), getattr(theirs, key))
    assert np.array_equal(robot.joint("FL_hip_joint").origin, other.joint("FL_hip_joint").origin)


def test_awkward_names_are_written_safely(tmp_path):
    robot = dataclasses.replace(odd_robot(), name="a/../b--&'-")
    for form, read in (("urdf", to_urdf), ("mjcf", to_mjcf)):
        root = ET.fromstring(read(robot))
        assert robot.name in root.attrib.values()
        path = write(robot, form, tmp_path)
        assert path.parent == tmp_path
    with pytest.raises(ModelError, match="names are printable"):
        dataclasses.replace(robot, name="a\x01")


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="unknown format 'sdf': choose urdf, mjcf"):
        write(odd_robot(), "sdf", tmp_path)


def test_a_massless_link_with_several_children_is_refused_for_mjcf():
    robot = odd_robot()
    links = [*robot.links, Link(name="twin", mass=1.0, inertia=np.eye(3))]
    joints = [*robot.joints, Joint(name="second", kind="revolute", parent="fork", child="twin")]
    with pytest.raises(InputError, match="a moving link without mass: give link 'fork' some"):
        to_mjcf(dataclasses.replace(robot, links=links, joints=joints, poses={}))
