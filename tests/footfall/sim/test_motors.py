"""The motor model as published, gears with play and friction, loads, brake and emergency stop."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated_bodies import IDEAL, hung, many_steps, pendulum

import footfall as ff
from footfall import compiling
from footfall.analysis.motor_load import motor_loads
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.sensing.emergency_stop import EmergencyStop
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel, joint_forces
from footfall.sim.world import World

CHEETAH, XILING = ff.load("mini_cheetah"), ff.load("xiling")
FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))


# -- the Mini Cheetah's motor ----------------------------------------------------------------------------------------
def published(torque: float, rate: float, gear: float) -> float:
    """As published with the robot: motor torque, current, back-EMF, voltage, and back, less joint friction."""
    kt, resistance, battery, limit, damping, dry = 0.05, 0.173, 24.0, 3.0, 0.01, 0.2
    current = torque / gear / (1.5 * kt)
    emf = 2.0 * kt * gear * rate
    voltage = np.clip(current * resistance + emf, -battery, battery)
    motor = np.clip(1.5 * kt * (voltage - emf) / resistance, -limit, limit)
    return gear * motor - damping * rate - dry * np.sign(rate)


def test_joint_torque_is_that_of_the_published_motor_model():
    rng = np.random.default_rng(0)
    gears = {"abad": 6.0, "hip": 6.0, "knee": 9.33}
    model = dataclasses.replace(JointModel(), end_stops=False)
    for _ in range(200):
        torque, rates = rng.uniform(-60, 60, 12), rng.uniform(-60, 60, 12)
        rates = np.where(np.abs(rates) < 0.1, 1.0, rates)  # dry friction reverses within 0.05 rad/s
        got = joint_forces(CHEETAH, model, np.zeros(12), rates, JointCommand(torque=torque).broadcast(12), 0.0)
        expected = [
            published(torque[k], rates[k], gears[name.split("_")[1]]) for k, name in enumerate(CHEETAH.joint_names)
        ]
        np.testing.assert_allclose(got.motor + got.passive, expected, atol=1e-9)


def test_xiling_has_the_motors_of_its_paper():
    """40 N m continuous, 108 N m peak, 350 rpm; the knee's belt of 1:2 doubles torques and halves the speed."""
    for actuator in XILING.actuators:
        belt = 2.0 if "knee" in actuator.joint else 1.0
        assert actuator.torque_limit == pytest.approx(108.0 * belt)
        assert actuator.continuous_torque == pytest.approx(40.0 * belt)
        assert actuator.speed_limit == pytest.approx(36.65 / belt, abs=0.01)
        assert actuator.gear == 20.0 * belt


# -- gears -----------------------------------------------------------------------------------------------------------
def test_joint_is_free_within_the_backlash_and_sprung_beyond_it():
    model, held = dataclasses.replace(IDEAL, backlash=0.02), JointCommand(position=0.1, kp=100.0).broadcast(1)
    robot = pendulum(1)

    def torque(q: float) -> tuple[float, float]:
        got = joint_forces(robot, model, np.array([q]), np.zeros(1), held, 1e-3)
        return float(got.motor[0]), float(got.motor_damping[0])

    for q in (0.0905, 0.1, 0.1095):
        assert torque(q) == (0.0, 0.0)
    assert torque(0.07) == (pytest.approx(100.0 * 0.02), pytest.approx(0.1))
    assert torque(0.13) == (pytest.approx(-100.0 * 0.02), pytest.approx(0.1))


def test_loaded_joint_settles_half_the_backlash_further_down():
    robot = pendulum(1)
    held = JointCommand(position=0.5, kp=50.0, kd=1.0).broadcast(1)
    rest = []
    for backlash in (0.0, 0.04):
        world = World(robot=robot, ground=FAR, joints=dataclasses.replace(IDEAL, backlash=backlash))
        rest.append(many_steps(world)(State(np.array([0.5]), np.zeros(1)), held, dt=1e-3, count=4000).q[0])
    weight = 0.5 * 9.81 * 0.15
    assert 50.0 * (0.5 - rest[0]) == pytest.approx(weight * np.sin(rest[0]), rel=1e-6)
    assert 50.0 * (0.5 - rest[1] - 0.02) == pytest.approx(weight * np.sin(rest[1]), rel=1e-6)


def test_gear_loss_takes_its_part_of_the_torque_whichever_way_it_flows():
    model = dataclasses.replace(IDEAL, gear_loss=0.1)
    for rate, expected in ((2.0, 0.9), (-2.0, 1.1)):
        asked = JointCommand(torque=5.0).broadcast(1)
        got = joint_forces(pendulum(1), model, np.zeros(1), np.array([rate]), asked, 0.0)
        assert got.motor[0] == 5.0
        assert got.motor[0] + got.passive[0] == pytest.approx(5.0 * expected)
        assert got.passive[0] * rate < 0  # friction takes energy out


def test_gear_effects_trace_also_as_free_parameters():
    world = World(robot=hung(CHEETAH), ground=FAR, joints=JointModel())

    def torque(world: World, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        command = JointCommand(position=0.1, kp=20.0).broadcast(12)
        got = joint_forces(world.robot, world.joints, q, rates, command, 1e-3)
        return got.motor + got.passive

    q, rates = np.linspace(-0.2, 0.4, 12), np.linspace(-3, 3, 12)
    free = compiling.compile(torque, world, q, rates, free=["joints.backlash", "joints.gear_loss"], verify=False)
    for backlash, loss in ((0.0, 0.0), (0.1, 0.2)):
        own = dataclasses.replace(world, joints=dataclasses.replace(JointModel(), backlash=backlash, gear_loss=loss))
        found = free(q, rates, {"joints.backlash": backlash, "joints.gear_loss": loss})
        np.testing.assert_allclose(found, torque(own, q, rates), atol=1e-12)


@pytest.mark.parametrize("bad", [{"backlash": -0.1}, {"backlash": np.nan}, {"gear_loss": -0.1}, {"gear_loss": 1.0}])
def test_gears_refuse_what_they_cannot_have(bad):
    with pytest.raises(InputError, match=next(iter(bad)).replace("_", " ")):
        JointModel(**bad)


# -- loads -----------------------------------------------------------------------------------------------------------
def test_loads_are_those_of_the_recording_and_a_standing_robot_stays_cool():
    rec = ff.Simulation(XILING).run(0.5)
    loads = {load.joint: load for load in motor_loads(rec)}
    knee = loads["LF_knee"]
    torque = rec["torque"][:, XILING.joint_names.index("LF_knee")]
    assert knee.rms == pytest.approx(np.sqrt(np.mean(torque**2)))
    assert knee.peak == pytest.approx(np.abs(torque).max())
    assert (knee.continuous_torque, knee.torque_limit) == (80.0, 216.0)
    assert not any(load.overheats for load in loads.values())
    assert not [event for event in rec.events if event.kind == "warning"]


def test_motor_that_gives_more_than_it_can_for_ever_is_named():
    weak = XILING.replace(actuators=[dataclasses.replace(a, continuous_torque=15.0) for a in XILING.actuators])
    rec = ff.Simulation(weak).run(0.5)
    assert any(load.overheats for load in motor_loads(rec))
    (said,) = [event.message for event in rec.events if event.kind == "warning"]
    assert "knee" in said
    assert "15 N m continuous" in said


# -- emergency stop --------------------------------------------------------------------------------------------------
@ff.controller(rate=1000)
def rage(t, robot, sensed, command, memory):
    """Asks for full torque back and forth."""
    return JointCommand(torque=10.0 * np.sign(np.sin(60.0 * t))), memory


@pytest.mark.parametrize("compiled", [True, False])
def test_stop_wins_over_any_controller(compiled):
    stop = EmergencyStop("damp", at=0.1)
    robot = hung(CHEETAH)
    sim = ff.Simulation(
        robot,
        rage,
        ground=FAR,
        emergency_stop=stop,
        gravity=(0, 0, 0),
        start=(np.zeros(12), np.zeros(12)),
        compile_controller=compiled,
    )
    rec = sim.run(1.0)
    moving, after = rec.time < 0.1 - 1e-9, rec.time > 0.1 + 1e-9
    assert np.abs(rec.v[moving]).max() > 5.0
    assert np.abs(rec.v[-1]).max() < 1e-3
    assert (rec["torque"][after] * rec.v[after] <= 1e-6).all()  # motors only brake
    (event,) = [event for event in rec.events if event.kind == "emergency_stop"]
    assert event.time == pytest.approx(0.1)
    assert "damp" in event.message


def test_braked_robot_stays_up_and_a_damped_one_sinks_down():
    ends = {}
    for kind in ("brake", "damp"):
        sim = ff.Simulation(CHEETAH, emergency_stop=EmergencyStop(kind, at=0.3), stop_on_fall=False)
        rec = sim.run(2.0)
        row = np.searchsorted(rec.time, 0.3)
        ends[kind] = (rec.q[row, 2], rec.q[-1, 2], np.abs(rec.q[-1, 7:] - rec.q[row, 7:]).max())
    assert ends["brake"][1] == pytest.approx(ends["brake"][0], abs=5e-3)
    assert ends["brake"][2] < 0.05
    assert ends["damp"][1] < 0.5 * ends["damp"][0]


def test_stop_is_pressed_by_hand_between_runs_and_released_by_reset():
    sim = ff.Simulation(CHEETAH, emergency_stop=EmergencyStop("brake"))
    assert not [e for e in sim.run(0.2).events if e.kind == "emergency_stop"]
    sim.press_stop()
    (event,) = [e for e in sim.run(0.2).events if e.kind == "emergency_stop"]
    assert event.time == pytest.approx(0.2)
    assert not [e for e in sim.run(0.2).events if e.kind == "emergency_stop"]  # said once
    sim.reset()
    assert not [e for e in sim.run(0.2).events if e.kind == "emergency_stop"]


def test_switch_that_is_not_thrown_changes_nothing():
    runs = [ff.Simulation(CHEETAH, emergency_stop=stop).run(0.2) for stop in (None, EmergencyStop("brake", at=5.0))]
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-12)
    assert runs[1].meta["controller"] == runs[0].meta["controller"] == "Hold"


@pytest.mark.parametrize(
    "bad", [{"kind": "explode"}, {"at": -1.0}, {"at": np.nan}, {"damping": -1.0}, {"at": "now"}, {"stiffness": np.inf}]
)
def test_stop_refuses_what_it_cannot_do(bad):
    with pytest.raises(InputError, match="emergency stop"):
        EmergencyStop(**bad)


def test_pressing_a_stop_that_is_not_there_is_said():
    with pytest.raises(InputError, match="no emergency stop"):
        ff.Simulation(CHEETAH).press_stop()
