"""Gaits: patterns, oscillators, foot paths, and constants known to work."""

from footfall.gait.diagram import footfall_diagram, footfall_diagram_of
from footfall.gait.economy import plot_economy, strides
from footfall.gait.ellipse import Ellipse, Trapezoid, trapezoid
from footfall.gait.foot_path import foot_offset, foot_rate, start_ramp
from footfall.gait.oscillators import Hopf, Kuramoto, PolarHopf, touchdown_reset
from footfall.gait.pattern import (
    LEGS,
    PATTERNS,
    Gait,
    Pattern,
    amble,
    bound,
    canter,
    clock_phase,
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
from footfall.gait.rulkov import Rulkov
from footfall.gait.stability import plot_stability, plot_support
from footfall.gait.swing import Bezier
from footfall.gait.transition import Transition
from footfall.gait.tuned import Tuned, at_speed, choices, for_robot, scaled

__all__ = [
    "LEGS",
    "PATTERNS",
    "Bezier",
    "Ellipse",
    "Gait",
    "Hopf",
    "Kuramoto",
    "Pattern",
    "PolarHopf",
    "Posture",
    "PosturePlan",
    "Rulkov",
    "Transition",
    "Trapezoid",
    "Tuned",
    "WalkPlan",
    "amble",
    "at_speed",
    "bound",
    "canter",
    "choices",
    "clock_phase",
    "foot_offset",
    "foot_rate",
    "footfall_diagram",
    "footfall_diagram_of",
    "for_robot",
    "named",
    "names",
    "pace",
    "plan_walk",
    "plot_economy",
    "plot_stability",
    "plot_support",
    "pronk",
    "rotary_gallop",
    "scaled",
    "standing_postures",
    "start_ramp",
    "strides",
    "touchdown_reset",
    "transverse_gallop",
    "trapezoid",
    "trot",
    "walk",
    "yaw_swing",
]  # fmt: skip
