"""Gaits: patterns, oscillators, foot paths, and constants known to work."""

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
from footfall.gait.rulkov import Rulkov
from footfall.gait.swing import Bezier
from footfall.gait.tuned import Tuned, choices, for_robot

__all__ = [
    "LEGS", "PATTERNS", "Bezier", "Gait", "Hopf", "Kuramoto", "Pattern", "PolarHopf", "Rulkov",
    "Tuned", "amble", "bound", "canter", "choices",
    "clock_phase", "foot_offset", "foot_rate", "for_robot", "named", "names", "pace", "pronk", "rotary_gallop",
    "start_ramp", "touchdown_reset", "transverse_gallop", "trot", "walk",
]  # fmt: skip
