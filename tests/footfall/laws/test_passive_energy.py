"""Passive bodies and robots leave the compliant ground with no more energy than they came with, at 1 to 4 ms."""

from __future__ import annotations

import numpy as np
import pytest
from recorded_steps import Steps, recorded_steps
from simulated_bodies import IDEAL, G, ball, block, resting_depth
from third_party_models import walker

import footfall as ff
from footfall.control.posture import with_stand
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.kinematics.forward import foot_positions
from footfall.robot import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.world import World

DTS = (1e-3, 2e-3, 4e-3)
FRICTIONS = (0.05, 0.4, 1.2)
CONTACTS = {f"compliant_{c:g}": ff.contact.Compliant(damping=c) for c in (1e4, 300.0, 0.0)}
CONTACTS |= {f"planning_{c:g}": ff.contact.Planning(damping=c) for c in (40.0, 0.0)}
BODIES = {"ball": ball(1.3, 0.07), "block": block(4, 2.1), "sledge": block(1, 2.1)}


def energies(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Kinetic, gravitational and of joint springs, of rows [J]."""

    def energy(q: np.ndarray, v: np.ndarray) -> float:
        return kinetic_energy(robot, q, v) + potential_energy(robot, q, (0.0, 0.0, -G))

    return ff.compile(energy, None, q[0], v[0], target="batch", verify=False)(q, v)


def check_separations(robot: Robot, runs: list[tuple[State, Steps]]) -> int:
    """No run has more than its start where nothing touches; how often that was after a touch."""
    starts = energies(robot, np.stack([s.q for s, _ in runs]), np.stack([s.v for s, _ in runs]))
    left = 0
    for start, (_, run) in zip(starts, runs):
        touched = np.abs(run.forces).sum(axis=(1, 2)) > 0.0
        apart = ~touched & (np.cumsum(touched) > 0)
        if apart.any():
            assert energies(robot, run.q[apart], run.v[apart]).max() <= start + 1e-9 * abs(start)
            left += 1
    return left


@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("name", BODIES)
def test_thrown_body_leaves_the_ground_with_no_more_energy_than_it_had(name, contact):
    robot, random = BODIES[name], np.random.default_rng(11)
    run = recorded_steps(World(robot=robot, contact=CONTACTS[contact], joints=IDEAL))
    runs = []
    for dt in DTS:
        for mu in FRICTIONS:
            for _ in range(4):
                turn = random.normal(size=4) if name != "sledge" else np.array([1.0, 0.0, 0.0, 0.0])
                reach = {"ball": 0.07, "block": 0.75, "sledge": 0.02}[name]
                q = np.array([0.0, 0.0, reach + random.uniform(0.001, 0.3), *(turn / np.linalg.norm(turn))])
                spin = 6.0 * random.normal(size=3) * (name != "sledge")
                start = State(q, np.array([*spin, *(2.0 * random.normal(size=2)), -random.uniform(0.0, 2.0)]))
                runs.append((start, run(start, round(0.8 / dt), dt=dt, friction=mu)))
    assert check_separations(robot, runs) > len(runs) // 4


@pytest.mark.parametrize("dt", DTS)
@pytest.mark.parametrize("name", BODIES)
def test_body_that_slides_or_rolls_never_gains_energy(name, dt):
    """From its resting depth, so that what the ground's spring may give back is its weight times that depth."""
    robot, random = BODIES[name], np.random.default_rng(12)
    contact, reach = ff.contact.Compliant(), 0.07 if name == "ball" else 0.02
    run = recorded_steps(World(robot=robot, contact=contact, joints=IDEAL))
    depth = resting_depth(contact, robot.mass * G / robot.nf)
    for mu in FRICTIONS:
        for _ in range(3):
            v = np.array([0.0, 0.0, 0.0, *(1.5 * random.normal(size=2)), 0.0])
            v[:3] = 10.0 * random.normal(size=3) * (name == "ball")
            start = State(np.array([0.0, 0.0, reach - depth, 1.0, 0.0, 0.0, 0.0]), v)
            ran = run(start, round(1.0 / dt), dt=dt, friction=mu)
            energy = energies(robot, np.vstack([start.q, ran.q]), np.vstack([v, ran.v]))
            assert energy.max() <= energy[0] + robot.mass * G * depth


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("spined", "xiling", "a1")]


@pytest.mark.parametrize("contact", ["compliant", "planning"])
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "go2", *SLOW])
def test_dropped_robot_with_passive_joints_leaves_the_ground_with_no_more_energy_than_it_had(name, contact):
    robot, random = with_stand(walker(name)), np.random.default_rng(13)
    run = recorded_steps(World(robot=robot, contact=ff.contact.named(contact), joints=JointModel()))
    q_0, v_0 = robot.state("stand")
    runs = []
    for dt in DTS:
        for mu in FRICTIONS:
            for _ in range(3):
                q, v = q_0.copy(), v_0.copy()
                q[7:] += 0.2 * random.normal(size=robot.nj)
                lowest = min(p[2] - foot.radius for p, foot in zip(foot_positions(robot, q), robot.feet))
                q[2] += random.uniform(0.005, 0.25) - lowest
                v[:3], v[3:5], v[6:] = random.normal(size=3), random.normal(size=2), random.normal(size=robot.nj)
                start = State(q, v)
                runs.append((start, run(start, round(0.5 / dt), dt=dt, friction=mu)))
    assert check_separations(robot, runs) > len(runs) // 3
