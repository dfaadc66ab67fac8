"""Gaits: patterns, oscillators, foot paths, and tuned constants."""

from typing import NoReturn

from footfall import hints
from footfall.gait.ellipse import Ellipse, Trapezoid, trapezoid
from footfall.gait.foot_path import foot_offset, foot_rate, start_ramp
from footfall.gait.named_plans import named_plan
from footfall.gait.oscillators.networks import GaitTiming, HopfNetwork, KuramotoNetwork, Network, RulkovNetwork
from footfall.gait.oscillators.phase_equations import Hopf, Kuramoto, PolarHopf, touchdown_reset
from footfall.gait.oscillators.rulkov import Rulkov
from footfall.gait.pattern import (
    LEGS,
    PATTERNS,
    Gait,
    Pattern,
    amble,
    bound,
    canter,
    clock_phase,
    half_bound,
    named,
    names,
    pace,
    pronk,
    rotary_gallop,
    transverse_gallop,
    trot,
    walk,
)
from footfall.gait.planner import Posture, PosturePlan, WalkPlan, plan_walk, standing_postures, yaw_swing
from footfall.gait.stability import (
    capture_point,
    center_of_pressure,
    energy_margin,
    polygon_margin,
    static_margin,
    support_polygon,
    wide_stability_margin,
    zero_moment_point,
)
from footfall.gait.swing import Bezier
from footfall.gait.takeover import Takeover
from footfall.gait.transition import Transition
from footfall.gait.tuned import Tuned, at_speed, choices, for_robot, scaled

__all__ = [
    "LEGS",
    "PATTERNS",
    "Bezier",
    "Ellipse",
    "Gait",
    "GaitTiming",
    "Hopf",
    "HopfNetwork",
    "Kuramoto",
    "KuramotoNetwork",
    "Network",
    "Pattern",
    "PolarHopf",
    "Posture",
    "PosturePlan",
    "Rulkov",
    "RulkovNetwork",
    "Takeover",
    "Transition",
    "Trapezoid",
    "Tuned",
    "WalkPlan",
    "amble",
    "at_speed",
    "bound",
    "canter",
    "capture_point",
    "center_of_pressure",
    "choices",
    "clock_phase",
    "energy_margin",
    "foot_offset",
    "foot_rate",
    "for_robot",
    "half_bound",
    "named",
    "named_plan",
    "names",
    "pace",
    "plan_walk",
    "polygon_margin",
    "pronk",
    "rotary_gallop",
    "scaled",
    "standing_postures",
    "start_ramp",
    "static_margin",
    "support_polygon",
    "touchdown_reset",
    "transverse_gallop",
    "trapezoid",
    "trot",
    "walk",
    "wide_stability_margin",
    "yaw_swing",
    "zero_moment_point",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> NoReturn:
    raise hints.missing("footfall.gait", name, __all__, hints.GAIT)
