"""The horizon of ``bench.horizon`` in Crocoddyl: feet held by contacts, Euler steps, its feasibility-driven solver.

It runs in a process of its own: beside Pinocchio 4.1 Crocoddyl 3.2.1 from PyPI ended our process now and then, or gave
other numbers from run to run, where it had contacts. We have not found out why.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from footfall.bench import subject
from footfall.bench.horizon import EFFORT, KNOT, KNOTS, away, settled, weights
from footfall.compare import pinocchio


def measured(rounds: int = 30, tries: int = 3) -> tuple[float | None, str]:
    """(least time of an iteration [s], why there is none)."""
    if find_spec("crocoddyl") is None:
        return None, "Crocoddyl is not installed: pip install footfall[peers]"
    for _ in range(tries):
        command = [sys.executable, "-m", "footfall.bench.horizon_peer", str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            return float(done.stdout), ""
    return None, f"Crocoddyl ended its process {tries} times (exit status {done.returncode})"


def main() -> None:
    """The least time of some iterations, printed."""
    once, least = iteration(), float("inf")
    for _ in range(int(sys.argv[1])):
        began = time.thread_time()
        once()
        least = min(least, time.thread_time() - began)
    print(least)


def iteration() -> Callable[[], Any]:
    """One iteration: all derivatives, the sweep backwards, and one try of its step."""
    import crocoddyl

    referee = pinocchio.Pinocchio(subject.robot())
    (model, feet), (stand, _) = _with_frames(referee), subject.standing()
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFloatingBase(state)
    rest = np.concatenate([referee.q_of(stand.q), np.zeros(model.nv)])
    contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
    axes = referee.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for k, (foot, place) in enumerate(zip(feet, referee.foot_positions(stand.q))):
        contact = crocoddyl.ContactModel3D(state, foot, place, axes, actuation.nu, np.array([0.0, 50.0]))
        contacts.addContact(f"foot {k}", contact)
    prices = weights(model.nv)
    prices = np.concatenate([np.roll(prices[:6], 3), prices[6 : model.nv], np.roll(prices[model.nv :][:6], 3),
                             prices[model.nv + 6 :]])  # fmt: skip
    costs = crocoddyl.CostModelSum(state, actuation.nu)
    quadratic = crocoddyl.ActivationModelWeightedQuad(prices)
    near = crocoddyl.CostModelResidual(state, quadratic, crocoddyl.ResidualModelState(state, rest, actuation.nu))
    costs.addCost("state", near, 1.0)
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu))
    costs.addCost("effort", effort, EFFORT)
    dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
    running = crocoddyl.IntegratedActionModelEuler(dynamics, KNOT)
    last = crocoddyl.IntegratedActionModelEuler(dynamics, 0.0)
    start = np.concatenate([referee.q_of(away(stand.q, model.nv)), np.zeros(model.nv)])
    problem = crocoddyl.ShootingProblem(start, [running] * KNOTS, last)
    problem.nthreads = 1
    solver = crocoddyl.SolverFDDP(problem)
    states, inputs = [rest] * (KNOTS + 1), [settled()[1]] * KNOTS

    def once() -> None:
        solver.setCandidate(states, inputs, False)
        solver.computeDirection(True)
        solver.tryStep(1.0)

    return once


def _with_frames(referee: pinocchio.Pinocchio) -> tuple[Any, list[int]]:
    """(the same model, its feet) as Crocoddyl reads one: a frame for every joint, a base called root_joint.

    Hinges must be about x, y or z (it ends the process at others beside this Pinocchio): one that turns the other way
    round has its frame turned about.
    """
    pin, known = referee.pin, referee.model
    model, names, turns = pin.Model(), ["universe", "root_joint", *list(known.names)[2:]], [pin.SE3.Identity()] * 2
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i in range(1, known.njoints):
        kind, turn = known.joints[i], pin.SE3.Identity()
        if i > 1:
            axis = np.round(kind.extract().axis).astype(int)
            along = int(np.abs(axis).argmax())
            kind = kinds[along]()
            if axis[along] < 0:
                turn = pin.SE3(np.diag(np.where(np.arange(3) == (along + 1) % 3, 1.0, -1.0)), np.zeros(3))
            turns.append(turn)
        parent = known.parents[i]
        joint = model.addJoint(parent, kind, turns[parent].inverse() * known.jointPlacements[i] * turn, names[i])
        model.addJointFrame(joint)
        model.appendBodyToJoint(joint, known.inertias[i], turn.inverse())
    model.armature = known.armature
    feet = []
    for foot in (known.frames[k] for k in referee.feet):
        behind, place = model.getFrameId(names[foot.parentJoint]), turns[foot.parentJoint].inverse() * foot.placement
        feet.append(model.addFrame(pin.Frame(foot.name, foot.parentJoint, behind, place, pin.FrameType.OP_FRAME)))
    return model, feet


if __name__ == "__main__":
    main()
