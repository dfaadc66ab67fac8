"""Simulations that run together: each recording is that of the simulation by itself, whoever else is in the batch."""

import dataclasses

import numpy as np
import pytest

import footfall as ff
from footfall.errors import InputError
from footfall.sim import run_batched, shared_programs
from footfall.sim.rollouts import LanesBackend, ground_inputs
from footfall.sim.shared_programs import accepts_parameters


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


def holding(robot, *, start="stand", **options):
    return ff.Simulation(robot, ff.control.Hold("stand", kp=40.0, kd=1.0), start=start, **options)


def pushed(robot, k):
    """Pushed at its own time, so hard that the last ones fall; recorded at every fifth tick."""
    push = ff.Push(start=0.03 + 0.0137 * k, duration=0.05, force=(0.0, 250.0 * k, 0.0))
    return holding(robot, pushes=[push], record_rate=200.0)


def assert_same(ours, theirs, rtol=0.0):
    assert set(ours.columns) == set(theirs.columns)
    for name, column in theirs.columns.items():
        size = float(np.abs(column).max(initial=1.0)) if column.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(ours[name], column, rtol=0.0, atol=rtol * size, err_msg=name)
    assert [(e.time, e.kind, e.message) for e in ours.events] == [(e.time, e.kind, e.message) for e in theirs.events]
    skipped = ("wall_seconds", "versions")
    for key, value in theirs.meta.items():
        assert key in skipped or ours.meta[key] == value, key


def test_pushes_states_and_durations_of_their_own_give_the_bits_of_single_runs(cheetah):
    durations = [0.5, 0.31, 0.5, 0.4, 0.5]
    ours, theirs = ([pushed(cheetah, k) for k in range(5)] for _ in range(2))
    together = run_batched(ours, durations)
    assert all(isinstance(one.backend, LanesBackend) for one in ours)
    assert len({id(one.backend.function) for one in ours}) == 1
    for one, other, recording, seconds in zip(ours, theirs, together, durations):
        assert_same(recording, other.run(seconds))
        np.testing.assert_array_equal(one.q, other.q)
        assert one.time == other.time
        assert one.stopped == other.stopped
    assert [one.stopped is not None for one in ours].count(True) >= 1
    ours[0].run(0.1)  # and each goes on by itself
    theirs[0].run(0.1)
    np.testing.assert_array_equal(ours[0].q, theirs[0].q)


def test_numbers_of_robot_ground_and_controller_are_free_and_agree_to_rounding(cheetah):
    def varied(k):
        robot = cheetah.replace({"trunk.mass": 3.3 + 0.4 * k})
        hold = ff.control.Hold("stand", kp=40.0 + 5.0 * k, kd=1.0)
        return ff.Simulation(robot, hold, ground=ff.contact.Plane(0.8 - 0.1 * k), start="stand")

    ours = [varied(k) for k in range(3)]
    together = run_batched(ours, 0.1)
    assert set(ours[0].backend.free) == {"trunk.mass", "ground.friction", "controller.kp"}
    for k in (0, 2):  # of a run by itself these numbers are constants, folded by the compiler
        assert_same(together[k], varied(k).run(0.1), 1e-9)


def test_a_member_that_is_like_no_other_runs_by_itself(cheetah):
    @ff.controller(rate=1000.0)
    def mine(t, robot, sensed, command, memory):
        return ff.JointCommand(position=robot.poses["stand"].joints, kp=40.0, kd=1.0), memory

    slow, own = holding(cheetah, dt=5e-4), ff.Simulation(cheetah, mine, start="stand")
    python = holding(cheetah, compile_controller=False)
    ours = [holding(cheetah), slow, own, holding(cheetah, seed=3), python, holding(cheetah, seed=4)]
    found = run_batched(ours, 0.02)
    assert [isinstance(one.backend, LanesBackend) for one in ours] == [True, False, False, True, False, True]
    for recording in found:
        assert recording.time[-1] == pytest.approx(0.02)


def test_one_that_diverges_stops_alone_and_says_when(cheetah):
    ours = [holding(cheetah, record_rate=100.0) for _ in range(3)]
    ours[1].state = dataclasses.replace(ours[1].state, v=np.full(cheetah.nv, np.nan))
    found = run_batched(ours, 0.05)
    assert ours[1].stopped.kind == "diverged"
    assert found[1].meta["diverged"]
    for k in (0, 2):
        assert ours[k].stopped is None
        np.testing.assert_array_equal(found[k].q, holding(cheetah, record_rate=100.0).run(0.05).q)


def test_a_part_that_keeps_what_it_made_of_a_number_shares_nothing_with_other_numbers(cheetah):
    """Locomotion plans with its friction when it is set up: no program has that as an input. A gain is one."""

    def walker(friction):
        start = ff.control.standing_state(cheetah)
        return ff.Simulation(cheetah, ff.control.Locomotion(friction=friction), start=start)

    some = [walker(0.5), walker(0.7), walker(0.5), walker(0.7)]
    family = shared_programs._Family(some[:1], ground_inputs(some[0].model))
    assert all(family.takes(one) for one in some[1:])
    assert set(family.free) == {"ground.friction", "controller.friction"}
    assert not accepts_parameters(some[0], some[1], family.free)
    smaller = shared_programs._without_own_numbers(family)
    assert [[some.index(one) for one in part.members] for part in smaller] == [[0, 2], [1, 3]]
    stiff = ff.Simulation(cheetah, ff.control.Hold("stand", kp=90.0, kd=1.0), start="stand")
    assert accepts_parameters(holding(cheetah), stiff, ["controller.kp"])


def test_durations_must_be_as_many(cheetah):
    with pytest.raises(InputError, match="2 simulations have 1 durations"):
        run_batched([holding(cheetah), holding(cheetah)], [1.0])
    assert run_batched([], 1.0) == []


def test_each_simulation_is_one_and_is_given_once(cheetah):
    one = holding(cheetah)
    with pytest.raises(InputError, match="has a simulation twice"):
        run_batched([one, holding(cheetah), one], 0.01)
    assert one.time == 0.0
    for wrong in (None, one, [one, "other"], [None]):
        with pytest.raises(InputError, match="takes a list of simulations"):
            run_batched(wrong, 0.01)
    for duration in ("0.1", None, b"1"):
        with pytest.raises(InputError, match="takes a duration"):
            run_batched([one], duration)


@pytest.mark.slow
def test_walks_with_pushes_reflexes_and_gaits_give_the_bits_and_events_of_single_runs(cheetah):
    """Solvers of one lane turn longer than those of another: it must not show."""

    def walk(k):
        reflexes = True if k % 2 else ["slip", "early_touchdown"]
        controller = ff.control.Locomotion(reflexes=reflexes, gait=ff.gait.trot(duty=0.6, period=0.4 + 0.02 * k))
        pushes = [ff.Push(start=0.2 + 0.031 * k, duration=0.1, force=(20.0 * k, 40.0 * k, 0.0))]
        ground = ff.contact.Plane(0.8 - 0.15 * k)
        start = ff.control.standing_state(cheetah)
        return ff.Simulation(
            cheetah, controller, ground=ground, start=start, command=ff.Command(forward=0.2 * k), pushes=pushes
        )

    ours = [walk(k) for k in range(5)]
    for k, recording in enumerate(run_batched(ours, 0.8)):
        assert isinstance(ours[k].backend, LanesBackend)
        other = walk(k)
        assert_same(recording, other.run(0.8))
        assert ours[k].controller.log == other.controller.log
    assert any(one.controller.log for one in ours)
