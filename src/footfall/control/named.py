"""Controllers by name, as on the command line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from footfall.control.joint.changing_pd import ChangingPD
from footfall.control.joint.foot_impedance import FootImpedance
from footfall.control.joint.joint_level import ComputedTorque, GravityCompensation
from footfall.control.joint.joint_pd import JointPD
from footfall.control.joint.screw_torque import ScrewTorque
from footfall.control.learned.policy import Policy, shipped
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.reflex_pd import ReflexPD
from footfall.control.optimal.nmpc import SCHEDULED, Nmpc
from footfall.errors import InputError, callers_level, unknown
from footfall.gait.pattern import Gait, named
from footfall.robot.model.description import Robot
from nptrace._types import Given, PyTree

GAIT_CONTROLLERS: dict[
    str, Callable[[JointPD | ChangingPD | ReflexPD], PyTree]
] = {  # follow the foot paths of a gait, open loop
    "pd": lambda inner: inner,
    "gravity": GravityCompensation,
    "computed_torque": ComputedTorque,
    "impedance": FootImpedance,
    "screw": ScrewTorque,
}
COMMAND_CONTROLLERS = ("balance", "mpc", "whole_body")  # find forces for a velocity command
NMPC = "nmpc"  # whole-body optimal control for a velocity command
LEARNED = "learned"  # a policy that comes with footfall
SAMPLING = "sampling"  # predictive control by sampling rollouts
WHEELS = "wheels"  # drive, on a robot whose wheels turn
ROLLING_CONTROLLERS = (WHEELS, "whole_body")  # turn the wheels of a robot that has them
COMMAND_FOLLOWERS = (*COMMAND_CONTROLLERS, NMPC, LEARNED, WHEELS, SAMPLING)  # follow a velocity command
PLAN = "plan"  # follow a plan of body and feet
NAMES = ("hold", *GAIT_CONTROLLERS, *COMMAND_FOLLOWERS, "lqr", PLAN)
_SCHEDULES = {  # gaits that the force controllers run well
    "trot": {"duty": 0.6, "period": 0.5},
    "walk": {"duty": 0.78, "period": 0.9},
    "pace": {"duty": 0.6, "period": 0.4},
    "bound": {"duty": 0.55, "period": 0.36},
    "half_bound": {"duty": 0.45, "period": 0.32},
    "pronk": {"duty": 0.6, "period": 0.5},
}


GALLOPS = ("rotary_gallop", "transverse_gallop")
# with short flights, which controllers that plan only single steps do not survive: measured on three robots
GAITS_WITH_FLIGHT = (*GALLOPS, "half_bound", "bound", "pronk")
_GALLOP = ((1.0, 1.5, 2.5), (0.45, 0.45, 0.35), (0.36, 0.32, 0.30))  # speeds [m/s], their duties and periods [s]
# both legs of a side swing together, or three in a row: measured for 10 s under pd on seven robots
GAITS_LOSING_HEADING = ("pace", "canter")
_FALLING_ROBOTS = dict.fromkeys(GAITS_LOSING_HEADING, ("spined",))
_STRAIGHT_ROBOTS = {"pace": ("dynakat",)}
_SHORT_STANCE = 0.2  # [s]: a shorter stance needs its forces planned more often
_FAST_MPC_RATE = 200.0  # [Hz]


def schedule(name: str, speed: float = 0.0) -> Gait:
    """Return a gait's schedule for controllers that place their own feet; stances of a gallop shorten with speed."""
    if name in GALLOPS:
        speeds, duties, periods = _GALLOP
        duty, period = (float(np.interp(abs(speed), speeds, values)) for values in (duties, periods))
        return named(name, duty=duty, period=period)
    return named(name, **_SCHEDULES.get(name, {}))


def on_command(name: str, gait: str = "trot", speed: float = 0.0, **options: Any) -> Locomotion:
    """Return a locomotion controller that follows a velocity command.

    Args:
        name: ``balance``, ``mpc`` or ``whole_body``.
        gait: Name of the gait.
        speed: Typical commanded speed [m/s]; the schedule of a gallop depends on it.
        **options: Fields of ``Locomotion``.

    Returns:
        The controller.
    """
    if name not in COMMAND_CONTROLLERS:
        raise unknown("controller on command", name, COMMAND_CONTROLLERS)
    pattern = schedule(gait, speed)
    if name == "balance" and gait in GAITS_WITH_FLIGHT:
        raise InputError(f"controller 'balance' does not plan ahead and cannot {_verb(gait)}: mpc and whole_body can")
    if pattern.duty * pattern.period < _SHORT_STANCE:
        options = {"mpc_rate": min(_FAST_MPC_RATE, options.get("rate", _FAST_MPC_RATE)), **options}
    return Locomotion(gait=pattern, stage=name, **options)


def nmpc(gait: str = "trot", rate: float = 1000.0, robot: Robot | None = None, contact: str = SCHEDULED) -> Nmpc:
    """Return whole-body optimal control on a gait's schedule; it solves at 200 Hz, and its gains run at ``rate``.

    robot: raises at once, before any slow preparation, for an unsupported robot. contact: "implicit" finds contacts,
    and solves at 100 Hz.
    """
    if gait in GAITS_WITH_FLIGHT:
        raise InputError(f"controller 'nmpc' is not tuned for flight and cannot {_verb(gait)}: mpc and whole_body can")
    solve_rate = 200.0 if contact == SCHEDULED else 100.0  # [Hz], about real time on one core in both cases
    controller = Nmpc(gait=schedule(gait), rate=rate, solve_rate=min(rate, solve_rate), contact=contact)
    if robot is not None:
        controller.start(robot)
    return controller


def locomotion_controller(
    name: str, gait: str, speed: float, rate: float, robot: Robot, reflexes: Given, contact: str | None = None
) -> Locomotion | Nmpc:
    """Return the controller for walking under a velocity command by its name; ``contact`` is for ``nmpc``."""
    if name == NMPC:
        return nmpc(gait, rate, robot, contact or SCHEDULED)
    return on_command(name, gait, speed, rate=rate, reflexes=reflexes)


def check_on_a_gait(name: str, gait: str, robot: Robot | None = None) -> None:
    """Raise for gaits that open-loop controllers on a gait's paths cannot do; warn of those in which they lose their
    heading.
    """
    if gait in GAITS_WITH_FLIGHT:
        raise InputError(f"controller '{name}' does not plan ahead and cannot {_verb(gait)}: mpc and whole_body can")
    if robot is not None and robot.name in _FALLING_ROBOTS.get(gait, ()):
        raise InputError(f"'{robot.name}' falls in a {gait} under controller '{name}': mpc and whole_body keep it up")
    if gait in GAITS_LOSING_HEADING and not (robot is not None and robot.name in _STRAIGHT_ROBOTS.get(gait, ())):
        warnings.warn(
            f"controller '{name}' does not steer, and a {gait} loses its heading: by 0.1 to 0.4 rad/s on most robots;"
            " mpc and whole_body keep it",
            stacklevel=callers_level(),
        )


def _verb(gait: str) -> str:
    return "gallop" if gait in GALLOPS else gait.replace("_", "-")


def learned(robot: str = "mini_cheetah", gait: str = "trot") -> Policy:
    """Return the policy that comes with footfall for a robot; it has a fixed rate, and one gait."""
    if robot not in shipped():  # a robot's name, which may come from a file, is not used as a path
        raise unknown("policy", robot, shipped(), "footfall comes with")
    policy = Policy.load(robot)
    assert isinstance(policy, Policy)  # footfall's own policies are of this class
    if gait != policy.gait.name:
        raise InputError(f"the policy of '{robot}' supports only the gait '{policy.gait.name}', not '{gait}'")
    return policy
