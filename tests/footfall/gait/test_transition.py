"""Laws of changes of gait: frequency, duty and delays follow, nothing jumps, robots stay on their feet."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.control.joint.changing_pd import ChangingPD
from footfall.errors import InputError
from footfall.gait.oscillators.phase_equations import Kuramoto
from footfall.gait.transition import Transition
from footfall.gait.tuned import for_robot
from footfall.robot import library
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start


def run(change, seconds, dt=1e-3):
    phase, out = Kuramoto.of(change.first).start(), []
    for k in range(round(seconds / dt)):
        out.append((phase, *change.foot_offset(phase, k * dt)))
        phase = change.advance(phase, k * dt, dt)
    return (np.array(column) for column in zip(*out))


@pytest.mark.parametrize("names", [("walk", "trot"), ("trot", "pace"), ("trot", "bound"), ("amble", "walk")])
def test_phases_frequency_and_duty_end_as_the_second_gait_has_them(names):
    first, second = map(gait.named, names)
    change = Transition(first, second, 0.5, 1.5)
    phase, _, z = run(change, 6.0)
    assert np.abs(Kuramoto.of(second).error(phase[-1])).max() < 1e-4
    steps = np.diff(phase[-1500:], axis=0) % 1.0
    assert np.abs(steps * 1e3 * second.period - 1.0).max() < 1e-3
    whole = round(2 * second.period * 1e3)
    assert np.abs((phase[-whole:] < second.duty).mean(axis=0) - second.duty).max() < 0.01
    assert math.isclose(z.max(), 0.973 * second.height, rel_tol=0.5)


@pytest.mark.parametrize("names", [("walk", "trot"), ("trot", "walk"), ("trot", "pace")])
def test_feet_never_jump_and_legs_never_run_backwards(names):
    change = Transition(*map(gait.named, names), 0.5, 2.0)
    phase, x, z = run(change, 4.0)
    turns = np.diff(phase, axis=0)
    assert (turns - np.round(turns)).min() > 0
    assert max(np.abs(np.diff(x, axis=0)).max(), np.abs(np.diff(z, axis=0)).max()) < 0.004


def test_before_and_after_it_is_the_gaits_own_path():
    first, second = gait.walk(stride=0.1), gait.trot(stride=0.06, height=0.03)
    change, phase = Transition(first, second, 1.0, 1.0), np.array([0.1, 0.4, 0.6, 0.9])
    for t, own in ((0.5, first), (2.5, second)):
        for ours, theirs in zip(change.foot_offset(phase, t), gait.foot_offset(own, phase)):
            assert np.abs(ours - theirs).max() < 1e-12


@pytest.mark.parametrize("name", ["xiling", "spined", "dynakat"])
def test_robots_change_from_walk_to_trot_on_their_feet(name):
    robot = library.load(name)
    walk, trot = (for_robot(robot, g) for g in ("walk", "trot"))
    change = Transition(walk.gait, trot.gait.replace(knees=walk.gait.knees), 3.0, 2.0)
    controller = ChangingPD(transition=change, kp=(walk.kp, trot.kp), kd=(walk.kd, trot.kd))
    sim = Simulation(robot, controller, start=standing_start(robot, controller))
    rec = sim.run(9.0)
    assert sim.controller_is_compiled
    assert not rec.meta["fell"]
    assert rec.mean_speed(6.0) > 1.2 * rec.between(1.5, 3.0).mean_speed(1.5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Transition(gait.walk(knees=1), gait.trot(knees=-1)), "knees cannot change direction"),
        (lambda: Transition("walk", gait.trot()), "two Gaits"),
        (lambda: Transition(gait.walk(), gait.trot(), duration=math.nan), "duration of a transition"),
        (lambda: ChangingPD(transition=gait.trot()), "needs a Transition"),
        (lambda: ChangingPD(transition=Transition(gait.walk(), gait.trot()), kp=(-1.0, 2.0)), "kp of ChangingPD"),
    ],
)
def test_bad_transitions_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
