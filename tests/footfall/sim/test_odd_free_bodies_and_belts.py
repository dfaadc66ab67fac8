"""Odd but plausible free bodies, belts and closed loops: taken rightly or refused in one sentence."""

from __future__ import annotations

import copy
import dataclasses
import random

import numpy as np
import pytest
from simulated_bodies import IDEAL, pendulum

import footfall as ff
from footfall.errors import InputError
from footfall.sim import Belt, linearize_loop

ARM = pendulum(2, 0.31, 0.6)
FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))


@ff.controller(rate=500)
def soft(t, robot, sensed, command, memory):
    return ff.JointCommand(position=0.2 * command.forward, kp=3.0, kd=0.1), memory


def swinging(**options) -> ff.Simulation:
    return ff.Simulation(ARM, soft, ground=FAR, start=([0.4, -0.2], [0.0, 0.3]), **options)


@pytest.mark.parametrize("rotation", ["upright", [[1.0, 0.0], [0.0]], [1, 0, 0, 0], np.full((3, 3), np.nan)])
def test_a_rotation_that_is_none_is_refused(rotation):
    with pytest.raises(InputError, match="rotation of a FreeBall must be a rotation matrix"):
        ff.FreeBall(radius=0.1, mass=1.0, position=(0, 0, 1), rotation=rotation)


def test_a_word_for_hollow_is_refused():
    with pytest.raises(InputError, match="hollow of a FreeBall must be True or False, got 'no'"):
        ff.FreeBall(radius=0.1, mass=1.0, position=(0, 0, 1), hollow="no")


def test_belts_with_a_list_of_one_value_each_are_those_with_one_for_all():
    def end(many) -> np.ndarray:
        belt = Belt(many(350.0), many(0.2), many(0.01), many(0.013))
        sim = swinging(joints=dataclasses.replace(IDEAL, belt=belt))
        sim.run(0.1)
        return sim.q

    np.testing.assert_array_equal(end(lambda x: [x, x]), end(lambda x: x))


def test_a_ragged_stiffness_of_belts_is_refused():
    with pytest.raises(InputError, match="stiffness of a belt must be positive"):
        Belt(stiffness=[300.0, [300.0]])


def test_a_closed_loop_ends_where_its_simulation_goes_under_pushes_and_schedules():
    first = ff.Push(start=0.0, duration=0.003, force=(0.0, 0.0, 40.0), link="rod1")
    pushes = [first, ff.Push(start=0.005, duration=0.01, force=(9.0, 0.0, 0.0), link="rod0")]
    sim = swinging(pushes=pushes, command=ff.sim.Schedule.parse("0: forward=0.3; 0.004: forward=-2"))
    found = linearize_loop(sim, np.int64(5))
    sim.run(0.01)
    np.testing.assert_allclose(found.q, sim.q, atol=1e-12)
    np.testing.assert_allclose(found.v, sim.v, atol=1e-11)


def test_a_closed_loop_with_free_bodies_is_refused():
    sim = swinging(objects=[ff.FreeBall(radius=0.1, mass=1.0, position=(1.0, 0.0, 1.0))])
    with pytest.raises(InputError, match="remove the objects"):
        linearize_loop(sim)


def test_a_closed_loop_of_a_controller_that_draws_numbers_has_no_derivative():
    @ff.controller(rate=500)
    def drawn(t, robot, sensed, command, memory):
        return ff.JointCommand(torque=np.full(2, random.random())), memory

    with pytest.raises(InputError, match="has no derivative"):
        linearize_loop(ff.Simulation(ARM, drawn, ground=FAR))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ground", ff.contact.Plane(0.1)),
        ("objects", [ff.FreeBall(radius=0.1, mass=1.0, position=(2, 0, 1))]),
        ("dt", 2e-3),
        ("contact", "stance"),
    ],
)
def test_what_a_simulation_was_made_of_is_not_assigned_in_vain(name, value):
    sim = swinging()
    with pytest.raises(InputError, match=f"the {name} of a simulation cannot be changed"):
        setattr(sim, name, value)
    sim.command, sim.pushes = (
        ff.Command(forward=0.1),
        [ff.Push(start=0.0, duration=0.01, force=(1.0, 0.0, 0.0), link="rod0")],
    )
    sim.run(0.01)
    assert copy.deepcopy(sim).time == pytest.approx(0.01)
