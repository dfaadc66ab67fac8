"""Motors identified from encoders: simulated recordings whose truth is known, and the recording of a real Go2."""

from __future__ import annotations

import warnings
from importlib.resources import files

import numpy as np
import pytest
from simulated_bodies import pendulum

import footfall as ff
import nptrace
from footfall.analysis.hanging import COLUMNS, RANGES, Encoders, Hanging
from footfall.analysis.joint_order import indistinguishable_orders, joint_orders
from footfall.analysis.motor_report import MotorReport, cell, read_identified
from footfall.analysis.motors import by_gradients, by_search, held_out
from footfall.analysis.search import Range, Search, minimise
from footfall.errors import InputError
from footfall.sim.joints import JointModel
from footfall.sim.motors import MotorModel

KP, KD, RATE = 30.0, 1.2, 250.0
TRUTH = {  # of both joints
    "armature": (0.03, 0.015),
    "damping": (0.25, 0.1),
    "dry_friction": (0.35, 0.2),
    "static_ratio": (1.0, 1.0),
    "bias": (0.04, -0.03),
    "gain": (0.8, 1.2),
    "delay": (0.006, 0.0),
}


def true_table() -> np.ndarray:
    return np.array([TRUTH[name] for name in COLUMNS]).T


@pytest.fixture(scope="module")
def recorded() -> Encoders:
    """A double pendulum under PD, run by Simulation, whose truth the identification does not see."""
    robot = pendulum(2, 0.25, 0.9)
    table = true_table()
    own = {f"hinge{j}.{key}": table[j, k] for k, key in enumerate(COLUMNS[:3]) for j in range(2)}
    t = np.arange(2500) / RATE
    sweep = 2.0 * np.pi * (0.3 * t + 0.5 * 0.25 * t**2)
    wanted = np.stack([0.5 * np.sin(sweep), 0.3 + 0.6 * np.sign(np.sin(0.7 * sweep))], axis=1)

    @ff.controller(rate=RATE)
    def told(time, robot, sensed, command, memory):
        row = [nptrace.lookup(wanted, time * RATE + 0.5, float(j)) for j in range(2)]
        return ff.JointCommand(np.stack(row), 0.0, KP, KD), memory

    motors = MotorModel(*(table[:, COLUMNS.index(key)] for key in ("bias", "gain", "delay")))
    start = (np.zeros(2), np.zeros(2))
    effects = JointModel(end_stops=False)
    sim = ff.Simulation(robot.replace(own), motors.of(told), dt=1e-3, joints=effects, start=start)
    rec = sim.run(len(t) / RATE)
    measured = np.concatenate([np.zeros((1, 2)), rec.q])[: len(t)]
    noise = 1e-4 * np.random.default_rng(3).normal(size=measured.shape)
    return Encoders(t, wanted, measured + noise)


@pytest.fixture(scope="module")
def hanging(recorded) -> Hanging:
    return Hanging(pendulum(2, 0.25, 0.9), recorded, KP, KD)


def test_sensitivities_are_the_slopes_of_the_rollout(hanging):
    table, rows, eps = np.tile([r.start for r in RANGES], (2, 1)), slice(100, 600), 1e-6
    _, slopes = hanging.sensitivities(table, rows)
    for joint in range(2):
        for column in range(len(COLUMNS)):
            change = np.zeros_like(table)
            change[joint, column] = eps
            both = hanging.rollout(np.stack([table + change, table - change]), rows)
            np.testing.assert_allclose(slopes[:, :, joint, column], (both[0] - both[1]) / (2 * eps), atol=1e-6)


def test_gradients_find_the_motors_within_their_intervals(hanging):
    found = by_gradients(hanging, slice(0, 1250))
    off = np.abs(found.table - true_table())
    shown = found.identifiable
    assert shown[:, [COLUMNS.index(key) for key in ("dry_friction", "bias", "gain")]].all()
    assert (off[shown] <= 3.0 * found.half_width[shown] + 1e-9).all()
    assert off[:, COLUMNS.index("gain")].max() < 0.02
    assert off[:, COLUMNS.index("delay")].max() < 1e-3
    after = held_out(hanging, found, slice(1250, 2500))
    assert after.max() < 3e-4  # the noise is 1e-4
    assert held_out(hanging, None, slice(1250, 2500)).min() > 0.01


def test_search_finds_the_same_motors(hanging):
    found, rest = by_search(hanging, slice(0, 1250), generations=150, population=16), slice(1250, 2500)
    assert np.abs(found.table - true_table())[:, COLUMNS.index("gain")].max() < 0.1
    assert (held_out(hanging, found, rest) < held_out(hanging, None, rest) / 3.0).all()
    assert (found.half_width > 0.0).all()


def test_what_a_recording_does_not_show_is_not_identifiable(hanging):
    """A hundred rows at rest say nothing of inertia, damping or delay."""
    still = Encoders(hanging.encoders.time, np.zeros((2500, 2)), 1e-5 * np.ones((2500, 2)))
    resting = Hanging(pendulum(2, 0.25, 0.9), still, KP, KD)
    found = by_gradients(resting, slice(0, 300), iterations=2)
    for name in ("armature", "damping", "static_ratio", "delay"):
        k = COLUMNS.index(name)
        assert all(found.verdict(j, k) for j in range(2)), name
        assert not found.identifiable[:, k].any(), name


def test_the_columns_of_the_go2_recording_are_left_and_right_legs_in_turn():
    encoders = Encoders.read(files("footfall_lab.reality") / "data" / "go2_joints.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about meshes taken as spheres
        robot = ff.load("go2")
    shuffled = np.concatenate([np.arange(3, 6), np.arange(0, 3), np.arange(6, 12)])
    for columns in (np.arange(12), shuffled):
        orders = joint_orders(robot, encoders.of(columns), 20.0, 1.5)
        alike = indistinguishable_orders(orders)
        assert len(orders) == 24  # joint by joint is beyond the limits
        assert len(alike) == 4  # front and rear legs are alike
        for order in alike:
            legs = columns[order.columns].reshape(4, 3)[:, 0] // 3
            assert set(legs[[0, 2]]) == {0, 2}, "FL and RL"
        assert orders[4].remainder > 3.0 * orders[0].remainder


def test_a_robot_takes_what_was_identified(tmp_path, hanging):
    found = by_gradients(hanging, slice(0, 400), iterations=1)
    robot = pendulum(2, 0.25, 0.9)
    report = MotorReport(
        robot=robot.name,
        joints=robot.joint_names,
        orders=_orders(),
        found=(found,),
        before=np.ones(2),
        after=(np.ones(2),),
    )
    for j in range(2):
        for k in range(len(COLUMNS)):
            assert cell(report, found, j, k).startswith("(") != found.identifiable[j, k]
    report.save(tmp_path / "motors.json")
    changed, motors, effects = read_identified(tmp_path / "motors.json", robot)
    assert changed.parameter("hinge1.damping") == pytest.approx(found.table[1, 1])
    np.testing.assert_allclose(motors.gain, found.table[:, COLUMNS.index("gain")])
    np.testing.assert_allclose(effects.static_ratio, found.table[:, 3])
    np.testing.assert_allclose(MotorModel.read(tmp_path / "motors.json").bias, motors.bias)
    with pytest.raises(InputError, match="pendulum"):
        read_identified(tmp_path / "motors.json", pendulum(1))


def _orders():
    from footfall.analysis.joint_order import Order

    return (Order(np.arange(2), "leg by leg", 0.1),)


def test_recordings_that_are_none_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "bad.npz"
    np.savez(path, time=np.arange(300.0), wanted=np.zeros((300, 2)))
    with pytest.raises(InputError, match="wanted and measured"):
        Encoders.read(path)
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InputError, match="not a NumPy archive"):
        Encoders.read(tmp_path / "text.npz")
    with pytest.raises(InputError, match="constant rate"):
        Encoders(np.arange(300.0) ** 2, np.zeros((300, 2)), np.zeros((300, 2)))
    with pytest.raises(InputError, match="from 1 to 10000 rows a second"):
        Encoders(1e290 * np.arange(300.0), np.zeros((300, 2)), np.zeros((300, 2)))
    with pytest.raises(InputError, match="within 1e"):
        Encoders(0.01 * np.arange(300.0), np.zeros((300, 2)), np.full((300, 2), 1e300))
    with pytest.raises(InputError, match="3 joints"):
        Hanging(pendulum(2), Encoders(np.arange(300.0), np.zeros((300, 3)), np.zeros((300, 3))), 1.0, 0.1)


def test_search_finds_the_bottom_of_a_narrow_valley_and_stays_within_its_ranges():
    def valley(x):
        assert (x >= [-2.0, 0.1]).all()
        assert (x <= [2.0, 10.0]).all()
        return (1 - x[:, 0]) ** 2 + 100.0 * (np.log(x[:, 1]) - x[:, 0] ** 2) ** 2

    ranges = (Range("x", -2.0, 2.0, -0.5), Range("y", 0.1, 10.0, 1.0, log=True))
    values, cost = minimise(valley, ranges, generations=150)
    assert values["x"] == pytest.approx(1.0, abs=0.05)
    assert values["y"] == pytest.approx(np.e, rel=0.1)
    assert cost < 1e-2


def test_a_diverged_candidate_is_the_worst():
    search = Search((Range("x", 0.0, 1.0, 0.5), Range("y", 0.0, 1.0, 0.5)), population=8)
    asked = search.ask()
    costs = asked[:, 0].copy()
    costs[np.argmin(costs)] = np.nan
    search.tell(costs)
    assert search.cost == np.nanmin(costs)


@pytest.mark.parametrize(
    ("low", "high", "start", "log"), [(1.0, 0.0, 0.5, False), (0.0, 1.0, 2.0, False), (0.0, 1.0, 0.5, True)]
)
def test_ranges_that_make_no_sense_are_refused(low, high, start, log):
    with pytest.raises(InputError, match="range of 'x'"):
        Range("x", low, high, start, log)
