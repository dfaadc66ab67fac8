"""Contact laws and grounds of one's own that are not what they must be, or stand in another's way."""

import warnings

import numpy as np
import pytest

import footfall as ff
from footfall.contact import ForceLaw, Plane, StickSlip, terrain
from footfall.sim.arguments import check_ground

ROBOT, CHANCE = ff.load("mini_cheetah"), np.random.default_rng(0)


def with_law(law):
    return ff.Simulation(ROBOT, contact=type("Mine", (ForceLaw,), {"law": law} if law else {})())


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (None, "Mine must define law"),
        (lambda self, depth, v_C, friction, dt: None, "must return .*, got NoneType"),
        (lambda self, depth, v_C, friction, dt: np.zeros(3), "must return .*, got ndarray"),
        (lambda self, depth, v_C, friction, dt: (0.0, 0.0), r"got \[\(\), \(\)\]"),
        (lambda self, depth, v_C, friction, dt: (np.zeros(2), np.zeros(2)), r"got \[\(2,\), \(2,\)\]"),
        (lambda self, depth, v_C, friction, dt: ([0.0, 0.0, 1.0], [0.0, 0.0, 0.0]), "must return arrays"),
        (
            lambda self, depth, v_C, friction, dt: (CHANCE.normal(size=3), np.zeros(3)),
            "two results for the same arguments",
        ),
    ],
)
def test_a_law_that_returns_something_else_is_one_sentence(law, words):
    with pytest.raises(ff.InputError, match=words):
        with_law(law)


@pytest.mark.parametrize(
    ("normal", "words"),
    [
        (None, "Mine must define normal"),
        (lambda self, depth, dt: 1e4 * depth, "must return .*, two numbers"),
        (lambda self, depth, dt: (1e4 * depth, np.zeros(3)), "must return .*, two numbers"),
        (lambda self, depth, dt: (1e4 * depth, 50.0), r"must be zero at a depth of zero, got \(0\.0, 50\.0\)"),
    ],
)
def test_a_normal_force_that_is_something_else_is_one_sentence(normal, words):
    law = type("Mine", (StickSlip,), {"normal": normal} if normal else {})
    with pytest.raises(ff.InputError, match=words):
        ff.Simulation(ROBOT, contact=law())


def test_a_law_that_branches_on_depth_is_not_blamed_on_the_controller():
    def law(self, depth, v_C, friction, dt):
        return (np.array([0.0, 0.0, 2e4 * depth]), np.zeros(3)) if depth > 0 else (np.zeros(3), np.zeros(3))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ff.TraceError, match=r"test_odd_worlds.py"):
            with_law(law).run(0.01)


class Flat:
    def distance(self, p):
        return p[2]

    def frame(self, p):
        return np.eye(3)

    def friction_at(self, p):
        return 0.8


def ground(**methods):
    return type("Mine", (Flat,), methods)()


def facing(slope):
    """The frame of a surface whose distance changes by ``slope`` along x."""
    length = np.sqrt(1.0 + slope * slope)
    up, along = np.stack([slope, 0.0, 1.0]) / length, np.stack([1.0, 0.0, -slope]) / length
    return np.stack([along, np.array([0.0, 1.0, 0.0]), up], axis=1)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (ground(frame=lambda self, p: np.eye(2)), "frame.* of Mine must be a rotation"),
        (ground(frame=lambda self, p: 2 * np.eye(3)), "frame.* of Mine must be a rotation"),
        (ground(friction_at=lambda self, p: -1.0), "friction_at.* of Mine must be 0 or more"),
        (ground(distance=lambda self, p: p[2:3]), "distance.* of Mine must be one number"),
        (Flat, r"a ground must be an object, such as Flat\(...\), got its class"),
        (Plane, r"a ground must be an object, such as Plane\(...\), got its class"),
    ],
)
def test_a_ground_that_says_something_else_is_one_sentence(made, words):
    with pytest.raises(ff.InputError, match=words):
        ff.Simulation(ROBOT, ground=made)


TILTED = ff.contact.Plane.slope(4.0)
HALF_TURN = np.diag([1.0, -1.0, -1.0])


@pytest.mark.parametrize(
    "made",
    [
        ground(distance=lambda self, p: TILTED.distance(p), frame=lambda self, p: TILTED.frame(p).T),
        ground(distance=lambda self, p: TILTED.distance(p), frame=lambda self, p: np.eye(3)),
        ground(frame=lambda self, p: HALF_TURN),
        ground(distance=lambda self, p: -p[2]),
        ground(
            distance=lambda self, p: p[2] - 0.05 * np.sin(5.0 * p[0]),
            frame=lambda self, p: facing(0.25 * np.cos(5.0 * p[0])),
        ),
    ],
    ids=["transposed", "level on a slope", "downwards", "distance below", "slopes negated"],
)
def test_a_normal_that_is_not_the_gradient_of_the_distance_is_one_sentence(made):
    with pytest.raises(ff.InputError, match=r"frame\(p\) of Mine must have the normal, along which its distance grows"):
        ff.Simulation(ROBOT, ground=made)


def borrowed(surface):
    """A ground of one's own that says what one of ours does."""
    return ground(
        distance=lambda self, p: surface.distance(p),
        frame=lambda self, p: surface.frame(p),
        friction_at=lambda self, p: surface.friction_at(p),
    )


def roof(slope):
    """Two slopes that meet in a ridge at x = 0, right under the first point that is looked at."""
    return ground(
        distance=lambda self, p: (p[2] + slope * np.abs(p[0])) / np.sqrt(1.0 + slope * slope),
        frame=lambda self, p: facing(np.where(p[0] > 0.0, slope, -slope)),
    )


@pytest.mark.parametrize(
    "made",
    [
        *map(borrowed, (Plane.slope(13.0), terrain.named("steps:0.05"), terrain.named("rough:0.1", seed=2))),
        roof(0.3),
        roof(-0.2),
        ground(distance=lambda self, p: p[2] - 0.07 * np.floor(p[0] / 0.213)),
    ],
    ids=["slope", "steps", "rough", "ridge", "valley", "stairs"],
)
def test_a_ground_of_ones_own_with_creases_and_steps_is_taken(made):
    check_ground(made)


def test_a_contact_model_is_an_object():
    with pytest.raises(ff.InputError, match="a contact model must be an object"):
        ff.Simulation(ROBOT, contact=ff.contact.Compliant)


def test_a_robot_starts_on_a_ground_that_is_level_under_its_trunk_alone():
    bumpy = ground(distance=lambda self, p: p[2] - 0.1 * p[0] * p[0], frame=lambda self, p: facing(-0.2 * p[0]))
    sim = ff.Simulation(ROBOT, ground=bumpy)
    heights = [float(bumpy.distance(p)) for p in ff.kinematics.foot_positions(ROBOT, sim.q)]
    assert min(heights) == pytest.approx(ROBOT.feet[0].radius, abs=1e-9)
    assert sim.run(0.2).force[-1, :, 2].sum() > 0.5 * 9.81 * ROBOT.mass
