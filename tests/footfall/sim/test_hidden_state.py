"""State that a controller keeps outside its memory: found, told, and run in Python with the numbers of Python."""

from __future__ import annotations

import sys
import time
import types
import warnings

import numpy as np
import pytest
from hidden_mechanisms import CHEETAH, LATE, MECHANISMS, STAND, in_a_closure
from pure_controllers import PURE, Gains

import footfall as ff
from footfall.errors import TraceMismatch
from footfall.sensing.emergency_stop import EmergencyStop
from footfall.sensing.sensors import Sensors

every_mechanism = pytest.mark.parametrize("made", MECHANISMS, ids=lambda f: f.__name__)


def simulated(function, **options):
    return ff.Simulation(CHEETAH, ff.controller(rate=1000)(function), **options)


@every_mechanism
def test_hidden_state_is_told_and_moves_the_robot_as_in_python(made):
    python = simulated(made(), compile_controller=False).run(0.1)
    sim = simulated(made())
    with pytest.warns(UserWarning, match="runs in Python at 1000 Hz: "):
        found = sim.run(0.1)
    assert not sim.controller_is_compiled
    assert np.ptp(python["command_position"] + python["command_torque"], axis=0).max() > 0.01 or "first" in str(made)
    np.testing.assert_array_equal(found["command_position"], python["command_position"])
    np.testing.assert_array_equal(found["command_torque"], python["command_torque"])
    np.testing.assert_array_equal(found.q, python.q)


@every_mechanism
def test_hidden_state_is_refused_where_only_machine_code_runs(made):
    with pytest.raises(TraceMismatch):
        simulated(made(), compile_controller=True).run(0.01)
    with pytest.raises(TraceMismatch):
        ff.Batch(CHEETAH, 2, ff.controller(rate=1000)(made()))


@pytest.mark.parametrize("wrapped", ["sensors", "emergency_stop"])
def test_sensors_and_switches_do_not_hide_it(wrapped):
    option = {"sensors": Sensors()} if wrapped == "sensors" else {"emergency_stop": EmergencyStop(at=9.0)}
    with pytest.warns(UserWarning, match="control runs in Python .*counter"):
        assert not simulated(in_a_closure(), **option).controller_is_compiled


@pytest.mark.parametrize("trouble", ["raises", "returns NaN"])
def test_trouble_after_many_calls_stops_the_run(trouble):
    calls = []

    def control(t, robot, sensed, command, memory):
        calls.append(1)
        if len(calls) > LATE and trouble == "raises":
            raise ValueError("worn out")
        return ff.JointCommand(STAND, kp=np.nan if len(calls) > LATE else 60.0, kd=2.0), memory

    sim = simulated(control)
    with pytest.warns(UserWarning, match="control changed calls"):
        sim.run(0.2)
    assert sim.stopped is not None
    assert sim.stopped.time == pytest.approx(0.06)
    assert ("worn out" if trouble == "raises" else "not finite") in sim.stopped.message


@pytest.mark.parametrize("effect", ["clock", "print", "file"])
def test_a_clock_a_print_and_a_file_run_in_python_even_if_they_change_no_number(effect, tmp_path, capsys):
    began, path = time.monotonic(), tmp_path / "log"

    def control(t, robot, sensed, command, memory):
        lean = 0.0
        if effect == "clock" and time.monotonic() - began > 1e6:
            lean = 1.0
        if effect == "print":
            print("asked", t)
        if effect == "file":
            with open(path, "a") as log:
                log.write("asked\n")
        return ff.JointCommand(STAND + lean, kp=60.0, kd=2.0), memory

    sim = simulated(control)
    with pytest.warns(UserWarning, match="control runs in Python"):
        sim.controller_is_compiled  # noqa: B018
    capsys.readouterr()
    path.unlink(missing_ok=True)
    sim.run(0.02)
    if effect == "print":
        told = [float(line.removeprefix("asked ")) for line in capsys.readouterr().out.splitlines()]
        np.testing.assert_allclose(told, np.arange(20) / 1000)
    if effect == "file":
        assert path.read_text() == 20 * "asked\n"


# -- no false alarms ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("made", PURE, ids=lambda f: f.__name__)
def test_pure_controllers_are_compiled_without_a_word(made):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = simulated(made())
        compiled = sim.run(0.05)
        assert sim.controller_is_compiled
    python = simulated(made(), compile_controller=False).run(0.05)
    np.testing.assert_allclose(compiled.q, python.q, atol=1e-9)


# -- between runs ------------------------------------------------------------------------------------------------------
SPEED, SCALE = {"lean": 0.0}, 0.0


def between_a_global_dict():
    SPEED["lean"] = 0.0

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + SPEED["lean"], kp=60.0, kd=2.0), memory

    return control, lambda: SPEED.update(lean=0.03)


def between_a_global():
    global SCALE
    SCALE = 0.0

    def change():
        global SCALE
        SCALE = 0.03

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + SCALE, kp=60.0, kd=2.0), memory

    return control, change


def between_an_array():
    lean = np.zeros(12)

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + lean, kp=60.0, kd=2.0), memory

    return control, lambda: lean.fill(0.03)


def between_an_object():
    gains = Gains(kp=0.0)

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + gains.kp, kp=60.0, kd=2.0), memory

    return control, lambda: setattr(gains, "kp", 0.03)


def between_a_module_imported_inside_a_helper():
    settings = sys.modules["gains_of_a_user"] = types.ModuleType("gains_of_a_user")
    settings.LEAN = 0.0

    def lean():
        import gains_of_a_user

        return gains_of_a_user.LEAN

    def control(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + lean(), kp=60.0, kd=2.0), memory

    return control, lambda: setattr(settings, "LEAN", 0.03)


BETWEEN = [
    between_a_global_dict,
    between_a_global,
    between_an_array,
    between_an_object,
    between_a_module_imported_inside_a_helper,
]


@pytest.mark.parametrize("made", BETWEEN, ids=lambda f: f.__name__)
def test_what_is_changed_between_runs_is_noticed(made):
    control, change = made()
    sim = simulated(control)
    before = sim.run(0.01)["command_position"]
    engine = sim.engine
    same = sim.run(0.01)["command_position"]
    assert sim.engine is engine  # nothing changed: not traced again
    change()
    after = sim.run(0.01)["command_position"]
    assert sim.controller_is_compiled
    np.testing.assert_allclose(before, np.tile(STAND, (10, 1)))
    np.testing.assert_allclose(same, np.tile(STAND, (10, 1)))
    np.testing.assert_allclose(after, np.tile(STAND + 0.03, (10, 1)))
