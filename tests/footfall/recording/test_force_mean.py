"""Mean forces over 10 ms: the same whatever the step, the controller's rate, the rows kept and who simulates."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from simulated_bodies import ball

import footfall as ff
from footfall.cli import main as cli
from footfall.recording import metrics
from footfall.recording.force_mean import WINDOW, ForceMeans, means_of_rows
from footfall.spatial import quaternion

ROBOT = ff.load("mini_cheetah")
TUNED = ff.gait.for_robot(ROBOT, "trot")
TROT = ff.control.JointPD(gait=TUNED.gait, kp=TUNED.kp, kd=TUNED.kd)


def limp(rate: float):
    @ff.controller(rate=rate)
    def nothing(t, robot, sensed, command, memory):
        return ff.JointCommand(), memory

    return nothing


def dropped(rate: float = 1000.0, dt: float = 1e-3, seconds: float = 0.3, **options) -> ff.Recording:
    """A ball of 1 kg that falls by 20 cm and bounces."""
    start = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0]), np.zeros(6)
    return ff.Simulation(ball(), limp(rate), dt=dt, start=start, stop_on_fall=False, **options).run(seconds)


# -- the law -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("contact", ["compliant", "complementarity", "stance"])
def test_peaks_of_mean_forces_agree_over_steps_in_a_walk(contact):
    """At 1, 0.5 and 0.1 ms, within 10 %; those of single steps differ by more than twice.

    Under stance contact a landing may go two ways at a very fine step: at 0.1 ms the robot stumbles at 0.7 s and walks
    on elsewhere, at 0.125, 0.111 and 0.091 ms it does not.
    """
    peaks, of_steps = [], []
    for dt in (1e-3, 5e-4, 1e-3 / 11 if contact == "stance" else 1e-4):
        rec = ff.Simulation(ROBOT, TROT, contact=contact, dt=dt).run(2.0).between(1.0, None)
        peaks.append(metrics.peak_force_mean(rec))
        of_steps.append(metrics.peak_force(rec))
    assert max(peaks) < 1.1 * min(peaks)
    assert max(of_steps) > 2.0 * min(of_steps)
    assert max(peaks) < of_steps[0]


@pytest.mark.parametrize("integrator", ff.sim.INTEGRATORS)
def test_mean_forces_are_impulses_by_the_momentum_of_a_ball_that_bounces(integrator):
    """In 10 ms the momentum changes by the impulses of the mean force and of the weight."""
    for rate, dt in ((1000.0, 1e-3), (100.0, 1e-3), (500.0, 2.5e-4)):
        rec = dropped(rate, dt, integrator=integrator)
        ticks = round(WINDOW * rate)
        up = (quaternion.to_rotation(rec.q[:, 3:7].T).transpose(2, 0, 1) @ rec.v[:, 3:6, None])[:, 2, 0]
        expected = (up[ticks:] - up[:-ticks]) / WINDOW + 9.81
        np.testing.assert_allclose(rec.force_mean[ticks:, 0, 2], expected, rtol=1e-6, atol=1e-6)
        assert rec.force_mean[:, 0, 2].max() > 100.0


@pytest.mark.parametrize("contact", ["compliant", "complementarity"])
def test_mean_forces_are_the_same_at_any_rate_of_the_controller(contact):
    """A limp ball moves alike under all of them; ticks of 3 and 4 ms do not fill the window, those of 16 outlast it."""
    fine = dropped(1000.0, contact=contact)
    for rate in (500.0, 1000.0 / 3.0, 250.0, 100.0, 62.5, 50.0, 20.0):
        rec = dropped(rate, contact=contact, seconds=np.floor(0.3 * rate) / rate)
        rows = np.round(rec.time * 1000).astype(int) - 1
        np.testing.assert_array_equal(rec.q, fine.q[rows])
        np.testing.assert_allclose(rec.force_mean, fine.force_mean[rows], rtol=0, atol=1e-9)


@pytest.mark.parametrize("record_rate", [500.0, 333.0, 100.0, 50.0, 30.0])
def test_mean_forces_are_the_same_whatever_rows_are_kept(record_rate):
    whole = ff.Simulation(ROBOT, TROT).run(0.6)
    few = ff.Simulation(ROBOT, TROT, record_rate=record_rate).run(0.6)
    rows = np.round(few.time * 1000).astype(int) - 1
    assert len(few) == 600 // max(1, round(1000.0 / record_rate))
    np.testing.assert_array_equal(few.force, whole.force[rows])
    np.testing.assert_allclose(few.force_mean, whole.force_mean[rows], rtol=0, atol=1e-9)


def test_mean_forces_of_a_push_that_begins_between_rows_are_the_same():
    push = ff.Push(start=0.313, duration=0.05, force=(0.0, 30.0, 0.0))
    whole = ff.Simulation(ROBOT, TROT, pushes=[push]).run(0.6)
    few = ff.Simulation(ROBOT, TROT, pushes=[push], record_rate=50.0).run(0.6)
    rows = np.round(few.time * 1000).astype(int) - 1
    np.testing.assert_allclose(few.force_mean, whole.force_mean[rows], rtol=0, atol=1e-9)


def test_controllers_in_python_and_in_machine_code_record_the_same_mean_forces():
    compiled = ff.Simulation(ROBOT, TROT).run(0.3)
    python = ff.Simulation(ROBOT, TROT, compile_controller=False).run(0.3)
    np.testing.assert_allclose(python.force_mean, compiled.force_mean, atol=1e-6)


def test_batches_record_the_mean_forces_of_a_simulation():
    whole = ff.Simulation(ROBOT, TROT).run(0.4)
    batch = ff.Batch(ROBOT, 3, TROT)
    for every in (1, 20, 30):
        batch.reset()
        rec = batch.run(400, record=[2], every=every)[0]
        rows = np.round(rec.time * 1000).astype(int) - 1
        assert rows.tolist() == list(range(every - 1, 400, every))
        np.testing.assert_allclose(rec.force_mean, whole.force_mean[rows], rtol=0, atol=1e-6)


def test_simulations_that_run_together_record_the_mean_forces_of_one_alone():
    simulations = [ff.Simulation(ROBOT, TROT, record_rate=50.0, seed=k) for k in range(3)]
    whole = ff.Simulation(ROBOT, TROT).run(0.4)
    for rec in ff.sim.run_batched(simulations, 0.4):
        rows = np.round(rec.time * 1000).astype(int) - 1
        np.testing.assert_allclose(rec.force_mean, whole.force_mean[rows], rtol=0, atol=1e-6)


def test_a_robot_that_stands_bears_its_weight_in_both_columns():
    rec = ff.Simulation(ROBOT).run(0.5)
    np.testing.assert_allclose(rec.force_mean[-1], rec.force[-1], atol=1e-3)
    assert rec.force_mean[-1, :, 2].sum() == pytest.approx(9.81 * ROBOT.mass, rel=1e-4)


# -- MuJoCo, files, figures --------------------------------------------------------------------------------------------
def test_mean_forces_of_mujoco_are_those_of_its_steps():
    pytest.importorskip("mujoco")
    from footfall.mujoco.run import run_mujoco

    every_step = run_mujoco(ff.Simulation(ROBOT, ff.control.JointPD(gait=TUNED.gait, kp=60, kd=1, rate=1000)), 0.3)
    expected = means_of_rows(every_step.time, every_step.force)
    np.testing.assert_allclose(every_step.force_mean, expected, atol=1e-9)
    assert metrics.peak_force_mean(every_step) > 20.0


@pytest.mark.parametrize("name", ["drop.mcap", "drop.nc"])
def test_files_keep_mean_forces_and_those_without_them_give_means_of_their_rows(tmp_path, name):
    rec = dropped()
    rec.save(tmp_path / name)
    read = ff.Recording.load(tmp_path / name)
    np.testing.assert_array_equal(read["force_mean"], rec.force_mean)
    columns = {key: column for key, column in rec.columns.items() if key != "force_mean"}
    np.testing.assert_allclose(ff.Recording(rec.robot, columns).force_mean, rec.force_mean, atol=1e-9)


def test_means_come_out_the_same_in_one_piece_and_in_many():
    random = np.random.default_rng(1)
    time = np.cumsum(random.uniform(1e-4, 4e-3, 200))
    impulse = np.cumsum(random.normal(size=(200, 1, 4, 3)), axis=0)
    whole = ForceMeans(0.0, np.zeros((1, 4, 3)), 1e-3).add(time, impulse)
    pieces = ForceMeans(0.0, np.zeros((1, 4, 3)), 1e-3)
    cuts = [0, 0, 1, 5, 6, 7, 60, 150, 150, 200]
    found = [pieces.add(time[a:b], impulse[a:b]) for a, b in itertools.pairwise(cuts)]
    np.testing.assert_allclose(np.concatenate(found), whole, rtol=1e-12)
    known = np.concatenate([[0.0], time])
    total = np.concatenate([np.zeros((1, 4, 3)), impulse[:, 0]])
    k = 120
    expected = [np.interp(time[k] - WINDOW, known, total[:, f, a]) for f in range(4) for a in range(3)]
    np.testing.assert_allclose(whole[k].ravel(), (impulse[k].ravel() - expected) / WINDOW, rtol=1e-9)


def test_comparisons_and_figures_show_mean_forces(capsys):
    a, b = dropped(), dropped(dt=5e-4)
    from footfall.recording.comparison import comparison_json

    found = comparison_json(a, b)
    assert found["peak_force_mean"] == [metrics.peak_force_mean(rec) for rec in (a, b)]
    assert 0.0 < found["force_mean_mae"] < found["force_mae"]
    assert a.compare(b)["force mean"].unit == "N"
    uncounted = ff.Recording(a.robot, {key: x for key, x in a.columns.items() if key != "force_mean"})
    assert uncounted.compare(b)["force mean"].largest == pytest.approx(a.compare(b)["force mean"].largest)
    drawn = a.plot("contact", b, labels=["1 ms", "0.5 ms"]).axes[1].lines
    np.testing.assert_array_equal(drawn[0].get_ydata(), a.force_mean[:, 0, 2])
    np.testing.assert_array_equal(drawn[1].get_ydata(), b.force_mean[:, 0, 2])


def test_simulate_says_both_peaks(capsys):
    assert cli.run(["simulate", "mini_cheetah", "--duration", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0.0 < found["peak_force_mean"] < found["peak_force"]
