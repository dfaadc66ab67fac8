"""Timing of one iteration over a horizon in Crocoddyl and mim-solvers: a script that does not import footfall.

With Pinocchio 4.1, which the other comparisons use, the iteration of Crocoddyl 3.2.1 from PyPI fails with a
``backward_error`` in most processes; with 4.0.0 it works. It therefore needs a separate environment, whose Python runs
this file with the horizon as JSON in the first line of standard input. For every further line, a number of iterations,
it prints a line of JSON: the least times per iteration [s], also of mim-solvers if installed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import crocoddyl
import numpy as np
import pinocchio as pin

from nptrace._types import Foreign, Json

_HINGES = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)


def model_of(given: dict[str, Json]) -> tuple[Foreign, list[int]]:
    """Return (model, frames of the feet): a free base called root_joint, hinges about x, y or z."""
    model = pin.Model()
    for joint in given["joints"]:
        kind = pin.JointModelFreeFlyer() if joint["axis"] is None else _HINGES[joint["axis"]]()
        place = pin.SE3(np.array(joint["R"]), np.array(joint["p"]))
        made = model.addJoint(joint["parent"], kind, place, joint["name"])
        model.addJointFrame(made)
        inertia = pin.Inertia(joint["mass"], np.array(joint["com"]), np.array(joint["inertia"]))
        model.appendBodyToJoint(made, inertia, pin.SE3.Identity())
    model.armature = np.array(given["armature"])
    feet = []
    for foot in given["feet"]:
        place, behind = pin.SE3(np.eye(3), np.array(foot["p"])), model.getFrameId(foot["parent"])
        frame = pin.Frame(foot["name"], model.getJointId(foot["parent"]), behind, place, pin.FrameType.OP_FRAME)
        feet.append(model.addFrame(frame))
    return model, feet


def problem_of(given: dict[str, Json]) -> tuple[Foreign, list[Foreign], list[Foreign]]:
    """Return (shooting problem, states of the initial guess, its inputs)."""
    model, feet = model_of(given)
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFloatingBase(state)
    rest, start = np.array(given["rest"]), np.array(given["start"])
    data = model.createData()
    pin.framesForwardKinematics(model, data, rest[: model.nq])
    contacts = crocoddyl.ContactModelMultiple(state, actuation.nu)
    for k, foot in enumerate(feet):
        place, axes = data.oMf[foot].translation, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        held = crocoddyl.ContactModel3D(state, foot, place, axes, actuation.nu, np.array([0.0, 50.0]))
        contacts.addContact(f"foot {k}", held)
    costs = crocoddyl.CostModelSum(state, actuation.nu)
    quadratic = crocoddyl.ActivationModelWeightedQuad(np.array(given["weights"]))
    near = crocoddyl.CostModelResidual(state, quadratic, crocoddyl.ResidualModelState(state, rest, actuation.nu))
    costs.addCost("state", near, 1.0)
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, np.array(given["torque"])))
    costs.addCost("effort", effort, given["effort"])
    dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
    running = crocoddyl.IntegratedActionModelEuler(dynamics, given["knot"])
    last = crocoddyl.IntegratedActionModelEuler(dynamics, 0.0)
    problem = crocoddyl.ShootingProblem(start, [running] * given["knots"], last)
    problem.nthreads = 1
    return problem, [rest] * (given["knots"] + 1), [np.array(given["torque"])] * given["knots"]


def iterations(given: dict[str, Json]) -> dict[str, Json]:
    """Return calls that each make one iteration: all derivatives, a backward sweep, and a trial step."""
    problem, states, inputs = problem_of(given)
    solver = crocoddyl.SolverFDDP(problem)

    def once() -> None:
        solver.setCandidate(states, inputs, False)
        solver.computeDirection(True)
        solver.tryStep(1.0)

    calls: dict[str, Callable[[], object]] = {"crocoddyl": once}
    try:
        import mim_solvers  # after Crocoddyl, whose classes it needs
    except ImportError:
        return calls
    for name in ("SQP", "CSQP"):
        theirs = getattr(mim_solvers, f"Solver{name}")(problem_of(given)[0])
        calls[f"mim-solvers {name}"] = partial(theirs.solve, states, inputs, 1, False)
    return calls


def main() -> None:
    """Answer requests: run each of the calls several times in a row, and report the least time of each."""
    calls = iterations(json.loads(sys.stdin.readline()))
    print(json.dumps(_turn(calls, 1)), flush=True)
    for line in sys.stdin:
        print(json.dumps(_turn(calls, int(line))), flush=True)


def _turn(calls: dict[str, Callable[[], object]], count: int) -> dict[str, float]:
    """The least times of iterations by name [s]."""
    least = dict.fromkeys(calls, float("inf"))
    for name, once in calls.items():
        for _ in range(count):
            began = time.thread_time()
            once()
            least[name] = min(least[name], time.thread_time() - began)
    return least


if __name__ == "__main__":
    main()
