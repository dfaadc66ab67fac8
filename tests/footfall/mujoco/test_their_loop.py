"""Controllers of footfall, and of a user's own, in a MuJoCo loop; a simulation beside the same in MuJoCo."""

import mujoco
import numpy as np
import pytest

import footfall as ff
from footfall.mujoco import Bridge, step

ROBOT = ff.load("mini_cheetah")
STAND = ROBOT.poses["stand"].joints


def theirs(robot=ROBOT, motors=True, timestep=1e-3):
    text = ff.robot.to_mjcf(robot, ground=True, options={"timestep": timestep})
    spec = mujoco.MjSpec.from_string(text)
    if not motors:
        for actuator in list(spec.actuators):
            spec.delete(actuator)
    ball = spec.worldbody.add_body(
        name="ball", pos=[3.0, 3.0, 0.5], mass=0.5, inertia=[1e-3] * 3, explicitinertial=True
    )
    ball.add_freejoint()
    ball.add_geom(size=[0.1, 0.0, 0.0])
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = ff.conversions.to_mujoco(robot, ff.Simulation(robot).q, None, model)
    return model, data


@ff.controller(rate=500)
def springs(t, robot, sensed, command, memory):
    weight = sensed.forces[:, 2].sum()
    return ff.JointCommand(STAND, kp=60.0, kd=2.0), {"weight": weight}


springs.memory["weight"] = 0.0


@pytest.mark.parametrize("motors", [True, False])
@pytest.mark.parametrize("make", [lambda: ff.control.on_command("whole_body"), lambda: ff.control.named.learned()])
def test_controllers_and_policies_walk_in_somebody_elses_model(make, motors):
    model, data = theirs(motors=motors)
    walker = Bridge(ROBOT, make(), model, command=ff.Command(forward=0.4))
    while data.time < 3.0:
        step(model, data, walker)
    q, _ = ff.conversions.from_mujoco(ROBOT, data.qpos, data.qvel, model)
    assert 0.8 < q[0] < 1.6
    assert q[2] > 0.2
    walker.set_command(forward=0.0)
    walker.reset()
    assert walker.ticks == 0


def test_a_controller_of_ones_own_sees_the_forces_on_its_feet():
    model, data = theirs(timestep=5e-4)
    holder = Bridge(ROBOT, springs, model)
    for _ in range(1000):
        step(model, data, holder)
    assert data.time == pytest.approx(2.0)  # four steps of theirs a tick
    assert holder.memory["weight"] == pytest.approx(9.81 * ROBOT.mass, rel=0.02)


def test_what_does_not_fit_is_said():
    model, data = theirs()
    with pytest.raises(ff.InputError, match="step takes a Bridge"):
        step(model, data, springs)
    with pytest.raises(ff.InputError, match="unknown joint of robot 'dynakat'"):
        Bridge(ff.load("dynakat"), ff.control.Hold(), model)
    model, _ = theirs(timestep=7e-4)
    with pytest.raises(ff.InputError, match="its period must be a whole number of steps"):
        Bridge(ROBOT, springs, model)
    spec = mujoco.MjSpec.from_string(ff.robot.to_mjcf(ROBOT, ground=True))
    spec.actuators[0].set_to_position(kp=10.0)
    with pytest.raises(ff.InputError, match=r"actuator 'LF_abad' of joint 'LF_abad' is not a motor"):
        Bridge(ROBOT, ff.control.Hold(rate=500.0), spec.compile())


def test_compare_runs_a_users_simulation_in_both_and_leaves_it_as_it_is():
    told = []
    sim = ff.Simulation(ROBOT, springs, pushes=[ff.Push(start=0.1, duration=0.1, force=(0.0, 8.0, 0.0))])
    before = sim.state
    both = ff.compare(sim, 0.6, progress=lambda what, done, of: told.append((done, of)))
    assert sim.state is before
    assert both.differences["trunk z"].largest < 0.02
    assert told[-1] == (600, 600)
    assert len(told) > 1
    assert not both.footfall.meta["fell"]
    assert both.to_json()["contact_agreement"] > 0.8
    assert "mean speed of the second half" in repr(both)
    assert "<table>" in both._repr_html_()
    with pytest.raises(ff.InputError, match="compare takes a Simulation, got str"):
        ff.compare("mini_cheetah")
    with pytest.raises(ff.InputError, match="remove the sensors"):
        ff.compare(ff.Simulation(ROBOT, sensors=ff.sensing.Sensors.realistic(1)))
    np.testing.assert_array_equal(both.footfall.time, both.mujoco.time)


def test_compare_goes_on_from_where_a_simulation_is_with_its_time_and_pushes():
    hold = ff.control.Hold("stand", kp=60.0, kd=2.0)
    sim = ff.Simulation(ROBOT, hold, pushes=[ff.Push(start=0.45, duration=0.1, force=(0.0, 30.0, 0.0))])
    sim.run(0.4)
    both = ff.compare(sim, 0.3)
    np.testing.assert_array_equal(both.footfall.time, both.mujoco.time)
    assert both.mujoco.time[0] == pytest.approx(0.401)
    for rec in (both.footfall, both.mujoco):
        sideways = rec.trunk_velocity[:, 1]
        assert np.abs(sideways[:45]).max() < 0.1 * np.abs(sideways[50:160]).max()  # pushed when the clock says so
    assert "trunk" in repr(both)
