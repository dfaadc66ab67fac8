"""Random controllers: a run ends with finite rows or a sentence, and compiled code does what Python does."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from files import small_robot

import footfall as ff
from footfall.sim.simulation import Simulation

# Pieces of controllers; x is the joint's angle, w its rate, m the memory, t the time.
NUMBERS = (
    "x",
    "w",
    "m",
    "t",
    "0.3",
    "np.sin(3.0 * t)",
    "np.maximum(x, w)",
    "np.where(x > m, x, 0.1)",
    "np.clip(w, -1, 1)",
    "np.abs(x - m)",
    "x * w",
    "np.sqrt(np.abs(w) + 1.0)",
    "np.exp(-x * x)",
    "m / (1.0 + t)",
    "np.tanh(m)",
    "2.0 - x",
    "sensed.forces[0, 2] * 1e-3",
    "command.forward",
    "np.arctan2(x, 1.0 + t)",
    "np.sign(w) * 0.1",
)
ODD = (
    "1e300",
    "np.nan",
    "np.inf",
    "1.0 / 0.0",
    "np.zeros(3)",
    "'a'",
    "None",
    "np.zeros((1, 1))",
    "[0.1]",
    "True",
    "1j",
    "float(x)",
    "(x if x > 0 else w)",
    "np.linalg.norm(np.array([x, w]))",
    "int(t)",
    "np.sort(np.array([x, w]))[0]",
    "x / 0",
    "np.log(-1.0 - x * x)",
    "sensed.q[99]",
    "sensed.nothing",
    "undefined",
    "np.array([x, w])[int(t)]",
    "10**400",
    "np.argmax(np.array([x, w]))",
    "np.float32(0.1)",
    "object()",
    "max(x, w)",
    "x and w",
    "np.array([x]).tolist()[0]",
)
RETURNS = (
    "ff.JointCommand(position=np.array([{a}]), kp=20.0, kd=0.5, torque=np.array([{b}])), {m}",
    "ff.JointCommand(torque=np.array([{a}])), {m}",
    "ff.JointCommand(position={a}, velocity={b}, kp=10.0, kd=0.3), {m}",
)
ODD_RETURNS = (
    "ff.JointCommand(torque=np.array([{a}]))",
    "None",
    "({a}, {m})",
    "ff.JointCommand(torque=np.zeros(7)), {m}",
    "ff.JointCommand(kp=-1.0, position={a}), {m}",
    "ff.JointCommand(kp={a}, position=1.0), {m}",
    "ff.JointCommand, {m}",
    "ff.JointCommand(torque=np.array([{a}])), {{**{m}, 'more': 1.0}}",
    "ff.JointCommand(nothing=1.0), {m}",
)


def source(seed: int) -> str:
    """A controller in Python."""
    luck = random.Random(seed)
    odd = luck.random() < 0.5

    def number() -> str:
        one = luck.choice(NUMBERS)
        return f"({one} {luck.choice('+-*')} {luck.choice(NUMBERS)})" if luck.randrange(2) else one

    parts = {"a": number(), "b": f"0.1 * {number()}", "m": number()}
    if odd and luck.randrange(3):
        parts[luck.choice("abm")] = luck.choice(ODD)
    parts["m"] = f"{{'m': {parts['m']}}}"
    returned = luck.choice(ODD_RETURNS if odd and luck.randrange(2) else RETURNS).format(**parts)
    start = luck.choice(("0.0", "0.5") if not odd else ("0.0", "0.5", "np.zeros(2)", "None", "'a'", "np.nan", "{}"))
    return f"""
def control(t, robot, sensed, command, memory):
    x, w, m = sensed.q[-1], sensed.v[-1], memory["m"]
    return {returned}

start = {start}
"""


def controllers(folder: Path) -> Callable[[int], str]:
    robot = small_robot()

    def case(seed: int) -> str:
        space: dict[str, Any] = {"np": np, "ff": ff}
        exec(source(seed), space)
        made = ff.controller(rate=500, memory={"m": space["start"]})(space["control"])

        def rows(compiled: bool | None) -> Any:
            simulation = Simulation(robot, made, stop_on_fall=False, compile_controller=compiled)
            rec = simulation.run(0.02)
            if not all(np.isfinite(rec[key]).all() for key in ("q", "v", "torque")):
                raise AssertionError("rows that are not finite")
            return rec.q, simulation.stopped

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (q, stop), (plain, plain_stop) = rows(None), rows(False)
        if len(q) != len(plain) or not np.allclose(q, plain, rtol=1e-6, atol=1e-9):
            raise AssertionError(f"compiled, it does something else: {stop} against {plain_stop}")
        return "ran" if stop is None else "stopped"

    return case
