"""A loop of one's own around ``Simulation.step``: it is the run, and what it is given takes the controller's place."""

import copy

import numpy as np
import pytest

import footfall as ff
from footfall.errors import FootfallError, InputError
from footfall.sensing.sensors import Sensors

ROBOT = ff.load("mini_cheetah")
STAND = ROBOT.poses["stand"].joints


def python_springs():
    calls = []

    @ff.controller(rate=1000)
    def springs(t, robot, sensed, command, memory):
        calls.append(t)  # hidden state: it runs in Python
        return ff.JointCommand(STAND, kp=60.0, kd=2.0), {"t": memory["t"] + 1.0}

    springs.memory["t"] = 0.0
    return springs


CASES = {
    "trot": lambda: {"controller": ff.control.JointPD.tuned(ROBOT, "trot")},
    "500 Hz": lambda: {"controller": ff.control.Hold("stand", 60.0, 2.0, rate=500.0)},
    "whole_body": lambda: {"controller": ff.control.on_command("whole_body"), "command": ff.Command(forward=0.3)},
    "schedule": lambda: {
        "controller": ff.control.on_command("balance"),
        "command": ff.sim.Schedule.parse("0: forward=0.1; 0.05: forward=0.3"),
    },
    "in Python": lambda: {"controller": python_springs(), "compile_controller": False},
    "sensors": lambda: {"controller": ff.control.JointPD.tuned(ROBOT, "trot"), "sensors": Sensors.realistic(3)},
    "emergency stop": lambda: {"emergency_stop": ff.sensing.EmergencyStop(at=0.04)},
    "steps": lambda: {"ground": "steps:0.02", "self_collision": "stop"},
    "complementarity": lambda: {"contact": "complementarity"},
    "pushed foot": lambda: {
        "pushes": [ff.Push(start=0.02, duration=0.01, force=(0.0, 20.0, 0.0), link="LF_knee_link")]
    },
}


def simulation(case):
    return ff.Simulation(ROBOT, **CASES[case]())


def same(one, other):
    leaves = [np.concatenate([np.ravel(x) for x in _leaves(sim.state)]) for sim in (one, other)]
    np.testing.assert_array_equal(*leaves)


def _leaves(state):
    return [np.asarray(x, float) for x in (state.tick, state.q, state.v, state.motor, state.forces, state.work)]


@pytest.mark.parametrize("case", CASES)
def test_steps_are_the_run(case):
    stepped, run = simulation(case), simulation(case)
    for count in (1, 1, 3, 30, 1):
        assert stepped.step(count)
    for _ in range(44):
        assert stepped.step()
    run.advance(80)
    same(stepped, run)
    assert stepped.model.acting.logs == run.model.acting.logs


@pytest.mark.parametrize(
    "options", [{}, {"sensors": Sensors.realistic(2)}, {"emergency_stop": ff.sensing.EmergencyStop(at=0.03)}]
)
def test_a_command_computed_outside_is_a_controller_that_computes_it(options):
    @ff.controller(rate=1000)
    def springs(t, robot, sensed, command, memory):
        return ff.JointCommand(torque=50.0 * (STAND - sensed.q[7:]) - 2.0 * sensed.v[6:]), memory

    inside, outside = ff.Simulation(ROBOT, springs, **options), ff.Simulation(ROBOT, springs, **options)
    inside.advance(60)
    for _ in range(60):
        sensed = outside.sensed
        assert outside.step(50.0 * (STAND - sensed.q[7:]) - 2.0 * sensed.v[6:])
    same(inside, outside)


def test_targets_with_gains_and_a_controller_take_turns():
    mixed, held = ff.Simulation(ROBOT), ff.Simulation(ROBOT)
    hold = held.controller
    command = ff.JointCommand(position=STAND, kp=hold.kp, kd=hold.kd)
    for _ in range(10):
        mixed.step(command, n=3)
        mixed.step(2)
    held.advance(50)
    same(mixed, held)


@pytest.mark.parametrize("outside", [False, True])
def test_steps_stop_where_the_run_does(outside):
    push = ff.Push(start=0.05, duration=0.2, force=(0.0, 400.0, 0.0))
    run, stepped = (ff.Simulation(ROBOT, pushes=[push]) for _ in range(2))
    hold = run.controller
    command = ff.JointCommand(position=STAND, kp=hold.kp, kd=hold.kd) if outside else None
    run.advance(3000)
    while stepped.step(command):
        pass
    assert stepped.stopped == run.stopped
    same(stepped, run)
    with pytest.raises(FootfallError, match=r"has stopped \(the robot fell.*reset\(\) it, or set_state"):
        stepped.step()
    stepped.pushes = ()
    stepped.set_state("stand")
    assert stepped.step(200)


def test_a_state_may_be_set_and_time_goes_on():
    sim = ff.Simulation(ROBOT, ff.control.on_command("whole_body"), command=ff.Command(forward=0.3))
    sim.advance(700)
    time, joints, memory = sim.time, sim.q[7:].copy(), sim.state.memory
    q = sim.q.copy()
    q[:2] = 5.0, -3.0
    sim.q = q
    assert (sim.time, sim.q[0]) == (time, 5.0)
    np.testing.assert_array_equal(sim.q[7:], joints)
    assert sim.state.memory is memory
    sim.set_state(q, np.zeros(ROBOT.nv), restart_controller=True)
    assert not sim.v.any()
    assert sim.state.memory is not memory
    sim.v = np.r_[np.zeros(3), 0.2, np.zeros(ROBOT.nv - 4)]
    assert sim.v[3] == 0.2
    assert sim.step(500)
    assert sim.q[0] > 5.0
    q = sim.q
    q[2] += 0.01  # in place, which the next step begins from
    before = q[2]
    sim.step()
    assert abs(sim.q[2] - before) < 1e-3


def test_a_command_changes_between_steps():
    sim = ff.Simulation(ROBOT, ff.control.on_command("whole_body"))
    sim.set_command(forward=0.4)
    sim.set_command(turn=0.2)
    assert sim.command_now == ff.Command(forward=0.4, turn=0.2)
    for _ in range(1500):
        sim.step()
    assert sim.q[0] > 0.2
    sim.set_command(ff.Command())
    assert sim.command_now == ff.Command()


def test_what_a_controller_reads_may_change_between_steps():
    gain = {"kp": 60.0}

    @ff.controller(rate=1000)
    def springs(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND, kp=gain["kp"], kd=2.0), memory

    sim = ff.Simulation(ROBOT, springs)
    for _ in range(100):
        sim.step()
    high, gain["kp"] = sim.q[2], 15.0
    for _ in range(200):
        sim.step()
    assert sim.q[2] < high - 0.01


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda sim: sim.step(np.zeros(3)), "step takes a JointCommand, 12 torques .* or a number of ticks"),
        (lambda sim: sim.step("fast"), "step takes a JointCommand, 12 torques"),
        (lambda sim: sim.step(ff.Command(forward=1.0)), r"set_command\(forward=...\)"),
        (lambda sim: sim.step(n=-1), "whole number of ticks"),
        (lambda sim: sim.step(ff.JointCommand(kp=np.ones(3))), "kp of a JointCommand must be one number or 12"),
        (lambda sim: sim.step(np.full(12, np.nan)), "torque that is not finite at joint"),
        (lambda sim: sim.set_state(np.zeros(4)), "shape"),
        (lambda sim: setattr(sim, "q", sim.q * np.r_[1, 1, 0.5, np.ones(16)]), "inside the ground"),
        (lambda sim: setattr(sim, "v", np.zeros(2)), r"v of robot 'mini_cheetah' must have shape \(18,\)"),
        (lambda sim: sim.set_command(forwards=1.0), "did you mean 'forward'"),
        (lambda sim: sim.set_command(forward="fast"), "forward of a command must be a finite number"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(wrong, said):
    sim = ff.Simulation(ROBOT)
    sim.step(5)
    before = sim.state
    with pytest.raises(InputError, match=said):
        wrong(sim)
    assert sim.state is before
    assert sim.step()


def test_sensed_is_what_a_controller_is_shown():
    seen = []

    @ff.controller(rate=1000)
    def looks(t, robot, sensed, command, memory):
        seen.append(sensed)
        return ff.JointCommand(STAND, kp=60.0, kd=2.0), memory

    for sensors in (None, Sensors.realistic(4)):
        seen.clear()
        sim = ff.Simulation(ROBOT, looks, sensors=sensors, compile_controller=False)
        for _ in range(20):
            sensed = sim.sensed
            sim.step()
            np.testing.assert_allclose(sensed.q, seen[-1].q, rtol=0, atol=1e-14)
            np.testing.assert_allclose(sensed.v, seen[-1].v, rtol=0, atol=1e-12)
            np.testing.assert_allclose(sensed.forces, seen[-1].forces, rtol=0, atol=1e-9)
            np.testing.assert_allclose(sensed.acceleration, seen[-1].acceleration, rtol=0, atol=1e-9)


LOOPS = {
    "whole_body": lambda: {"controller": ff.control.on_command("whole_body"), "command": ff.Command(forward=0.3)},
    "estimated": lambda: {
        "controller": ff.sensing.Estimated(ff.control.on_command("balance")),
        "sensors": Sensors.realistic(3),
    },
    "schedule": CASES["schedule"],
    "in Python": CASES["in Python"],
    "emergency stop": CASES["emergency stop"],
}


@pytest.mark.parametrize("case", LOOPS)
def test_a_recorded_loop_under_a_controller_is_the_recording_of_the_run(case):
    run, loop = (ff.Simulation(ROBOT, **LOOPS[case]()) for _ in range(2))
    rec, recorder = run.run(0.25), loop.recorder()
    for _ in range(250):
        assert loop.step(recorder=recorder)
    found = recorder.finish()
    for name in rec.columns:
        np.testing.assert_array_equal(found[name], rec[name])
    assert found.events == rec.events
    if case == "estimated":
        np.testing.assert_array_equal(*(sim.controller.history().q for sim in (loop, run)))
        np.testing.assert_array_equal(*(sim.controller.seen.q for sim in (loop, run)))


def test_a_joint_command_behind_an_emergency_stop_is_recorded_as_it_acts():
    command = ff.JointCommand(position=STAND, kp=60.0, kd=2.0)

    @ff.controller(rate=1000)
    def springs(t, robot, sensed, command, memory):
        return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), memory

    run, loop = (ff.Simulation(ROBOT, springs, emergency_stop=ff.sensing.EmergencyStop(at=0.04)) for _ in range(2))
    rec, recorder = run.run(0.1), loop.recorder()
    for _ in range(100):
        loop.step(command, recorder=recorder)
    found = recorder.finish()
    for name in ("q", "command_position", "command_torque"):
        np.testing.assert_array_equal(found[name], rec[name])
    assert found.events == rec.events
    assert len(rec.events) == 1


@pytest.mark.parametrize("outside", [False, True])
def test_a_state_that_was_looked_at_stays_as_it_was(outside):
    sim = ff.Simulation(ROBOT, ff.control.JointPD.tuned(ROBOT, "trot"))
    command = ff.JointCommand(position=STAND, kp=60.0, kd=2.0) if outside else None
    recorder = sim.recorder()
    sim.step(command, recorder=recorder)
    state, q = sim.state, sim.q
    held = [np.copy(x) for x in (state.q, state.v, state.forces, q)]
    assert q is not sim.sensed.q
    for _ in range(3):
        sim.step(command, recorder=recorder)
    for was, now in zip(held, (state.q, state.v, state.forces, q)):
        np.testing.assert_array_equal(was, now)
    before = float(sim.q[0])
    sim.q[0] += 0.5  # the row of the tick before stays as it was
    sim.step(command, recorder=recorder)
    assert sim.q[0] == pytest.approx(before + 0.5, abs=0.01)
    x = recorder.finish()["q"][:, 0]
    assert abs(x[3] - before) < 1e-12
    assert x[4] - x[3] > 0.49


def test_a_simulation_is_copied_where_its_loop_is():
    sim = ff.Simulation(ROBOT, ff.control.JointPD.tuned(ROBOT, "trot"))
    for _ in range(30):
        sim.step()
    copied = copy.copy(sim)
    for _ in range(10):
        assert sim.step()
        assert copied.step()
    same(sim, copied)


def test_a_controllers_own_log_and_memory_are_its_own():
    """What a controller of a user's own is shown of its ticks is not written over by the next."""
    shown = []

    class Logs(ff.control.Controller):
        rate = 1000.0

        def __init__(self):
            self.log = []

        def start(self, robot):
            return {"x": np.zeros(2)}

        def refresh_memory(self, memory):
            shown.append(memory["x"])
            return memory

        def log_ticks(self, times, command, before, rows):
            shown.append((before["x"], rows["x"][0]))

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(position=STAND, kp=60.0, kd=2.0), {"x": memory["x"] + 1.0}

    sim = ff.Simulation(ROBOT, Logs())
    for _ in range(3):
        sim.step()
    found = [float(x[0]) for each in shown for x in (each if isinstance(each, tuple) else (each,))]
    assert found[-9:] == [0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize("falls", [False, True])
def test_a_recorded_loop_is_the_recording_of_the_run(falls):
    pushes = [ff.Push(start=0.05, duration=0.2, force=(0.0, 400.0, 0.0))] if falls else []
    run, loop = (ff.Simulation(ROBOT, pushes=pushes) for _ in range(2))
    rec, recorder = run.run(0.5), loop.recorder()
    command = ff.JointCommand(position=STAND, kp=run.controller.kp, kd=run.controller.kd)
    for k in range(500):
        if not loop.step(command if k % 7 else 1, recorder=recorder):
            break
    found = recorder.finish()
    for name in rec.columns:
        np.testing.assert_array_equal(found[name], rec[name])
    assert found.events == rec.events
    assert falls == bool(rec.meta["fell"]) == bool(found.meta["fell"])
