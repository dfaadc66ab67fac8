"""Controllers as people write them: lists, tensors, shared memory, in-place changes, random numbers."""

import warnings

import numpy as np
import pytest

import footfall as ff

ROBOT = ff.load("mini_cheetah")
STAND = ROBOT.poses["stand"].joints


def run(controller, **options):
    sim = ff.Simulation(ROBOT, controller, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sim, sim.run(0.05)


class Tensor:
    """As of a learning framework: an array by ``__array__`` alone."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


@pytest.mark.parametrize("form", [list, tuple, Tensor, lambda a: a.astype(np.float32)])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_position_may_be_any_sequence_of_numbers(form, compiled):
    @ff.controller(rate=500)
    def stand(t, robot, sensed, command, memory):
        return ff.JointCommand(position=form(STAND), kp=60, kd=2), memory

    sim, rec = run(stand, compile_controller=compiled)
    assert sim.controller_is_compiled is compiled
    np.testing.assert_allclose(rec["command_position"], np.tile(STAND, (len(rec), 1)), rtol=1e-7)


def test_a_list_of_sensed_values_is_compiled():
    @ff.controller(rate=500)
    def follow(t, robot, sensed, command, memory):
        return ff.JointCommand(position=[sensed.q[7 + j] for j in range(12)], kp=60.0, kd=2.0), memory

    sim, rec = run(follow)
    assert sim.controller_is_compiled
    assert rec["command_position"].shape == (25, 12)


@pytest.mark.parametrize("position", ["stand", STAND + 0j, np.eye(12)])
def test_what_is_no_command_is_one_sentence(position):
    @ff.controller(rate=500)
    def odd(t, robot, sensed, command, memory):
        return ff.JointCommand(position=position, kp=60.0, kd=2.0), memory

    with pytest.raises(ff.InputError, match=r"position of a JointCommand must be one .*number or 12 of them, got"):
        run(odd)


def test_a_controller_that_writes_into_what_it_senses_does_not_move_the_robot():
    def made(writes):
        @ff.controller(rate=500)
        def controller(t, robot, sensed, command, memory):
            if writes:
                sensed.q[7:], sensed.v[:], sensed.forces[:] = 0.0, 5.0, 1e3
            return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), memory

        return controller

    honest = run(made(False), compile_controller=False)[1]
    np.testing.assert_array_equal(run(made(True))[1].q, honest.q)


def test_memory_changed_in_place_begins_anew_with_every_start():
    @ff.controller(rate=500, memory={"ticks": np.zeros(1)})
    def counts(t, robot, sensed, command, memory):
        memory["ticks"] += 1.0
        return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), memory

    sim, _ = run(counts, compile_controller=False)
    assert sim.state.memory["ticks"] == 25
    assert counts.memory["ticks"] == 0
    sim.reset()
    assert sim.state.memory["ticks"] == 0


def test_memory_that_grows_runs_in_python_and_says_so():
    @ff.controller(rate=500, memory={"heights": np.zeros(1)})
    def remembers(t, robot, sensed, command, memory):
        heights = np.concatenate([memory["heights"], sensed.q[2:3]])
        return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), {"heights": heights}

    sim = ff.Simulation(ROBOT, remembers)
    with pytest.warns(UserWarning, match=r"memory changes its structure from \{'heights': \(1,\)\} to"):
        sim.run(0.05)
    assert sim.state.memory["heights"].shape == (26,)


def test_random_numbers_in_a_controller_run_in_python():
    """The compiled code of np.random fills what np.empty gives it as plain numbers, traced or not."""
    random = np.random.default_rng(0)

    @ff.controller(rate=500)
    def shaky(t, robot, sensed, command, memory):
        noise = 1e-3 * random.normal(size=12) + 1e-3 * random.uniform(size=12) + 1e-3 * random.gamma(1.0, size=12)
        return ff.JointCommand(position=STAND + noise, kp=60.0, kd=2.0), memory

    sim = ff.Simulation(ROBOT, shaky)
    with pytest.warns(UserWarning, match="draws random numbers"):
        rec = sim.run(0.05)
    assert 1e-5 < np.abs(rec["command_position"] - STAND).max() < 1e-2


def test_a_controller_needs_no_parentheses():
    @ff.controller
    def stand(t, robot, sensed, command, memory):
        return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), memory

    assert stand.rate == 1000.0
    assert len(run(stand)[1]) == 50


@pytest.mark.parametrize("rate", ["500", None, float("nan"), 0, [500]])
def test_a_rate_is_a_positive_number(rate):
    with pytest.raises(ff.InputError, match=r"rate of a controller must be (a number|positive and finite)"):
        ff.controller(rate=rate)


def test_a_class_is_no_controller():
    with pytest.raises(ff.InputError, match=r"must be an object, such as JointPD\(...\), got its class"):
        ff.Simulation(ROBOT, ff.control.JointPD)
