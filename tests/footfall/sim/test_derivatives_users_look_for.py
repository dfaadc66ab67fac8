"""Derivatives by physical parameters and gains, frames of any link, identification of what is named (F6, F16)."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.analysis import identify
from footfall.sim.linearization import step_state
from footfall.spatial.quaternion import to_rotation

ROBOT = ff.load("xiling")
TROT = ff.gait.for_robot(ROBOT, "trot")
LEG = ff.Robot(
    name="leg",
    links=[
        ff.Link.massless("base"),
        ff.Link(name="thigh", mass=1.1, com=[0, 0, -0.1], inertia=0.004 * np.eye(3)),
        ff.Link(name="shank", mass=0.4, com=[0, 0, -0.1], inertia=0.002 * np.eye(3)),
    ],
    joints=[
        ff.Joint(name="hip", kind="revolute", parent="base", child="thigh", axis=[0, -1, 0]),
        ff.Joint(name="knee", kind="revolute", parent="thigh", child="shank", origin=[0, 0, -0.2], axis=[0, -1, 0]),
    ],
    feet=[],
    floating=False,
)


# -- by a physical parameter -------------------------------------------------------------------------------------------
def test_a_step_is_differentiated_by_any_physical_parameter():
    sim = ff.Simulation(ROBOT)
    sim.run(0.1)
    hold = ff.JointCommand(ROBOT.poses["stand"].joints, kp=60.0, kd=2.0)
    found = ff.linearize(sim, sim.q, sim.v, hold, by=["trunk.mass", "ground.friction", "torque"])
    assert found.B.shape == (2 * ROBOT.nv, 2 + ROBOT.nj)
    own, h = ROBOT.parameter("trunk.mass"), 1e-3

    alone = sim.model.physics
    state = sim.q, sim.v, alone.world.contact.start(alone.world.spheres), hold.broadcast(ROBOT.nj), np.zeros(6)
    step = ff.compile(step_state, alone, *state, free=["trunk.mass"], verify=False)

    def velocity(mass):
        return step(*state, {"trunk.mass": mass})[1]

    slope = (velocity(own + h) - velocity(own - h)) / (2 * h)
    np.testing.assert_allclose(found.B[ROBOT.nv :, 0], slope, rtol=1e-4, atol=1e-7 * np.abs(slope).max())
    assert np.abs(slope).max() > 1e-5


def test_what_is_no_parameter_is_refused():
    sim = ff.Simulation(LEG)
    with pytest.raises(ff.InputError, match=r"unknown input to differentiate by 'mass'.*trunk\.mass"):
        ff.linearize(sim, sim.q, sim.v, by="mass")
    with pytest.raises(ff.FootfallError, match="tail"):
        ff.linearize(sim, sim.q, sim.v, by="tail.mass")


def swings(q, v, command):
    return (q[0] - 0.2) ** 2 + 0.01 * v[1] ** 2


def test_the_gradient_of_a_rollout_is_that_of_central_differences():
    sim = ff.Simulation(LEG, ff.control.Hold(np.array([0.3, -0.5]), 3.0, 0.05, rate=500.0), start=np.array([0.1, -0.2]))
    free = ["controller.kp", "shank.mass", "knee.origin"]
    cost = ff.sim.RolloutCost(sim, swings, 0.2, free)
    slopes, here = cost.gradient(), {path: np.array(cost.nominal[path]) for path in free}
    assert slopes["knee.origin"].shape == (3,)
    for path in free:
        for k in range(here[path].size):
            step = 1e-6 * np.eye(here[path].size)[k].reshape(here[path].shape)
            ends = [cost({path: here[path] + s * step}) for s in (1, -1)]
            expected = (ends[0] - ends[1]) / 2e-6
            assert np.ravel(slopes[path])[k] == pytest.approx(expected, rel=1e-5, abs=1e-9)
    rec = sim.run(0.2)
    assert cost() == pytest.approx(np.mean([swings(q, v, None) for q, v in zip(rec.q, rec.v)]), rel=1e-9)
    with pytest.raises(ff.InputError, match=r"'thigh\.mass' is not a free parameter"):
        cost({"thigh.mass": 1.0})


def test_a_rollout_takes_note_of_what_its_cost_and_its_controller_reach():
    price, gains = {"height": 1.0}, {"kp": 3.0}

    @ff.controller(rate=500.0)
    def holds(t, robot, sensed, command, memory):
        return ff.JointCommand(position=np.array([0.3, -0.5]), kp=gains["kp"], kd=0.05), memory

    def cost(q, v, command):
        return price["height"] * q[0]

    def anew():
        sim = ff.Simulation(LEG, holds, start=np.array([0.1, -0.2]))
        return ff.sim.RolloutCost(sim, cost, 0.1, ["shank.mass"])

    kept = anew()
    values = [kept()]
    for place, key in ((price, "height"), (gains, "kp")):
        place[key] *= 2.0
        assert kept() == anew()() != values[-1]
        assert kept.gradient()["shank.mass"] == anew().gradient()["shank.mass"]
        values.append(kept())


# -- frames ------------------------------------------------------------------------------------------------------------
def test_frames_of_any_link_agree_with_their_motion():
    random = np.random.default_rng(5)
    q, v = ROBOT.state("stand")
    q = q + 0.1 * random.normal(size=ROBOT.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    v = random.normal(size=ROBOT.nv)
    point, dt = (0.03, -0.02, -0.1), 1e-6
    ends = [ff.dynamics.integrate(ROBOT, q, v, s * dt) for s in (1, -1)]
    for name in (ROBOT.links[0].name, ROBOT.links[4].name, "RH"):
        J = ff.kinematics.frame_jacobian(ROBOT, q, name, point)
        V = ff.kinematics.frame_velocity(ROBOT, q, v, name, point)
        np.testing.assert_allclose(J @ v, V, atol=1e-12)
        ahead, behind = (ff.kinematics.frame_pose(ROBOT, end, name, point) for end in ends)
        np.testing.assert_allclose((ahead.p - behind.p) / (2 * dt), V[3:], atol=1e-6)
        spin = (ahead.R - behind.R) / (2 * dt) @ ff.kinematics.frame_pose(ROBOT, q, name, point).R.T
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], V[:3], atol=1e-6)
        local = ff.kinematics.frame_velocity(ROBOT, q, v, name, point, reference="local")
        R = ff.kinematics.frame_pose(ROBOT, q, name).R
        np.testing.assert_allclose(np.concatenate([R @ local[:3], R @ local[3:]]), V, atol=1e-12)


def test_the_frame_of_the_base_and_of_a_foot_are_those_of_before():
    q, v = ROBOT.state("stand")
    v = v + 0.3
    np.testing.assert_allclose(ff.kinematics.frame_pose(ROBOT, q, "LF").p, ff.kinematics.foot_positions(ROBOT, q)[0])
    np.testing.assert_allclose(
        ff.kinematics.frame_velocity(ROBOT, q, v, "LF"), ff.kinematics.foot_velocities(ROBOT, q, v)[0]
    )
    base = ROBOT.tree.bodies[0].name
    np.testing.assert_allclose(ff.kinematics.frame_pose(ROBOT, q, base).R, to_rotation(q[3:7]))
    assert base in ff.kinematics.frame_names(ROBOT)
    with pytest.raises(ff.InputError, match="unknown link or foot of robot 'xiling' 'tail'"):
        ff.kinematics.frame_pose(ROBOT, q, "tail")


# -- identification of what is named -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def loaded() -> ff.Recording:
    """A trot with half a kilogramme more on the trunk than is believed."""
    heavy = ROBOT.replace({"trunk.mass": ROBOT.parameter("trunk.mass") + 0.495})
    return ff.Simulation(heavy, ff.control.JointPD(gait=TROT.gait, kp=TROT.kp, kd=TROT.kd)).run(1.2)


def test_a_load_on_the_trunk_is_found_where_it_is(loaded):
    joint = ROBOT.joint_names[2]
    found = identify(loaded, prior=ROBOT, parameters=["trunk.mass", f"{joint}.damping"], acceleration="step")
    assert list(found.values) == ["trunk.mass", f"{joint}.damping"]
    assert found.values["trunk.mass"] - ROBOT.parameter("trunk.mass") == pytest.approx(0.495, abs=1e-3)
    assert found.robot.parameter("trunk.mass") == found.values["trunk.mass"]
    assert found.residual.max() < 0.1 * found.before.max()


def test_the_stated_uncertainty_covers_the_error_of_noisy_loads(loaded):
    random, errors = np.random.default_rng(11), []
    for _ in range(6):
        columns = dict(loaded.columns)
        columns["torque"] = loaded.torque + 0.1 * random.normal(size=loaded.torque.shape)
        columns["force"] = loaded.force + 2.0 * random.normal(size=loaded.force.shape)
        noisy = ff.Recording(loaded.robot, columns, meta=loaded.meta)
        found = identify(noisy, prior=ROBOT, parameters="trunk.mass", acceleration="step")
        off = found.values["trunk.mass"] - ROBOT.parameter("trunk.mass") - 0.495
        errors.append(off / found.deviations["trunk.mass"])
    assert 0.2 < np.sqrt(np.mean(np.square(errors))) < 2.5


def test_what_cannot_be_told_apart_or_is_no_parameter_is_refused(loaded):
    with pytest.raises(ff.InputError, match=r"unknown parameter of robot 'xiling' 'trunk\.weight'"):
        identify(loaded, prior=ROBOT, parameters=["trunk.weight"])
    stiff = f"{ROBOT.joint_names[0]}.rest"
    with pytest.raises(ff.InputError, match="no information about"):
        identify(loaded, prior=ROBOT, parameters=["trunk.mass", stiff], acceleration="step")
