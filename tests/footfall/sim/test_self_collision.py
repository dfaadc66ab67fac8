"""Links as spheres and capsules: their distances, and runs that watch them."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_bodies import ball

import footfall as ff
from footfall import compiling
from footfall.contact.pairs import Capsule, squared_distance
from footfall.errors import InputError
from footfall.robot import library
from footfall.sim.self_collision import SelfCollision, capsules_of, pair_distances

CHEETAH = ff.load("mini_cheetah")
ROBOTS = library.names()


def least_by_search(a, b, c, d) -> float:
    s = np.linspace(0.0, 1.0, 201)
    one, other = a + s[:, None] * (b - a), c + s[:, None] * (d - c)
    return float(((one[:, None] - other[None]) ** 2).sum(axis=2).min())


@pytest.mark.parametrize("kind", ["any", "parallel", "point", "points", "crossing", "collinear"])
def test_distance_of_segments_is_the_least(kind):
    rng = np.random.default_rng(1)
    for _ in range(40):
        a, b, c, d = rng.standard_normal((4, 3))
        if kind == "parallel":
            d = c + rng.uniform(-2, 2) * (b - a)
        elif kind == "point":
            d = c
        elif kind == "points":
            b, d = a, c
        elif kind == "crossing":
            c, d = 0.3 * a + 0.7 * b + (d - c), 0.3 * a + 0.7 * b - (d - c)
        elif kind == "collinear":
            c, d = a + 1.5 * (b - a), a + 2.5 * (b - a)
        found = float(squared_distance(a, b, c, d))
        searched = least_by_search(a, b, c, d)
        assert found <= searched + 1e-9
        assert np.sqrt(found) == pytest.approx(np.sqrt(searched), abs=0.03)


def test_distance_is_symmetric():
    rng = np.random.default_rng(2)
    for _ in range(50):
        a, b, c, d = rng.standard_normal((4, 3))
        assert squared_distance(a, b, c, d) == pytest.approx(squared_distance(c, d, b, a), abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_no_library_robot_touches_itself_in_the_stand(name):
    robot = ff.load(name)
    watch = SelfCollision.of(robot)
    assert len(watch.pairs) > 20
    assert (watch.distances(robot.state("stand")[0]) > 0).all()
    between = {frozenset(watch.shapes[k].name for k in pair) for pair in watch.pairs}
    assert frozenset(("LF_knee_link", "RF_knee_link")) in between or name == "dynakat"


def test_shapes_lie_within_the_boxes_they_stand_for():
    robot = ff.load("xiling")
    for shape in capsules_of(robot):
        if shape.name.startswith("foot"):
            continue
        link = robot.link(shape.name)
        half = np.array(link.box) / 2
        for end in (shape.a, shape.b):
            assert (np.abs(end - link.com) + shape.radius <= half + 1e-9).all()


@pytest.mark.parametrize("target", ["interpret", "native", "batch"])
def test_distances_trace_to_the_same_numbers(target):
    watch = SelfCollision.of(CHEETAH)
    rng = np.random.default_rng(3)
    q = np.tile(CHEETAH.state("stand")[0], (5, 1))
    q[:, 7:] += rng.uniform(-1, 1, (5, 12))
    compiled = compiling.compile(pair_distances, watch, q[0], target=target)
    found = compiled(q) if target == "batch" else np.array([compiled(x) for x in q])
    np.testing.assert_allclose(found, [watch.distances(x) for x in q], atol=1e-12)


def test_distances_do_not_depend_on_where_the_robot_is():
    watch = SelfCollision.of(CHEETAH)
    q = CHEETAH.state("stand")[0]
    moved = np.concatenate([[3.0, -2.0, 1.0, 0.5, 0.5, 0.5, 0.5], q[7:]])
    np.testing.assert_allclose(watch.distances(moved), watch.distances(q), atol=1e-12)


def crossing() -> tuple[np.ndarray, np.ndarray]:
    """The fore legs lean inwards until the shanks meet; held in the air."""
    q, v = CHEETAH.state("stand")
    q[2] = 2.0
    return q, v


@ff.controller(rate=1000)
def lean_in(t, robot, sensed, command, memory):
    stand = robot.state("stand")[0][7:]
    inwards = np.array([-1.0, 0, 0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0])
    return ff.JointCommand(position=stand + np.minimum(2.0 * t, 1.0) * inwards, kp=40.0, kd=1.0), memory


def test_run_reports_legs_that_meet():
    rec = ff.Simulation(CHEETAH, lean_in, start=crossing(), self_collision="report").run(0.5)
    assert rec["self_distance"][0] > 0.04
    assert rec["self_distance"].min() < 0
    met = [event for event in rec.events if event.kind == "self_collision"]
    assert met
    assert "LF" in met[0].message
    assert "RF" in met[0].message
    row = np.flatnonzero(rec["self_distance"] <= 0)[0]
    assert met[0].time == pytest.approx(rec.time[row])
    assert rec.time[-1] == pytest.approx(0.5)


def test_run_stops_where_legs_meet(tmp_path):
    sim = ff.Simulation(CHEETAH, lean_in, start=crossing(), self_collision="stop")
    rec = sim.run(0.5, tmp_path / "met.mcap")
    assert sim.stopped is not None
    assert sim.stopped.kind == "self_collision"
    assert "foot LF" in sim.stopped.message
    assert rec.time[-1] == pytest.approx(sim.stopped.time)
    assert rec["self_distance"][-1] <= 0 < rec["self_distance"][-2]
    assert not rec.meta["fell"]


def test_watching_changes_nothing_in_the_run():
    runs = [ff.Simulation(CHEETAH, self_collision=mode).run(0.2) for mode in (None, "report", "stop")]
    assert (runs[0].q == runs[1].q).all()
    assert (runs[0].q == runs[2].q).all()
    assert "self_distance" not in runs[0].columns


def test_own_shapes_may_be_given():
    spheres = tuple(
        Capsule(f"ankle {name}", body, p, p, 0.05)
        for name, body, p in zip("abcd", CHEETAH.tree.feet, CHEETAH.tree.foot_positions)
    )
    watch = SelfCollision.of(CHEETAH, spheres)
    assert len(watch.pairs) == 6


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="report, stop"):
        ff.Simulation(CHEETAH, self_collision="explode")
    with pytest.raises(InputError, match="no two links that could collide"):
        ff.Simulation(ball(), self_collision="report")
