"""What a simulation refuses, and how it stops: one sentence, before any work, nothing half written."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated_bodies import pendulum

import footfall as ff
from footfall.errors import FootfallError, InputError

CHEETAH = ff.load("mini_cheetah")
BAD = [np.nan, np.inf, -np.inf]
HOLD = ff.control.Hold(kp=40.0, kd=1.0)


def stand() -> tuple[np.ndarray, np.ndarray]:
    q, v = CHEETAH.state("stand")
    return q.copy(), v.copy()


def refused(match: str, **options):
    """The error of a simulation that must not be made."""
    with pytest.raises(InputError, match=match) as caught:
        ff.Simulation(CHEETAH, **options)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


# -- numbers that are none -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", BAD)
def test_start_that_is_not_finite_is_refused(bad):
    for which, index in ((0, 2), (0, 4), (0, 9), (1, 0), (1, 12)):
        state = stand()
        state[which][index] = bad
        refused("not finite|quaternion", start=state)
    refused("finite", start=np.full(12, bad))


@pytest.mark.parametrize("bad", [*BAD, 0.0, -1e-3, 0.05, 1e-9])
def test_step_out_of_range_is_refused(bad):
    assert str(bad) in refused("dt must lie between", dt=bad)


@pytest.mark.parametrize("bad", BAD)
def test_gravity_push_command_and_ground_that_are_not_finite_are_refused(bad):
    refused("gravity", gravity=(0.0, 0.0, bad))
    for field in dataclasses.fields(ff.Command):
        refused(f"{field.name} of a command", command=ff.Command(**{field.name: bad}))
    for start, duration, force in ((bad, 0.1, (1, 0, 0)), (0.1, bad, (1, 0, 0)), (0.1, 0.1, (bad, 0, 0))):
        with pytest.raises(InputError, match="push"):
            ff.Push(start=start, duration=duration, force=force)
    with pytest.raises(InputError, match="push"):
        ff.Push(start=0.1, duration=0.1, moment=(0.0, bad, 0.0))
    for make in (
        lambda: ff.contact.Plane(friction=bad),
        lambda: ff.contact.Plane(friction=np.float32(bad)),
        lambda: ff.contact.Plane(normal=np.array([0.0, bad, 1.0])),
        lambda: ff.contact.Plane(point=np.array([0.0, 0.0, bad])),
        lambda: ff.contact.Plane.slope(bad),
    ):
        with pytest.raises(InputError):
            make()


@pytest.mark.parametrize("bad", [*BAD, -1.0])
def test_contact_parameters_out_of_range_are_refused(bad):
    for field in ("stiffness", "exponent", "damping", "ramp", "stick_speed", "slip_speed", "static_ratio"):
        for value in (bad, np.float32(bad)):
            with pytest.raises(InputError, match=field.replace("_", " ")):
                ff.contact.Compliant(**{field: value})


@pytest.mark.parametrize("bad", [*BAD, -1.0, "stiff"])
def test_gains_out_of_range_are_refused(bad):
    for key in ("kp", "kd"):
        refused(f"{key} of Hold", controller=ff.control.Hold(**{key: bad}))
        refused(f"{key} of Hold", controller=ff.control.Hold(**{key: np.array([bad, *[1.0] * 11])}))


@pytest.mark.parametrize("bad", [*BAD, 0.0, -1.0])
def test_durations_and_rates_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match="duration"):
        ff.Simulation(CHEETAH).run(bad)
    with pytest.raises(InputError, match="record rate"):
        ff.Simulation(CHEETAH, record_rate=bad).run(0.01)
    with pytest.raises(InputError, match="rate"):
        ff.control.Hold(rate=bad)
    with pytest.raises(InputError, match="rate"):
        ff.controller(rate=bad)


def test_record_rate_beyond_the_controllers_is_refused():
    with pytest.raises(InputError, match="between 0 and the controller's 1000 Hz"):
        ff.Simulation(CHEETAH, record_rate=2000.0).run(0.01)


def test_command_that_turns_bad_between_runs_is_refused_at_the_next():
    sim = ff.Simulation(CHEETAH)
    sim.run(0.01)
    sim.command = ff.Command(forward=np.nan)
    with pytest.raises(InputError, match="forward of a command"):
        sim.run(0.01)


# -- a controller that goes wrong ------------------------------------------------------------------------------------
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "in Python"])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("key", ["position", "velocity", "kp", "kd", "torque"])
def test_controller_that_asks_for_what_is_not_finite_is_named_within_one_step(key, bad, compiled):
    healthy = {"position": stand()[0][7:], "kp": np.full(12, 40.0), "kd": np.ones(12)}

    @ff.controller(rate=1000)
    def wild(t, robot, sensed, command, memory):
        spoilt = np.array([bad if j == 4 else 0.0 for j in range(12)])
        asked = {**healthy, key: np.where(t > 0.0045, spoilt, healthy.get(key, np.zeros(12)))}
        return ff.JointCommand(**asked), memory

    sim = ff.Simulation(CHEETAH, wild, compile_controller=compiled, record_rate=100)
    rec = sim.run(0.1)
    assert sim.stopped is not None
    assert 0.005 <= sim.stopped.time <= 0.006 + 1e-9
    assert key in sim.stopped.message
    assert CHEETAH.joint_names[4] in sim.stopped.message
    assert rec.meta["stopped"] == sim.stopped.message
    assert rec.events[-1].kind in ("diverged", "error")
    assert (rec.time <= 0.005 + 1e-9).all()
    with pytest.raises(FootfallError, match="has stopped"):
        sim.run(0.1)
    sim.reset()
    assert sim.time == 0.0


def answering(answer):
    @ff.controller(rate=1000)
    def answers(t, robot, sensed, command, memory):
        return answer

    return answers


@pytest.mark.parametrize("compiled", [None, False], ids=["compiled", "in Python"])
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "must return"),
        (np.zeros(12), "must return"),
        ((np.zeros(12), {}), "must return"),
        (ff.JointCommand(), "must return"),
        ((ff.JointCommand(position=np.zeros(11)), {}), "one number or 12 of them"),
        ((ff.JointCommand(kp=np.zeros((12, 1))), {}), "one number or 12 of them"),
    ],
)
def test_controller_that_returns_the_wrong_thing_is_told_so_and_leaves_no_file(answer, words, compiled, tmp_path):
    sim = ff.Simulation(CHEETAH, answering(answer), compile_controller=compiled)
    if compiled is False:
        sim.run(0.01)
        assert words in sim.stopped.message
        return
    with pytest.raises(InputError, match=words):
        sim.run(0.01, path=tmp_path / "run.mcap")
    assert not list(tmp_path.iterdir())


def test_controller_that_raises_in_python_stops_the_run_and_keeps_the_rows(tmp_path):
    @ff.controller(rate=1000)
    def fails(t, robot, sensed, command, memory):
        if t > 0.02:
            raise ZeroDivisionError("no such thing")
        return ff.JointCommand(position=stand()[0][7:], kp=40.0, kd=1.0), memory

    sim = ff.Simulation(CHEETAH, fails, compile_controller=False)
    rec = sim.run(0.1, path=tmp_path / "run.mcap")
    assert "fails at 0.0210 s" in sim.stopped.message
    assert "ZeroDivisionError: no such thing" in sim.stopped.message
    assert rec.time[-1] == pytest.approx(0.021)
    assert ff.Recording.load(tmp_path / "run.mcap").meta["stopped"] == sim.stopped.message


def test_what_is_no_controller_contact_ground_or_robot_is_refused():
    refused("a controller needs a rate", controller=lambda *a: None)
    refused("contact", contact=object())
    refused("ground", ground=object())
    refused("unknown contact model", contact="springy")
    refused("unknown integrator", integrator="euler")
    refused("pushes must be", pushes=[(0.1, 0.2, (1, 0, 0))])
    refused("a command must be", command={"forward": 1.0})


# -- states ----------------------------------------------------------------------------------------------------------
def test_start_inside_the_ground_names_the_foot_and_the_depth():
    q, v = stand()
    q[2] -= 0.02
    assert "20.0 mm inside the ground" in refused("'LF'", start=(q, v))


def test_start_of_the_wrong_shape_or_pose_is_refused():
    refused(r"q .* must have shape \(19,\)", start=(np.zeros(18), np.zeros(18)))
    refused(r"v .* must have shape \(18,\)", start=(stand()[0], np.zeros(19)))
    refused("joint positions must have shape", start=np.zeros(11))
    refused("unknown pose 'stnad' .did you mean 'stand'", start="stnad")
    q, v = stand()
    q[3:7] = 1.0, 0.1, 0.0, 0.0
    refused("quaternion of the start has length", start=(q, v))


@pytest.mark.parametrize(("rate", "dt"), [(300.0, 1e-3), (1000.0, 3e-4), (2000.0, 1e-3), (1000.0, 2e-3)])
def test_rate_whose_period_is_no_whole_number_of_steps_is_refused(rate, dt):
    refused("whole number of steps", controller=ff.control.Hold(rate=rate), dt=dt)


@pytest.mark.parametrize(("rate", "dt", "steps"), [(1000.0, 1e-3, 1), (500.0, 1e-3, 2), (300.0, 1 / 900, 3)])
def test_rate_whose_period_is_a_whole_number_of_steps_is_taken(rate, dt, steps):
    assert ff.Simulation(CHEETAH, ff.control.Hold(rate=rate), dt=dt).model.substeps == steps


def test_push_on_a_fixed_base_is_refused():
    with pytest.raises(InputError, match="fixed"):
        ff.Simulation(
            pendulum(1), ff.control.Hold(np.zeros(1)), pushes=[ff.Push(start=0.1, duration=0.1, force=(1.0, 0.0, 0.0))]
        )


def test_sphere_on_an_unknown_link_is_refused():
    refused("unknown link 'tail'", touching=[ff.Foot(name="tip", link="tail", position=np.zeros(3))])


def test_recording_into_a_folder_that_is_not_there_is_refused_before_the_run(tmp_path):
    sim = ff.Simulation(CHEETAH)
    with pytest.raises(FootfallError, match="folder"):
        sim.run(0.1, path=tmp_path / "no such folder" / "run.mcap")
    assert sim.time == 0.0
    assert not list(tmp_path.iterdir())
