"""The horizon of ``bench.horizon`` in Crocoddyl: feet held by contacts, Euler steps, its feasibility-driven solver.

It runs by ``crocoddyl_process``, in a process of its own: that of the Python named in FOOTFALL_CROCODDYL, or this one's
where the versions that are installed fit each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from footfall.bench import subject
from footfall.bench.horizon import EFFORT, KNOT, KNOTS, away, settled, weights
from footfall.compare import pinocchio

VARIABLE = "FOOTFALL_CROCODDYL"
FITTING = "4.0."  # of Pinocchio: beside 4.1 the sweep of Crocoddyl 3.2.1 fails in most processes
_HOW = (
    "an environment of its own measures it: pip install crocoddyl==3.2.1 pin==4.0.0 mim-solvers there, and"
    f" {VARIABLE}=its python"
)


def measured(rounds: int = 30) -> tuple[dict[str, float], str]:
    """(least times of an iteration by name [s], why some are missing)."""
    python = os.environ.get(VARIABLE)
    if python is None:
        try:
            there = version("crocoddyl"), version("pin")
        except PackageNotFoundError:
            return {}, f"Crocoddyl is not installed; {_HOW}"
        if not there[1].startswith(FITTING):
            return {}, f"Crocoddyl {there[0]} does not fit the Pinocchio {there[1]} beside it; {_HOW}"
    script = Path(__file__).with_name("crocoddyl_process.py")
    command = [python or sys.executable, str(script), str(rounds)]
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        done = subprocess.run(
            command, input=json.dumps(horizon()), capture_output=True, text=True, timeout=120, env=alone
        )
    except OSError as error:
        return {}, f"{VARIABLE} names no Python: {error}"
    if done.returncode:
        return {}, f"Crocoddyl ended its process with exit status {done.returncode}; {_HOW}"
    times = {name: float(seconds) for name, seconds in json.loads(done.stdout).items()}
    missing = "" if len(times) > 1 else "mim-solvers is not installed beside Crocoddyl: pip install mim-solvers there"
    return times, missing


def horizon() -> dict[str, Any]:
    """All that the process needs to know."""
    referee, (stand, torque) = pinocchio.Pinocchio(subject.robot()), settled()
    nv = referee.model.nv
    prices = weights(nv)
    parts = [
        np.roll(prices[:6], 3),
        prices[6:nv],
        np.roll(prices[nv : nv + 6], 3),
        prices[nv + 6 :],
    ]  # Pinocchio's order
    rest = np.zeros(nv)
    return {
        **_model(referee), "rest": [*referee.q_of(stand), *rest], "start": [*referee.q_of(away(stand, nv)), *rest],
        "weights": np.concatenate(parts).tolist(), "effort": EFFORT, "torque": torque.tolist(), "knots": KNOTS,
        "knot": KNOT,
    }  # fmt: skip


def _model(referee: pinocchio.Pinocchio) -> dict[str, Any]:
    """Joints, bodies and feet as numbers, every hinge about x, y or z: the frame of one that turns the other way round
    is turned about."""
    pin, known = referee.pin, referee.model
    names, turns, joints = ["universe", "root_joint", *list(known.names)[2:]], [pin.SE3.Identity()], []
    for i in range(1, known.njoints):
        axis, turn = None, pin.SE3.Identity()
        if i > 1:
            about = np.round(known.joints[i].extract().axis).astype(int)
            axis = int(np.abs(about).argmax())
            if about[axis] < 0:
                turn = pin.SE3(np.diag(np.where(np.arange(3) == (axis + 1) % 3, 1.0, -1.0)), np.zeros(3))
        turns.append(turn)
        place = turns[known.parents[i]].inverse() * known.jointPlacements[i] * turn
        body = turn.actInv(known.inertias[i])
        joints.append(
            {
                "parent": int(known.parents[i]), "axis": axis, "name": names[i], "R": place.rotation.tolist(),
                "p": place.translation.tolist(), "mass": float(body.mass), "com": body.lever.tolist(),
                "inertia": body.inertia.tolist(),
            }
        )  # fmt: skip
    feet = []
    for foot in (known.frames[k] for k in referee.feet):
        p = turns[foot.parentJoint].inverse().act(foot.placement.translation)
        feet.append({"name": foot.name, "parent": names[foot.parentJoint], "p": p.tolist()})
    return {"joints": joints, "armature": known.armature.tolist(), "feet": feet}
