"""Controllers by name, as the command line asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from footfall.control.joint.changing_pd import ChangingPD
from footfall.control.joint.foot_impedance import FootImpedance
from footfall.control.joint.joint_level import ComputedTorque, GravityCompensation
from footfall.control.joint.joint_pd import JointPD
from footfall.control.joint.screw_torque import ScrewTorque
from footfall.control.learned.policy import Policy, shipped
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.reflex_pd import ReflexPD
from footfall.errors import InputError, unknown
from footfall.gait.pattern import Gait, named

ON_A_GAIT: dict[str, Callable[[JointPD | ChangingPD | ReflexPD], Any]] = {  # follow a gait's own paths, open loop
    "pd": lambda inner: inner,
    "gravity": GravityCompensation,
    "computed_torque": ComputedTorque,
    "impedance": FootImpedance,
    "screw": ScrewTorque,
}
ON_COMMAND = ("balance", "mpc", "whole_body")  # find forces for a velocity command
LEARNED = "learned"  # a policy that comes with footfall
WHEELS = "wheels"  # rolls, on a robot whose wheels turn
FOLLOWING = (*ON_COMMAND, LEARNED, WHEELS)  # follow a velocity command
NAMES = ("hold", *ON_A_GAIT, *FOLLOWING, "lqr")
_SCHEDULES = {  # that the force controllers run well
    "trot": {"duty": 0.6, "period": 0.5},
    "walk": {"duty": 0.78, "period": 0.9},
    "pace": {"duty": 0.6, "period": 0.4},
    "bound": {"duty": 0.55, "period": 0.36},
    "pronk": {"duty": 0.6, "period": 0.5},
}


def schedule(name: str) -> Gait:
    """A gait's schedule for controllers that place their own feet."""
    return named(name, **_SCHEDULES.get(name, {}))


def on_command(name: str, gait: str = "trot", **options: Any) -> Locomotion:
    """A controller that finds forces for a velocity command: ``balance``, ``mpc`` or ``whole_body``."""
    if name not in ON_COMMAND:
        raise unknown("controller on command", name, ON_COMMAND)
    return Locomotion(gait=schedule(gait), stage=name, **options)


def learned(robot: str = "mini_cheetah", gait: str = "trot") -> Policy:
    """The policy that comes with footfall for a robot; it has its own rate, and one gait."""
    if robot not in shipped():  # a robot's name, which a file may have given, is not taken for a path
        raise unknown("policy", robot, shipped(), "footfall comes with")
    policy = Policy.load(robot)
    assert isinstance(policy, Policy)  # those that come with footfall are its own
    if gait != policy.gait.name:
        raise InputError(f"the policy of '{robot}' knows the gait '{policy.gait.name}' alone, not '{gait}'")
    return policy
