"""Model-based control beside joint PD, on the same plans and gains: what eq. (19) of Yan et al. 2021 does for it.

Joint PD knows no model. The weight fed forward (the follower's own) is the statics of the model; screw torques are its
dynamics, for the feet that are sensed to stand.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, Controller, Sensed
from footfall.control.joint.plan_follower import PlanFollower
from footfall.control.joint.screw_torque import ScrewTorque
from footfall.experiments.claims import Claim, Table, judge
from footfall.experiments.yan2021.yan_runs import KD, KNEE, KP, Run
from footfall.gait.pattern import LEGS
from footfall.gait.planner import Plan
from footfall.gravity import weight_of
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.model.description import Robot
from footfall.simulate.simulation import Simulation
from footfall.simulate.standing import standing_start

PD, WEIGHT, SCREW = "joint PD", "with the weight fed forward", "screw torques"
RUNS = ("walk", "trot", "yaw")


def controllers(plan: Plan) -> dict[str, Controller]:
    """Each on the same plan and gains."""
    return {
        PD: PlanFollower(plan, KP, KD, feed_forward=0.0),
        WEIGHT: PlanFollower(plan, KP, KD),
        SCREW: ScrewTorque(PlanFollower(plan, KP, KD, feed_forward=0.0)),
    }


def perform(robot: Robot, plans: dict[str, Plan], known: dict[str, Run]) -> dict[str, dict[str, Run]]:
    """Every plan by every controller, from the same start; ``known`` has the runs with the weight fed forward."""
    found: dict[str, dict[str, Run]] = {}
    for name in RUNS:
        plan = plans[name]
        start = standing_start(robot, PlanFollower(plan, KP, KD))
        found[name] = {}
        for label, controller in controllers(plan).items():
            if label == WEIGHT:
                found[name][label] = known[name]
                continue
            rec = Simulation(robot, controller, start=start).run(plan.duration + 0.3)
            found[name][label] = Run(robot, plan, rec, known[name].controller)
    return found


def errors(run: Run) -> Float[ndarray, "T nj"]:
    """Commanded less true joint positions [rad], from the plan's begin to its end."""
    rec = run.rec
    return rec["command_position"] - rec.joint_position


def improves(runs: dict[str, dict[str, Run]]) -> Claim:
    """The worst run decides, against joint PD; the weight fed forward is shown beside."""
    rms = {name: {label: _rms(errors(run)) for label, run in by.items()} for name, by in runs.items()}
    ratios = {name: by[SCREW] / by[PD] for name, by in rms.items()}
    fell = [name for name, by in runs.items() if by[SCREW].rec.meta["fell"]]
    words = "; ".join(
        f"{name} {', '.join(f'{label} {np.degrees(value):.3f}' for label, value in by.items())} deg"
        for name, by in rms.items()
    )
    beside = ", ".join(f"{name} {by[SCREW] / by[WEIGHT]:.2f}" for name, by in rms.items())
    statics = ", ".join(f"{name} {by[WEIGHT] / by[PD]:.2f}" for name, by in rms.items())
    stiff = ", ".join(f"{kp:.0f}" for kp in swing_gains(next(iter(runs.values()))[SCREW]))
    return judge(
        "yan2021", "model_based_control_improves_response", float("inf") if fell else max(ratios.values()),
        f"Root mean square over time and joints: {words}. Against the weight alone, fed forward from the plan, it is"
        f" {beside}, and the weight alone against joint PD {statics}: the model's statics"
        " do more than its dynamics, since a plan knows which foot will carry before the foot does. Legs that swing"
        f" have a bandwidth of 85 rad/s instead of the gains: {stiff} N m/rad at the joints of {LEGS[0]}, root to foot,"
        f" against joint PD's {KP:g}, so that a part of it is stiffness and not the model."
        f"{' It fell in: ' + ', '.join(fell) + '.' if fell else ''}",
    )  # fmt: skip


def swing_gains(run: Run) -> Float[ndarray, "n"]:
    """What screw torques have for stiffness at the first leg's joints while it alone swings [N m/rad]."""
    robot, controller = run.robot, ScrewTorque(PlanFollower(run.plan, KP, KD, feed_forward=0.0))
    q, v = standing_start(robot, controller)
    forces = np.zeros((robot.nf, 3))
    forces[1:4, 2] = weight_of(robot.mass) / 3.0
    answer, _ = controller(0.0, robot, Sensed(q, v, forces), Command(), controller.start(robot))
    return np.asarray(answer.spread(robot.nj).kp)[list(leg_geometry(robot, LEGS[0]).joints)]


def table(runs: dict[str, dict[str, Run]]) -> Table:
    rows = [
        (name, label, f"{np.degrees(_rms(errors(run))):.3f}", f"{np.degrees(np.abs(errors(run)).max()):.2f}",
         f"{_rms(run.rec.torque):.2f}", "yes" if run.rec.meta["fell"] else "no")
        for name, by in runs.items() for label, run in by.items()
    ]  # fmt: skip
    header = ("run", "controller", "error, rms [deg]", "largest [deg]", "torque, rms [N m]", "fell")
    return Table("Model-based control beside joint PD, the same plans", header, tuple(rows))


def curves(runs: dict[str, dict[str, Run]], joint: str = KNEE) -> dict[str, tuple[ndarray, dict[str, ndarray]]]:
    """(time, error of a joint by controller) of every run, for a figure."""
    return {
        name: (by[SCREW].rec.time, {label: errors(run)[:, run.joint(joint)] for label, run in by.items()})
        for name, by in runs.items()
    }


def _rms(x: ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))
