"""The horizon of ``bench.horizon`` in Crocoddyl: fixed contacts, Euler steps, a feasibility-driven solver.

It runs ``crocoddyl_process`` in a separate process, with the Python named in FOOTFALL_CROCODDYL, or the current one if
the installed versions are compatible. Rounds of the two processes alternate on the same core.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from footfall.errors import FootfallError
from footfall_lab.bench import subject
from footfall_lab.bench.horizon import EFFORT, KNOT, KNOTS, away, settled, weights
from footfall_lab.bench.timing import Row
from footfall_lab.verify import pinocchio
from nptrace._types import Json

VARIABLE = "FOOTFALL_CROCODDYL"
FITTING = "4.0."  # version of Pinocchio: with 4.1, the sweep of Crocoddyl 3.2.1 fails in most processes
OURS = "ours"
RATIOS = {  # ratios of peers' times to ours, by peer
    "crocoddyl_iteration_over_ours": "crocoddyl",
    "mim_solvers_iteration_over_ours": "mim-solvers SQP",
    "mim_solvers_csqp_iteration_over_ours": "mim-solvers CSQP",
}
ROUNDS, ITERATIONS = 12, 5  # rounds, and iterations per round
_LONGEST = 120.0  # [s], timeout of an answer
_HOW = (
    "a separate environment measures it: pip install crocoddyl==3.2.1 pin==4.0.0 mim-solvers there, and"
    f" {VARIABLE}=its python"
)


def beside(ours: Callable[[], object], rounds: int = ROUNDS) -> tuple[dict[str, float], str]:
    """Return (least times per iteration by name [s], ours as OURS; why some are missing).

    Our rounds and those of each peer alternate on this thread's core, so that all are disturbed alike.
    """
    theirs, why = _started()
    least = {OURS: _least(ours)}
    if theirs is None:
        return least, why
    try:
        for _ in range(rounds):
            least[OURS] = min(least[OURS], _least(ours))
            answer = _requested(theirs, f"{ITERATIONS}\n")
            if answer is None:
                return {OURS: least[OURS]}, f"Crocoddyl ended its process with exit status {theirs.wait()}; {_HOW}"
            for name, seconds in answer.items():
                least[name] = min(least.get(name, np.inf), float(seconds))
    finally:
        _ended(theirs)
    missing = "" if len(least) > 2 else "mim-solvers is not installed with Crocoddyl: pip install mim-solvers there"
    return least, missing


def rows_and_ratios(times: dict[str, float]) -> tuple[list[Row], dict[str, float | None]]:
    """Return the peers' rows and ratios from ``beside``; the ratio of a missing peer is None."""
    rows = [Row(f"{name} iteration", 1e9 * least, "iteration") for name, least in times.items() if name != OURS]
    ratios = {key: times[name] / times[OURS] if name in times else None for key, name in RATIOS.items()}
    return rows, ratios


def _least(once: Callable[[], object]) -> float:
    """Return the least time of a round [s]."""
    times = []
    for _ in range(ITERATIONS):
        began = time.thread_time()
        once()
        times.append(time.thread_time() - began)
    return min(times)


def _started() -> tuple[subprocess.Popen[str] | None, str]:
    """Return (a process that waits for rounds, or None; why there is none)."""
    python = os.environ.get(VARIABLE)
    if python is None:
        try:
            there = version("crocoddyl"), version("pin")
        except PackageNotFoundError:
            return None, f"Crocoddyl is not installed; {_HOW}"
        if not there[1].startswith(FITTING):
            return None, f"Crocoddyl {there[0]} is not compatible with the installed Pinocchio {there[1]}; {_HOW}"
    try:
        given = json.dumps(horizon())
    except FootfallError as error:
        return None, f"the horizon of Crocoddyl needs Pinocchio's model: {error}"
    script = Path(__file__).with_name("crocoddyl_process.py")
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    try:
        theirs = subprocess.Popen(
            [python or sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=alone,
        )
    except OSError as error:
        return None, f"{VARIABLE} is not a Python interpreter: {error}"
    if _requested(theirs, f"{given}\n") is None:  # everything is prepared, and has run once
        return None, f"Crocoddyl ended its process with exit status {theirs.wait()}; {_HOW}"
    return theirs, ""


def _requested(theirs: subprocess.Popen[str], line: str) -> dict[str, Json] | None:
    """Return the peer's answer to a line; None if it has ended or was stopped after a timeout."""
    assert theirs.stdin is not None
    assert theirs.stdout is not None
    late = threading.Timer(_LONGEST, theirs.kill)
    late.start()
    try:
        theirs.stdin.write(line)
        theirs.stdin.flush()
        answer = theirs.stdout.readline()
    except OSError:
        return None
    finally:
        late.cancel()
    return json.loads(answer) if answer else None


def _ended(theirs: subprocess.Popen[str]) -> None:
    """Close the process, which ends when its input does."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        theirs.communicate(timeout=_LONGEST)
    theirs.kill()
    theirs.wait()


def horizon() -> dict[str, Json]:
    """Return the horizon as data for the process."""
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
        **_model(referee),
        "rest": [*referee.q_of(stand), *rest],
        "start": [*referee.q_of(away(stand, nv)), *rest],
        "weights": np.concatenate(parts).tolist(),
        "effort": EFFORT,
        "torque": torque.tolist(),
        "knots": KNOTS,
        "knot": KNOT,
    }


def _model(referee: pinocchio.Pinocchio) -> dict[str, Json]:
    """Return joints, bodies and feet as numbers. Hinges are about x, y or z; frames of negative axes are rotated."""
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
                "parent": int(known.parents[i]),
                "axis": axis,
                "name": names[i],
                "R": place.rotation.tolist(),
                "p": place.translation.tolist(),
                "mass": float(body.mass),
                "com": body.lever.tolist(),
                "inertia": body.inertia.tolist(),
            }
        )
    feet = []
    for foot in (known.frames[k] for k in referee.feet):
        p = turns[foot.parentJoint].inverse().act(foot.placement.translation)
        feet.append({"name": foot.name, "parent": names[foot.parentJoint], "p": p.tolist()})
    return {"joints": joints, "armature": known.armature.tolist(), "feet": feet}
