"""Eq. (19) solved by its structure: what the printed system says, compiled, in every topology and mix of knowns."""

import numpy as np
import pytest

import footfall as ff
from footfall.dynamics.formalisms.modes import all_modes
from footfall.dynamics.formalisms.screw_structure import Known, solve_by_structure
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError
from footfall.spatial.gravity import GRAVITY


def error(x, y):
    return float(np.abs(x - y).max() / max(float(np.abs(y).max()), 1e-6))


def test_compiled_forward_dynamics_equals_the_printed_system_in_all_topologies():
    robot = ff.load("dynakat").replace(rotors="exact")
    states = random_states(robot, 1, seed=8)
    forward = ff.compile(ff.dynamics.screw_forward_dynamics, robot, mode=np.ones(robot.nf))
    for q, v, tau in zip(states.q, states.v, states.tau):
        for mode in all_modes(robot):
            found = forward(q, v, tau[6:], mode)
            printed = ff.dynamics.screw_forward_dynamics(robot, q, v, tau[6:], mode, solver="dense")
            for key in ("a", "foot_forces", "reactions", "torques"):
                assert error(getattr(found, key), getattr(printed, key)) < 1e-9, key


def test_compiled_inverse_dynamics_takes_measured_forces_and_an_imu():
    robot = ff.load("spined")
    states = random_states(robot, 1, seed=9)
    q, v, a, forces = states.q[0], states.v[0], states.a[0], 50.0 * np.cos(np.arange(12.0)).reshape(4, 3)
    for base in (None, a[:6]):
        imu = {} if base is None else {"base_acceleration": base}
        inverse = ff.compile(ff.dynamics.screw_inverse_dynamics, robot, foot_forces=forces, **imu)
        found = inverse(q, v, a[6:], forces, *imu.values())
        printed = ff.dynamics.screw_inverse_dynamics(robot, q, v, a[6:], forces, base, solver="sparse")
        for key in ("a", "torques", "reactions"):
            assert error(getattr(found, key), getattr(printed, key)) < 1e-9, key


def test_known_torques_and_known_accelerations_take_each_others_place():
    robot, rng = ff.load("xiling"), np.random.default_rng(4)
    states = random_states(robot, 1, seed=5)
    q, v, tau, mode = states.q[0], states.v[0], states.tau[0][6:], np.array([1.0, 0.0, 1.0, 1.0])
    a, forces = ff.dynamics.constrained_dynamics(robot, q, v, tau, mode)
    swings = [0.0] * 3 + [1.0] * 3 + [0.0] * 6
    for given in (np.zeros(12), np.array(swings), 1.0 * (rng.uniform(size=12) < 0.2) * swings):
        force = np.concatenate([np.zeros(6), tau * (1.0 - given)])
        found = solve_by_structure(
            robot,
            q,
            v,
            Known(force=force, accelerations=given * a[6:], given=given, mode=mode, foot_forces=np.zeros((4, 3))),
            GRAVITY,
        )
        assert error(found.a, a) < 1e-9
        assert error(found.torques, tau) < 1e-9
        assert error(found.foot_forces, forces) < 1e-9


@pytest.mark.parametrize("name", ["mini_cheetah", "spined", "xiling", "dynakat"])
def test_structure_takes_a_fraction_of_the_operations_of_the_whole_system(name):
    """An LU factorisation of the 168 equations alone takes 1.6 million."""
    robot = ff.load(name)
    program = ff.program(ff.dynamics.screw_forward_dynamics, robot, mode=np.ones(robot.nf))
    assert program.live_operations < 16_000


def test_a_traced_inverse_problem_without_foot_forces_is_refused():
    robot = ff.load("xiling")
    with pytest.raises(InputError, match="foot forces of inverse dynamics are not unique"):
        ff.program(ff.dynamics.screw_inverse_dynamics, robot, mode=np.ones(4))
