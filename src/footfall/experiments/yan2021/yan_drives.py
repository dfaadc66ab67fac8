"""Figure 14 of Yan et al. 2021 with drives as the prototype has them: rotors behind gears with play and a knee's belt.

The paper prints gear ratios alone. Inertia, stiffness, play and friction are chosen, and registered before the runs.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.joint.plan_follower import PlanFollower
from footfall.experiments.claims import Claim, judge
from footfall.experiments.registered import setup
from footfall.experiments.yan2021.yan_runs import KD, KNEE, KP, Run
from footfall.gait.planner import Plan
from footfall.robot.library.xiling import KNEE_BELT
from footfall.robot.model.description import Robot
from footfall.simulate.actuators import JointModel
from footfall.simulate.belts import Belt
from footfall.simulate.simulation import Simulation
from footfall.simulate.standing import standing_start

_SETUP = setup("yan2021")
PARTS = {"rigid drives": (False, 0.0, 0.0), "elastic": (True, 0.0, 0.0),
         "elastic, friction": (True, 0.0, 1.0), "elastic, play": (True, 1.0, 0.0),
         "elastic, play, friction": (True, 1.0, 1.0)}  # fmt: skip
WHOLE = "elastic, play, friction"
BOTH = ("rigid drives", WHOLE)


def rotor_inertias(robot: Robot) -> Float[ndarray, "nj"]:
    """As seen at the joints [kg m²]."""
    gears = {actuator.joint: actuator.gear for actuator in robot.actuators}
    return np.array([_SETUP["rotor_inertia"] * gears[name] ** 2 for name in robot.joint_names])


def drives(robot: Robot, play: float = 1.0, friction: float = 1.0) -> JointModel:
    """Joints behind the prototype's gears and belts; a part of the play and of the friction."""
    J = rotor_inertias(robot)
    belts = np.array(["knee" in name for name in robot.joint_names])
    stiffness = np.where(belts, _SETUP["belt_stiffness"], _SETUP["gear_stiffness"])
    damping = 2.0 * _SETUP["belt_damping"] * np.sqrt(stiffness * J)
    gap = play * _SETUP["play"] * np.where(belts, 1.0 / KNEE_BELT, 1.0)
    belt = Belt(stiffness, damping, gap if play else 0.0, J)
    return JointModel(belt=belt, gear_loss=friction * _SETUP["belt_friction"])


def perform(robot: Robot, plan: Plan, parts: tuple[str, ...] = tuple(PARTS)) -> dict[str, Run]:
    """The same plan with each kind of drives; rigid ones have their rotors on the joints."""
    found = {}
    for name in parts:
        elastic, play, friction = PARTS[name]
        armatures = {f"{joint}.armature": J for joint, J in zip(robot.joint_names, rotor_inertias(robot))}
        subject = robot if elastic else robot.replace(armatures)
        joints = drives(robot, play, friction) if elastic else JointModel()
        controller = PlanFollower(plan, KP, KD)
        sim = Simulation(subject, controller, joints=joints, start=standing_start(subject, controller))
        found[name] = Run(subject, plan, sim.run(plan.duration + 0.3), controller)
    return found


def measured_rate(run: Run, joint: str = KNEE) -> Float[ndarray, "T"]:
    """A joint's velocity at its motor's encoder [rad/s]."""
    column = run.rec["rotor_velocity" if "rotor_velocity" in run.rec else "v"][:, -run.robot.nj :]
    return column[:, run.joint(joint)]


def roughness(run: Run, joint: str = KNEE, between: tuple[float, float] | None = None) -> float:
    """Root mean square of what is left of a measured velocity less its mean over a window [rad/s]; between two times,
    else while the body turns."""
    rate, time = measured_rate(run, joint), run.rec.time
    begins, ends = turn_of(run.plan) if between is None else between
    return float(np.sqrt(np.mean((rate - smoothed(rate, time))[(time >= begins) & (time <= ends)] ** 2)))


def smoothed(rate: Float[ndarray, "T"], time: Float[ndarray, "T"]) -> Float[ndarray, "T"]:
    """The mean over the registered window about every sample."""
    width = max(3, round(_SETUP["burr_window"] / float(np.median(np.diff(time)))))
    return np.convolve(rate, np.ones(width) / width, mode="same")


def turn_of(plan: Plan) -> tuple[float, float]:
    """When the body turns from one side to the other [s]."""
    begins = 2 * plan.hold + plan.move  # type: ignore[attr-defined]
    return begins, begins + plan.move  # type: ignore[attr-defined]


def crossings(run: Run, joint: str, begins: float, ends: float) -> int:
    """How often a rotor's teeth change sides."""
    rec, j = run.rec, run.joint(joint)
    there = (rec.time >= begins) & (rec.time <= ends)
    sides = np.sign(rec.torque[there, j])
    sides = sides[sides != 0.0]
    return int(np.sum(sides[1:] != sides[:-1]))


def burrs(runs: dict[str, Run], walks: dict[str, Run]) -> Claim:
    """Whether drives with play, belt and friction make the velocity rough, and what of them does; the walk beside."""
    rough = {name: roughness(run) for name, run in runs.items()}
    rigid, smooth, whole = rough["rigid drives"], rough["elastic"], rough[WHOLE]
    words = ", ".join(f"{name} {1e3 * value:.2f}" for name, value in rough.items())
    steps = walks[WHOLE].plan.rest + 0.8, float(walks[WHOLE].rec.time[-1]) - 0.5  # type: ignore[attr-defined]
    walking = [roughness(walks[name], KNEE, steps) for name in (WHOLE, "rigid drives")]
    return judge(
        "yan2021", "fig14_burrs", whole / rigid,
        f"{KNEE}, yaw from -15 to 15 degrees, rotors on the joints or behind belts: {words} mrad/s. Play makes the"
        f" larger part, friction little. The weight holds the knee's teeth on one side: they change it"
        f" {crossings(runs[WHOLE], KNEE, *turn_of(runs[WHOLE].plan))} times while the body turns. In the walk, where a"
        f" swinging leg unloads them, they change it {crossings(walks[WHOLE], KNEE, *steps)} times, and it is"
        f" {1e3 * walking[0]:.0f} against {1e3 * walking[1]:.0f} mrad/s, {walking[0] / walking[1]:.2f} times. Rotor,"
        " stiffness, play and friction are chosen, the paper prints none of them.",
        holds=whole >= 3.0 * rigid and whole >= 2.0 * smooth,
    )  # fmt: skip
