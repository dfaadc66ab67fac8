"""Closed loops: rows that are derivatives, postures that close, forces that keep closed; Pinocchio and MuJoCo judge."""

import mujoco
import numpy as np
import pytest
from linkages import five_bar, geared, welded_ring

import footfall as ff
from footfall.dynamics.closed_loops import closed_dynamics
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError, ModelError
from footfall.kinematics.closed_loops import closed_joints, closed_posture, loop_error, loop_joints, loop_map, loop_rows
from footfall.kinematics.forward import body_poses
from footfall.robot.files.urdf_mjcf import ModelWarning, load_model, write
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from footfall.robot.model.loops import Loop
from footfall_lab.verify.loop_sides import with_closed
from footfall_lab.verify.pinocchio import Pinocchio
from footfall_lab.verify.verify import verify

MACHINES = {
    "five_bar": five_bar,
    "floating_five_bar": lambda: five_bar(True, -0.7),
    "ring": welded_ring,
    "geared": geared,
    "fivebar": lambda: ff.load("fivebar"),
}


@pytest.fixture(scope="module", params=MACHINES)
def machine(request):
    return MACHINES[request.param]()


def states(robot, count=5, seed=1):
    return with_closed(robot, random_states(robot, count, seed))


def test_rows_are_the_rates_of_how_far_loops_are_open(machine):
    """G v and G a + γ are the first and second derivatives of e along a motion."""
    some, h = states(machine), 1e-4
    base = machine.nq - machine.nj
    for q, v in zip(some.closed_q, some.closed_v):

        def error(t, q=q, v=v):
            return loop_error(machine, np.concatenate([q[:base], q[base:] + t * v[machine.nv - machine.nj :]]))

        rows = loop_rows(machine, q, v)
        first = (8 * (error(h) - error(-h)) - (error(2 * h) - error(-2 * h))) / (12 * h)
        second = (16 * (error(h) + error(-h)) - error(2 * h) - error(-2 * h) - 30 * error(0.0)) / (12 * h * h)
        np.testing.assert_allclose(first, rows.G @ v, atol=1e-9)
        np.testing.assert_allclose(second, rows.bias, atol=1e-5)


def test_a_planar_linkage_has_no_rows_across_its_plane():
    assert [axes.shape[1] for axes in five_bar().loop_axes] == [2]
    assert [axes.shape[1] for axes in welded_ring().loop_axes] == [6]
    assert loop_joints(ff.load("fivebar")).dependent == ff.load("fivebar").passive_joints


def test_independent_joints_decide_all_others(machine):
    some, base = states(machine, 4, 2), machine.nq - machine.nj
    known = loop_joints(machine)
    for q in some.closed_q:
        assert np.abs(loop_error(machine, q)).max() < 1e-11
        moved = q[base:] + 0.01 * np.sin(np.arange(machine.nj))
        joints = closed_joints(machine, moved)
        assert np.abs(loop_error(machine, np.concatenate([q[:base], joints]))).max() < 1e-11
        assert (joints[list(known.independent)] == moved[list(known.independent)]).all()
        assert np.abs(loop_rows(machine, q).G @ loop_map(machine, q)).max() < 1e-12


def test_machine_code_closes_loops_as_numpy_does():
    robot = ff.load("fivebar")
    joints = robot.poses["stand"].joints + 0.05 * np.cos(np.arange(robot.nj))
    compiled = ff.compile(closed_joints, robot, joints)
    np.testing.assert_allclose(compiled(joints), closed_joints(robot, joints), atol=1e-11)


@pytest.mark.parametrize("name", ["five_bar", "floating_five_bar", "ring", "fivebar"])
def test_accelerations_with_closed_loops_are_pinocchios_to_1e_8(name):
    robot = MACHINES[name]()
    report = verify(robot, samples=12, sides=["recursive", "pinocchio", "mujoco"], laws=False)
    by_name = {check.quantity: check for check in report.checks if check.quantity.startswith("closed")}
    assert by_name["closed_acceleration"].max_rel_error < 1e-8
    # MuJoCo's loops are soft at its stiffest, and a near-singular ring is held softer than legs are
    most = 0.1 if name == "ring" else 1e-3
    assert 1e-6 < by_name["closed_acceleration_of_soft_loops"].max_rel_error < most
    assert report.passed


def test_coupled_joints_move_as_in_the_coordinates_that_are_left():
    """Kane: with v = T u, Tᵀ(M a + h - τ) = 0, by Pinocchio's M and h."""
    robot = geared()
    referee, some = Pinocchio(robot), states(robot, 6, 3)
    for q, v, tau in zip(some.closed_q, some.closed_v, some.tau):
        a, forces = closed_dynamics(robot, q, v, tau)
        rows, T = loop_rows(robot, q, v), loop_map(robot, q)
        np.testing.assert_allclose(rows.G @ a, -rows.bias, atol=1e-9)
        left = referee.mass_matrix(q) @ a + referee.bias(q, v) - tau
        np.testing.assert_allclose(T.T @ left, 0.0, atol=1e-9)
        np.testing.assert_allclose(left, rows.G.T @ forces, atol=1e-9)


def test_a_five_bar_that_swings_freely_keeps_its_energy_and_its_pin():
    """60 s at the default step of 1 ms: the pin opens by less than 1 µm; energy by first order in the step."""
    robot = five_bar()
    start = np.array(closed_posture(robot))
    q = closed_joints(robot, start + np.array([0.5, 0.0, 0.3, 0.0]))
    amiss = []
    for dt, duration in ((1e-3, 60.0), (5e-4, 2.0)):
        free = ff.control.Hold(q, kp=0.0, kd=0.0)
        recording = ff.Simulation(robot, controller=free, start=(q, np.zeros(robot.nv)), dt=dt).run(duration)
        assert np.abs(recording.v).max() > 4.0
        assert max(np.abs(loop_error(robot, q)).max() for q in recording.q[::97]) < 1e-9
        total = recording.columns["kinetic"] + recording.columns["potential"]
        amiss.append(np.ptp(total[recording.time < 2.0]))
    assert amiss[0] < 0.02 * np.ptp(recording.columns["potential"])
    assert amiss[0] / amiss[1] == pytest.approx(2.0, abs=0.4)


def test_runge_kutta_keeps_the_energy_of_a_hung_robot_with_loops():
    robot = ff.load("fivebar").replace(floating=False, name="hung")
    joints = closed_joints(robot, robot.poses["stand"].joints + 0.15 * np.cos(np.arange(robot.nj)))
    free = ff.control.Hold(joints, kp=0.0, kd=0.0)
    below = ff.contact.Plane(point=np.array([0.0, 0.0, -2.0]))
    sim = ff.Simulation(
        robot,
        free,
        contact=ff.contact.Compliant(implicit=False),
        ground=below,
        start=(joints, np.zeros(robot.nv)),
        integrator="rk4",
        joints=ff.sim.JointModel.ideal(),
    )
    recording = sim.run(0.4)
    total = recording.columns["kinetic"] + recording.columns["potential"]
    assert np.ptp(recording.columns["kinetic"]) > 0.5
    assert np.ptp(total) < 1e-6 * np.ptp(recording.columns["kinetic"])
    assert max(np.abs(loop_error(robot, q)).max() for q in recording.q) < 1e-8


def test_a_trotting_robot_keeps_its_pins_for_a_minute():
    robot = ff.load("fivebar")
    recording = ff.Simulation(robot, controller=ff.control.JointPD.tuned(robot)).run(60.0)
    assert len(recording.q) == 60_000
    assert recording.q[-1][0] > 10.0
    assert max(np.abs(loop_error(robot, q)).max() for q in recording.q[::31]) < 1e-6
    assert (recording.columns["torque"][:, list(robot.passive_joints)] == 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("contact", ["complementarity", "stance"])
def test_hard_contact_carries_a_robot_with_loops(contact):
    robot = ff.load("fivebar")
    recording = ff.Simulation(robot, controller=ff.control.Hold("stand", kp=60, kd=1.5), contact=contact).run(1.0)
    assert recording.columns["force"][-1, :, 2].sum() == pytest.approx(robot.mass * 9.81, rel=1e-4)
    assert np.abs(loop_error(robot, recording.q[-1])).max() < 1e-12


def test_the_step_of_a_closed_linkage_is_differentiated():
    robot = five_bar()
    q = closed_joints(robot, np.array(closed_posture(robot)) + np.array([0.3, 0.0, 0.1, 0.0]))
    v = loop_map(robot, q) @ np.array([0.7, -0.4])
    world = ff.sim.World(robot=robot)
    step = ff.linearize(world, q, v)
    directions = np.concatenate([loop_map(robot, q), np.zeros((robot.nv, 2))])  # along closed postures

    def after(q, v):
        return ff.linearize(world, q, v)

    h = 1e-6
    for column in directions.T:
        up, down = (after(closed_joints(robot, q + s * h * column[: robot.nv]), v) for s in (1, -1))
        ahead = step.A @ column
        np.testing.assert_allclose((up.q - down.q) / (2 * h), ahead[: robot.nv], atol=1e-6)
        np.testing.assert_allclose((up.v - down.v) / (2 * h), ahead[robot.nv :], rtol=1e-4, atol=1e-4)
    assert np.isfinite(step.B).all()
    assert (step.B[:, [1, 3]] == 0.0).all()  # joints without a motor


# -- files -------------------------------------------------------------------------------------------------------------
MJCF = """<mujoco><worldbody><body name="base"><geom type="box" size=".1 .1 .1" mass="1"/>
<body name="a" pos="0.1 0 0"><joint name="qa" axis="0 1 0" ref="0.2"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".01" mass=".2"/>
  <body name="b" pos="0 0 -.2"><joint name="qb" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 -.2 0 0" size=".01" mass=".2"/></body></body>
<body name="c" pos="-.1 0 0"><joint name="qc" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".01" mass=".2"/></body>
<body name="d" pos="0 .1 0"><joint name="qd" axis="0 1 0"/><geom size=".05" mass=".3"/></body>
</body></worldbody>
<equality>{}</equality></mujoco>"""
TIES = {
    "connect": '<connect name="t" body1="c" body2="b" anchor="0 0 -.2"/>',
    "weld": '<weld name="t" body1="b" body2="d" relpose="0 .1 0 1 0 0 0" anchor="0.01 0 0.02"/>',
    "weld_as_it_is": '<weld name="t" body1="b" body2="d"/>',
    "joint": '<joint name="t" joint1="qd" joint2="qa" polycoef="0.1 2 -0.5 0.2 0.1"/>',
}


@pytest.mark.parametrize("tie", TIES)
def test_equalities_of_a_file_are_mujocos(tie, tmp_path):
    """Wherever the joints are, MuJoCo finds the loop open by as much as footfall does, in rows that say the same."""
    file = tmp_path / "m.xml"
    file.write_text(MJCF.format(TIES[tie]))
    with pytest.warns(ModelWarning):
        robot = ff.load(file)
    (loop,) = robot.loops
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    for angles in (np.zeros(4), np.array([0.3, -0.2, 0.4, 0.1])):
        for name, angle in zip(robot.joint_names, angles):
            data.qpos[model.joint(name).qposadr] = angle
        mujoco.mj_forward(model, data)
        theirs = np.array(data.efc_pos[: data.ne])
        X = body_poses(robot, robot.state(angles)[0])
        if loop.kind == "joint":
            ours = loop_error(robot, robot.state(angles)[0])
            np.testing.assert_allclose(theirs, ours, atol=1e-12)
            continue
        (a, X_A), (b, X_B) = robot.tree.frames[loop.first], robot.tree.frames[loop.second]
        error = loop.error(X[a] @ X_A, X[b] @ X_B)
        assert np.linalg.norm(theirs[:3]) == pytest.approx(np.linalg.norm(error[:3]), abs=1e-12)
        if loop.kind == "frame":  # theirs is the vector of a quaternion, sin(angle / 2)
            half = np.arcsin(np.clip(np.linalg.norm(error[3:]), 0, 1)) / 2
            assert np.linalg.norm(theirs[3:]) == pytest.approx(np.sin(half), abs=1e-9)


def test_a_mimicking_joint_of_a_urdf_follows_and_has_no_motor(tmp_path):
    robot = geared()
    straight = robot.replace(loops=[Loop(name="gear", kind="joint", first="qb", second="qa", coefficients=(0.1, -0.8))])
    file = write(straight, "urdf", tmp_path)
    with pytest.warns(ModelWarning):
        again = ff.load(file, floating=False)
    assert [(loop.first, loop.second, loop.coefficients) for loop in again.loops] == [("qb", "qa", (0.1, -0.8))]
    assert {actuator.joint for actuator in again.actuators} == {"qa", "slide"}


def test_loops_survive_files_and_json(tmp_path):
    robot = ff.load("fivebar")
    assert robot_from_json(robot_to_json(robot)).digest == robot.digest
    again = load_model(write(robot, "mjcf", tmp_path))
    for ours, theirs in zip(robot.loops, again.loops, strict=True):
        assert (ours.first, ours.second) == (theirs.first, theirs.second)
        np.testing.assert_allclose([ours.at, ours.to], [theirs.at, theirs.to], atol=1e-15)


# -- refusals ----------------------------------------------------------------------------------------------------------
def test_loops_that_cannot_be_are_refused_by_name():
    robot = five_bar()
    with pytest.raises(ModelError, match="loop 'pin' ties the unknown link 'x'"):
        robot.replace(loops=[Loop(name="pin", kind="point", first="x", second="b")])
    with pytest.raises(ModelError, match=r"cannot be closed: its ends remain 0\.5 apart"):
        robot.replace(
            loops=[
                Loop(
                    name="pin",
                    kind="point",
                    first="b",
                    second="d",
                    at=np.array([0.0, 0.5, -0.2]),
                    to=np.array([0.0, 0.0, -0.2]),
                )
            ]
        )
    with pytest.raises(ModelError, match="ties 'b' to itself"):
        Loop(name="pin", kind="point", first="b", second="b")
    with pytest.raises(InputError, match="are open by"):
        ff.Simulation(robot, controller=ff.control.Hold(np.zeros(4)), start=(np.zeros(4), np.zeros(4))).reset()
