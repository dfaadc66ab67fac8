"""The claims of Yan et al. 2021 about the control loop, and about motors, gears and belts."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, Sensed
from footfall.control.joint.plan_follower import PlanFollower
from footfall.control.joint.screw_torque import ScrewTorque
from footfall.gait.pattern import LEGS
from footfall.gait.planner import MotionPlan
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.library.xiling import KNEE_BELT
from footfall.robot.model.description import Robot
from footfall.sim.joints import Belt, JointModel
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.gravity import weight_of
from footfall_lab.papers.claims import Claim, Table, assess, range_of
from footfall_lab.papers.registered import setup
from footfall_lab.papers.yan2021.runs import KD, KNEE, KP, Run
from nptrace.array_types import Float

PD, WEIGHT, SCREW = "joint PD", "with gravity feedforward", "screw torques"
RUNS = ("walk", "trot", "yaw")


def controllers(plan: MotionPlan) -> dict[str, Controller]:
    """Return the controllers, with the same plan and gains."""
    return {
        PD: PlanFollower(plan=plan, kp=KP, kd=KD, feed_forward=0.0),
        WEIGHT: PlanFollower(plan=plan, kp=KP, kd=KD),
        SCREW: ScrewTorque(PlanFollower(plan=plan, kp=KP, kd=KD, feed_forward=0.0)),
    }


def perform(robot: Robot, plans: dict[str, MotionPlan], known: dict[str, Run]) -> dict[str, dict[str, Run]]:
    """Run every plan with every controller from the same start; ``known``: runs with gravity feedforward."""
    found: dict[str, dict[str, Run]] = {}
    for name in RUNS:
        plan = plans[name]
        start = standing_start(robot, PlanFollower(plan=plan, kp=KP, kd=KD))
        found[name] = {}
        for label, controller in controllers(plan).items():
            if label == WEIGHT:
                found[name][label] = known[name]
                continue
            rec = Simulation(robot, controller, start=start).run(plan.duration + 0.3)
            found[name][label] = Run(robot, plan, rec, known[name].controller)
    return found


def errors(run: Run) -> Float[ndarray, "T nj"]:
    """Return commanded minus true joint positions [rad], from the beginning of the plan to its end."""
    rec = run.rec
    return rec["command_position"] - rec.joint_position


def improves(runs: dict[str, dict[str, Run]]) -> Claim:
    """Assess the worst run against joint PD; gravity feedforward is also shown."""
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
    return assess(
        "yan2021",
        "model_based_control_improves_response",
        float("inf") if fell else max(ratios.values()),
        f"Root mean square over time and joints: {words}. Against gravity feedforward from the plan, it is"
        f" {beside}, and gravity feedforward against joint PD {statics}: the model's statics"
        " do more than its dynamics, since a plan knows in advance which foot will carry load. Legs that swing"
        f" have a bandwidth of 85 rad/s instead of the gains: {stiff} N m/rad at the joints of {LEGS[0]}, root to foot,"
        f" against joint PD's {KP:g}, so that part of the improvement is due to stiffness, not the model."
        f"{' It fell in: ' + ', '.join(fell) + '.' if fell else ''}",
    )


def swing_gains(run: Run) -> Float[ndarray, "n"]:
    """Return the stiffness of screw torques at the first leg's joints while only it swings [N m/rad]."""
    robot, controller = run.robot, ScrewTorque(PlanFollower(plan=run.plan, kp=KP, kd=KD, feed_forward=0.0))
    q, v = standing_start(robot, controller)
    forces = np.zeros((robot.nf, 3))
    forces[1:4, 2] = weight_of(robot.mass) / 3.0
    answer, _ = controller(0.0, robot, Sensed(q=q, v=v, forces=forces), Command(), controller.start(robot))
    return np.asarray(answer.broadcast(robot.nj).kp)[list(leg_geometry(robot, LEGS[0]).joints)]


def table(runs: dict[str, dict[str, Run]]) -> Table:
    rows = [
        (
            name,
            label,
            f"{np.degrees(_rms(errors(run))):.3f}",
            f"{np.degrees(np.abs(errors(run)).max()):.2f}",
            f"{_rms(run.rec.torque):.2f}",
            "yes" if run.rec.meta["fell"] else "no",
        )
        for name, by in runs.items()
        for label, run in by.items()
    ]
    header = ("run", "controller", "error, rms [deg]", "largest [deg]", "torque, rms [N m]", "fell")
    return Table("Model-based control against joint PD, same plans", header, tuple(rows))


def curves(runs: dict[str, dict[str, Run]], joint: str = KNEE) -> dict[str, tuple[ndarray, dict[str, ndarray]]]:
    """Return (time, error of a joint by controller) of every run, for a figure."""
    return {
        name: (by[SCREW].rec.time, {label: errors(run)[:, run.joint(joint)] for label, run in by.items()})
        for name, by in runs.items()
    }


def _rms(x: ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


_SETUP = setup("yan2021")
PARTS = {
    "rigid drives": (False, 0.0, 0.0),
    "elastic": (True, 0.0, 0.0),
    "elastic, friction": (True, 0.0, 1.0),
    "elastic, play": (True, 1.0, 0.0),
    "elastic, play, friction": (True, 1.0, 1.0),
}
WHOLE = "elastic, play, friction"
BOTH = ("rigid drives", WHOLE)


def rotor_inertias(robot: Robot, share: float = 1.0) -> Float[ndarray, "nj"]:
    """Return rotor inertias reflected to the joints [kg m²], ``share`` times the chosen ones."""
    gears = {actuator.joint: actuator.gear for actuator in robot.actuators}
    return np.array([share * _SETUP["rotor_inertia"] * gears[name] ** 2 for name in robot.joint_names])


def drives(
    robot: Robot, play: float = 1.0, friction: float = 1.0, rotor: float = 1.0, stiffness: float = 1.0
) -> JointModel:
    """Return joints with the prototype's gears and belts; ``play`` and ``friction`` are fractions."""
    J = rotor_inertias(robot, rotor)
    belts = np.array(["knee" in name for name in robot.joint_names])
    springs = stiffness * np.array([_SETUP["belt_stiffness" if belt else "gear_stiffness"] for belt in belts])
    damping = 2.0 * _SETUP["belt_damping"] * np.sqrt(springs * J)
    gap = play * _SETUP["play"] * np.where(belts, 1.0 / KNEE_BELT, 1.0)
    belt = Belt(springs, damping, gap if play else 0.0, J)
    return JointModel(belt=belt, gear_loss=friction * _SETUP["belt_friction"])


def perform_with_drives(robot: Robot, plan: MotionPlan, parts: tuple[str, ...] = tuple(PARTS)) -> dict[str, Run]:
    """Run the plan with each kind of drives; rigid ones have their rotors on the joints."""
    found = {}
    for name in parts:
        elastic, play, friction = PARTS[name]
        armatures = {f"{joint}.armature": J for joint, J in zip(robot.joint_names, rotor_inertias(robot))}
        subject = robot if elastic else robot.replace(armatures)
        joints = drives(robot, play, friction) if elastic else JointModel()
        controller = PlanFollower(plan=plan, kp=KP, kd=KD)
        sim = Simulation(subject, controller, joints=joints, start=standing_start(subject, controller))
        found[name] = Run(subject, plan, sim.run(plan.duration + 0.3), controller)
    return found


OTHERS = ("play", "rotor", "stiffness")  # halved and doubled, one at a time


def burr_range(robot: Robot, plan: MotionPlan) -> dict[str, float]:
    """Return the roughness of velocity relative to rigid drives, with each chosen number halved and doubled."""
    found = {}
    for what in OTHERS:
        for share in (0.5, 2.0):
            rotor = share if what == "rotor" else 1.0
            armatures = {f"{j}.armature": J for j, J in zip(robot.joint_names, rotor_inertias(robot, rotor))}
            subjects = (robot.replace(armatures), JointModel()), (robot, drives(robot, **{what: share}))
            rough = []
            for subject, joints in subjects:
                controller = PlanFollower(plan=plan, kp=KP, kd=KD)
                sim = Simulation(subject, controller, joints=joints, start=standing_start(subject, controller))
                rough.append(roughness(Run(subject, plan, sim.run(plan.duration + 0.3), controller)))
            found[f"{what} x {share:g}"] = rough[1] / rough[0]
    return found


def measured_rate(run: Run, joint: str = KNEE) -> Float[ndarray, "T"]:
    """Return a joint's velocity at its motor's encoder [rad/s]."""
    column = run.rec["rotor_velocity" if "rotor_velocity" in run.rec else "v"][:, -run.robot.nj :]
    return column[:, run.joint(joint)]


def roughness(run: Run, joint: str = KNEE, between: tuple[float, float] | None = None) -> float:
    """Return the rms of a measured velocity minus its moving mean [rad/s], by default while the body turns."""
    rate, time = measured_rate(run, joint), run.rec.time
    begins, ends = turn_of(run.plan) if between is None else between
    return float(np.sqrt(np.mean((rate - smoothed(rate, time))[(time >= begins) & (time <= ends)] ** 2)))


def smoothed(rate: Float[ndarray, "T"], time: Float[ndarray, "T"]) -> Float[ndarray, "T"]:
    """Return the mean over the registered window about every sample."""
    width = max(3, round(_SETUP["burr_window"] / float(np.median(np.diff(time)))))
    return np.convolve(rate, np.ones(width) / width, mode="same")


def turn_of(plan: MotionPlan) -> tuple[float, float]:
    """Return when the body turns from one side to the other [s]."""
    begins = 2 * plan.hold + plan.move  # type: ignore[attr-defined]
    return begins, begins + plan.move  # type: ignore[attr-defined]


def crossings(run: Run, joint: str, begins: float, ends: float) -> int:
    """Return how often a rotor's teeth change sides."""
    rec, j = run.rec, run.joint(joint)
    there = (rec.time >= begins) & (rec.time <= ends)
    ahead = rec["rotor_position"][there, j] - rec.joint_position[there, j]
    gap = _SETUP["play"] * (1.0 / KNEE_BELT if "knee" in joint else 1.0)
    sides = np.where(np.abs(ahead) > 0.5 * gap, np.sign(ahead), 0.0)
    sides = sides[sides != 0.0]
    return int(np.sum(sides[1:] != sides[:-1]))


def burrs(runs: dict[str, Run], walks: dict[str, Run], others: dict[str, float]) -> Claim:
    """Assess whether play, belt and friction make the velocity rough, and which of them; also in the walk."""
    rough = {name: roughness(run) for name, run in runs.items()}
    rigid, smooth, whole = rough["rigid drives"], rough["elastic"], rough[WHOLE]
    words = ", ".join(f"{name} {1e3 * value:.2f}" for name, value in rough.items())
    steps = walks[WHOLE].plan.rest + 0.8, float(walks[WHOLE].rec.time[-1]) - 0.5  # type: ignore[attr-defined]
    walking = [roughness(walks[name], KNEE, steps) for name in (WHOLE, "rigid drives")]
    return assess(
        "yan2021",
        "fig14_burrs",
        whole / rigid,
        f"{KNEE}, yaw from -15 to 15 degrees, rotors on the joints or behind belts: {words} mrad/s. Backlash causes"
        " most of it, friction little. The weight keeps the gear teeth of the knee on one side: they change sides"
        f" {crossings(runs[WHOLE], KNEE, *turn_of(runs[WHOLE].plan))} times while the body turns. In the walk, where a"
        f" swinging leg unloads them, they change sides {crossings(walks[WHOLE], KNEE, *steps)} times, and it is"
        f" {1e3 * walking[0]:.0f} against {1e3 * walking[1]:.0f} mrad/s, {walking[0] / walking[1]:.2f} times. Rotor,"
        " stiffness, backlash and friction are chosen, as the paper prints none of them. Without backlash and"
        f" friction the same belts give {smooth / rigid:.2f} times: burrs occur, and are due to backlash, as the paper"
        f" says. With one value changed: {', '.join(f'{name} {value:.2f}' for name, value in others.items())}.",
        spread=range_of([whole / rigid, *others.values()], None, "choices of backlash, rotors and belts", (0.0, 100.0)),
    )


PRECISE = 1.0 / 15.0  # fraction of the chosen backlash: one minute of arc
LEFT = 0.1  # largest fraction of the burrs that may remain


def eliminated(robot: Robot, plan: MotionPlan) -> Claim:
    """Assess whether precise gears and model-based control eliminate the burrs."""
    rough = {}
    for name, play in (("rigid", None), ("chosen", 1.0), ("precise", PRECISE)):
        armatures = {f"{joint}.armature": J for joint, J in zip(robot.joint_names, rotor_inertias(robot))}
        subject = robot.replace(armatures) if play is None else robot
        joints = JointModel() if play is None else drives(robot, play)
        controller = controllers(plan)[SCREW]
        start = standing_start(subject, PlanFollower(plan=plan, kp=KP, kd=KD))
        rec = Simulation(subject, controller, joints=joints, start=start).run(plan.duration + 0.3)
        rough[name] = roughness(Run(subject, plan, rec, PlanFollower(plan=plan, kp=KP, kd=KD)))
    left = (rough["precise"] - rough["rigid"]) / (rough["chosen"] - rough["rigid"])
    words = ", ".join(f"{name} {1e3 * value:.2f}" for name, value in rough.items())
    return assess(
        "yan2021",
        "burrs_can_be_eliminated",
        rough["precise"] / rough["rigid"],
        f"{words} mrad/s, rigid drives and gears of 15 minutes and of one minute of arc, torques by the screw system:"
        f" {100.0 * left:.0f} % of the burrs remain. The friction of the belt is unchanged.",
        holds=rough["chosen"] > rough["rigid"] and left <= LEFT,
    )
