"""Motors give no more than they can at the speed with which a step ends: drops, trots and square waves of robots."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from recorded_steps import Steps, recorded_steps, trotted
from simulated_bodies import G, hung
from third_party_models import walker

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.control.posture import with_stand
from footfall.robot import Actuator, Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.world import World

DTS = (1e-4, 1e-3, 2e-3)
LAWS = {
    "compliant": ff.contact.Compliant(),
    "complementarity": ff.contact.Complementarity(),
    "stance": ff.contact.Stance(),
}
ALL = [(law, name) for law in LAWS for name in ("mini_cheetah", "dynakat", "spined", "go2")]
FAST = {*((law, "mini_cheetah") for law in LAWS), ("compliant", "dynakat"), ("compliant", "go2")}
cases = pytest.mark.parametrize(
    ("law", "name"), [case if case in FAST else pytest.param(*case, marks=pytest.mark.slow) for case in ALL]
)
steps = pytest.mark.parametrize("dt", DTS)


@cache
def robot_of(name: str) -> Robot:
    return with_stand(walker(name))


@cache
def running(law: str, name: str) -> Callable[..., Steps]:
    return recorded_steps(World(robot=robot_of(name), contact=LAWS[law]))


def limits_at(actuator: Actuator, rate: float) -> tuple[float, float]:
    """(lowest, highest) torque of a motor [N m], from its data sheet: the motor's own limit, and its speed-torque line.

    The line is that of a brushless motor at its voltage, 1.5 kt/R (V - 2 kt g q̇) g, but never beyond full torque the
    other way; or, where a highest speed alone is known, a fall to nothing over its last hundredth.
    """
    full, most, least = actuator.torque_limit, actuator.torque_limit, -actuator.torque_limit
    if actuator.voltage:
        per_volt = 1.5 * actuator.torque_constant / actuator.resistance * actuator.gear
        back = 2.0 * actuator.torque_constant * actuator.gear * rate
        most = max(min(full, per_volt * (actuator.voltage - back)), -full)
        least = min(max(-full, per_volt * (-actuator.voltage - back)), full)
    elif np.isfinite(actuator.speed_limit):
        left = 100.0 * (1.0 - np.array([rate, -rate]) / actuator.speed_limit)
        most, least = full * np.clip(left[0], 0.0, 1.0), -full * np.clip(left[1], 0.0, 1.0)
    return least, most


def excess(robot: Robot, run: Steps) -> float:
    """The most by which a motor passes its limit at the end of a step [N m]."""
    worst, first = -np.inf, robot.nv - robot.nj
    for actuator in robot.actuators:
        joint = robot.joint_names.index(actuator.joint)
        for rate, torque in zip(run.v[:, first + joint], run.motor[:, joint]):
            least, most = limits_at(actuator, rate)
            worst = max(worst, torque - most, least - torque)
    return worst


def saturated(robot: Robot, run: Steps) -> int:
    """Samples in which a motor gives its own limit."""
    full = {actuator.joint: actuator.torque_limit for actuator in robot.actuators}
    return int((np.abs(run.motor) > 0.999 * np.array([full.get(name, np.inf) for name in robot.joint_names])).sum())


def held(robot: Robot, kp: float, lean: np.ndarray | float = 0.0) -> JointCommand:
    return JointCommand(robot.state("stand")[0][7:] + lean, 0.0, kp, 0.02 * kp, 0.0)


@steps
@cases
def test_motors_of_a_dropped_robot_stay_within_their_limits(law, name, dt):
    robot = robot_of(name)
    q, v = robot.state("stand")
    for height in (0.05, 0.35):
        start = State(q + height * np.eye(len(q))[2], v + 0.7 * np.eye(len(v))[3])
        run = running(law, name)(start, round(0.4 / dt), dt=dt, command=held(robot, 0.6 * robot.mass * G))
        assert np.isfinite(run.v).all()
        assert excess(robot, run) < 1e-9


@steps
@pytest.mark.parametrize("kp", [70.0, 200.0, 500.0])
@cases
def test_motors_that_follow_square_waves_stay_within_their_limits(law, name, kp, dt):
    robot, random = robot_of(name), np.random.default_rng(round(kp))
    q, v = robot.state("stand")
    state, most = State(q, v), 0
    for half in (0.25, 0.06, 0.06, 0.02, 0.02, 0.02):  # of a period [s]
        lean = 0.6 * random.choice([-1.0, 1.0], robot.nj)
        run = running(law, name)(state, round(half / dt), dt=dt, friction=0.5, command=held(robot, kp, lean))
        assert np.isfinite(run.v).all()
        assert excess(robot, run) < 1e-9
        state, most = run.last, most + saturated(robot, run)
    assert most > 0 or name == "spined"  # whose motors are strong: the limit is what others meet


@steps
@cases
def test_motors_of_a_trot_stay_within_their_limits(law, name, dt):
    run = trotted(robot_of(name), running(law, name), 0.3, dt=dt)
    assert np.isfinite(run.v).all()
    assert excess(robot_of(name), run) < 1e-9


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 2e-3, 4e-3])
def test_motor_thrown_past_its_no_load_speed_brakes_along_its_line(dt):
    """From full torque to beyond the highest speed in one step: by way of the line between, not past it."""
    robot = hung(robot_of("go2"))
    far = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))
    run = recorded_steps(World(robot=robot, ground=far, gravity=(0.0, 0.0, 0.0)))
    joint = robot.joint_names.index(robot.actuators[1].joint)
    highest = robot.actuators[1].speed_limit
    for rate in (0.7, 0.98, 0.995, 1.2):
        start = State(robot.state("stand")[0], highest * rate * np.eye(robot.nv)[joint])
        ran = run(start, 20, dt=dt, command=JointCommand(torque=300.0 * np.eye(robot.nj)[joint]))
        assert excess(robot, ran) < 1e-9
        assert (ran.motor[:, joint] >= 0.0).all()
