"""Every robot steps to the same bits whether or not its legs share vector instructions."""

import functools
import warnings

import numpy as np
import pytest
from held_steps import held_step
from third_party_models import third_party_path

from footfall import compiling
from footfall.contact.compliant import Compliant
from footfall.contact.heightfield import Heightfield
from footfall.control.posture import with_stand
from footfall.robot import library
from footfall.robot.files.urdf_mjcf import load_model
from footfall.sim.equations_of_motion import State
from footfall.sim.world import World
from nptrace.codegen import interpret
from nptrace.passes import slp

FILES = ["go2", "anymal_c", "hyq"]  # the last two with the frames of their legs turned differently
ROBOTS = [*library.names(), *FILES]
FOUR_LIKE_LEGS = {"mini_cheetah", "xiling", "dynakat", *FILES}
STEPS = 40
IMPLICIT, EXPLICIT = Compliant(damping=1e4, implicit=True), Compliant(damping=10.0)


@functools.cache
def robot(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return with_stand(load_model(third_party_path(name), name=name)) if name in FILES else library.load(name)


def start(model):
    """Near the ground, not quite at rest, no two legs alike."""
    random = np.random.default_rng(3)
    q, _ = model.state("stand") if "stand" in model.poses else model.state(np.zeros(model.nj), 0.3)
    joints = q[7:] + 0.05 * random.normal(size=model.nj)
    return State(np.concatenate([q[:7], joints]), 0.1 * random.normal(size=model.nv)), q[7:]


def step_program(name, contact):
    model = robot(name)
    state, targets = start(model)
    return compiling.program(held_step, World(robot=model, contact=contact), state, targets, dt=1e-4)


@pytest.mark.parametrize("name", ROBOTS)
def test_one_robot_steps_as_in_a_batch_bit_for_bit(name):
    model = robot(name)
    world, (state, targets) = World(robot=model, contact=IMPLICIT), start(model)
    one = compiling.compile(held_step, world, state, targets, dt=1e-4).advance(STEPS, state, targets)
    many = compiling.compile(held_step, world, state, targets, dt=1e-4, target="batch", lanes=4)
    rows = many.advance(STEPS, State(*(np.stack([x, 1.001 * x]) for x in (state.q, state.v))), np.stack([targets] * 2))
    assert np.isfinite(one.q).all()
    np.testing.assert_array_equal(one.q, rows.q[0])
    np.testing.assert_array_equal(one.v, rows.v[0])
    assert (one.q != rows.q[1]).any()


@pytest.mark.parametrize("contact", [IMPLICIT, EXPLICIT], ids=["implicit", "explicit"])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_packed_step_is_the_step(name, contact):
    code = step_program(name, contact)
    state, targets = start(robot(name))
    x = np.concatenate([state.q, state.v, targets])[:, None] * np.linspace(0.98, 1.0, 5)
    expected = interpret.evaluate(code, x)
    for lanes in (4, 2):
        made = slp.vectorised(code, worth=1e9, lanes=(lanes,))
        np.testing.assert_array_equal(interpret.evaluate(made, x), expected)


@pytest.mark.parametrize("contact", [IMPLICIT, EXPLICIT], ids=["implicit", "explicit"])
@pytest.mark.parametrize("name", sorted(FOUR_LIKE_LEGS))
def test_four_like_legs_need_less_than_half_of_the_operations(name, contact):
    code = step_program(name, contact)
    made = slp.vectorised(code)
    assert made is not None
    counts = made.operations()
    assert made.lanes == 4
    assert counts.total() - counts["extract"] < 0.45 * code.size
    assert counts["gather"] < 10


def test_legs_that_a_spine_sets_apart_go_in_pairs():
    code = step_program("spined", EXPLICIT)
    made = slp.vectorised(code)
    assert made.lanes == 2
    counts = made.operations()
    assert counts.total() - counts["extract"] < 0.8 * code.size


def test_feet_look_up_rough_ground_in_lanes():
    model = robot("mini_cheetah")
    world = World(robot=model, contact=EXPLICIT, ground=Heightfield.rough(0.05, seed=1, flat=0.0, size=(4.0, 4.0)))
    state, targets = start(model)
    # not replayed on random states: deep in rough ground explicit forces multiply rounding
    one, other = (
        compiling.compile(held_step, world, state, targets, dt=1e-4, vectorize=on, verify=False) for on in (True, False)
    )
    assert slp.vectorised(one.program) is not None
    after, expected = (f.advance(STEPS, state, targets) for f in (one, other))
    np.testing.assert_array_equal(after.q, expected.q)
    assert np.isfinite(after.q).all()
