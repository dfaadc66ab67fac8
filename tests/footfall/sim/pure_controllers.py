"""Controllers without hidden state that only look as if they had some."""

from __future__ import annotations

import collections
import functools
import logging
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

import footfall as ff

STAND = ff.load("mini_cheetah").poses["stand"].joints


@dataclass
class Gains:
    kp: float = 60.0
    kd: float = 2.0
    table: np.ndarray = field(default_factory=lambda: np.linspace(0.0, 0.1, 5))
    kept: dict = field(default_factory=dict)

    @functools.cached_property
    def middle(self):
        return float(self.table.mean())

    def wave(self, t):
        return self.middle * np.sin(t)


SCALE = 2.0
OFFSETS = {"hip": 0.01, "knee": [0.0, 0.02]}


@functools.lru_cache
def slow_constant(k):
    return 0.01 * k


def computes_once(kept, robot):
    if "mass" not in kept:
        kept["mass"] = robot.mass * np.ones(1)
    return kept["mass"][0]


def pure_constants():
    gain, vector, legs = 60.0, np.ones(12), ("LF", "RF")

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + 0.0 * len(legs) * vector, kp=gain, kd=SCALE), memory

    return control


def pure_dataclass():
    gains = Gains()

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + gains.wave(t), kp=gains.kp, kd=gains.kd), memory

    return control


def pure_robot_and_library():
    mine = ff.load("mini_cheetah")

    def control(t, robot, sensed, command, memory):
        gravity = ff.dynamics.gravity_terms(mine, sensed.q)[6:]
        return ff.JointCommand(STAND, kp=60.0, kd=2.0, torque=0.1 * gravity), memory

    return control


def pure_nested_functions():
    def lean(t, size=0.02):
        def wave(x):
            return size * np.sin(x)

        return wave(2 * np.pi * t)

    ways = {"lean": lean, "none": lambda t: 0.0}

    def control(t, robot, sensed, command, memory):
        local = []
        for way in ways.values():
            local.append(way(t))
        return ff.JointCommand(STAND + sum(local) + OFFSETS["knee"][0], kp=60.0, kd=2.0), memory

    return control


class PureHelper:
    cache: ClassVar[dict[str, float]] = {}

    def __init__(self, size):
        self.size, self.generator = size, np.random.default_rng(0)

    @property
    def twice(self):
        return 2 * self.size

    def control(self, t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + self.twice * np.sin(t), kp=60.0, kd=2.0), memory


def pure_method():
    return PureHelper(0.02).control


def pure_caches():
    kept = {}

    def control(t, robot, sensed, command, memory):
        weight = computes_once(kept, robot) * slow_constant(3)
        return ff.JointCommand(STAND + 1e-4 * weight * np.sin(t), kp=60.0, kd=2.0), memory

    return control


def pure_scratch():
    """Python's own containers within one call, filled and emptied."""

    def control(t, robot, sensed, command, memory):
        legs = collections.defaultdict(list)
        for k, angle in enumerate(STAND):
            legs[k // 3].append(angle + 0.01 * np.sin(t))
        flat = [x for _, angles in sorted(legs.items()) for x in angles]
        return ff.JointCommand(np.array(flat), kp=60.0, kd=2.0), memory

    return control


def pure_log():
    log = logging.getLogger("a_user")

    def control(t, robot, sensed, command, memory):
        log.debug("asked at %s", t)
        return ff.JointCommand(STAND, kp=60.0, kd=2.0), memory

    return control


PURE = [
    pure_constants,
    pure_dataclass,
    pure_robot_and_library,
    pure_nested_functions,
    pure_method,
    pure_caches,
    pure_scratch,
    pure_log,
]
