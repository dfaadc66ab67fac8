"""Laws of the joint PD controller."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.control import Command, Controller, Hold, JointPD, Sensed
from footfall.control.joint.joint_pd import joint_targets
from footfall.errors import InputError
from footfall.kinematics import foot_positions
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot import library
from footfall.robot.model.parametric import quadruped
from nptrace import compile as compiled


def sensed(robot):
    q, v = robot.state()
    return Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3)))


def run(controller, robot, ticks):
    """Joint targets at every tick."""
    memory, targets, seen = controller.start(robot), [], sensed(robot)
    for k in range(ticks):
        command, memory = controller(k / controller.rate, robot, seen, Command(), memory)
        targets.append(command.broadcast(robot.nj).position)
    return np.array(targets)


ALL = [(name, g) for name in library.names() for g in ("trot", "walk") if gait.choices(name, g)]


@pytest.mark.parametrize(("name", "pattern"), ALL)
def test_feet_follow_the_gait_under_their_hips(name, pattern):
    robot = library.load(name)
    controller = JointPD.tuned(robot, pattern, clock=True)
    g = controller.gait
    for t in (0.0, 0.4, 1.7, 2.83):
        command, _ = controller(t, robot, sensed(robot), Command(), {})
        q = robot.state(command.position)[0]
        x, z = gait.foot_offset(g, gait.clock_phase(g, t))
        ramp = gait.start_ramp(g, t)
        for k, foot in enumerate(foot_positions(robot, q)):
            leg = leg_geometry(robot, robot.foot_names[k])
            hanging = foot_positions(robot, robot.state()[0])[k]  # all joints at zero: straight below the hip
            hip = hanging[2] + leg.stretch + (leg.foot.length if leg.foot else 0.0)
            expected = (hanging[0] + ramp * x[k], hanging[1], hip + ramp * z[k] - (g.hip_height - leg.radius))
            assert np.abs(foot - expected).max() < 1e-12


@pytest.mark.parametrize(("name", "pattern"), ALL)
def test_oscillators_and_clock_ask_for_the_same(name, pattern):
    robot = library.load(name)
    ticks = 200
    by_memory, by_clock = (
        run(JointPD.tuned(robot, pattern, open_loop=True, clock=c, rate=100), robot, ticks) for c in (False, True)
    )
    assert np.abs(by_memory - by_clock).max() < 1e-9


def test_diagonal_legs_of_a_trot_move_alike():
    robot = library.load("mini_cheetah")
    targets = run(JointPD.tuned(robot, open_loop=True), robot, 300).reshape(-1, 4, 3)
    assert np.abs(targets[:, 0] - targets[:, 3]).max() < 1e-12
    assert np.abs(targets[:, 1] - targets[:, 2]).max() < 1e-12
    assert np.abs(targets[:, 0] - targets[:, 1]).max() > 0.05


@pytest.mark.parametrize("name", library.names())
def test_targets_stay_within_the_joint_limits(name):
    robot = library.load(name)
    targets = run(JointPD.tuned(robot, rate=200), robot, 600)
    limits = [robot.joint(joint) for joint in robot.joint_names]
    assert np.all(targets >= [joint.lower for joint in limits])
    assert np.all(targets <= [joint.upper for joint in limits])


def test_motion_starts_from_standing():
    robot = library.load("mini_cheetah")
    targets = run(JointPD.tuned(robot, open_loop=True), robot, 3).reshape(-1, 4, 3)
    assert np.abs(targets[0] - targets[0, 0]).max() < 1e-12
    assert np.abs(targets[1] - targets[0]).max() < 1e-5


def test_spine_is_held_straight_with_its_own_gains():
    robot = library.load("spined")
    command, _ = JointPD.tuned(robot, clock=True)(0.3, robot, sensed(robot), Command(), {})
    for name, position, kp, kd in zip(robot.joint_names, command.position, command.kp, command.kd):
        if name.startswith("spine"):
            assert (position, kp, kd) == (0.0, 1200.0, 20.0)
        else:
            assert (kp, kd) == (450.0, 13.0)


def test_hips_and_knees_come_from_the_standing_pose_unless_given():
    for name in library.names():
        robot = library.load(name)
        stand = robot.poses["stand"].joints
        targets = joint_targets(robot, gait.trot(), np.zeros(4), ramp=0.0)
        foot = [foot_positions(robot, robot.state(joints)[0]) for joints in (stand, targets)]
        assert np.abs(foot[0][:, 2] - foot[1][:, 2]).max() < 1e-12
    assert np.abs(targets - stand).max() < 1e-9  # dynakat stands with its feet under its hips


@pytest.mark.parametrize("name", library.names())
def test_controllers_fill_the_seam(name):
    robot = library.load(name)
    for controller in (JointPD.tuned(robot), JointPD(gait=gait.trot()), Hold()):
        assert isinstance(controller, Controller)
        command, _ = controller(0.0, robot, sensed(robot), Command(), controller.start(robot))
        assert command.broadcast(robot.nj).position.shape == (robot.nj,)


@pytest.mark.parametrize("clock", [False, True])
@pytest.mark.parametrize("name", library.names())
def test_compiled_controller_is_the_numpy_one(name, clock):
    robot = library.load(name)
    controller = JointPD.tuned(robot, clock=clock)
    seen = sensed(robot)

    def tick(t, memory):
        command, memory = controller(t, robot, seen, Command(), memory)
        return command.position, command.kp, command.kd, memory

    memory = controller.start(robot)
    fast = compiled(tick, 0.3, memory, target="interpret")
    for k in range(100):
        expected, got = tick(k * 0.01, memory), fast(k * 0.01, memory)
        for a, b in zip(expected[:3], got[:3]):
            assert np.abs(a - b).max() < 1e-12
        memory = expected[3]


def test_hold_asks_for_its_pose():
    robot = library.load("mini_cheetah")
    command, _ = Hold("fold", kp=60.0, kd=2.0)(0.0, robot, sensed(robot), Command(), {})
    assert np.all(command.position == robot.poses["fold"].joints)
    assert (command.kp, command.kd) == (60.0, 2.0)
    joints = np.linspace(-1, 1, robot.nj)
    assert np.all(Hold(joints)(0.0, robot, sensed(robot), Command(), {})[0].position == joints)


def test_known_constants_bend_the_knees_the_way_the_limits_allow():
    assert gait.for_robot("xiling").gait.knees == (-1, -1, -1, -1)
    assert gait.for_robot(library.load("xiling")).gait.knees == (1, 1, 1, 1)
    assert gait.for_robot(library.load("xiling")).speed == 0.44
    assert gait.for_robot(library.load("xiling", knees="front")).speed == 0.69
    assert gait.for_robot(library.load("spined"), "walk").speed is None
    assert gait.for_robot("mini_cheetah", choice="E").gait.knees == (1, 1, -1, -1)
    assert gait.choices("mini_cheetah") == ("A", "B", "C", "D", "E")


def test_what_cannot_be_done_is_said_before_the_start():
    mini, xiling = library.load("mini_cheetah"), library.load("xiling")
    with pytest.raises(
        InputError, match=r"needs LF_hip of 'xiling'|needs LF_knee of 'xiling' at .* outside its limits"
    ):
        JointPD(gait=gait.trot(knees=-1)).start(xiling)
    with pytest.raises(InputError, match=r"hip_height 0\.9 m of gait 'trot' is out of reach of LF"):
        JointPD(gait=gait.trot(hip_height=0.9)).start(mini)
    with pytest.raises(InputError, match="no pose 'stand': give the gait hip_height and knees"):
        JointPD(gait=gait.trot()).start(mini.replace(poses={}))
    with pytest.raises(InputError, match="robot 'mini_cheetah' has LF, RF, LH"):
        JointPD(gait=gait.trot()).start(mini.replace(feet=mini.feet[:3]))
    with pytest.raises(InputError, match="the joint axes YPP"):
        JointPD(gait=gait.trot()).start(quadruped(axes=("yaw", "pitch", "pitch")))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"kp": -1.0}, "kp of JointPD must be 0 or more"),
        ({"kd": math.nan}, "kd of JointPD"),
        ({"spine_kp": "stiff"}, "spine_kp"),
        ({"rate": 0.0}, "rate"),
        ({"gait": "trot"}, "needs a Gait"),
    ],
)
def test_bad_settings_are_refused(bad, said):
    with pytest.raises(InputError, match=said):
        JointPD(**{"gait": gait.trot(), **bad})


def test_unknown_tunings_list_the_known():
    with pytest.raises(InputError, match="mini_cheetah, xiling, spined, dynakat"):
        gait.for_robot("spot")
    with pytest.raises(InputError, match="choose from trot"):
        gait.for_robot("mini_cheetah", "bound")
    with pytest.raises(InputError, match="A, B, C, D, E"):
        gait.for_robot("mini_cheetah", choice="F")
    with pytest.raises(InputError, match="kp of Hold"):
        Hold(kp=-1.0).start(library.load("mini_cheetah"))
    with pytest.raises(InputError, match="rate"):
        Hold(rate=math.inf)
