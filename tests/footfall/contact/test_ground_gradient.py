"""Distance and normal of every ground are one function: the normal is the gradient of the distance that is used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import footfall as ff
from footfall.contact import Heightfield, Patches, Plane, Steps
from footfall.parameters import replaced

SPACING, CORNER, SHAPE = 0.07, np.array([-0.2, -0.17]), (7, 6)
STEPS = (Steps.flight(0.07, tread=0.3), Steps.stairs(0.05, count=2), Steps.flight(-0.06), Steps.flight(0.015))
PLANES = (Plane(), Plane.slope(17.0), Plane(0.4, np.array([0.3, -0.5, 1.0]), np.array([0.1, 0.0, -0.2])))
INCLINED = Patches(PLANES[2], np.array([[0.2, 0.7]]))


def field(heights: np.ndarray, smooth: bool) -> Heightfield:
    """Heights may be traced, as the tables of a batch in which every robot has its own."""
    return replaced(Heightfield(np.zeros(SHAPE), SPACING, CORNER, 0.6, smooth), "heights", heights)


def asked(smooth: bool):
    """The traced gradient of the distance and the normal, of heights and a point: compiled once for all grounds."""
    numbers = np.zeros(SHAPE), np.zeros(3)
    gradient = ff.jacobian(lambda heights, p: field(heights, smooth).distance(p), None, *numbers, wrt=1)
    normal = ff.compile(lambda heights, p: field(heights, smooth).frame(p)[:, 2], None, *numbers, verify=False)
    return gradient, normal


FIELDS = {smooth: asked(smooth) for smooth in (False, True)}
grounds = st.tuples(st.integers(0, 2**31), st.floats(0.0, 0.15)).map(
    lambda drawn: drawn[1] * np.random.default_rng(drawn[0]).uniform(-1, 1, SHAPE)
)
points = st.tuples(st.floats(-0.35, 0.45), st.floats(-0.3, 0.35), st.floats(-0.01, 0.06))


@pytest.mark.parametrize("smooth", [False, True])
@settings(max_examples=300, deadline=None)
@given(heights=grounds, at=points)
def test_normal_of_a_heightfield_is_the_traced_gradient_of_its_distance(smooth, heights, at):
    gradient, normal = FIELDS[smooth]
    p = np.array([at[0], at[1], float(field(heights, smooth).surface(at[0], at[1])[0]) + at[2]])
    found = np.asarray(gradient(heights, p)).reshape(3)
    np.testing.assert_allclose(normal(heights, p), found / np.linalg.norm(found), atol=1e-9)


@pytest.mark.parametrize("smooth", [False, True])
@settings(max_examples=300, deadline=None)
@given(heights=grounds, at=points, way=st.floats(0.0, 2 * np.pi))
def test_distance_from_a_heightfield_has_no_jumps(smooth, heights, at, way):
    """Across the lines between cells and between patches of the spline, and anywhere else."""
    ground = field(heights, smooth)
    aside = 1e-7 * np.array([np.cos(way), np.sin(way), 0.0])
    for x in (at[0], CORNER[0] + SPACING * np.round((at[0] - CORNER[0]) / SPACING * 2) / 2):
        p = np.array([x, at[1], ground.surface(x, at[1])[0] + at[2]])
        slope = (
            1.0 + np.abs(np.diff(heights, axis=0)).max() / SPACING + np.abs(np.diff(heights, axis=1)).max() / SPACING
        )
        assert abs(ground.distance(p + aside) - ground.distance(p - aside)) < 4e-7 * slope**3


@settings(max_examples=200, deadline=None)
@given(which=st.integers(0, len(STEPS) - 1), x=st.floats(0.3, 3.3), over=st.floats(0.004, 0.05))
def test_normal_of_steps_is_the_gradient_of_their_distance(which, x, over):
    steps = STEPS[which]
    p, h = np.array([x, 0.1, steps.height(x) + over]), 1e-7
    both_sides = [
        [(steps.distance(p + side * h * e) - steps.distance(p)) / (side * h) for e in np.eye(3)] for side in (1.0, -1.0)
    ]
    assume(np.abs(np.subtract(*both_sides)).max() < 1e-4)  # not on the crease between the nearest two
    np.testing.assert_allclose(steps.frame(p)[:, 2], both_sides[0], atol=1e-4)


@pytest.mark.parametrize("ground", [*PLANES, INCLINED, *STEPS])
def test_traced_gradient_of_planes_steps_and_patches_is_their_normal(ground):
    gradient = ff.jacobian(ground.distance, None, np.zeros(3), wrt=0)
    rng = np.random.default_rng(4)
    for _ in range(100):
        x, y = rng.uniform(0.3, 3.0), rng.uniform(-1.0, 1.0)
        under = ground.height(x) if isinstance(ground, Steps) else 0.0
        p = np.array([x, y, under + rng.uniform(0.003, 0.05)])
        np.testing.assert_allclose(np.asarray(gradient(p)).reshape(3), ground.frame(p)[:, 2], atol=1e-7)


def test_normal_over_rough_ground_is_that_at_the_nearest_point():
    """Two centimetres over steep bumps, where the normal under the point is up to three degrees off."""
    ground = Heightfield.rough(0.15, seed=6, flat=0.0, size=(4.0, 4.0))
    rng, offs = np.random.default_rng(2), []
    for x, y in rng.uniform(-0.8, 0.8, (60, 2)):
        p = np.array([x, y, ground.surface(x, y)[0] + 0.02])
        at = np.array([x, y])
        for _ in range(60):  # down the squared distance to the surface, a contraction here
            h, m_x, m_y = ground.surface(*at)
            m = np.array([m_x, m_y])
            at = at + np.linalg.solve(np.eye(2) + np.outer(m, m), p[:2] - at + (p[2] - h) * m)
        h, m_x, m_y = ground.surface(*at)
        nearest = p - np.array([*at, h])
        offs.append(np.degrees(np.arccos(np.clip(ground.frame(p)[:, 2] @ nearest / np.linalg.norm(nearest), -1, 1))))
        assert ground.distance(p) == pytest.approx(np.linalg.norm(nearest), abs=3e-4)
    assert np.median(offs) < 0.1
    assert max(offs) < 1.2
