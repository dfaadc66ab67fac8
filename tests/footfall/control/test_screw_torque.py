"""Screw dynamics in the loop: torques of eq. (19) for the topology that is sensed, at 1 kHz, on robots that trot."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Command, Controller, Inertial, Sensed
from footfall.control.joint.joint_level import sensed_mode
from footfall.control.joint.screw_torque import FEET, ScrewTorque, carrying_joints
from footfall.dynamics.formalisms.modes import mode_of
from footfall.errors import InputError
from footfall.sim.runfile import options_of, plan


class Targets(Controller):
    """Joint targets off the stand, feedback that a standing leg is given."""

    rate = 1000.0

    def start(self, robot):
        return ()

    def __call__(self, t, robot, sensed, command, memory):
        k = np.arange(robot.nj)
        return ff.JointCommand(sensed.q[7:] + 0.02 * np.cos(k), 0.3 * np.sin(k), 150.0, 3.0), memory


def sensed_in(robot, mode):
    """A stand that moves, with the mode's feet pressed down and their forces as the constrained robot has them."""
    q, v = robot.state("stand")
    return q, v + 0.3 * np.sin(np.arange(robot.nv)), mode_of(robot, mode)


@pytest.mark.parametrize("feet", FEET)
@pytest.mark.parametrize("mode", ["flight", "RF", "LF+RH", "LF+RF+LH", "LF+RF+LH+RH"])
def test_joints_that_carry_nothing_accelerate_as_asked_whatever_the_trunk_does(feet, mode):
    """In every topology: the torques, given to the constrained robot, move the free joints as the feedback asks."""
    robot = ff.load("spined")
    q, v, mode = sensed_in(robot, mode)
    controller = ScrewTorque(Targets(), bandwidth=60.0, feet=feet)
    forces = np.zeros((4, 3))
    for _ in range(2):  # standing legs are given their torques, so that measured forces are known in the second tick
        sensed = Sensed(q=q, v=v, forces=forces, contact=mode)
        command, _ = controller(0.0, robot, sensed, Command(), ())
        e, rate = command.position - q[7:], command.velocity - v[6:]
        torques = command.torque + command.kp * e + command.kd * rate
        if feet == "held":
            break
        held = np.minimum(mode @ carrying_joints(robot), 1.0)
        known = ff.dynamics.formalisms.screw_structure.Known(
            force=np.concatenate([np.zeros(6), held * torques]),
            accelerations=(1 - held) * (3600.0 * e + 120.0 * rate),
            given=1 - held,
            mode=mode,
            foot_forces=forces,
        )
        forces = ff.dynamics.formalisms.screw_structure.solve_by_structure(
            robot, q, v, known, sensed.gravity
        ).foot_forces
    a, _ = ff.dynamics.constrained_dynamics(robot, q, v, torques, mode)
    free = (mode @ carrying_joints(robot)) == 0.0
    np.testing.assert_allclose(a[6:][free], (60.0**2 * e + 2 * 60.0 * rate)[free], rtol=1e-7, atol=1e-7)
    carrying = ~free
    np.testing.assert_allclose(command.kp[carrying], 150.0)


@pytest.mark.parametrize(
    "name",
    ["xiling", pytest.param("mini_cheetah", marks=pytest.mark.slow), pytest.param("spined", marks=pytest.mark.slow)],
)
def test_robots_trot_for_ten_seconds_on_screw_dynamics(name):
    run = plan(ff.load(name), options_of({"robot": name, "controller": "screw"}))
    rec = run.simulation.run(10.0)
    assert run.simulation.controller_is_compiled
    assert run.simulation.controller.rate == 1000.0
    assert not rec.meta["fell"]
    speed = (rec.q[-1, 0] - rec.q[2000, 0]) / 8.0
    assert abs(speed / run.speed - 1.0) < 0.15
    assert np.abs(rec.q[:, 1]).max() < 0.5


def test_controllers_take_the_mode_of_an_estimator_over_what_forces_say():
    robot = ff.load("xiling")
    q, v, _ = sensed_in(robot, "flight")
    forces = np.full((4, 3), [0.0, 0.0, 100.0])
    assert (sensed_mode(robot, Sensed(q=q, v=v, forces=forces)) == 1.0).all()
    assert (sensed_mode(robot, Sensed(q=q, v=v, forces=forces, contact=np.zeros(4))) == 0.0).all()
    for controller in (ScrewTorque(Targets()), ff.control.GravityCompensation(Targets())):
        by_force, by_mode = (
            controller(0.0, robot, Sensed(q=q, v=v, forces=forces, contact=mode), Command(), ())[0].torque
            for mode in (None, np.zeros(4))
        )
        assert np.abs(by_force - by_mode).max() > 1.0  # [N m]: in flight nothing carries the weight


def test_estimated_hands_its_contact_mode_on():
    seen = []

    class Watching(Targets):
        def __call__(self, t, robot, sensed, command, memory):
            seen.append(sensed.contact)
            return super().__call__(t, robot, sensed, command, memory)

    robot = ff.load("xiling")
    q, v = robot.state("stand")
    controller = ff.control.Estimated(Watching())
    memory = controller.start(robot)
    for tick in range(60):  # weightless at first, then on two feet
        load = np.zeros((4, 3)) if tick < 30 else robot.mass * 9.81 / 2 * np.outer([1.0, 0, 0, 1.0], [0, 0, 1.0])
        imu = Inertial(load.sum(axis=0) / robot.mass, np.zeros(3))
        _, memory = controller(
            1e-3 * tick, robot, Sensed(q=q, v=v, forces=load, imu=imu, foot_force=load), Command(), memory
        )
    assert seen[29].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert seen[59].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="unknown way to know the feet 'guessed': choose held, measured"):
        ScrewTorque(Targets(), feet="guessed")
    with pytest.raises(InputError, match="bandwidth of ScrewTorque"):
        ScrewTorque(Targets(), bandwidth=-1.0)
