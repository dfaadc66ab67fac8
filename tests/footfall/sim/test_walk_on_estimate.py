"""A robot walks on the estimate of its own state within the bounds of docs/research/state-estimation.md."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from walk_on_estimate import CHEETAH, short_walk, walk

import footfall as ff
from footfall.analysis.estimation_error import estimation_errors
from footfall.cli import main as cli
from footfall.contact import Plane
from footfall.errors import InputError
from footfall.sensing.estimation.estimated import Estimated
from footfall.sensing.sensor_faults import Fault
from footfall.sensing.sensors import Sensors, SensorWrapper
from footfall.sim.start import standing_start
from footfall.spatial.gravity import GRAVITY

GRAVITY_SIZE = float(np.linalg.norm(GRAVITY))
BOUNDS = {"velocity_rms": 0.05, "height_rms": 0.01, "drift_of_distance": 0.01}


def hidden_tilt(simulation):
    """Tilt [rad] that looks as the offset of this run's accelerometer does: a level walk cannot tell one from other."""
    offset = Sensors.realistic().acceleration.bias * simulation.state.memory["acceleration"]["bias"]
    return float(np.hypot(offset[0], offset[1])) / GRAVITY_SIZE


def meets_its_bounds(made, seconds):
    assert made.simulation.stopped is None
    assert made.recording.time[-1] == pytest.approx(seconds)
    figures, tilt = estimation_errors(made.recording, made.controller.history()).figures(), hidden_tilt(made.simulation)
    for key, bound in BOUNDS.items():
        assert figures[key] < bound, (key, figures)
    assert figures["roll_pitch_rms_deg"] < np.degrees(tilt) + 0.3, figures
    assert figures["height_drift_of_distance"] < tilt + 0.005, figures
    assert figures["yaw_drift_deg"] < 2.0
    assert figures["contact_agreement"] > 0.92
    return figures


def test_it_walks_on_its_estimate_and_the_estimate_meets_its_bounds():
    figures = meets_its_bounds(short_walk(), 2.5)
    assert short_walk().controller.log == []
    assert short_walk().recording.mean_velocity(after=1.5)[0] == pytest.approx(0.4, rel=0.1)
    # of the right order: a filter that is never surprised is as wrong as one that always is
    assert 0.2 < figures["nis"] < 2.0
    assert 0.02 < figures["nees"] < 3.0


def test_over_seeds_the_tilt_is_wrong_by_what_the_accelerometer_hides_and_the_filter_knows_it():
    """Offsets of 0.1 m/s² (one sigma) on two axes: tilts of 0.58 degrees each, 0.69 in the median and 1.77 in 99 %."""
    surface, command, inner = Plane(), ff.Command(forward=0.4), ff.control.Locomotion()
    start, errors, hidden, nees = standing_start(CHEETAH, inner, surface, command), [], [], []
    for seed in range(1, 13):
        controller = Estimated(ff.control.Locomotion())
        simulation = ff.Simulation(
            CHEETAH, controller, ground=surface, command=command, sensors=Sensors.realistic(seed), start=start
        )
        recording = simulation.run(2.0)
        figures = estimation_errors(recording, controller.history()).figures()
        errors.append(figures["roll_pitch_rms_deg"])
        hidden.append(np.degrees(hidden_tilt(simulation)))
        nees.append(figures["nees"])
    assert np.abs(np.array(errors) - hidden).max() < 0.2
    assert 0.35 < np.median(errors) < 1.05  # three sigma of a median of twelve
    assert max(errors) < 1.77
    assert 0.3 < np.mean(nees) < 1.5


@pytest.mark.slow
def test_estimator_and_controller_in_one_compiled_tick_are_those_in_python():
    """Log, history and what the controller saw last are made from what machine code leaves in the memory."""
    faults = (
        Fault(sensor="force", kind="missing", start=0.0, duration=0.01, value=0.0, axes=(2,)),
        Fault(sensor="position", kind="missing", start=0.1, duration=0.05, value=0.0, axes=(2,)),
    )
    runs = []
    for compiled in (None, False):
        controller = Estimated(ff.control.Locomotion())
        simulation = ff.Simulation(
            CHEETAH,
            controller,
            sensors=dataclasses.replace(Sensors.realistic(1), faults=faults),
            start=ff.control.standing_state(CHEETAH),
            command=ff.Command(forward=0.3),
            compile_controller=compiled,
        )
        recording = simulation.run(0.2)
        recording = simulation.run(0.2)
        assert simulation.controller_is_compiled == (compiled is None)
        runs.append((controller, recording))
    (one, first), (other, second) = runs
    assert one.log == other.log
    assert any("encoder 'LF_knee' gives no reading" in words for _, words in one.log)
    assert [e.message for e in first.events] == [e.message for e in second.events]
    np.testing.assert_allclose(first.q, second.q, atol=1e-9)
    np.testing.assert_allclose(one.seen.q, other.seen.q, atol=1e-9)
    for part in ("time", "q", "v", "contact", "P", "nis", "score"):
        np.testing.assert_allclose(getattr(one.history(), part), getattr(other.history(), part), atol=1e-7)


@pytest.mark.slow
def test_robots_of_a_batch_walk_on_their_estimates():
    controller = Estimated(ff.control.Locomotion())
    start, speeds = ff.control.standing_state(CHEETAH), np.array([0.0, 0.2, 0.4, 0.5])
    seeing = SensorWrapper(controller, Sensors.realistic(1), GRAVITY)
    batch = ff.Batch(CHEETAH, 4, seeing, start=start)
    batch.set_command(forward=speeds)
    batch.run(1000)
    assert not batch.fallen().any()
    alone = ff.Simulation(
        CHEETAH,
        Estimated(ff.control.Locomotion()),
        sensors=dataclasses.replace(Sensors.realistic(1), robot=2),
        start=start,
        command=ff.Command(forward=0.4),
    )
    alone.run(1.0)
    np.testing.assert_allclose(batch.q[2], alone.q, atol=1e-6)


def test_the_truth_lies_within_three_sigma():
    made = short_walk()
    errors = estimation_errors(made.recording, made.controller.history(), after=0.3)
    levelled = np.concatenate([errors.turn[:, :2], errors.velocity], axis=1)
    sigma = errors.deviation[:, [0, 1, 3, 4, 5]]
    assert (np.abs(levelled) < 3 * sigma).mean() > 0.98
    assert np.median(np.abs(levelled) / sigma) > 0.05


def test_errors_count_from_where_the_robot_began():
    """A run that is turned and shifted as a whole has the same errors."""
    made = short_walk()
    history = made.controller.history()
    plain = estimation_errors(made.recording, history)
    q = np.array(made.recording.q)
    half = 0.35
    turn = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
    c, s = np.cos(2 * half), np.sin(2 * half)
    for row in q:
        row[:3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ row[:3] + [5.0, -3.0, 1.0]
        row[3:7] = ff.spatial.quaternion.multiply(turn, row[3:7])
    moved = ff.Recording(CHEETAH, {**made.recording.columns, "q": q}, [], {})
    again = estimation_errors(moved, history)
    np.testing.assert_allclose(again.position, plain.position, atol=1e-9)
    np.testing.assert_allclose(again.velocity, plain.velocity, atol=1e-9)
    np.testing.assert_allclose(again.turn[:, :2], plain.turn[:, :2], atol=1e-9)


def test_a_fault_says_what_it_is_about():
    with pytest.raises(InputError, match="sensor of a fault"):
        Fault(sensor="gyrp")
    with pytest.raises(InputError, match="kind of fault"):
        Fault(sensor="gyro", kind="broken")
    with pytest.raises(InputError, match="duration of a fault"):
        Fault(sensor="gyro", duration=0.0)
    with pytest.raises(InputError, match="must be Faults"):
        Sensors(faults=("gyro",))
    with pytest.raises(InputError, match="has the axes 0 to 2"):
        ff.Simulation(CHEETAH, sensors=Sensors(faults=(Fault(sensor="gyro", axes=(3,)),)))


@pytest.mark.parametrize("compiled", [True, False])
def test_faults_act_in_their_time_and_on_their_axes(compiled):
    class Listens:
        rate = 1000.0

        def start(self, robot):
            return {"gyro": np.zeros((30, 3)), "force": np.zeros((30, 12)), "tick": 0.0}

        def __call__(self, t, robot, sensed, command, memory):
            now = np.arange(30)[:, None] - memory["tick"]
            here = np.abs(now) < 0.5
            heard = {
                "gyro": np.where(here, sensed.imu.gyro, memory["gyro"]),
                "force": np.where(here, np.reshape(sensed.forces, (12,)), memory["force"]),
                "tick": memory["tick"] + 1.0,
            }
            return ff.JointCommand(position=CHEETAH.poses["stand"].joints, kp=60.0, kd=2.0), heard

    faults = (
        Fault(sensor="gyro", kind="missing", start=0.005, duration=0.005, axes=(1,)),
        Fault(sensor="gyro", kind="frozen", start=0.02, duration=0.005),
        Fault(sensor="force", kind="stuck", start=0.01, value=7.0, axes=(3, 4, 5)),
    )
    sensors = Sensors.realistic(0)
    sensors = Sensors(gyro=sensors.gyro, force=sensors.force, faults=faults)
    simulation = ff.Simulation(CHEETAH, Listens(), sensors=sensors, compile_controller=compiled)
    simulation.run(0.03)
    heard = simulation.state.memory["inner"]
    missing = np.isnan(heard["gyro"])
    assert missing[5:10, 1].all()
    assert missing.sum() == 5
    assert (heard["gyro"][20:25] == heard["gyro"][19]).all()
    assert (heard["gyro"][25] != heard["gyro"][19]).all()
    assert (heard["force"][10:, 3:6] == 7.0).all()
    assert (heard["force"][:10, 3:6] != 7.0).all()


def test_what_was_found_wrong_is_an_event_of_the_recording_once():
    sensors = dataclasses.replace(
        Sensors.realistic(4), faults=(Fault(sensor="gyro", kind="missing", start=0.1, duration=0.05),)
    )
    controller = Estimated(ff.control.Hold("stand", 60.0, 2.0))
    recording = ff.Simulation(CHEETAH, controller, sensors=sensors).run(0.3)
    told = [(event.time, event.message) for event in recording.events if "gyro" in event.message]
    assert [t for t, _ in told] == pytest.approx([0.1, 0.15])
    assert "gives no reading" in told[0][1]
    assert "good again" in told[1][1]


def test_simulate_on_the_estimate_from_the_command_line(capsys):
    arguments = ["simulate", "mini_cheetah", "--controller", "hold", "--estimate", "--duration", "0.2", "--json"]
    assert cli.run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["estimate_roll_pitch_rms_deg"] < 3.0
    assert found["estimate_velocity_rms"] < 0.05
    assert cli.run(["simulate", "mini_cheetah", "--controller", "hold", "--duration", "0.05", "--json"]) == 0
    assert not any(key.startswith("estimate") for key in json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("compiled", [True, False])
def test_an_estimate_of_a_run_that_is_recorded_less_often_has_its_history(compiled):
    histories = []
    for rate in (None, 200.0):
        controller = Estimated(ff.control.Hold("stand", 60.0, 2.0))
        simulation = ff.Simulation(
            CHEETAH, controller, sensors=Sensors.realistic(4), record_rate=rate, compile_controller=compiled
        )
        recording = simulation.run(0.1)
        assert estimation_errors(recording, controller.history()).figures()["velocity_rms"] < 0.05
        histories.append(controller.history())
    np.testing.assert_array_equal(histories[0].time, histories[1].time)
    np.testing.assert_array_equal(histories[0].q, histories[1].q)


def test_a_run_file_may_ask_for_the_estimate_and_compare_refuses_it(tmp_path, capsys):
    file = tmp_path / "run.toml"
    file.write_text('robot = "mini_cheetah"\ncontroller = "hold"\nestimate = true\nduration = 0.1\n')
    assert cli.run(["compare", str(file)]) == 2
    assert "takes no estimate" in capsys.readouterr().err
    file.write_text('robot = "mini_cheetah"\nestimate = "yes"\n')
    assert cli.run(["simulate", str(file)]) == 2
    assert "true or false" in capsys.readouterr().err


# -- minutes -----------------------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("ground", ["plane", "rough:0.03"])
@pytest.mark.parametrize("seed", [1, 2])
def test_thirty_seconds(ground, seed):
    figures = meets_its_bounds(walk(ground, 30.0, Sensors.realistic(seed)), 30.0)
    assert 0.2 < figures["nis"] < 2.0


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "ground"), [(2, "plane"), (4, "plane"), (4, "rough:0.03")])
def test_who_knows_that_the_ground_is_level_learns_the_vertical(seed, ground):
    """Told within which height the ground is level, also where it is rough; seed 4 has a large accelerometer bias."""
    made = walk(ground, 12.0, Sensors.realistic(seed), level=0.002 if ground == "plane" else 0.01)
    figures = meets_its_bounds(made, 12.0)
    assert figures["height_drift_of_distance"] < 0.002
    settled = estimation_errors(made.recording, made.controller.history(), after=4.0).figures()
    assert settled["roll_pitch_rms_deg"] < 0.3


FAULTS = {
    "gyro gone for good": Fault(sensor="gyro", kind="missing", start=2.0),
    "gyro frozen": Fault(sensor="gyro", kind="frozen", start=2.0),
    "gyro biased": Fault(sensor="gyro", kind="bias", start=2.0, value=0.2, axes=(1,)),
    "accelerometer gone for good": Fault(sensor="acceleration", kind="missing", start=2.0),
    "force sensor stuck at zero": Fault(sensor="force", kind="stuck", start=2.0, axes=(0, 1, 2)),
    "force sensor stuck at full": Fault(sensor="force", kind="stuck", start=2.0, value=90.0, axes=(2,)),
    "all force sensors gone": Fault(sensor="force", kind="missing", start=2.0),
    "an encoder gone for a second": Fault(sensor="position", kind="missing", start=2.0, duration=1.0, axes=(4,)),
    "all joint rates gone": Fault(sensor="velocity", kind="missing", start=2.0),
    "everything gone for 30 ms": Fault(sensor="gyro", kind="missing", start=2.0, duration=0.03),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FAULTS)
def test_it_walks_on_through_a_fault_and_says_so(case):
    faults: tuple[Fault, ...] = (FAULTS[case],)
    if case.startswith("everything"):
        faults = tuple(
            dataclasses.replace(faults[0], sensor=s) for s in ("gyro", "acceleration", "position", "velocity", "force")
        )
    made = walk("plane", 5.0, dataclasses.replace(Sensors.realistic(3), faults=faults))
    assert made.simulation.stopped is None, made.controller.log
    assert made.controller.log
    assert 2.0 <= made.controller.log[0][0] < 2.5
    figures = estimation_errors(made.recording, made.controller.history()).figures()
    assert figures["roll_pitch_rms_deg"] < 2.0
    assert figures["velocity_rms"] < 0.1


@pytest.mark.slow
def test_an_imu_mounted_elsewhere_serves_as_well():
    """Off the centre and turned: the estimator knows where it sits."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    place = np.array([0.1, 0.03, 0.05])
    sensors = Sensors.realistic(1)
    sensors = Sensors(
        **{k: getattr(sensors, k) for k in ("acceleration", "gyro", "position", "velocity", "force")},
        imu_position=place,
        imu_rotation=turn,
        seed=1,
    )
    meets_its_bounds(walk("plane", 3.0, sensors, imu_position=place, imu_rotation=turn), 3.0)


@pytest.mark.slow
def test_another_controller_and_robot_walk_on_it():
    """Open-loop trot of a heavier robot, from the command line's own parts."""
    from footfall.sim.runfile import options_of, plan

    robot = ff.load("xiling")
    run = plan(robot, options_of({"robot": "xiling", "controller": "pd", "estimate": True, "duration": 4.0}))
    recording = run.simulation.run(4.0)
    assert run.simulation.stopped is None
    assert isinstance(run.simulation.controller, Estimated)
    figures = estimation_errors(recording, run.simulation.controller.history()).figures()
    assert figures["roll_pitch_rms_deg"] < 1.5
    assert figures["velocity_rms"] < 0.1
