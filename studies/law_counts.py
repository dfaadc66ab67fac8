"""How often steps of robots that differ break a law: dry friction in joints, the friction cone, and that no foot pulls.

    python studies/law_counts.py FILE.json [--steps 1e7] [--dt 1e-3 2e-3 4e-3]

The crowd of ``bench batch`` (own masses, frictions, strides, phases and noise on the targets) trots on the default
contact under motor limits and dry friction, and every step is looked at; the others of the joints' effects are left
out, so that what acts beside the motors is dry friction. Robots that have fallen go on, and are looked at.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall.control.interface import JointCommand
from footfall.robot.library import load
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from footfall_lab.bench import as_used, subject
from nptrace._types import Json
from nptrace.array_types import Float

JOINTS = JointModel(damping=False, end_stops=False, springs=False)
LOADED = 1.0  # [N] on a foot whose cone is looked at
MOVES = 1e-3  # [rad/s] of a joint whose friction is looked at
OUTSIDE = {"f64": 1.006, "f32": 1.03}  # times its cone a force may be
OVER = {"f64": 1e-6, "f32": 1e-3}  # part of its limit that dry friction may be over it
LACKING = 1e-3  # part of its limit that a moving joint's friction may lack
PULL = {"f64": 1e-6, "f32": 1e-3}  # [N]
KINDS = ("loaded", "outside", "pulls", "moving", "over", "drives", "lacking")
WORST = ("cone", "beyond the cone [N]", "pull [N]", "friction", "drive")


def looked_at(world: World, state: State, row: Float[ndarray, "nj"], dt: float, kind: str) -> tuple[State, ndarray]:
    """Return the state after a step, and counts and worst values of the laws in it."""
    command = JointCommand(row, 0.0, subject.KP, subject.KD, 0.0).broadcast(world.robot.nj)
    after, acted, _ = integrate_step("linearly_implicit", world, state, command, np.zeros(6), dt)
    forces, rates = acted.forces, after.v[6:]
    normal, mu = forces[:, 2], world.ground.friction
    tangential = np.sqrt(forces[:, 0] ** 2 + forces[:, 1] ** 2)
    ratio = tangential / (mu * np.maximum(normal, LOADED))
    loaded = normal > LOADED
    most = np.array([joint.dry_friction for joint in world.robot.joints])
    against = -np.sign(rates) * acted.passive / most  # 1: all of it against the motion
    moves = np.abs(rates) > MOVES
    part = np.abs(acted.passive) / most

    def count(which: ndarray) -> ndarray:
        return np.sum(np.where(which, 1.0, 0.0))

    def worst(values: ndarray) -> ndarray:
        most_of = values[0]
        for x in values[1:]:
            most_of = np.maximum(most_of, x)
        return most_of

    counts = [
        count(loaded),
        count(loaded & (ratio > OUTSIDE[kind])),
        count(normal < -PULL[kind]),
        count(moves),
        count(part > 1.0 + OVER[kind]),
        count(moves & (against < -LACKING)),
        count(moves & (against < 1.0 - LACKING)),
        worst(np.where(loaded, ratio, 0.0)),
        worst(np.where(loaded, tangential - OUTSIDE[kind] * mu * normal, 0.0)),
        worst(-normal),
        worst(part),
        worst(np.where(moves, -against, -1.0)),
    ]
    return after, np.stack(counts)


def rollout(
    world: World, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], targets: Float[ndarray, "steps nj"], dt: float,
    kind: str,
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"], Float[ndarray, "12"]]:  # fmt: skip
    def one(carry: tuple[State, ndarray], row: Float[ndarray, "nj"]) -> tuple[tuple[State, ndarray], float]:
        state, total = carry
        state, found = looked_at(world, state, row, dt, kind)
        n = len(KINDS)
        return (state, np.concatenate([total[:n] + found[:n], np.maximum(total[n:], found[n:])])), 0.0

    start = np.concatenate([np.zeros(len(KINDS)), np.full(len(WORST), -1e9)])
    (last, total), _ = nptrace.scan(one, (State(q, v, world.start(q, v)), start), targets)
    return last.q, last.v, total


def counted(dt: float, kind: str, steps: float) -> dict[str, Json]:
    """Return counts over so many steps; states go on in double precision from call to call."""
    robot, began = load("mini_cheetah"), time.process_time()
    those = as_used.crowd(dt)
    world, (q, v) = World(robot=robot, joints=JOINTS), robot.state("stand")
    dtype = as_used.TYPES[kind]
    targets = those.targets
    run = compiling.compile(
        rollout, world, q, v, targets[0], dt=dt, kind=kind, free=as_used.FREE, verify=False, target="batch", dtype=dtype
    )
    free = {key: x.astype(dtype) for key, x in zip(as_used.FREE, (those.mass, those.friction))}
    random, done, lost, begun = np.random.default_rng(7), 0, 0, 0
    total, worst = np.zeros(len(KINDS)), np.full(len(WORST), -np.inf)
    Q, V = (np.tile(x, (those.n, 1)) for x in (q, v))
    while done < steps:
        noise = as_used.NOISE * np.repeat(
            random.standard_normal((those.n, -(-targets.shape[1] // 10), robot.nj)), 10, axis=1
        )
        given = targets + noise[:, : targets.shape[1]]
        Q, V, found = run(Q.astype(dtype), V.astype(dtype), np.ascontiguousarray(given, dtype), free)
        found = np.asarray(found, float)
        total += np.nansum(found[:, : len(KINDS)], axis=0)
        worst = np.fmax(worst, np.nanmax(found[:, len(KINDS) :], axis=0))
        done += those.n * targets.shape[1]
        whole = np.isfinite(Q).all(axis=1) & np.isfinite(V).all(axis=1)
        again = ~(whole & (Q[:, 2] > 0.12))
        lost, begun = lost + int((~whole).sum()), begun + int(again.sum())
        Q, V = Q.astype(float), V.astype(float)
        Q[again], V[again] = q, v  # who has fallen begins again
    return {
        "dt": dt,
        "type": kind,
        "steps": done,
        "begun again": begun,
        "numbers lost": lost,
        **dict(zip(KINDS, total.tolist())),
        **{f"worst {key}": float(f"{x:.6g}") for key, x in zip(WORST, worst)},
        "seconds": round(time.process_time() - began, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--steps", type=float, default=1e7)
    parser.add_argument("--dt", type=float, nargs="+", default=[1e-3, 2e-3, 4e-3])
    options, rows = parser.parse_args(), []
    for kind in as_used.TYPES:
        for dt in options.dt:
            rows.append(counted(dt, kind, options.steps))
            print(json.dumps(rows[-1]), flush=True)
            options.file.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
