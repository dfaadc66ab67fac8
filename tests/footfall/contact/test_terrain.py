"""Heightfields, rough ground, steps, stairs and patches of friction."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from held_steps import ROBOT, held_step, standing
from simulated_bodies import IDEAL, ball, many_steps

import footfall as ff
from footfall import compiling
from footfall.contact.ground import Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.patches import Patches
from footfall.contact.steps import Steps
from footfall.contact.terrain import named
from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions
from footfall.sim.equations_of_motion import State
from footfall.sim.runfile import RunOptions, plan
from footfall.sim.world import World
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import is_rotation
from nptrace.frontend.tracer import verify

CHEETAH = ff.load("mini_cheetah")
RNG = np.random.default_rng(5)
HILLS = 0.05 * RNG.standard_normal((12, 9))
FIELDS = {smooth: Heightfield(HILLS, 0.1, np.array([-0.5, -0.4]), 0.7, smooth) for smooth in (False, True)}
STAIRS = Steps.stairs(0.06, count=3)
GROUNDS = {
    "bilinear": FIELDS[False],
    "smooth": FIELDS[True],
    "steps": Steps.flight(0.05),
    "stairs": STAIRS,
    "down": Steps.flight(-0.04),
    "patches": Patches(FIELDS[True], RNG.uniform(0, 1, (4, 3)), 0.3),
}


def places(count: int, seed: int = 0, low: float = -0.45, high: float = 0.35) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, (count, 2))


# -- heightfields ----------------------------------------------------------------------------------------------------
def test_bilinear_field_goes_through_its_nodes_and_is_linear_along_the_edges_of_cells():
    field = FIELDS[False]
    np.testing.assert_allclose(field.sampled(), HILLS, atol=1e-15)
    middle = field.surface(-0.5 + 0.35, -0.4 + 0.2)[0]
    assert middle == pytest.approx(0.5 * (HILLS[3, 2] + HILLS[4, 2]), abs=1e-15)


@pytest.mark.parametrize("smooth", [False, True])
def test_height_is_continuous_across_cells(smooth):
    field = FIELDS[smooth]
    for x in -0.5 + 0.05 * np.arange(-2, 26):  # nodes and middles, and beyond the edges
        for y in (-0.6, -0.4, -0.15, 0.03, 0.4, 0.7):
            before, after = field.surface(x - 1e-9, y)[0], field.surface(x + 1e-9, y)[0]
            assert before == pytest.approx(after, abs=1e-8)


def test_normal_on_a_smooth_surface_is_continuous_and_that_on_a_bilinear_one_is_not():
    def jump(field: Heightfield) -> float:
        places = [(-0.5 + 0.05 * k, -0.13) for k in range(1, 21)]  # nodes and middles
        edges = [np.array([x, y, field.surface(x, y)[0]]) for x, y in places]
        aside = np.array([1e-9, 0.0, 0.0])
        return max(np.abs(field.frame(p + aside) - field.frame(p - aside)).max() for p in edges)

    assert jump(FIELDS[True]) < 1e-6
    assert jump(FIELDS[False]) > 1e-2


@pytest.mark.parametrize("smooth", [False, True])
def test_normals_on_the_surface_are_unit_vectors_along_its_gradient(smooth):
    field, h = FIELDS[smooth], 1e-6
    for x, y in places(200):
        frame = field.frame(np.array([x, y, field.surface(x, y)[0]]))
        assert is_rotation(frame, 1e-12)
        along_x = (field.surface(x + h, y)[0] - field.surface(x - h, y)[0]) / (2 * h)
        along_y = (field.surface(x, y + h)[0] - field.surface(x, y - h)[0]) / (2 * h)
        gradient = np.array([-along_x, -along_y, 1.0])
        np.testing.assert_allclose(frame[:, 2], gradient / np.linalg.norm(gradient), atol=1e-6)


@pytest.mark.parametrize("smooth", [False, True])
def test_field_of_a_plane_is_that_plane(smooth):
    plane, field = tilted(smooth)
    for x, y in places(50, low=-1.5, high=1.5):
        p = np.array([x, y, 0.2 * x])
        assert field.distance(p) == pytest.approx(plane.distance(p), abs=1e-12)
        np.testing.assert_allclose(field.frame(p)[:, 2], plane.normal, atol=1e-12)


def tilted(smooth: bool) -> tuple[Plane, Heightfield]:
    plane = Plane(0.8, np.array([-0.2, 0.1, 1.0]))
    x = np.linspace(-2.0, 2.0, 41)
    return plane, Heightfield.centred(0.2 * x[:, None] - 0.1 * x[None, :], 0.1, 0.8, smooth)


@pytest.mark.parametrize("smooth", [False, True])
def test_sphere_rolls_and_rests_on_a_slope_of_nodes_as_on_a_plane(smooth):
    plane, field = tilted(smooth)
    radius = 0.1
    start = np.array([0.03, 0.02, 0.0]) + plane.normal * radius
    start = start - plane.normal * (plane.normal @ np.array([0.03, 0.02, 0.0]))
    state = State(np.concatenate([start, [1.0, 0, 0, 0]]), np.zeros(6))
    ends = [
        many_steps(World(robot=ball(1.0, radius), ground=ground, joints=IDEAL))(state, dt=1e-3, count=300)
        for ground in (plane, field)
    ]
    np.testing.assert_allclose(ends[1].q, ends[0].q, atol=1e-9)
    np.testing.assert_allclose(ends[1].v, ends[0].v, atol=1e-8)
    assert ends[0].q[0] < 0  # it has rolled


@pytest.mark.parametrize("contact", ["compliant", "complementarity"])
def test_forces_of_rough_ground_carry_the_weight(contact):
    ground = named("rough:0.06", seed=4)
    q, v = CHEETAH.state("stand")
    q = q + np.concatenate([[2.0, 1.0, 0.0], np.zeros(16)])
    q[2] += 0.005 - min(ground.distance(p) - CHEETAH.feet[0].radius for p in foot_positions(CHEETAH, q))
    sim = ff.Simulation(CHEETAH, contact=contact, ground=ground, start=(q, v))
    rec = sim.run(3.0)
    assert not rec.meta["fell"]
    total = rec.force[-1].sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, 9.81 * CHEETAH.mass], atol=2e-4 * 9.81 * CHEETAH.mass)
    assert np.abs(rec.force[-1, :, :2]).max() > 1.0  # and it does so on slopes


def test_field_is_level_beyond_its_edges():
    for field in FIELDS.values():
        for p in ([-0.7, 0.0, 1.0], [2.0, 0.1, 1.0]):
            assert field.frame(np.array(p))[0, 2] == 0.0
        assert field.surface(9.0, 9.0) == (pytest.approx(HILLS[-1, -1]), 0.0, 0.0)


# -- rough ground ----------------------------------------------------------------------------------------------------
def test_rough_ground_has_the_height_asked_for_and_is_level_around_the_start():
    field = Heightfield.rough(0.04, seed=3)
    assert np.ptp(field.sampled()) == pytest.approx(0.04, abs=1e-12)
    angles = np.linspace(0, 2 * np.pi, 30)
    near = np.array([field.surface(0.4 * np.cos(a), 0.4 * np.sin(a)) for a in angles])
    assert np.abs(near).max() == 0.0
    assert np.abs(field.surface(2.0, 0.7)[0]) > 0


def test_features_of_rough_ground_are_about_as_large_as_asked():
    """Heights a feature apart hardly know of each other; a quarter of it apart they are nearly equal."""
    field = Heightfield.rough(0.04, seed=8, feature=0.3, flat=0.0)
    h = field.sampled() - field.sampled().mean()
    correlation = [np.mean(h[: -n or None] * h[n:]) / np.mean(h * h) for n in (0, 1, 2, 6)]  # spacing 0.05 m
    assert correlation[1] > 0.85
    assert abs(correlation[3]) < 0.15


def test_same_seed_makes_the_same_ground():
    first, again, other = (named("rough:0.04", seed=s) for s in (1, 1, 2))
    assert (first.heights == again.heights).all()
    assert np.abs(first.heights - other.heights).max() > 0.01


# -- steps -----------------------------------------------------------------------------------------------------------
def solid(steps: Steps, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return z < steps.height(x)


@pytest.mark.parametrize("steps", [Steps.flight(0.05), STAIRS, Steps.flight(-0.04)], ids=["up", "stairs", "down"])
def test_distance_from_steps_is_that_to_the_nearest_tread_riser_or_edge_outside_the_corners(steps):
    x = np.linspace(0.0, 4.5, 4501)
    outline = [np.stack([x, steps.height(x)], axis=1)]
    for k in range(1, len(steps.levels)):
        low, high = sorted(steps.levels[k - 1 : k + 1])
        riser = np.linspace(low, high, 60)
        outline.append(np.stack([np.full(60, steps.start + (k - 1) * steps.tread), riser], axis=1))
    line = np.concatenate(outline)
    rng = np.random.default_rng(0)
    for _ in range(300):
        at = rng.uniform(0.3, 4.0)
        p = np.array([at, rng.uniform(-1, 1), steps.height(at) + rng.uniform(0.002, 0.06)])
        true = np.sqrt(((line - p[[0, 2]]) ** 2).sum(axis=1)).min()
        found = steps.distance(p)
        assert found <= true + 1e-9
        if found > steps.fillet:  # the fillet reaches no further
            assert found == pytest.approx(true, abs=1e-3)


@pytest.mark.parametrize("steps", [Steps.flight(0.05), Steps.flight(0.02), STAIRS, Steps.flight(-0.04)])
def test_distance_from_steps_is_continuous_and_its_gradient_is_the_normal(steps):
    """Along the path of a foot of 15 mm that is lifted over edges: outside the treads and risers."""
    x = np.linspace(0.3, 3.6, 20001)
    for over in (0.004, 0.015, 0.03):
        z = np.max([steps.height(x + aside) for aside in (-0.012, 0.0, 0.012)], axis=0) + over
        d = steps.distances(np.stack([x, 0 * x, z], axis=1))
        same = np.abs(np.diff(z)) < 1e-12
        assert np.abs(np.diff(d)[same]).max() < 1.05 * (x[1] - x[0])
    rng, h = np.random.default_rng(1), 1e-7
    for _ in range(300):
        at = rng.uniform(0.3, 3.6)
        p = np.array([at, 0.1, steps.height(at) + rng.uniform(0.005, 0.05)])
        frame = steps.frame(p)
        assert is_rotation(frame, 1e-9)
        gradient = np.array([(steps.distance(p + h * e) - steps.distance(p - h * e)) / (2 * h) for e in np.eye(3)])
        if abs(np.linalg.norm(gradient) - 1.0) < 1e-4:  # not on a crease between the nearest two
            np.testing.assert_allclose(frame[:, 2], gradient, atol=1e-4)


def test_foot_in_the_corner_of_a_step_leans_on_tread_and_riser():
    steps = Steps.flight(0.05)
    normal = steps.frame(np.array([0.6 - 0.02, 0.0, 0.02]))[:, 2]
    np.testing.assert_allclose(normal, [-np.sqrt(0.5), 0.0, np.sqrt(0.5)], atol=1e-9)


def test_stairs_go_up_and_down_again():
    assert STAIRS.levels.tolist() == pytest.approx([0, 0.06, 0.12, 0.18, 0.18, 0.18, 0.12, 0.06, 0])


# -- friction --------------------------------------------------------------------------------------------------------
def test_patches_change_friction_and_nothing_else():
    ice = Patches(Plane.slope(5.0), np.array([[0.9], [0.1]]), 1.0, np.array([-1.0, 0.0]))
    p, far = np.array([-0.4, 0.2, 0.1]), np.array([7.0, 0.2, 0.1])
    assert (ice.friction_at(p), ice.friction_at(far)) == (0.9, 0.1)
    assert ice.distance(p) == Plane.slope(5.0).distance(p)
    assert (ice.frame(p) == Plane.slope(5.0).frame(p)).all()


def test_sliding_ball_turns_quicker_on_the_rougher_patch():
    ice = Patches(Plane(), np.array([[0.05], [0.5]]), 10.0, np.array([-10.0, -5.0]))
    run = many_steps(World(robot=ball(), ground=ice, joints=IDEAL))
    ends = [
        run(State(np.array([x, 0, 0.1, 1.0, 0, 0, 0]), np.array([0, 0, 0, 1.0, 0, 0])), dt=1e-3, count=70)
        for x in (-1.0, 1.0)
    ]
    slow, quick = (float(to_rotation(end.q[3:7])[0] @ end.v[3:6]) for end in ends)
    assert slow == pytest.approx(1.0 - 0.05 * 9.81 * 0.07, abs=2e-3)
    assert quick == pytest.approx(5.0 / 7.0, abs=2e-3)  # rolls already


# -- tracing ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpret", "native", "batch"])
@pytest.mark.parametrize("name", GROUNDS)
def test_every_ground_traces_to_the_same_numbers(name, target):
    ground = GROUNDS[name]

    def ask(p: np.ndarray) -> tuple:
        return ground.distance(p), ground.frame(p), ground.friction_at(p)

    p = np.column_stack([places(40, seed=2, low=-0.7, high=2.2), np.linspace(-0.05, 0.3, 40)])
    asked = compiling.compile(ask, None, p[0], target=target, verify=False)
    found = asked(p) if target == "batch" else tuple(map(np.array, zip(*map(asked, p))))
    for mine, true in zip(found, map(np.array, zip(*map(ask, p)))):
        np.testing.assert_allclose(mine, true, atol=1e-12)


def test_heights_may_differ_from_robot_to_robot_in_a_batch():
    flat = Heightfield.centred(np.zeros((6, 5)), 0.5)
    state, targets = standing()
    world = World(robot=ROBOT, ground=flat, contact=ff.contact.Compliant(damping=1e4, implicit=True), joints=IDEAL)
    batch = compiling.compile(held_step, world, state, targets, dt=1e-3, target="batch", free=["ground.heights"])
    heights = np.stack([np.zeros((6, 5)), np.full((6, 5), 1e-4), 1e-4 * RNG.uniform(-1, 1, (6, 5))])
    many = State(np.tile(state.q, (3, 1)), np.tile(state.v, (3, 1)))
    after = batch(many, targets, {"ground.heights": heights})
    for k in range(3):
        own = dataclasses.replace(world, ground=Heightfield.centred(heights[k], 0.5))
        np.testing.assert_allclose(after.v[k], held_step(own, state, targets, 1e-3).v, atol=1e-9)
    assert np.abs(after.v[1] - after.v[0]).max() > 1e-3


@pytest.mark.parametrize("free", [(), ("ground.heights",)])
def test_users_step_on_a_heightfield_is_no_mistrace_where_feet_deep_in_it_multiply_rounding(free):
    """It is replayed beside the given state: 1e-15 of a state with feet centimetres deep is 1e-7 of the next one."""
    state, targets = standing()
    world = World(
        robot=ROBOT, ground=Heightfield.rough(0.04, size=(2.0, 2.0)), contact=ff.contact.Compliant(), joints=IDEAL
    )
    bound = compiling.Bound(held_step, world, (state, targets), free, {"dt": 1e-3})
    verify(bound, *bound.examples, samples=5)


@pytest.mark.parametrize("smooth", [False, True])
def test_step_on_a_heightfield_has_at_most_fifteen_per_cent_more_operations_than_on_a_plane(smooth):
    """``footfall`` counts them before fusing."""
    field = dataclasses.replace(Heightfield.rough(0.04, size=(4.0, 4.0)), smooth=smooth)
    state, targets = standing()

    def operations(ground: object) -> int:
        world = World(robot=ROBOT, ground=ground, contact=ff.contact.Compliant(), joints=IDEAL)
        return compiling.program(held_step, world, state, targets, dt=1e-3).live_operations

    assert operations(field) < 1.15 * operations(Plane())


@pytest.mark.parametrize("name", ["bilinear", "smooth", "steps"])
def test_distance_and_normal_have_exact_derivatives(name):
    ground = GROUNDS[name]

    def ask(p: np.ndarray) -> np.ndarray:
        return np.concatenate([np.array([ground.distance(p)]), ground.frame(p)[:, 2]])

    exact = ff.jacobian(ask, None, np.zeros(3), wrt=0)
    for p in (np.array([0.03, 0.02, 0.1]), np.array([0.583, -0.13, 0.02]), np.array([0.67, 0.23, 0.07])):
        columns = [(ask(p + e) - ask(p - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(np.asarray(exact(p)), np.stack(columns, axis=1), atol=1e-6)


# -- MuJoCo ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["slope:5", "steps:0.05", "stairs:0.03", "rough:0.04"])
def test_mujoco_has_the_same_ground(name):
    mj = pytest.importorskip("mujoco")
    from footfall.mujoco.run import mujoco_model

    sim = plan(CHEETAH, RunOptions(robot="mini_cheetah", ground=name)).simulation
    model, ground = mujoco_model(sim), sim.model.world.ground
    data = mj.MjData(model)
    data.qpos[2] = 5.0
    mj.mj_forward(model, data)
    rng = np.random.default_rng(3)
    for _ in range(60):
        x, y = rng.uniform(0.6, 4.0), rng.uniform(-2.0, 2.0)
        if name.startswith("rough"):  # at the nodes, which triangles and splines share
            x, y = (round(value / ground.spacing) * ground.spacing for value in (x, y))
        at, down = np.array([x, y, 3.0]), np.array([0.0, 0.0, -1.0])
        hit = 3.0 - mj.mj_ray(model, data, at, down, None, 1, -1, np.zeros(1, dtype=np.int32))
        if isinstance(ground, Heightfield):
            mine = ground.surface(x, y)[0]
        else:
            mine = ground.height(x) if isinstance(ground, Steps) else x * np.tan(np.radians(5.0))
        assert hit == pytest.approx(mine, abs=1e-6)


def test_mujoco_refuses_what_it_cannot_have():
    pytest.importorskip("mujoco")
    from footfall.mujoco.run import mujoco_model

    for ground, said in ((GROUNDS["patches"], "one friction"), (Heightfield.centred(holed(), 0.1), "no holes")):
        q, v = CHEETAH.state("stand")
        sim = ff.Simulation(CHEETAH, ground=ground, start=(q + np.eye(19)[2], v))
        with pytest.raises(InputError, match=said):
            mujoco_model(sim)


def holed() -> np.ndarray:
    heights = np.zeros((41, 41))
    heights[30:] = np.nan
    return heights
