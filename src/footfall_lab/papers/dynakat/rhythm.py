"""The DynaKat report on rhythm and reflexes: a walk paced by Rulkov's neurons, and pushes that a reflex catches."""

from __future__ import annotations

from itertools import product

import numpy as np

from footfall.control.interface import Command
from footfall.control.joint.joint_pd import JointPD
from footfall.control.locomotion.reflex_pd import ReflexPD
from footfall.kinematics.forward import foot_positions
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.quaternion import to_rotation
from footfall_lab.papers.claims import Claim, assess

NAME = "dynakat"
SHOVES = (0.6, 0.8, 1.0)  # [m/s], velocity change of a free robot, within a tenth of a second
SHOVED, CAUGHT = 2.0, 4.0  # [s]: time of the push, and time until which the robot must stay up
_STEPS = 0.03  # fraction of the time in swing: less does not count as steps
_WITHIN, _FURTHER = 1.0 / 3.0, 0.010  # of the speed; [m] further out


def paced_walk(robot: Robot, bursts: str) -> Claim:
    """Assess ten seconds of walk with neurons, and with Kuramoto oscillators; ``bursts``: how regular neurons are."""
    runs = {}
    for oscillator in ("kuramoto", "rulkov"):
        controller = JointPD.tuned(
            robot, "walk", open_loop=True, oscillator=oscillator, touchdown=oscillator == "rulkov"
        )
        runs[oscillator] = Simulation(robot, controller, start=standing_start(robot, controller)).run(10.0)
    rec = runs["rulkov"]
    ratio = rec.mean_speed(2.0) / runs["kuramoto"].mean_speed(2.0)
    up = (np.linalg.norm(rec.force, axis=2) < 1e-6).mean(axis=0)
    return assess(
        NAME,
        "rulkov_paces",
        float(ratio),
        f"{rec.mean_speed(2.0):.3f} against {runs['kuramoto'].mean_speed(2.0):.3f} m/s; feet are up"
        f" {100 * up.min():.0f} to {100 * up.max():.0f} % of the time. {bursts}",
        holds=bool(not rec.meta["fell"] and (up > _STEPS).all() and abs(ratio - 1.0) <= _WITHIN),
    )


def catches(robot: Robot) -> Claim:
    """Assess pushes to either side, with and without reflexes."""
    usual = widest(shoved(robot, 0.0, True))
    fell = caught = 0
    outs = []
    for speed, side in product(SHOVES, (1.0, -1.0)):
        if not shoved(robot, side * speed, False).meta["fell"]:
            continue
        fell += 1
        rec = shoved(robot, side * speed, True)
        if not rec.meta["fell"]:
            caught += 1
            outs.append(widest(rec) - usual)
    share = 100.0 * caught / fell if fell else float("nan")
    further = min(outs, default=0.0)
    return assess(
        NAME,
        "reflex_catches_fall",
        share,
        f"Of {2 * len(SHOVES)} shoves by {', '.join(map(str, SHOVES))} m/s to either side {fell} fell with the gait"
        " alone;"
        f" {caught} of these are caught with reflexes, a foot coming down at least {1e3 * further:.0f} mm further out"
        " than without a shove.",
        holds=bool(fell and share >= 50.0 and further >= _FURTHER),
    )


def shoved(robot: Robot, speed: float, reflexes: bool) -> Recording:
    """Run a trot with a push that would give a free robot ``speed`` [m/s] to the left."""
    controller = ReflexPD.tuned(robot, "trot", reflexes=reflexes)
    pushes = [Push(start=SHOVED, duration=0.1, force=(0.0, 10.0 * speed * robot.mass, 0.0))] if speed else []
    simulation = Simulation(
        robot,
        controller,
        start=standing_start(robot, controller),
        pushes=pushes,
        command=Command(forward=controller.gait.speed),
    )
    return simulation.run(CAUGHT)


def widest(rec: Recording) -> float:
    """Return the largest distance from the trunk's middle plane at which a foot lands after the push [m]."""
    sides = np.sign(foot_positions(rec.robot, rec.robot.state("stand")[0])[:4, 1])
    most = 0.0
    landed = np.flatnonzero((np.diff(rec.contact[:, :4].astype(int), axis=0) == 1).any(axis=1)) + 1
    for row in landed[rec.time[landed] > SHOVED]:
        new = rec.contact[row, :4] & ~rec.contact[row - 1, :4]
        places = (foot_positions(rec.robot, rec.q[row])[:4] - rec.q[row, :3]) @ to_rotation(rec.q[row, 3:7])
        most = max(most, float((sides * places[:, 1])[new.astype(bool)].max()))
    return most
