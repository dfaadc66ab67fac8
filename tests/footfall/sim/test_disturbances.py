"""Pushes and payloads: an impulse is a change of momentum, a load is carried."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_bodies import G, top

import footfall as ff
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.momentum import momentum
from footfall.errors import InputError, ModelError
from footfall.robot.model.variants import with_payload

CHEETAH = ff.load("mini_cheetah")
WEIGHTLESS = (0.0, 0.0, 0.0)


def free(robot: ff.Robot, **options) -> ff.Simulation:
    """In empty space, joints limp."""
    q, v = robot.state()
    q[2] = 5.0
    limp = ff.control.Hold(np.zeros(robot.nj), kp=0.0, kd=0.0, rate=options.pop("rate", 1000.0))
    return ff.Simulation(robot, limp, start=(q, v), gravity=WEIGHTLESS, stop_on_fall=False, **options)


@pytest.mark.parametrize(
    ("start", "duration", "rate"),
    [(0.05, 0.1, 1000.0), (0.0, 0.02, 1000.0), (0.0503, 0.0101, 1000.0), (0.05, 0.0004, 1000.0), (0.033, 0.05, 100.0)],
)
def test_impulse_of_a_push_is_the_change_of_momentum_at_any_rate_of_the_controller(start, duration, rate):
    force = np.array([12.0, -5.0, 8.0])
    sim = free(CHEETAH, rate=rate, pushes=[ff.Push(start=start, duration=duration, force=tuple(force))])
    sim.run(0.2)
    np.testing.assert_allclose(momentum(CHEETAH, sim.q, sim.v)[3:], force * duration, rtol=1e-3, atol=1e-6)


def test_moment_of_a_push_spins_a_body_up():
    robot = top((0.04, 0.04, 0.04))
    sim = free(robot, pushes=[ff.Push(start=0.0, duration=0.1, moment=(0.0, 0.0, 0.02))], dt=1e-4)
    sim.run(0.2)
    spin = momentum(robot, sim.q, sim.v)[:3]
    assert spin[2] == pytest.approx(0.02 * 0.1, rel=1e-3)


def test_pushes_that_overlap_add_up_and_rows_stay_evenly_spaced():
    pushes = [
        ff.Push(start=0.0213, duration=0.05, force=(10.0, 0.0, 0.0)),
        ff.Push(start=0.0408, duration=0.05, force=(10.0, 4.0, 0.0)),
    ]
    sim = free(CHEETAH, pushes=pushes, record_rate=100)
    rec = sim.run(0.2)
    np.testing.assert_allclose(rec.time, 0.01 * np.arange(1, 21))
    np.testing.assert_allclose(momentum(CHEETAH, sim.q, sim.v)[3:], [1.0, 0.2, 0.0], rtol=2e-3, atol=1e-6)
    assert [event.kind for event in rec.events] == ["push", "push"]


def test_run_in_two_parts_feels_a_push_once():
    whole = free(CHEETAH, pushes=[ff.Push(start=0.05, duration=0.1, force=(10.0, 0.0, 0.0))])
    parts = free(CHEETAH, pushes=[ff.Push(start=0.05, duration=0.1, force=(10.0, 0.0, 0.0))])
    whole.run(0.2)
    told = [[event.kind for event in parts.run(0.04).events] for _ in range(5)]
    assert told == [[], ["push"], [], [], []]
    np.testing.assert_array_equal(whole.v, parts.v)


def test_work_of_a_push_is_recorded():
    sim = free(CHEETAH, pushes=[ff.Push(start=0.0, duration=0.1, force=(20.0, 0.0, 0.0))], dt=1e-4)
    rec = sim.run(0.2)
    assert rec["push_work"][-1] == pytest.approx(rec["kinetic"][-1], rel=1e-2)


# -- payload ---------------------------------------------------------------------------------------------------------
def test_payload_adds_its_mass_and_moves_the_centre_of_mass():
    loaded = with_payload(CHEETAH, 2.0, (0.1, 0.0, 0.08))
    assert loaded.mass == pytest.approx(CHEETAH.mass + 2.0)
    assert (loaded.nv, loaded.nj, loaded.nf) == (CHEETAH.nv, CHEETAH.nj, CHEETAH.nf)
    q, _ = CHEETAH.state("stand")
    before, after = (ff.kinematics.center_of_mass(robot, q) for robot in (CHEETAH, loaded))
    expected = (CHEETAH.mass * before + 2.0 * (q[:3] + np.array([0.1, 0.0, 0.08]))) / loaded.mass
    np.testing.assert_allclose(after, expected, atol=1e-12)
    extra = mass_matrix(loaded, q) - mass_matrix(CHEETAH, q)
    assert np.linalg.eigvalsh(extra).min() > -1e-12


def test_loaded_robot_presses_on_the_ground_with_its_load():
    loaded = with_payload(CHEETAH, 3.0, (0.05, 0.0, 0.1))
    sim = ff.Simulation(loaded, record_rate=50)
    rec = sim.run(5.0)
    assert rec.force[-1, :, 2].sum() == pytest.approx((CHEETAH.mass + 3.0) * G, rel=1e-4)
    front, back = rec.force[-1, :2, 2].sum(), rec.force[-1, 2:, 2].sum()
    assert front > back


def test_payload_on_a_leg_hangs_on_that_leg():
    loaded = with_payload(CHEETAH, 0.2, (0.0, 0.0, -0.1), link="LF_knee_link")
    body, _ = loaded.tree.frames["payload"]
    assert loaded.tree.bodies[body].name == "LF_knee_link"


def test_payload_that_makes_no_sense_is_refused():
    for mass in (0.0, -1.0, np.nan):
        with pytest.raises((InputError, ModelError), match="mass"):
            with_payload(CHEETAH, mass)
    with pytest.raises(InputError, match="unknown link 'tail'"):
        with_payload(CHEETAH, 1.0, link="tail")
    with pytest.raises(InputError, match="already has a link 'payload'"):
        with_payload(with_payload(CHEETAH, 1.0), 1.0)
    with pytest.raises(ModelError, match="origin"):
        with_payload(CHEETAH, 1.0, (np.nan, 0.0, 0.0))
