"""Push-recovery map: the largest impulse that a trotting robot survives, by direction and by phase of the gait.

    python studies/push_recovery.py --out DIR

Robots trot until their gait is steady. Then, at every phase of the gait, their bases are pushed for a tenth of a second
in every direction (0 degrees forward, 90 to the left), each with its own impulse: all are one batch. A robot survives
its push when it is upright after a while and at least ``STANDING`` of its former height: one that lies down has not.
The map has the largest impulse up to which all were survived. All of it is deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.control.interface import Controller
from footfall.control.named import COMMAND_CONTROLLERS, on_command
from footfall.errors import InputError, unknown
from footfall.gait.pattern import Gait
from footfall.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.batch import Batch
from footfall.sim.runfile import options_of
from footfall.sim.runfile import plan as plan_run
from footfall.sim.start import standing_start
from nptrace.array_types import Float

PUSH = 0.1  # [s]
STEADY = 1.5  # of trotting before the first push, rounded up to whole cycles [s]
AFTER = 1.6  # of watching after a push [s]
STANDING, LEAN = 0.6, 45.0  # of the height before, and degrees: what counts as standing
FASTEST = 3.0  # change of speed by the largest push that is tried [m/s]
CONTROLLERS = ("pd", "mpc", "whole_body")


@dataclass(frozen=True, kw_only=True)
class PushMap:
    """Largest impulses survived [N s], phases first, then directions."""

    robot: str
    controller: str
    reflexes: bool
    directions: tuple[float, ...]  # [degrees], counted from forward to the left
    phases: tuple[float, ...]  # of the left fore foot's cycle
    impulse: Float[ndarray, "phases directions"]
    resolution: float  # [N s]

    @property
    def worst(self) -> Float[ndarray, "directions"]:
        """Over the phases: what is survived whenever it comes."""
        return self.impulse.min(axis=0)

    @property
    def mean(self) -> float:
        return float(self.impulse.mean())

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "impulse": self.impulse.tolist()}

    def __str__(self) -> str:
        name = f"{self.controller}, reflexes {'on' if self.reflexes else 'off'}"
        rows = [
            f"{name}: mean {self.mean:.1f} N s, worst {self.impulse.min():.1f} N s (steps of {self.resolution:.2g})"
        ]
        rows.append("  phase  " + "".join(f"{d:7.0f}°" for d in self.directions))
        rows += [f"  {p:5.2f}  " + "".join(f"{x:8.1f}" for x in row) for p, row in zip(self.phases, self.impulse)]
        return "\n".join(rows)


def push_map(
    robot: Robot,
    controller: str = "whole_body",
    reflexes: Any = True,
    directions: int = 8,
    phases: int = 4,
    halvings: int = 5,
    speed: float = 0.3,
) -> PushMap:
    """The map of one controller; ``halvings`` of the largest impulse tried give its resolution, ``speed`` in m/s."""
    if controller not in CONTROLLERS:
        raise unknown("controller of a push-recovery map", controller, CONTROLLERS)
    for what, value in (("directions", directions), ("phases", phases), ("halvings", halvings)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 64:
            raise InputError(f"{what} of a push-recovery map must be a whole number from 1 to 64, got {value!r}")
    angles = tuple(float(a) for a in np.arange(directions) * 360.0 / directions)
    parts = tuple(float(p) for p in np.arange(phases) / phases)
    largest = FASTEST * robot.mass
    found = _survived(robot, controller, reflexes, angles, parts, largest, 2**halvings, speed)
    has = controller in COMMAND_CONTROLLERS and reflexes is not False
    return PushMap(
        robot=robot.name,
        controller=controller,
        reflexes=has,
        directions=angles,
        phases=parts,
        impulse=found,
        resolution=largest / 2**halvings,
    )


def stands(q: Float[ndarray, "nq"], height: float) -> bool:
    """Upright and not lying: of a level ground at z = 0."""
    up = 1.0 - 2.0 * (q[4] ** 2 + q[5] ** 2)
    return bool(np.isfinite(q).all() and up > np.cos(np.radians(LEAN)) and q[2] > STANDING * height)


def _trot(robot: Robot, name: str, reflexes: Any, speed: float) -> tuple[Controller, Any, Gait, float, float]:
    """(controller, state at the start, gait, commanded speed [m/s], time until it is steady [s])."""
    if name in COMMAND_CONTROLLERS:
        walker = on_command(name, "trot", reflexes=reflexes)
        return walker, standing_start(robot, walker), walker.gait, speed, STEADY
    planned = plan_run(robot, options_of({"robot": robot.name, "controller": name}))
    simulation, gait = planned.simulation, planned.gait
    if gait is None:
        raise InputError(f"controller '{name}' has no gait to be pushed in")
    steady = max(STEADY, gait.ramp + gait.period)
    return simulation.controller, (simulation.q, simulation.v), gait, planned.speed, steady


def _survived(
    robot: Robot,
    name: str,
    reflexes: Any,
    angles: Sequence[float],
    phases: Sequence[float],
    largest: float,
    steps: int,
    speed: float,
) -> Float[ndarray, "phases directions"]:
    """All phases, directions and impulses at once, each robot pushed at its own time."""
    controller, start, gait, forward, steady = _trot(robot, name, reflexes, speed)
    impulses = largest * np.arange(1, steps + 1) / steps
    shape = (len(phases), len(angles), steps)
    batch = Batch(robot, int(np.prod(shape)), controller, start=start)
    batch.command["forward"][:] = forward
    steady = np.ceil(steady / gait.period) * gait.period
    ticks = [round((steady + p * gait.period) / batch.period) for p in phases]
    length = max(1, round(PUSH / batch.period))
    batch.run(ticks[0])
    height = float(np.median(batch.q[:, 2]))
    force = np.zeros((*shape, 6))
    for j, angle in enumerate(angles):
        force[:, j, :, 3:] = impulses[:, None] / (length * batch.period) * _along(angle)
    edges = sorted({*ticks, *(t + length for t in ticks)})
    end = edges[-1] + round(AFTER / batch.period)
    for at, following in zip(edges, [*edges[1:], end]):
        pushed = np.zeros(shape, dtype=bool)
        for i, t in enumerate(ticks):
            pushed[i] = t <= at < t + length
        batch.push[:] = np.where(pushed.reshape(-1, 1), force.reshape(-1, 6), 0.0)
        batch.run(following - at)
    stood = np.array([stands(q, height) for q in batch.q]).reshape(shape)
    held = np.cumprod(stood, axis=2).sum(axis=2)  # up to the first that was not survived
    return largest * held / steps


def _along(angle: float) -> Float[ndarray, "3"]:
    turn = np.radians(angle)
    return np.array([np.cos(turn), np.sin(turn), 0.0])


def compared(robot: Robot, controllers: Sequence[str] = CONTROLLERS, workers: int = 1, **options: Any) -> list[PushMap]:
    """Maps of several controllers, reflexes off and on where they have some."""
    for name in controllers:
        if name not in CONTROLLERS:
            raise unknown("controller of a push-recovery map", name, CONTROLLERS)
    jobs = [(name, on) for name in controllers for on in ((False, True) if name in COMMAND_CONTROLLERS else (False,))]
    if workers <= 1:
        return [push_map(robot, name, on, **options) for name, on in jobs]
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(workers) as pool:
        futures = [pool.submit(push_map, robot, name, on, **options) for name, on in jobs]
        return [future.result() for future in futures]


def figure(maps: Sequence[PushMap]) -> Any:
    """One polar panel a controller: the worst phase as a line, all phases as points; reflexes off and on."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(m.controller for m in maps))
    drawing = Figure(figsize=(3.4 * len(names), 4.3))
    drawing.subplots_adjust(left=0.04, right=0.96, bottom=0.24, top=0.86, wspace=0.3)  # polar titles are not counted
    axes = drawing.subplots(1, len(names), subplot_kw={"projection": "polar"}, squeeze=False)[0]
    top = 1.1 * max(float(m.impulse.max()) for m in maps)
    for axis, name in zip(axes, names):
        for m in (m for m in maps if m.controller == name):
            color = "#606060" if name not in COMMAND_CONTROLLERS else "#0072b2" if m.reflexes else "#d55e00"
            turn = np.radians([*m.directions, m.directions[0]])
            for row in m.impulse:
                axis.plot(turn[:-1], row, ".", color=color, ms=4, alpha=0.55)
            label = f"reflexes {'on' if m.reflexes else 'off'}" if name in COMMAND_CONTROLLERS else "has no reflexes"
            axis.plot(turn, [*m.worst, m.worst[0]], color=color, lw=1.6, label=label)
        axis.set_theta_zero_location("N")
        axis.set_rlim(0.0, top)
        axis.set_thetagrids([0, 90, 180, 270], ["forward", "left", "back", "right"], fontsize=8)
        axis.tick_params(axis="y", labelsize=7, labelcolor="#606060")
        axis.set_rlabel_position(200.0)
        axis.set_yticks([5.0 * k for k in range(1, int(top // 5.0) + 1)])
        axis.grid(color="#dddddd", lw=0.6)
        axis.set_title(name, fontsize=10, fontweight="bold")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize=8, frameon=False, ncols=2)
    caption = f"{maps[0].robot}: impulse survived [N s], line: at the worst phase, dots: at each phase"
    drawing.text(0.5, 0.03, caption, ha="center", fontsize=9)
    return drawing


def main(arguments: Sequence[str] | None = None) -> None:
    """Write push_recovery.json and push_recovery.png, and print the maps."""
    import argparse

    parser = argparse.ArgumentParser(prog="python studies/push_recovery.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, required=True, help="folder for the figure and the numbers")
    parser.add_argument("--robot", default="mini_cheetah")
    parser.add_argument("--controllers", nargs="+", default=list(CONTROLLERS))
    for key, value in (("directions", 8), ("phases", 4), ("halvings", 5), ("workers", 2)):
        parser.add_argument(f"--{key}", type=int, default=value)
    given = parser.parse_args(arguments)
    options = {key: getattr(given, key) for key in ("directions", "phases", "halvings")}
    maps = compared(load(given.robot), given.controllers, given.workers, **options)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "push_recovery.json").write_text(json.dumps([m.data() for m in maps], indent=1) + "\n")
    figure(maps).savefig(given.out / "push_recovery.png", dpi=110)
    print("\n".join(map(str, maps)))


if __name__ == "__main__":
    main()
