"""A loaded robot is ready: it stands as its file says or as its legs allow, gaits and gains scale with it."""

import warnings

import numpy as np
import pytest
from third_party_models import THIRD_PARTY, third_party_path

import footfall as ff
from footfall.control.locomotion.single_body import SingleBody
from footfall.gait.tuned import hip_height_of, scaled
from footfall.robot.files.urdf_mjcf import ModelWarning, write
from footfall.robot.model.parametric import quadruped


def load(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ff.load(*arguments, **options)


def keyed(tmp_path, name, joints):
    """The Mini Cheetah as an MJCF with one keyframe."""
    cheetah = ff.load("mini_cheetah", rotors="none")
    path = write(cheetah.replace(poses={}), "mjcf", tmp_path)
    qpos = " ".join(map(str, [0, 0, 0.5, 1, 0, 0, 0, *joints]))
    path.write_text(
        path.read_text().replace("</mujoco>", f'<keyframe><key name="{name}" qpos="{qpos}"/></keyframe></mujoco>')
    )
    return path


@pytest.mark.parametrize("name", ["home", "standing", "Stand"])
def test_a_keyframe_that_stands_is_the_stand_and_its_height_is_that_of_its_feet(tmp_path, name):
    robot = load(keyed(tmp_path, name, [0.05, -0.7, 1.5] * 4))
    assert robot.poses["stand"].joints == pytest.approx([0.05, -0.7, 1.5] * 4)
    soles = ff.kinematics.foot_positions(robot, robot.state("stand")[0])[:, 2] - [foot.radius for foot in robot.feet]
    assert soles.min() == pytest.approx(0.0, abs=1e-12)


def test_a_keyframe_that_lies_is_not_taken_for_a_stand_and_that_is_said(tmp_path):
    path = keyed(tmp_path, "home", [0.0, -2.3, 2.6] * 4)
    with pytest.warns(ModelWarning, match="'home' does not stand"):
        robot = ff.load(path)
    assert robot.poses["stand"].height > 0.2


def test_an_effort_that_cannot_carry_the_robot_is_said_and_a_placeholder_is_no_limit(tmp_path):
    cheetah = ff.load("mini_cheetah", rotors="none").replace(poses={})
    weak = write(
        cheetah.replace(actuators=[ff.Actuator(joint=j, torque_limit=1.0) for j in cheetah.joint_names]),
        "urdf",
        tmp_path,
    )
    with pytest.warns(ModelWarning, match="effort of 1 N m at every joint cannot carry its weight"):
        assert all(np.isinf(a.torque_limit) for a in ff.load(weak).actuators)
    mixed = [ff.Actuator(joint=j, torque_limit=0.9 if j == "LF_knee" else 20.0) for j in cheetah.joint_names]
    with pytest.warns(ModelWarning, match="limit 0.9 N m of joint 'LF_knee' is less than"):
        robot = ff.load(write(cheetah.replace(actuators=mixed), "urdf", tmp_path))
    assert min(a.torque_limit for a in robot.actuators) == 0.9


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_robots_of_other_makers_load_by_name(name):
    robot = load(name)
    assert robot.name == name
    assert robot.digest == load(third_party_path(name), name=name).digest
    assert "stand" in robot.poses


def test_a_name_whose_files_are_not_installed_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))
    with pytest.raises(ff.InputError, match="'spot' are not installed: fetch them with robot_descriptions"):
        ff.load("spot")
    there = tmp_path / "mujoco_menagerie" / "boston_dynamics_spot"
    there.mkdir(parents=True)
    write(ff.load("mini_cheetah"), "mjcf", tmp_path).rename(there / "spot.xml")
    assert load("spot").nj == 12


def test_the_ten_lines_of_the_readme_run_on_a_robot_from_a_file():
    robot = load("go2")
    stand = robot.poses["stand"].joints

    @ff.controller(rate=1000)
    def sway(t, robot, sensed, command, memory):
        lean = 0.1 * np.sin(2 * np.pi * t) * np.array([1.0, 0.0, 0.0] * 4)
        return ff.JointCommand(position=stand + lean, kp=90.0, kd=3.0), memory

    rec = ff.Simulation(robot, sway).run(1.0)
    assert not rec.meta["fell"]
    assert abs(rec.q[-1, 2] / robot.poses["stand"].height - 1.0) < 0.1


@pytest.mark.parametrize("gait", ["trot", "walk"])
def test_gaits_of_similar_robots_are_similar(gait):
    """k times as long and k³ as heavy: strides k, times sqrt(k), gains k⁴ and k⁴·⁵ (dynamic similarity)."""
    k = 1.7
    small = quadruped()
    links = [
        ff.Link(name=link.name, mass=k**3 * link.mass, com=k * link.com, inertia=k**5 * link.inertia)
        for link in small.links
    ]
    joints = {f"{joint.name}.origin": k * joint.origin for joint in small.joints}
    feet = [
        ff.Foot(name=foot.name, link=foot.link, position=k * foot.position, radius=k * foot.radius)
        for foot in small.feet
    ]
    large = small.replace(joints, links=links, feet=feet)
    one, other = scaled(small, gait), scaled(large, gait)
    assert hip_height_of(large) == pytest.approx(k * hip_height_of(small))
    for key, power in (("stride", 1.0), ("height", 1.0), ("depth", 1.0), ("period", 0.5), ("speed", 0.5)):
        assert getattr(other.gait, key) == pytest.approx(k**power * getattr(one.gait, key)), key
    assert (other.kp, other.kd) == pytest.approx((k**4 * one.kp, k**4.5 * one.kd))


@pytest.mark.parametrize("name", ["a1", "anymal_c", "hyq", "solo12"])
def test_the_default_trot_of_a_robot_from_a_file_neither_falls_nor_goes_backwards(name):
    robot = load(name)
    rec = ff.Simulation(robot, ff.control.JointPD.tuned(robot, "trot"), command=ff.Command(forward=0.3)).run(4.0)
    assert not rec.meta["fell"]
    assert rec.mean_velocity(after=2.0)[0] > 0.15


def test_the_single_body_on_its_feet_has_the_energy_of_a_turn_that_leaves_the_feet_where_they_are():
    robot = load("go1")
    q, _ = robot.state("stand")
    body = SingleBody.on_its_feet(robot, q[7:])
    A = np.concatenate(list(ff.kinematics.feet_jacobian(robot, q)[:, 3:]))
    for omega in np.array([[1.0, 0, 0], [0, 1.0, 0], [0.3, -0.2, 0.9]]):
        base = np.concatenate([omega, np.cross(ff.kinematics.center_of_mass(robot, q) - q[:3], omega)])
        rates = np.linalg.lstsq(A[:, 6:], -A[:, :6] @ base, rcond=None)[0]
        v = np.concatenate([base, rates])
        assert np.abs(A @ v).max() < 1e-12
        assert 0.5 * omega @ body.inertia @ omega == pytest.approx(ff.dynamics.kinetic_energy(robot, q, v))
    assert SingleBody.of(robot, q[7:]).inertia[0, 0] > 2.0 * body.inertia[0, 0]


@pytest.mark.parametrize("name", ["go1", "go2"])
def test_mpc_keeps_a_robot_without_armature_level(name):
    robot = load(name)
    assert max(joint.armature for joint in robot.joints) == 0.0
    rec = ff.Simulation(robot, ff.control.Locomotion(stage="mpc")).run(1.5)
    _, x, y, _ = rec.q[:, 3:7].T
    assert not rec.meta["fell"]
    assert np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))).max() < 2.0


def test_an_arm_stays_where_the_stand_has_it_while_the_legs_trot(tmp_path):
    cheetah = quadruped()
    arm = [
        ff.Joint(
            name="arm",
            kind="revolute",
            parent=cheetah.links[0].name,
            child="arm_link",
            axis=[0, 1, 0],
            lower=-3,
            upper=3,
        )
    ]
    links = [*cheetah.links, ff.Link(name="arm_link", mass=0.3, com=[0.05, 0, 0.05], inertia=1e-3 * np.eye(3))]
    stand = ff.robot.Pose(np.append(cheetah.poses["stand"].joints, 1.1), cheetah.poses["stand"].height)
    robot = cheetah.replace(links=links, joints=[*cheetah.joints, *arm], poses={"stand": stand})
    assert robot.joint_names[-1] == "arm"
    rec = ff.Simulation(robot, ff.control.JointPD.tuned(robot)).run(2.0)
    assert not rec.meta["fell"]
    assert np.abs(rec.q[:, -1] - 1.1).max() < 0.1
