"""Controllers, and the interface that they share."""

from importlib import import_module
from typing import TYPE_CHECKING

from footfall import hints
from footfall.control.fixed_model import FixedModel
from footfall.control.interface import (
    Command,
    Controller,
    ControllerInfo,
    ControllerWrapper,
    FunctionController,
    JointCommand,
    Sensed,
    controller,
)
from footfall.control.joint.changing_pd import ChangingPD
from footfall.control.joint.foot_impedance import FootImpedance
from footfall.control.joint.joint_level import ComputedTorque, GravityCompensation
from footfall.control.joint.joint_pd import Hold, JointPD
from footfall.control.joint.plan_follower import PlanFollower
from footfall.control.joint.screw_torque import ScrewTorque
from footfall.control.joint.spine import Spine
from footfall.control.joint.wheels import Wheels
from footfall.control.learned.policy import Drive, Policy
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.reach import Reach
from footfall.control.locomotion.reflex_pd import ReflexPD
from footfall.control.locomotion.reflexes import Reflexes
from footfall.control.named import on_command
from footfall.control.optimal.lqr import LqrStand, StandWeights, regulate
from footfall.control.optimal.nmpc import Nmpc
from footfall.control.posture import standing_joints, standing_state
from footfall.control.stand_gains import stand_gains, walk_gains
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall.sensing.estimation.estimated import Estimated
    from footfall.sensing.estimation.estimator import Estimator
    from footfall.sensing.estimation.torque_sensing import TorqueSensing

__all__ = [
    "ChangingPD",
    "Command",
    "ComputedTorque",
    "Controller",
    "ControllerInfo",
    "ControllerWrapper",
    "Drive",
    "Estimated",
    "Estimator",
    "FixedModel",
    "FootImpedance",
    "FunctionController",
    "GravityCompensation",
    "Hold",
    "JointCommand",
    "JointPD",
    "Locomotion",
    "LqrStand",
    "Moment",
    "Nmpc",
    "PlanFollower",
    "PlanningTask",
    "Policy",
    "Reach",
    "ReflexPD",
    "Reflexes",
    "Sampling",
    "ScrewTorque",
    "Sensed",
    "Spine",
    "StandWeights",
    "TorqueSensing",
    "Wheels",
    "controller",
    "on_command",
    "regulate",
    "stand_gains",
    "standing_joints",
    "standing_state",
    "walk_gains",
]


def __getattr__(name: str) -> Given:
    if name == "Estimated":  # estimators are in sensing, which needs the interface of this package
        return import_module("footfall.sensing.estimation.estimated").Estimated
    if name == "Estimator":
        return import_module("footfall.sensing.estimation.estimator").Estimator
    if name == "TorqueSensing":
        return import_module("footfall.sensing.estimation.torque_sensing").TorqueSensing
    if name in ("Moment", "PlanningTask", "Sampling"):  # controllers that roll out the physics are in sim
        return getattr(import_module("footfall.sim.sampling"), name)
    raise hints.missing("footfall.control", name, __all__, hints.CONTROL)


def __dir__() -> list[str]:
    return sorted(__all__)
