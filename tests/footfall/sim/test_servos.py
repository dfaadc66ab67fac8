"""Position servos: steps of the input, a limited speed, a deadband; nothing else of a command counts."""

import numpy as np
import pytest
from c_on_processor import build_and_run, needs_compiler

import footfall as ff
from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.errors import InputError
from footfall.sim.servos import ServoModel

RNG = np.random.default_rng(0)
CHEETAH = ff.load("mini_cheetah")
STAND = CHEETAH.poses["stand"].joints
KP, KD = ff.control.stand_gains(CHEETAH)
EACH = RNG.uniform(0.5, 2.0, 12)


def swaying(size=0.2, rate=250.0, **more):
    @ff.controller(rate=rate)
    def sway(t, robot, sensed, command, memory):
        lean = size * np.sin(4.0 * np.pi * t) * np.array([0.0, 1.0, -1.0] * 4)
        return JointCommand(position=STAND + lean, kp=KP, kd=KD, **more), memory

    return sway


def ticks(servo, targets, q_J=STAND, rate=100.0):
    """Return the commands of a controller behind servos to a robot with fixed joints, tick by tick."""
    at = {"k": 0}

    @ff.controller(rate=rate)
    def playing(t, robot, sensed, command, memory):
        return JointCommand(position=targets[at["k"]], kp=KP, kd=KD, torque=3.0), memory

    through = servo.of(playing)
    memory, q = through.start(CHEETAH), CHEETAH.state("stand")[0]
    q[-12:] = q_J
    for at["k"] in range(len(targets)):
        asked, memory = through(0.0, CHEETAH, Sensed(q=q, v=np.zeros(18), forces=np.zeros((4, 3))), Command(), memory)
        yield asked, memory["setpoint"]


@pytest.mark.parametrize("speed", [3.0, 4.0 * EACH], ids=["one", "each"])
def test_setpoints_go_straight_to_their_goal_at_the_speed_of_the_servo(speed):
    goal = STAND + RNG.uniform(-0.5, 0.5, 12)
    path = np.array([setpoint for _, setpoint in ticks(ServoModel(speed=speed), [goal] * 80)])
    far, step = np.abs(goal - STAND), speed / 100.0 + np.zeros(12)
    expected = STAND + np.sign(goal - STAND) * np.minimum(np.outer(np.arange(1, 81), step), far)
    np.testing.assert_allclose(path, expected, atol=1e-14)
    np.testing.assert_array_equal(path[-1], goal)


def test_setpoints_never_exceed_the_speed():
    targets = STAND + RNG.uniform(-2.0, 2.0, (60, 12))
    path = np.array([STAND, *(setpoint for _, setpoint in ticks(ServoModel(speed=EACH, resolution=0.07), targets))])
    moves = np.abs(np.diff(path, axis=0))
    assert (moves <= EACH / 100.0 * (1.0 + 1e-12)).all()
    assert (moves.max(axis=0) > EACH / 100.0 * 0.999).all()


@pytest.mark.parametrize("resolution", [0.005, 0.01 * EACH], ids=["one", "each"])
def test_goals_are_whole_steps_and_the_nearest(resolution):
    servo, wanted = ServoModel(resolution=resolution), RNG.uniform(-3.0, 3.0, (200, 12))
    goal = servo.goal(wanted)
    assert np.abs(goal / resolution - np.round(goal / resolution)).max() < 1e-9
    assert (np.abs(goal - wanted) <= 0.5 * servo.resolution * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(servo.goal(goal), goal, atol=1e-12)


def test_torque_is_zero_in_the_deadband_and_grows_from_its_edge():
    servo = ServoModel(deadband=0.02, stiffness=10.0, damping=0.3)
    for away in np.linspace(-0.1, 0.1, 41):
        ((asked, _),) = ticks(servo, [STAND], STAND - away)  # the setpoint is there at once
        torque = asked.kp * (asked.position - (STAND - away))
        expected = 10.0 * np.sign(away) * max(abs(away) - 0.02, 0.0)
        np.testing.assert_allclose(torque, expected, atol=1e-12)
        assert (np.asarray(asked.kd) == 0.3).all()


def test_velocity_torque_and_gains_of_commands_do_not_matter():
    servo = ServoModel(stiffness=20.0, damping=0.5)
    q_J = STAND + 0.1
    plain = servo.carried_out(JointCommand(position=STAND).broadcast(12), STAND, q_J)
    more = JointCommand(position=STAND, velocity=1.0, kp=3.0, kd=4.0, torque=5.0).broadcast(12)
    for key, value in vars(servo.carried_out(more, STAND, q_J)).items():
        np.testing.assert_array_equal(value, getattr(plain, key))


def test_an_ideal_servo_is_the_controller_itself():
    alone, behind = (ff.Simulation(CHEETAH, c).run(0.1) for c in (swaying(), ServoModel().of(swaying())))
    np.testing.assert_array_equal(alone["q"], behind["q"])
    np.testing.assert_array_equal(alone["torque"], behind["torque"])


SERVO = ServoModel(speed=EACH, deadband=0.01, resolution=0.005)


def test_servos_compiled_with_the_physics_are_the_plain_ones():
    """Repeat the run with a controller that cannot be traced and is called from Python at every tick."""
    compiled = SERVO.of(swaying())

    class Opaque(Controller):
        rate = compiled.rate
        start = staticmethod(compiled.start)

        def __call__(self, t, robot, sensed, command, memory):
            float(sensed.q[0])  # no trace gets past this
            return compiled(t, robot, sensed, command, memory)

    one = ff.Simulation(CHEETAH, compiled).run(0.2)
    with pytest.warns(UserWarning, match="controller Opaque runs in Python"):
        other = ff.Simulation(CHEETAH, Opaque()).run(0.2)
    assert np.abs(one["q"] - other["q"]).max() < 1e-9


@needs_compiler
def test_servos_are_exported_with_their_controller(tmp_path):
    paths = ff.export.of_controller(ff.Simulation(CHEETAH, SERVO.of(swaying())), "servo").write(tmp_path)
    ran = build_and_run(paths)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_robot_on_slow_servos_lags_and_stands_within_the_deadband():
    fast = ff.Simulation(CHEETAH, swaying()).run(0.5)
    slow = ff.Simulation(CHEETAH, ServoModel(speed=0.6).of(swaying())).run(0.5)
    asked = np.diff(slow["command_position"], axis=0) * 250.0
    assert np.abs(asked[1:]).max() <= 0.6 * (1.0 + 1e-9) < np.abs(np.diff(fast["command_position"], axis=0)).max() * 250
    standing = ff.Simulation(CHEETAH, ServoModel(deadband=0.02).of(swaying(0.0))).run(1.0)
    error = np.abs(standing["q"][-1, 7:] - STAND)
    load = np.abs(standing["torque"][-1]) / KP
    assert (error <= 0.02 + load + 2e-3).all()
    assert error.max() > 0.015  # without the motors, until the band's edge


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"speed": 0.0}, "speed of a servo must be positive"),
        ({"speed": np.nan}, "speed of a servo must be positive"),
        ({"deadband": -0.1}, "deadband of a servo must be at least 0"),
        ({"resolution": np.inf}, "resolution of a servo must be at least 0 and finite"),
        ({"stiffness": "soft"}, "stiffness of a servo must be numbers"),
        ({"damping": np.zeros((2, 12))}, "damping of a servo must be"),
    ],
    ids=str,
)
def test_a_servo_that_cannot_be_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        ServoModel(**wrong)


def test_servos_of_another_robot_are_refused():
    with pytest.raises(InputError, match="speed of the servos of robot 'mini_cheetah' must be one number or 12"):
        ff.Simulation(CHEETAH, ServoModel(speed=np.ones(8)).of(swaying()))
