"""Joint brakes: they hold up to their torque, take energy beyond it, open late, and close on loss of power."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated_bodies import IDEAL, pendulum

import footfall as ff
import nptrace
from footfall.control.interface import Command
from footfall.errors import InputError
from footfall.sim import Brake, JointModel
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import FOREVER, parse_brake
from footfall.sim.run_options import RunOptions
from footfall.sim.runfile import plan
from footfall.sim.step import integrate_step
from footfall.sim.tick import Inputs, rollout_tick

LENGTH, MASS = 0.34, 0.7
ROD = pendulum(1, LENGTH, MASS)
WEIGHT = MASS * 9.81 * 0.5 * LENGTH  # of the level rod at its joint [N m]
LOAD = float(ff.dynamics.mass_matrix(ROD, np.zeros(1))[0, 0])  # of the rod about its end [kg m²]


@ff.controller(rate=1000)
def limp(t, robot, sensed, command, memory):
    return ff.JointCommand(), memory


def rod(brake: Brake | None, angle: float = np.pi / 2, rate: float = 0.0, loss: float = np.inf, **world):
    joints = dataclasses.replace(IDEAL, brake=brake, power_loss=loss)
    return ff.Simulation(ROD, limp, joints=joints, start=([angle], [rate]), **world)


def opened(sim: ff.Simulation) -> ff.Simulation:
    brake, contact = sim.model.world.joints.brake, sim.state.contact
    sim.state = dataclasses.replace(sim.state, contact={**contact, "brake": brake.after(contact["brake"], False)})
    return sim


@pytest.mark.parametrize("share", [0.3, 0.999])
def test_a_closed_brake_holds_what_is_less_than_its_torque(share):
    rec = rod(Brake(WEIGHT / share, closed=True)).run(2.0)
    assert np.abs(rec.joint_velocity).max() <= 1e-6
    assert np.abs(rec.joint_position - np.pi / 2).max() <= 2.1e-6
    assert (rec["brake"] == 1.0).all()


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_more_than_its_torque_moves_the_joint_by_the_difference(share):
    rec = rod(Brake(share * WEIGHT, closed=True)).run(0.02)
    rate = rec.joint_velocity[-1, 0]
    assert rate == pytest.approx(-(1.0 - share) * WEIGHT / LOAD * 0.02, rel=1e-3)


@pytest.mark.parametrize("rate", [0.5, -8.0])
def test_a_brake_stops_a_spinning_rod_in_the_time_and_with_the_energy_of_its_torque(rate):
    torque = 0.4
    rec = rod(Brake(torque, closed=True), 0.0, rate, gravity=(0.0, 0.0, 0.0)).run(1.0)
    still = rec.time[np.abs(rec.joint_velocity[:, 0]) < 2e-6][0]
    assert still == pytest.approx(LOAD * abs(rate) / torque, abs=1.01e-3)
    angle = np.sign(rate) * 0.5 * LOAD * rate**2 / torque
    assert rec.joint_position[-1, 0] == pytest.approx(angle, abs=1e-3 * abs(rate))
    assert rec["friction_work"][-1] == pytest.approx(-0.5 * LOAD * rate**2, rel=1e-6)
    assert (np.diff(rec["kinetic"]) <= 1e-12).all()


@pytest.mark.parametrize("release", [0.0, 0.05, 0.12])
def test_an_opened_brake_holds_for_its_release_time(release):
    rec = opened(rod(Brake(2.0 * WEIGHT, release, closed=True))).run(0.2)
    moving = np.flatnonzero(np.abs(rec.joint_velocity[:, 0]) > 1e-6)[0]
    assert rec.time[moving] - rec.time[0] == pytest.approx(release, abs=1.01e-3)
    free = rod(None).run(0.2)
    rows = len(rec.time) - moving
    np.testing.assert_allclose(rec.joint_velocity[moving:, 0], free.joint_velocity[:rows, 0], atol=1e-3)


def test_power_lost_closes_the_brakes_and_ends_all_torque():
    robot = ff.load("xiling")
    hold = ff.control.Hold("stand", 800.0, 20.0, 1000)
    runs = {}
    for torque in (0.0, 400.0):
        joints = JointModel(brake=Brake(torque), power_loss=0.3)
        runs[torque] = ff.Simulation(robot, hold, joints=joints).run(1.5)
        after = runs[torque].time > 0.3 + 1e-9
        assert (runs[torque].torque[after] == 0.0).all()
        assert (np.abs(runs[torque].torque[~after][10:]).max(axis=1) > 1.0).all()
    height = runs[400.0].q[~after][-1, 2]  # when the power was lost
    assert runs[400.0].q[-1, 2] == pytest.approx(height, abs=2e-3)
    assert np.abs(runs[400.0].v[-1]).max() < 1e-3
    assert runs[0.0].q[-1, 2] < 0.6 * height


@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "spined"])
def test_robots_with_closed_brakes_stand_without_motors_and_lose_energy_alone(name):
    """As strong as motors; whatever happens after the power is lost, the sum of all energies falls."""
    robot = ff.load(name)
    brakes = Brake(np.array([motor.torque_limit for motor in robot.actuators]))
    kp, kd = ff.control.stand_gains(robot)
    sim = ff.Simulation(robot, ff.control.Hold("stand", kp, kd, 1000), joints=JointModel(brake=brakes, power_loss=0.0))
    q = np.array(sim.state.q)
    q[2] += 0.03  # it falls on its feet
    sim.state = dataclasses.replace(sim.state, q=q)
    rec = sim.run(0.8)
    assert (rec.torque == 0.0).all()
    assert (np.diff(rec["friction_work"]) <= 1e-9).all()
    assert rec["work"][-1] == 0.0
    assert rec.q[-1, 2] > 0.8 * rec.q[0, 2]
    assert rec["kinetic"][-1] < 1e-4


def test_brakes_are_traced_like_all_else():
    """One tick in NumPy, compiled, and in a batch of both precisions, from the same state."""
    joints = JointModel(brake=Brake(5.0, 0.02), power_loss=0.004)
    robot = ff.load("mini_cheetah")
    hold = ff.control.Hold("stand", 60.0, 1.5, 500)
    sim = ff.Simulation(robot, hold, joints=joints)
    rows = sim.run(0.01)
    state = ff.Simulation(robot, hold, joints=joints).state
    for _ in range(5):
        state = rollout_tick(sim.model, state, Inputs(Command(), np.zeros(6)))
    np.testing.assert_allclose(rows.q[-1], state.q, atol=1e-9)
    assert (state.contact["brake"] == FOREVER).all()
    for dtype, near in ((np.float64, 1e-9), (np.float32, 1e-4)):
        batch = ff.Batch(robot, 2, hold, joints=joints, dtype=dtype)
        batch.run(5)
        np.testing.assert_allclose(batch.q[1], rows.q[-1], atol=near)


def test_what_has_no_brake_has_neither_their_memory_nor_their_operations():
    def operations(joints: JointModel) -> int:
        sim = ff.Simulation(ff.load("mini_cheetah"), limp, joints=joints)
        assert {"brake", "power"} & set(sim.state.contact) == ({"brake", "power"} if joints.brake else set())

        def stepped(q, v, memory):
            command = ff.JointCommand(torque=1.0).broadcast(12)
            state = State(q, v, memory)
            return integrate_step("linearly_implicit", sim.model.world, state, command, np.zeros(6), 1e-3)[0].v

        return nptrace.program_of(stepped, sim.state.q, sim.state.v, sim.state.contact).live_operations

    assert operations(JointModel()) < operations(JointModel(brake=Brake(1.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Brake(-1.0), "torque of a brake must be at least 0"),
        (lambda: Brake(1.0, release=np.nan), "release of a brake"),
        (lambda: JointModel(brake=40.0), "must be a Brake"),
        (lambda: JointModel(power_loss=-1.0), "power loss of a joint model"),
        (lambda: rod(Brake([1.0, 2.0])), "must be one number or 1 of them"),
        (lambda: rod(Brake(1.0), integrator="rk4", contact=ff.contact.Compliant(implicit=False)), "only by the integr"),
        (lambda: parse_brake("strong"), "brakes are TORQUE"),
    ],
)
def test_what_makes_no_brake_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_command_line_gives_brakes_and_takes_the_power():
    """Options, run files and the words that repeat a run are one record."""
    options = RunOptions(robot="mini_cheetah", controller="hold", brakes="20:0.1", power_loss=0.2, duration=0.4)
    joints = plan(ff.load("mini_cheetah"), options).simulation.model.world.joints
    assert (joints.brake.torque, joints.brake.release, joints.power_loss) == (20.0, 0.1, 0.2)
    plain = plan(ff.load("mini_cheetah"), dataclasses.replace(options, brakes=None, power_loss=None))
    assert plain.simulation.model.world.joints == JointModel()


def test_a_run_goes_on_from_a_checkpoint_with_its_brakes_and_power(tmp_path):
    robot, joints = ff.load("mini_cheetah"), JointModel(brake=Brake(20.0), power_loss=0.05)
    hold = ff.control.Hold("stand", 60.0, 1.5, 1000)
    whole = ff.Simulation(robot, hold, joints=joints).run(0.08)
    sim = ff.Simulation(robot, hold, joints=joints)
    sim.run(0.04)
    sim.checkpoint(tmp_path / "middle")
    again = ff.Simulation(robot, hold, joints=joints)
    again.resume(tmp_path / "middle")
    assert (again.run(0.04).q[-1] == whole.q[-1]).all()
