"""Arms: a hand goes to a place in the world and stays there while the robot walks; without a task it stays at home."""

import os
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.control.locomotion.reach import (
    Reach,
    arm_joints,
    hand_of,
    keep_off_stops,
    reach_task,
    remove_task_motions,
    stop_accelerations,
    stopped_joints,
)
from footfall.control.posture import free_motions, with_stand
from footfall.dynamics.coordinates import integrate
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.files.urdf_mjcf import ModelWarning
from footfall.robot.model.description import Actuator, Joint, Link
from footfall.robot.model.shapes import box_inertia
from footfall.spatial.rotation import about_axis

TIP = (0.16, 0.0, 0.0)


def armed(stops=None):
    """Mini Cheetah with an arm of four joints on its back; ``stops`` by joint."""
    robot = ff.load("mini_cheetah")
    links, joints = list(robot.links), list(robot.joints)
    parent, place = "trunk", np.array([0.12, 0.0, 0.06])
    for name, axis, length in (("yaw", "z", 0.03), ("shoulder", "y", 0.2), ("elbow", "y", 0.18), ("wrist", "y", 0.16)):
        along = np.array([0.0, 0.0, length]) if name == "yaw" else np.array([length, 0.0, 0.0])
        links.append(
            Link(name=f"arm_{name}", mass=0.15, com=along / 2, inertia=box_inertia(0.15, tuple(np.abs(along) + 0.03)))
        )
        direction = np.array([0.0, 0.0, 1.0]) if axis == "z" else np.array([0.0, 1.0, 0.0])
        joints.append(
            Joint(
                name=f"arm_{name}",
                kind="revolute",
                parent=parent,
                child=f"arm_{name}",
                origin=place,
                axis=direction,
                armature=0.005,
                damping=0.05,
                **dict(zip(("lower", "upper"), (stops or {}).get(name, ()))),
            )
        )
        parent, place = f"arm_{name}", along
    actuators = [*robot.actuators, *(Actuator(joint=joint.name, torque_limit=8.0) for joint in joints[12:])]
    home = np.array([0.0, -1.0, 1.9, -0.6])
    stand = robot.poses["stand"]
    poses = {"stand": ff.robot.Pose(np.concatenate([stand.joints, home]), stand.height)}
    return robot.replace(name="armed", links=links, joints=joints, actuators=actuators, poses=poses)


def hand(robot, q):
    return ff.kinematics.foot_positions(hand_of(robot, "arm_wrist", TIP), q)[-1]


def test_the_task_moves_the_hand_as_a_damped_spring_would():
    """With a that meets J a = goal, the hand's acceleration is kp (place - p) - kd p' to the order of the step."""
    robot, rng = armed(), np.random.default_rng(4)
    q, v = robot.state("stand")
    q[7:], v = q[7:] + 0.2 * rng.normal(size=robot.nj), rng.normal(size=robot.nv)
    v[3:6] = 0.0  # components of v in base axes turn with it: without them a is a plain second derivative
    turn = about_axis(np.array([0.0, 0.6, 0.8]), 0.4)
    reach = Reach(
        link="arm_wrist", position=(0.4, 0.1, 0.5), point=TIP, rotation=turn, stiffness=50.0, damping=9.0, speed=100.0
    )
    task = reach_task(robot, reach, reach.goal, q, v)
    assert task.J.shape == (6, robot.nv)
    a = np.linalg.lstsq(task.J, task.goal, rcond=None)[0]
    h = 1e-4

    def at(t):
        half = v + 0.5 * t * a
        return hand(robot, integrate(robot, q, half, t))

    found = (at(h) - 2 * at(0.0) + at(-h)) / h**2
    speed = (at(h) - at(-h)) / (2 * h)
    np.testing.assert_allclose(found, 50.0 * (np.array(reach.position) - at(0.0)) - 9.0 * speed, rtol=1e-3, atol=1e-2)


def test_posture_of_an_arm_is_kept_only_where_its_task_leaves_it_free():
    robot = armed()
    q, v = robot.state("stand")
    reach = Reach(link="arm_wrist", position=(0.4, 0.1, 0.5), point=TIP)
    task, arm = reach_task(robot, reach, reach.goal, q, v), [6 + j for j in arm_joints(robot, "arm_wrist")]
    P = remove_task_motions(robot, reach, task.J, free_motions(robot, feet_jacobian(robot, q)[:4, 3:, 6:]))
    assert len(arm) == 4
    own = P[np.ix_([j - 6 for j in arm], [j - 6 for j in arm])]
    assert np.abs(task.J[:, arm] @ own).max() < 1e-3
    assert np.linalg.matrix_rank(own, tol=1e-2) == 1


def test_links_that_cannot_reach_are_refused():
    robot = armed()
    with pytest.raises(InputError, match="cannot reach"):
        ff.control.Locomotion(reach=Reach(link="LF_knee_link", position=(0, 0, 0))).start(robot)
    with pytest.raises(InputError, match="unknown link to reach with 'grip'"):
        ff.control.Locomotion(reach=Reach(link="grip", position=(0, 0, 0))).start(robot)
    with pytest.raises(InputError, match="whole-body QP"):
        ff.control.Locomotion(stage="mpc", reach=Reach(link="arm_wrist", position=(0, 0, 0)))


def test_a_hand_comes_no_faster_than_it_may():
    """At rest the pull towards any far place is damping times the speed; near it, stiffness times the way."""
    robot = armed()
    q, v = robot.state("stand")
    home = hand(robot, q)
    for away in (np.array([0.01, 0.0, 0.0]), np.array([0.0, 0.3, 0.4]), np.array([5.0, 0.0, 0.0])):
        reach = Reach(link="arm_wrist", position=tuple(home + away), point=TIP)
        pull = np.linalg.norm(reach_task(robot, reach, reach.goal, q, v).goal)
        assert pull == pytest.approx(min(400.0 * np.linalg.norm(away), 40.0 * 0.5), rel=1e-6)


def test_a_joint_that_brakes_as_its_stops_ask_does_not_pass_them():
    robot = armed({"elbow": (-0.5, 2.0), "wrist": (-1.0, np.inf)})
    elbow, wrist = stopped_joints(robot, "arm_wrist")
    q, v = robot.state("stand")
    q[7 + elbow], v[6 + elbow], v[6 + wrist] = 1.0, 6.0, -3.0
    for _ in range(2000):
        low, high = stop_accelerations(robot, "arm_wrist", q, v)
        assert high[6 + wrist] == 1e30
        assert (np.abs(low[:6]) == 1e30).all()
        for joint, wanted in ((elbow, 300.0), (wrist, -300.0)):  # as hard as it likes towards the stop
            v[6 + joint] += 1e-3 * np.clip(wanted, low[6 + joint], high[6 + joint])
            q[7 + joint] += 1e-3 * v[6 + joint]
    assert 1.95 < q[7 + elbow] < 2.0
    assert -1.0 < q[7 + wrist] < -0.95


def test_free_motions_of_an_arm_turn_away_from_stops_that_are_near():
    robot = armed({"elbow": (-0.5, 2.0)})
    (elbow,) = stopped_joints(robot, "arm_wrist")
    q, _ = robot.state("stand")
    still = np.zeros(robot.nj)
    pulls = []
    for at in (0.7, 1.6, 1.9, 2.0, -0.4):
        q[7 + elbow] = at
        pulls.append(keep_off_stops(robot, "arm_wrist", still, q)[elbow])
    assert pulls[0] == 0.0
    assert 0.0 > pulls[1] > pulls[2] > pulls[3]
    assert pulls[4] > 0.0
    assert not still.any()


def walked_under(robot, controller, place, hand_at, speed=0.2):
    """(how far a robot walked that first reaches, walks half a metre and stops; the hand's worst errors in both)."""
    sim = ff.Simulation(robot, controller=controller)
    sim.run(2.5)
    assert sim.stopped is None
    start, away = sim.q[0], [np.linalg.norm(hand_at(sim.q) - place)]
    sim.command = ff.Command(forward=speed)
    for _ in range(12):
        away += [np.linalg.norm(hand_at(q) - place) for q in sim.run(0.5).q[::5]]
        if sim.q[0] - start > 0.5:
            break
    sim.command = ff.Command()
    stopping = [np.linalg.norm(hand_at(q) - place) for q in sim.run(1.5).q[::5]]
    assert sim.stopped is None
    return sim.q[0] - start, max(away), max(stopping)


@pytest.mark.slow
@pytest.mark.parametrize("x", [0.36, 0.42, 0.5])
def test_a_hand_stays_through_half_a_metre_of_walk_and_stop_between_the_stops_of_its_joints(x):
    robot = armed({"yaw": (-2.5, 2.5), "shoulder": (-3.1, 1.0), "elbow": (0.0, 2.8), "wrist": (-1.9, 1.9)})
    place = np.array([x, 0.02, 0.52])
    controller = ff.control.Locomotion(reach=Reach(link="arm_wrist", position=tuple(place), point=TIP))
    walked, going, stopping = walked_under(robot, controller, place, lambda q: hand(robot, q))
    assert walked > 0.5
    assert going < 0.02
    assert stopping < 0.02


@pytest.mark.slow
@pytest.mark.skipif("FOOTFALL_MENAGERIE" not in os.environ, reason="FOOTFALL_MENAGERIE is no copy of the Menagerie")
@pytest.mark.parametrize("x", [0.7, 0.9, 1.05])
def test_spots_gripper_stays_through_half_a_metre_of_walk_and_stop(x):
    file = Path(os.environ["FOOTFALL_MENAGERIE"]) / "boston_dynamics_spot" / "spot_arm.xml"
    with pytest.warns(ModelWarning):
        robot = with_stand(ff.load(file))
    tip = (0.15, 0.0, 0.0)
    gripper = hand_of(robot, "arm_link_wr1", tip)
    place = np.array([x, 0.0, 0.921])
    controller = ff.control.Locomotion(reach=Reach(link="arm_link_wr1", position=tuple(place), point=tip))
    walked, going, stopping = walked_under(
        robot, controller, place, lambda q: ff.kinematics.foot_positions(gripper, q)[-1], 0.25
    )
    assert walked > 0.5
    assert going < 0.02
    assert stopping < 0.02


@pytest.mark.slow
def test_a_hand_that_pushes_stays_where_what_it_pushes_on_pushes_back():
    """What is there answers with -force: with it the hand stays at its place, and told of no force it is pushed off."""
    robot, force = armed(), np.array([6.0, 0.0, -4.0])
    place = hand(robot, robot.state("stand")[0]) + np.array([0.1, 0.0, 0.05])
    answer = ff.Push(start=0.0, duration=3.0, force=tuple(-force), link="arm_wrist", point=TIP)
    away = {}
    for told in (True, False):
        reach = Reach(
            link="arm_wrist", position=tuple(place), point=TIP, force=tuple(force) if told else (0.0, 0.0, 0.0)
        )
        sim = ff.Simulation(robot, controller=ff.control.Locomotion(reach=reach), pushes=[answer])
        away[told] = np.linalg.norm(hand(robot, sim.run(2.0).q[-1]) - place)
        assert sim.stopped is None
    assert away[True] < 0.005
    assert away[False] > 2.0 * away[True]


@pytest.mark.slow
def test_a_link_takes_the_attitude_that_is_asked_for():
    robot = armed()
    home = hand(robot, robot.state("stand")[0])
    place, turn = home + np.array([0.1, 0.0, 0.05]), about_axis(np.array([0.0, 1.0, 0.0]), 0.6)
    sim = ff.Simulation(
        robot,
        controller=ff.control.Locomotion(
            reach=Reach(link="arm_wrist", position=tuple(place), point=TIP, rotation=turn)
        ),
    )
    q = sim.run(2.0).q[-1]
    body, X_BL = robot.tree.frames["arm_wrist"]
    R = ff.kinematics.body_poses(robot, q)[body].R @ X_BL.R
    assert np.arccos(np.clip((np.trace(turn.T @ R) - 1.0) / 2.0, -1.0, 1.0)) < 0.03
    assert np.linalg.norm(hand(robot, q) - place) < 0.01


@pytest.mark.slow
def test_a_hand_stays_where_it_is_while_the_robot_walks_half_a_metre_under_it():
    robot = armed()
    home = hand(robot, robot.state("stand")[0])
    place = home + np.array([0.12, 0.02, 0.06])
    controller = ff.control.Locomotion(reach=Reach(link="arm_wrist", position=tuple(place), point=TIP))
    sim = ff.Simulation(robot, controller=controller)
    sim.run(1.5)
    sim.command = ff.control.Command(forward=0.15)
    recording = sim.run(2.0)
    away = [np.linalg.norm(hand(robot, q) - place) for q in recording.q[::5]]
    assert recording.q[-1][0] - recording.q[0][0] > 0.2
    assert max(away) < 0.02
    # another position, same program
    controller.reach = Reach(link="arm_wrist", position=tuple(place + np.array([0.1, 0.0, 0.05])), point=TIP)
    sim.command = ff.control.Command()
    last = sim.run(1.5).q[-1]
    assert np.linalg.norm(hand(robot, last) - controller.reach.position) < 0.01
