"""One iteration of a horizon in Crocoddyl, timed: a script that imports nothing of footfall.

Crocoddyl 3.2.1 from PyPI ends its process beside Pinocchio 4.1, which footfall's referees use, and runs beside 4.0.0.
So it has an environment of its own, whose Python runs this file with the horizon as JSON on standard input; the least
time of an iteration [s] is printed.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import crocoddyl
import numpy as np
import pinocchio as pin

_HINGES = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)


def model_of(given: dict[str, Any]) -> tuple[Any, list[int]]:
    """(the model, its feet's frames): a free base called root_joint, hinges about x, y or z."""
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


def iteration(given: dict[str, Any]) -> Any:
    """A call that computes all derivatives, sweeps backwards, and tries the step."""
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
    effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, actuation.nu))
    costs.addCost("effort", effort, given["effort"])
    dynamics = crocoddyl.DifferentialActionModelContactFwdDynamics(state, actuation, contacts, costs, 0.0, True)
    running = crocoddyl.IntegratedActionModelEuler(dynamics, given["knot"])
    last = crocoddyl.IntegratedActionModelEuler(dynamics, 0.0)
    problem = crocoddyl.ShootingProblem(start, [running] * given["knots"], last)
    problem.nthreads = 1
    solver = crocoddyl.SolverFDDP(problem)
    states, inputs = [rest] * (given["knots"] + 1), [np.array(given["torque"])] * given["knots"]

    def once() -> None:
        solver.setCandidate(states, inputs, False)
        solver.computeDirection(True)
        solver.tryStep(1.0)

    return once


def main() -> None:
    """The least time of some iterations, printed."""
    once, least = iteration(json.load(sys.stdin)), float("inf")
    for _ in range(int(sys.argv[1])):
        began = time.thread_time()
        once()
        least = min(least, time.thread_time() - began)
    print(least)


if __name__ == "__main__":
    main()
