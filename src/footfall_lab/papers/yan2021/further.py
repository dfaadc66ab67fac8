"""Further claims of Yan et al. 2021, about the model and about directions; ranges over unpublished choices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from footfall.compiling import compile
from footfall.control.joint.plan_follower import PlanFollower
from footfall.dynamics.coordinates import integrate
from footfall.dynamics.formalisms import lagrange
from footfall.dynamics.formalisms.screw_system import (
    constraint_matrix,
    screw_forward_dynamics,
    screw_inverse_dynamics,
)
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.random_states import random_states
from footfall.gait.pattern import LEGS
from footfall.gait.planner import MotionPlan, plan_walk
from footfall.kinematics.jacobian import feet_jacobian
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Reading, Sensors
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.timing import best_times
from footfall_lab.papers.yan2021.runs import HEIGHT, KD, KP, STEP, SWAY, SWING_TIME, Run, plans, sensed_torques
from nptrace._types import Given
from nptrace.array_types import Float

NAME = "yan2021"
MASSES = (0.7, 1.0, 1.3)  # multiples of the chosen masses, for the range of torques
NOISES = (0.0, 0.5, 1.0, 2.0)  # multiples of the chosen noise
DIRECTIONS = {
    "forwards": (STEP, 0.0, 0.0),
    "backwards": (-STEP, 0.0, 0.0),
    "left": (0.0, 0.08, 0.0),
    "turning": (0.0, 0.0, 0.2),
}


def claims(robot: Robot, walk: Run, rows: ndarray) -> list[Claim]:
    return [
        _faster(robot),
        _precise(walk.rec, rows),
        _directions(robot),
        _singular(robot),
        _sparse(robot),
        _integrated(robot),
    ]


# -- the model ---------------------------------------------------------------------------------------------------------
def _screw(robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray) -> ndarray:
    return screw_inverse_dynamics(robot, q, v, a[6:], forces, a[:6]).torques


def _recursive(robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray) -> ndarray:
    J = feet_jacobian(robot, q)[:, 3:]
    return (inverse_dynamics(robot, q, v, a) - sum(J[k].T @ forces[k] for k in range(robot.nf)))[6:]


def _lagrange(robot: Robot, q: ndarray, v: ndarray, a: ndarray, forces: ndarray) -> ndarray:
    J = feet_jacobian(robot, q)[:, 3:]
    return (lagrange.inverse_dynamics(robot, q, v, a) - sum(J[k].T @ forces[k] for k in range(robot.nf)))[6:]


def _faster(robot: Robot) -> Claim:
    """Compare the time of one evaluation, compiled, many states per call, on one core."""
    states, count = random_states(robot, 512, seed=41), 512
    forces = np.random.default_rng(42).normal(size=(count, robot.nf, 3))
    arguments = (states.q, states.v, states.a, forces)
    ways: dict[str, Callable[..., ndarray]] = {"screw": _screw, "recursive": _recursive}
    functions = {
        name: compile(way, robot, *(each[0] for each in arguments), target="batch", verify=False)
        for name, way in ways.items()
    }
    found = {name: function(*arguments) for name, function in functions.items()}
    timed = best_times({name: partial(function, *arguments) for name, function in functions.items()})
    took = {name: seconds / count for name, seconds in timed.items()}
    one = [each[0] for each in arguments]
    plain = best_times(
        {name: partial(way, robot, *one) for name, way in {**ways, "Euler-Lagrange": _lagrange}.items()}, 3
    )
    apart = float(np.abs(found["screw"] - found["recursive"]).max() / np.abs(found["recursive"]).max())
    words = ", ".join(f"{name} {1e3 * seconds:.2f} ms" for name, seconds in plain.items())
    return assess(
        NAME,
        "screw_theory_is_faster",
        took["screw"] / took["recursive"],
        f"{1e9 * took['screw']:.0f} ns by the screw system, solved by its structure, {1e9 * took['recursive']:.0f}"
        " ns by"
        f" recursive Newton-Euler; they agree to {apart:.0e}. As plain NumPy, a state at a time: {words}. The screw"
        " system also gives the reactions of all joints, which the recursive method does not compute. Against"
        " Euler-Lagrange the statement holds.",
    )


def _precise(rec: Recording, rows: ndarray) -> Claim:
    """Compare joint torques of the walk by the model of all links and by one with all mass in the body."""
    legs = [link for link in rec.robot.links if link.name != rec.robot.trunk]
    moved = sum(link.mass for link in legs)
    tiny = 1e-9
    links = []
    for link in rec.robot.links:
        if link.name == rec.robot.trunk:
            links.append(dataclasses.replace(link, mass=link.mass + moved * (1.0 - tiny)))
        else:
            links.append(dataclasses.replace(link, mass=tiny * link.mass, inertia=tiny * link.inertia))
    centroidal = Recording(dataclasses.replace(rec.robot, links=tuple(links)), rec.columns, meta=rec.meta)
    acted = rec.torque[rows]
    errors = [_rms(sensed_torques(each, rows)[0] - acted) for each in (rec, centroidal)]
    return assess(
        NAME,
        "more_precise_than_simplified_models",
        errors[0] / errors[1],
        f"{errors[0]:.1e} N m with mass and inertia of all parts, {errors[1]:.2f} N m with all mass in the body, of"
        f" torques of {_rms(acted):.1f} N m, all root mean square. Legs are {100 * moved / rec.robot.mass:.0f} % of the"
        " (chosen) mass.",
    )


def _directions(robot: Robot) -> Claim:
    """Assess the fraction of the planned motion achieved by both gaits in every direction."""
    shares, fell = {}, []
    for gait in ("walk", "trot"):
        options = {"duty": 0.75, "sway": SWAY} if gait == "walk" else {}
        for name, (step, side, turn) in DIRECTIONS.items():
            plan = plan_walk(
                robot,
                gait,
                step,
                side=side,
                turn=turn,
                swing_time=SWING_TIME,
                height=HEIGHT,
                cycles=4,
                load_time=0.02,
                **options,
            )
            controller = PlanFollower(plan=plan, kp=KP, kd=KD)
            rec = Simulation(robot, controller, start=standing_start(robot, controller)).run(plan.duration + 0.3)
            first, end = plan.at(0.0), plan.at(plan.duration)
            if turn:
                yaw = np.unwrap(rec.trunk_euler()[:, 0])
                share = (yaw[-1] - yaw[0]) / float(end.euler[0] - first.euler[0])
            else:
                way = (end.position - first.position)[:2]
                share = float((rec.trunk_position[-1] - rec.trunk_position[0])[:2] @ way / (way @ way))
            shares[f"{gait} {name}"] = float(share)
            if rec.meta["fell"]:
                fell.append(f"{gait} {name}")
    worst = min(shares.values())
    return assess(
        NAME,
        "moves_in_all_directions",
        worst,
        ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        + (f". It fell: {', '.join(fell)}." if fell else "."),
        holds=not fell and min(shares.values()) >= 0.5,
    )


def _singular(robot: Robot) -> Claim:
    C, _ = constraint_matrix(robot, robot.state("stand")[0], np.zeros(robot.nf))
    rank = int(np.linalg.matrix_rank(C.toarray()))
    filled = 100.0 * C.nnz / (C.shape[0] * C.shape[1])
    return assess(
        NAME,
        "bound_is_singular",
        f"{C.shape[0]} x {C.shape[1]}, {rank}",
        f"More rows than rank: no inverse, and six free coordinates of the floating base. {filled:.0f} % of its"
        " elements are nonzero: sparse, as the paper says.",
        holds=C.shape[0] > rank,
    )


def _sparse(robot: Robot) -> Claim:
    """Compare the time of (19) by its structure, by a sparse and by a dense LU, in plain NumPy."""
    states, rng = random_states(robot, 1, seed=43), np.random.default_rng(44)
    q, v, a, forces = states.q[0], states.v[0], states.a[0], rng.normal(size=(robot.nf, 3))
    ways = {
        solver: partial(screw_inverse_dynamics, robot, q, v, a[6:], forces, solver=solver)
        for solver in ("structure", "sparse", "dense")
    }
    torques = {solver: solve().torques for solver, solve in ways.items()}
    took = best_times({**ways})
    apart = max(float(np.abs(found - torques["dense"]).max()) for found in torques.values())
    rows, columns = constraint_matrix(robot, q, np.zeros(robot.nf))[0].shape
    return assess(
        NAME,
        "sparse_matrix_saves_time",
        took["structure"] / took["dense"],
        f"{rows + columns} equations in the air: {1e3 * took['structure']:.2f} ms by the structure,"
        f" {1e3 * took['sparse']:.2f} ms by a sparse LU, {1e3 * took['dense']:.2f} ms by a dense one, assembly"
        f" included; torques agree to {apart:.0e} N m.",
    )


def _integrated(robot: Robot) -> Claim:
    """Compare joint velocities in the air by Euler steps of 1 ms and of 0.05 ms, with accelerations by (19)."""
    aired, seconds = np.zeros(robot.nf), 0.2

    def fly(dt: float, every: int) -> Float[ndarray, "n nj"]:
        q, v = robot.state("stand")
        rows = [v[6:]]
        for k in range(round(seconds / dt)):
            swing = 20.0 * np.sin(2.0 * np.pi * 2.0 * k * dt + np.arange(robot.nj))
            a = step(q, v, swing)
            v = v + dt * a
            q = integrate(robot, q, v, dt)
            if (k + 1) % every == 0:
                rows.append(v[6:])
        return np.array(rows)

    def accelerations(robot: Robot, q: ndarray, v: ndarray, tau: ndarray) -> ndarray:
        return screw_forward_dynamics(robot, q, v, tau, aired).a

    q, v = robot.state("stand")
    step = compile(accelerations, robot, q, v, np.zeros(robot.nj), verify=False)
    coarse, fine = fly(1e-3, 1), fly(5e-5, 20)
    off = np.sqrt(np.mean((coarse - fine) ** 2, axis=0)) / np.ptp(fine, axis=0)
    worst = int(np.argmax(off))
    return assess(
        NAME,
        "integrates_at_1_khz",
        100.0 * float(off[worst]),
        f"{robot.joint_names[worst]}, of {np.ptp(fine[:, worst]):.1f} rad/s; median of the joints"
        f" {100.0 * float(np.median(off)):.2f} %.",
    )


# -- ranges over unpublished choices -----------------------------------------------------------------------------------
def heavier(robot: Robot, share: float) -> Robot:
    """Return the robot with all masses and inertias multiplied."""
    links = [dataclasses.replace(link, mass=share * link.mass, inertia=share * link.inertia) for link in robot.links]
    return dataclasses.replace(robot, links=tuple(links))


def knee_torques(robot: Robot, cycles: int) -> dict[float, tuple[float, float]]:
    """Return (95th percentile of the worst knee in the worst run, peak of all runs) [N m], by masses."""
    found = {}
    for share in MASSES:
        subject = heavier(robot, share)
        requested: dict[str, MotionPlan] = plans(subject, cycles)
        knees = [subject.joint_names.index(f"{leg}_knee") for leg in LEGS]
        usual, peak = 0.0, 0.0
        for plan in requested.values():
            controller = PlanFollower(plan=plan, kp=KP, kd=KD)
            rec = Simulation(subject, controller, start=standing_start(subject, controller)).run(plan.duration + 0.3)
            torques = np.abs(rec.torque[:, knees])
            usual = max(usual, float(np.percentile(torques, 95, axis=0).max()))
            peak = max(peak, float(torques.max()))
        found[share] = usual, peak
    return found


def noisier(sensors: Sensors, share: float) -> Sensors:
    """Return sensors whose noise and offsets are multiplied."""
    changed: dict[str, Given] = {}
    for key in ("acceleration", "gyro", "attitude", "position", "velocity", "force"):
        reading = getattr(sensors, key)
        assert isinstance(reading, Reading)
        changed[key] = dataclasses.replace(
            reading, noise=share * reading.noise, bias=share * reading.bias, resolution=share * reading.resolution
        )
    return dataclasses.replace(sensors, **changed)


def _rms(x: Float[ndarray, "..."]) -> float:
    return float(np.sqrt(np.mean(np.square(x))))
