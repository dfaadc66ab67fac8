"""A footfall controller drives a robot through its firmware: in simulated time, over good links and bad ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from rigs import Bench, delaying, dropping, go2, pilot, reordering

from footfall.control.interface import Command, FunctionController, JointCommand
from footfall.errors import FootfallError, InputError
from footfall.hardware.connection import is_newer
from footfall.hardware.drive import Driver
from footfall.hardware.limits import SafetyLimits
from footfall.hardware.preflight import preflight

STAND = float(go2().poses["stand"].height)


def drive(bench: Bench, duration: float = 1.5, controller=None, **options):
    controller = pilot() if controller is None else controller
    driver = Driver(
        connection=bench, controller=controller, wanted=lambda t: Command(forward=0.3), duration=duration, **options
    )
    driver.run()
    return driver


def test_robot_stands_up_walks_and_sits_down_on_what_its_messages_say():
    bench, seen = Bench(), []
    driver = drive(bench, 3.0, on_row=lambda row: seen.append((row.time, row.phase, *bench.simulated.body.q[:3])))
    assert driver.reason == ""
    assert [phase for _, phase in driver.phases] == ["up", "walk", "settle", "down", "damp"]
    walk = np.array([(t, x, z) for t, phase, x, _, z in seen if phase == "walk"])
    late = walk[walk[:, 0] > walk[0, 0] + 1.5]
    assert (late[-1, 1] - late[0, 1]) / (late[-1, 0] - late[0, 0]) == pytest.approx(0.3, rel=0.1)
    assert late[:, 2] == pytest.approx(STAND, abs=0.02)
    assert bench.simulated.body.q[2] < 0.5 * STAND
    assert set(bench.firmware.counts) == {"taken"}


def test_soft_start_begins_at_the_measured_pose_without_force():
    bench = Bench()
    measured = bench.simulated.state.position
    drive(bench, stop=lambda: "damp" if bench.now() > 2.1 else "")
    first, step = bench.sent[0], np.abs(np.diff([c.position for c in bench.sent[:1000]], axis=0)).max()
    assert first.position == pytest.approx(measured, abs=0.02)
    assert np.all(first.kp == 0.0)
    gains = [float(np.max(c.kp)) for c in bench.sent[:1000]]
    assert np.all(np.diff(gains) >= 0)
    assert step < 2.6 * bench.period  # [rad]: no joint is asked to turn faster than a glide does


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "spoil"),
    [("dropped", dropping(0.2)), ("reordered", reordering()), ("delayed", delaying(4))],  # 8 ms each way
    ids=("dropped", "reordered", "delayed"),
)
def test_robot_walks_on_over_a_link_that_loses_reorders_or_delays_messages(name, spoil):
    bench = Bench(spoil)
    driver = drive(bench, 1.2)
    assert driver.reason == ""
    assert bench.simulated.body.q[0] > 0.1
    assert (bench.firmware.counts["out of order"] > 50) == (name == "reordered")


def test_delay_of_20_ms_ends_in_a_robot_that_is_damped():
    bench = Bench(delaying(10))
    driver = drive(bench, 2.0)
    assert "turns at" in driver.reason  # the walk shakes, and is given up before it goes wild
    assert [phase for _, phase in driver.phases] == ["up", "walk", "damp"]
    assert bench.highest < 1.5 * STAND  # it did not leap
    for _ in range(500):  # nobody commands it any more
        bench.wait()
    assert bench.firmware.damped
    assert bench.lowest > 0.0
    assert np.abs(bench.simulated.state.velocity).max() < 1.0


def test_robot_is_damped_by_itself_when_its_driver_is_killed():
    bench = Bench()
    driver = Driver(connection=bench, controller=pilot(), wanted=lambda t: Command(forward=0.3), duration=5.0)
    killed = RuntimeError("killed")

    def kill(row):
        if row.time > 3.5:
            raise killed

    driver.on_row = kill
    bench.write = lambda command: bench.now() > 3.5 or Bench.write(bench, command)  # nor does it say a last word
    with pytest.raises(RuntimeError):
        driver.run()
    for _ in range(int(0.06 / bench.period)):
        bench.wait()
    assert bench.firmware.damped
    for _ in range(700):
        bench.wait()
    assert bench.firmware.watchdog.barked == 1
    assert np.isfinite(bench.simulated.body.q).all()
    assert bench.simulated.body.q[2] < 0.6 * STAND


def test_driver_damps_within_its_patience_when_states_stop():
    bench = Bench(lambda items, kind, tick: [] if kind == "state" and tick > 500 else items)
    driver = drive(bench)
    assert "no state" in driver.reason
    damped = driver.phases[-1][0]
    assert damped == pytest.approx(501 * bench.period + driver.patience, abs=3 * bench.period)
    assert np.all(bench.sent[-1].kp == 0.0)
    assert np.all(bench.sent[-1].kd > 0.0)


def frozen(state, count):
    """The same message, sent again and again."""
    return state


def repeating(state, count):
    """The clock goes on, the sensors do not."""
    return dataclasses.replace(state, time=state.time + 0.002 * count)


def going_back(state, count):
    return dataclasses.replace(state, time=state.time - 0.002 * count)


@pytest.mark.parametrize("repeat", [frozen, repeating, going_back])
@pytest.mark.parametrize("begin", [1.5, 3.0], ids=["standing up", "walking"])
def test_robot_that_goes_on_sending_and_measures_nothing_new_is_damped_within_50_ms(repeat, begin):
    kept = []

    def spoil(items, kind, tick):
        if kind == "state" and tick * 0.002 >= begin:
            kept.append(items[0])
            return [repeat(kept[0], len(kept) - 1)]
        return items

    bench = Bench(spoil)
    driver = drive(bench, 3.0)
    assert "no new state" in driver.reason
    assert driver.phases[-1] == (pytest.approx(begin + driver.patience, abs=4 * bench.period), "damp")
    assert driver.report()["frozen"] >= 25
    assert np.all(bench.sent[-1].kp == 0.0)
    assert np.all(bench.sent[-1].kd > 0.0)


def joints_still(state, count):
    """Motors no longer report, and the last that they reported was that they stand; the IMU goes on."""
    return {"position": state.position, "velocity": np.zeros(12), "torque": state.torque}


def imu_still(state, count):
    return {"imu": state.imu, "attitude": state.attitude}


def clock_creeps(state, count):
    return {"time": state.time + 1e-6 * count}


@pytest.mark.parametrize(("spoiled", "within"), [(joints_still, 1.0), (imu_still, 0.06), (clock_creeps, 0.06)])
def test_robot_of_which_a_part_stands_still_while_it_walks_is_damped(spoiled, within):
    """Joints that report to stand are found once what they are asked for has changed by a quarter of their torque."""
    begin, kept = 3.0, []

    def spoil(items, kind, tick):
        if kind == "state" and tick * 0.002 >= begin:
            kept.append(items[0])
            return [dataclasses.replace(items[0], **spoiled(kept[0], len(kept) - 1))]
        return items

    driver = drive(Bench(spoil), 3.0)
    assert "no new state" in driver.reason
    assert begin < driver.phases[-1][0] < begin + within


@pytest.mark.parametrize(
    "odd", [{"position": np.zeros(11)}, {"attitude": None}, {"velocity": np.full(12, "0.1")}, {"torque": 0.0}]
)
def test_state_without_the_numbers_of_the_robot_damps_with_a_sentence(odd):
    def spoil(items, kind, tick):
        return [dataclasses.replace(items[0], **odd)] if kind == "state" and tick > 500 else items

    driver = drive(Bench(spoil))
    assert "of the robot's state must be" in driver.reason


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0, "1"])
def test_a_drive_whose_limits_are_no_limits_is_refused(number):
    for name in ("duration", "patience"):
        with pytest.raises(InputError, match=name):
            Driver(connection=Bench(), controller=pilot(), **{name: number})
    for name in ("tilt", "beyond", "fast"):
        with pytest.raises(InputError, match=r"must be"):
            SafetyLimits(go2(), **{name: number})
    with pytest.raises(InputError, match="radians"):
        SafetyLimits(go2(), tilt=50.0)


def test_robot_at_rest_whose_sensors_have_no_noise_is_not_taken_for_a_frozen_one():
    state = dataclasses.replace(Bench().simulated.state, velocity=np.zeros(12))
    assert is_newer(dataclasses.replace(state, time=state.time + 0.002), state)
    assert not is_newer(state, state)


@pytest.mark.parametrize(
    ("attitude", "word"),
    [
        ([0.0, 0.0, 0.0, 0.0], "unit quaternion"),
        ([1e200, 0.0, 0.0, 0.0], "unit quaternion"),
        ([0.0, 0.3, 0.0, 0.0], "unit quaternion"),
        ([0.9, 0.0, 0.0, 0.0], "unit quaternion"),
        ([np.nan, 0.0, 0.0, 0.0], "not finite"),
        ([0.0, 1.0, 0.0, 0.0], "leans by 180"),
        ([0.0, 0.0, -1.0, 0.0], "leans by 180"),
    ],
)
def test_attitude_that_no_robot_should_have_damps_at_once(attitude, word):
    def spoil(items, kind, tick):
        return items if kind == "command" or tick < 300 else [dataclasses.replace(s, attitude=attitude) for s in items]

    attitude = np.array(attitude)
    bench = Bench(spoil)
    driver = drive(bench)
    assert word in driver.reason
    assert driver.phases[-1] == (pytest.approx(301 * bench.period, abs=2 * bench.period), "damp")


def test_preflight_of_a_robot_that_measures_nothing_new_fails():
    bench = Bench()
    state = bench.simulated.state
    bench.read = lambda: state
    found = {check.name: check for check in preflight(bench, pilot(), SafetyLimits(go2()))}
    assert not found["states"].holds
    assert "no newer" in found["states"].words


def test_stop_key_damps_at_once_in_any_phase():
    for when in (0.3, 2.6):
        bench = Bench()
        driver = drive(bench, stop=lambda bench=bench, when=when: "damp" if bench.now() > when else "")
        assert driver.reason == "emergency stop"
        assert driver.phases[-1][0] == pytest.approx(when, abs=0.01)


def test_robot_that_is_asked_to_end_sits_down_before_it_is_damped():
    bench = Bench()
    driver = drive(bench, 60.0, stop=lambda: "end" if bench.now() > 2.5 else "")
    assert driver.reason == ""
    assert [phase for _, phase in driver.phases] == ["up", "walk", "settle", "down", "damp"]
    assert driver.phases[-1][0] < 6.0
    assert bench.simulated.body.q[2] < 0.5 * STAND


def test_state_that_is_not_finite_or_out_of_limits_damps():
    def ill(change):
        def spoil(items, kind, tick):
            return items if kind == "command" or tick < 300 else [dataclasses.replace(s, **change) for s in items]

        return spoil

    lying_on_its_side = np.array([np.cos(0.6), np.sin(0.6), 0.0, 0.0])
    for change, word in (
        ({"position": np.full(12, np.nan)}, "finite"),
        ({"attitude": lying_on_its_side}, "leans"),
        ({"velocity": np.full(12, 80.0)}, "turns"),
        ({"position": np.full(12, 5.0)}, "beyond"),
    ):
        driver = drive(Bench(ill(change)))
        assert word in driver.reason, change


def test_controller_that_raises_anything_damps_at_once_with_a_sentence():
    def late(t, robot, sensed, command, memory):
        if t > 0.1:
            raise ValueError("index out of range in somebody's controller")
        return JointCommand(position=go2().poses["stand"].joints, kp=60.0, kd=2.0), memory

    def shapeless(t, robot, sensed, command, memory):
        return JointCommand(position=np.zeros(7)), memory

    def of_objects(t, robot, sensed, command, memory):
        return JointCommand(torque=np.array(["?"] * 12, dtype=object)), memory

    for function, word in (
        (late, "ValueError: index out of range"),
        (shapeless, "failed"),
        (of_objects, "the controller failed: ValueError"),
    ):
        bench = Bench().stand()
        driver = drive(bench, controller=FunctionController(function, 500.0))
        assert word in driver.reason
        assert driver.phases[-1] == (pytest.approx(driver.phases[-2][0] + (0.102 if function is late else 0.0)), "damp")
        assert np.all(bench.sent[-1].kp == 0.0)
        assert np.all(bench.sent[-1].kd > 0.0)


def test_last_command_damps_however_the_drive_ends():
    bench = Bench().stand()

    def interrupt(row):
        if row.time > 0.6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(bench, on_row=interrupt)
    assert np.max(bench.sent[-2].kp) > 10.0
    assert np.all(bench.sent[-1].kp == 0.0)
    assert np.all(bench.sent[-1].kd > 0.0)


def test_controller_sees_the_time_of_the_clock_over_skipped_ticks():
    bench, times = Bench().stand(), []

    def slow() -> int:
        Bench.wait(bench)
        return 3 if bench.ticks > 700 else 1

    bench.wait = slow

    def note(t, robot, sensed, command, memory):
        times.append((t, driver.seconds - driver.phases[1][0]))
        return JointCommand(position=go2().poses["stand"].joints, kp=60.0, kd=2.0), memory

    driver = Driver(connection=bench, controller=FunctionController(note, 250.0), duration=0.5)
    driver.run()
    assert len(times) > 100
    np.testing.assert_allclose(*np.transpose(times), atol=1e-9)
    assert np.diff(times[-50:], axis=0).min() == pytest.approx(0.006)  # every time: 6 ms are more than its 4


def test_controller_that_fails_or_asks_for_nonsense_is_not_obeyed():
    def raises(t, robot, sensed, command, memory):
        raise FootfallError("lost")

    def absurd(t, robot, sensed, command, memory):
        return JointCommand(torque=np.full(12, np.nan)), memory

    for function, word in ((raises, "failed: lost"), (absurd, "not finite")):
        bench = Bench()
        driver = drive(bench, controller=FunctionController(function, 500.0))
        assert word in driver.reason
        assert np.isfinite(np.array([c.torque for c in bench.sent])).all()


def test_huge_commands_are_cut_to_what_the_robot_bears():
    limits = SafetyLimits(go2())
    huge = JointCommand(position=9.0, velocity=1e4, kp=1e6, kd=1e6, torque=1e6).broadcast(12)
    kept, cut = limits.cut(huge)
    assert cut
    assert (kept.torque == limits.torque).all()
    assert (kept.position == limits.upper).all()
    assert kept.kp.max() <= limits.bounds.kp
    within = JointCommand(position=go2().poses["stand"].joints, kp=60.0, kd=2.0).broadcast(12)
    assert not limits.cut(within)[1]


def test_preflight_names_what_is_wrong_and_sends_nothing():
    def checks(spoil=lambda items, kind, tick: items, controller=None):
        bench = Bench(spoil)
        found = {check.name: check for check in preflight(bench, controller or pilot(), SafetyLimits(go2()))}
        assert bench.sent == []
        return found

    assert all(check.holds for check in checks().values())
    assert not checks(dropping(0.8))["states"].holds
    flipped = checks(
        lambda items, kind, tick: (
            [dataclasses.replace(s, attitude=np.array([0.9, 0.43589, 0, 0])) for s in items]
            if kind == "state"
            else items
        )
    )
    assert not flipped["IMU"].holds
    absurd = FunctionController(lambda t, r, s, c, m: (JointCommand(torque=np.nan), m), 500.0)
    assert not checks(controller=absurd)["controller"].holds


def test_rate_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="must divide"):
        Driver(connection=Bench(), controller=FunctionController(lambda *a: (JointCommand(), {}), 333.0))
