"""Gaits under a velocity command: each keeps its speed, on several robots; switches, starts and stops while moving."""

import numpy as np
import pytest
from third_party_models import walker

import footfall as ff
from footfall.control.locomotion.planner import plan_tick
from footfall.control.named import on_command, schedule
from footfall.control.posture import free_motions
from footfall.kinematics.jacobian import feet_jacobian


def moving(robot, gait="trot", forward=0.4, **options):
    controller = on_command("whole_body", gait)
    return ff.Simulation(robot, controller, command=ff.Command(forward=forward), **options)


def keeps(simulation, forward, seconds, after):
    recording = simulation.run(seconds)
    assert simulation.stopped is None
    got = np.array(recording.mean_velocity(after=recording.time[0] + after))
    assert got[0] == pytest.approx(forward, rel=0.2)
    assert np.abs(got[1:]).max() < 0.2 * forward
    return recording


@pytest.mark.parametrize(("name", "gait"), [("mini_cheetah", "bound"), ("go2", "pace")])
def test_bound_and_pace_keep_their_speed_and_their_pattern(name, gait):
    recording = keeps(moving(walker(name), gait), 0.4, 3.0, 1.5)
    assert recording.q[:, 2].min() > 0.85 * recording.q[0, 2]  # and do not sag
    LF, RF, LH, RH = recording.between(1.5, None).contact.T
    pairs = ((LF, RF), (LH, RH)) if gait == "bound" else ((LF, LH), (RF, RH))
    for one, other in pairs:
        assert (one == other).mean() > 0.85
    assert (pairs[0][0] == pairs[1][0]).mean() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("gait", ["trot", "walk", "pace", "bound", "pronk"])
@pytest.mark.parametrize("name", ["mini_cheetah", "go2", "a1"])
def test_every_gait_keeps_its_speed_on_every_robot(name, gait):
    keeps(moving(walker(name), gait), 0.4, 10.0, 2.0)


def test_gaits_are_switched_from_trot_to_walk_to_bound_while_moving():
    simulation = moving(walker("mini_cheetah"), "trot", 0.35)
    keeps(simulation, 0.35, 1.5, 0.7)
    for gait in ("walk", "bound"):
        simulation.controller.switch(schedule(gait))
        keeps(simulation, 0.35, 2.5, 1.2)
        np.testing.assert_allclose(simulation.state.memory.delays, schedule(gait).delays)
        np.testing.assert_allclose(simulation.state.memory.timing, [schedule(gait).duty, schedule(gait).period])


def test_a_bound_starts_stops_and_starts_again():
    simulation = moving(walker("mini_cheetah"), "bound", 0.0)
    still = simulation.run(0.2)
    assert np.abs(still.q[-1, :2]).max() < 2e-3
    simulation.command = ff.Command(forward=0.3)
    assert simulation.run(1.2).distance > 0.1
    simulation.command = ff.Command()
    stood = simulation.run(1.8)
    assert np.abs(stood.v[-1, 3:6]).max() < 0.03
    assert stood.contact[-1].all()
    simulation.command = ff.Command(forward=0.3)
    assert simulation.run(1.2).distance > 0.1
    assert simulation.stopped is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "contact", "dt"),
    [
        ("spined", "compliant", 1e-3),
        ("spined", "complementarity", 1e-3),
        ("xiling", "compliant", 1e-3),
        ("xiling", "complementarity", 1e-3),
        ("dynakat", "complementarity", 1e-3),
        ("dynakat", "compliant", 5e-4),
    ],
)
def test_robots_with_spines_and_redundant_legs_trot(name, contact, dt):
    recording = keeps(moving(walker(name), "trot", 0.3, contact=contact, dt=dt), 0.3, 6.0, 2.0)
    stand = ff.control.standing_joints(recording.robot)
    spine = [k for k, joint in enumerate(recording.robot.joint_names) if "spine" in joint]
    assert np.abs(recording.joint_position[:, spine] - stand[spine]).max(initial=0.0) < 0.05


def test_light_feet_do_not_slide_where_they_touch_down():
    simulation = moving(walker("dynakat"), "trot", 0.3, dt=1e-3)
    keeps(simulation, 0.3, 1.5, 0.7)
    assert not simulation.controller.log


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [{"forward": 0.3}, {"forward": 0.5}, {"sideways": 0.15}, {"turn": 0.5}, {"forward": 0.3, "turn": 0.4}]
)
def test_redundant_legs_trot_for_half_a_minute_on_compliant_ground(command):
    simulation = ff.Simulation(walker("dynakat"), on_command("whole_body"), command=ff.Command(**command), dt=1e-3)
    got = simulation.run(30.0).mean_velocity(after=2.0)
    assert simulation.stopped is None
    wanted = [command.get(key, 0.0) for key in ("forward", "sideways", "turn")]
    np.testing.assert_allclose(got, wanted, atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["balance", "mpc"])
def test_a_spine_is_held_without_the_whole_body_program_too(stage):
    simulation = ff.Simulation(walker("spined"), on_command(stage), command=ff.Command(forward=0.3))
    keeps(simulation, 0.3, 4.0, 2.0)


def test_free_motions_are_a_projection_that_no_foot_feels(robot):
    rng = np.random.default_rng(3)
    for _ in range(5):
        joints = ff.control.standing_joints(robot) + 0.3 * rng.standard_normal(robot.nj)
        J = feet_jacobian(robot, robot.state(joints)[0])[:, 3:, 6:]
        P = free_motions(robot, J)
        np.testing.assert_allclose(P, P.T, atol=1e-12)
        np.testing.assert_allclose(P @ P, P, atol=2e-3)
        in_legs = np.array(["spine" not in joint for joint in robot.joint_names])
        felt = np.einsum("fij,jk->fik", J[:, :, in_legs], P[np.ix_(in_legs, in_legs)])
        assert np.abs(felt).max() < 2e-3 * np.abs(J).max()
        redundant = sum(max(0, count - 3) for count in _joints_of_legs(robot)) + (~in_legs).sum()
        assert np.trace(P) == pytest.approx(redundant, abs=5e-3)


def _joints_of_legs(robot):
    return [sum(joint.startswith(foot) for joint in robot.joint_names) for foot in robot.foot_names]


def test_forces_move_the_single_body_as_newton_and_euler_say():
    """The base's acceleration by forces, against the mass matrix of a robot whose legs weigh next to nothing."""
    from footfall.control.locomotion.single_body import SingleBody
    from footfall.dynamics.forward_dynamics import bias_terms
    from footfall.dynamics.mass_matrix import mass_matrix
    from footfall.kinematics.forward import center_of_mass, foot_positions
    from footfall.spatial.quaternion import to_rotation

    robot = ff.load("mini_cheetah")
    q, v = ff.control.standing_state(robot)
    rng = np.random.default_rng(0)
    q[3:7] = np.array([0.9, 0.1, -0.2, 0.3]) / np.linalg.norm([0.9, 0.1, -0.2, 0.3])
    v[:6] = rng.normal(size=6)  # joints locked: the whole robot is one body
    body, R = SingleBody.of(robot, q[7:]), to_rotation(q[3:7])
    arms = foot_positions(robot, q) - center_of_mass(robot, q)
    forces = rng.normal(size=(4, 3)) * 30
    B, b = body.base_acceleration(R, v[:6], arms)
    J = feet_jacobian(robot, q)[:, 3:, :6]
    push = sum(J[k].T @ forces[k] for k in range(4)) - bias_terms(robot, q, v)[:6]
    np.testing.assert_allclose(B @ forces.ravel() + b, np.linalg.solve(mass_matrix(robot, q)[:6, :6], push), rtol=1e-8)


def test_the_whole_body_program_does_what_stage_one_asks_when_it_can():
    """Standing still with the weight shared: the program's own solution gives those forces back."""
    from footfall_lab.verify.daqp import solve_bounded
    from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp

    robot = walker("mini_cheetah")
    controller = LocomotionByDaqp(gait=schedule("trot"))
    memory = controller.start(robot)
    q, v = ff.control.standing_state(robot)
    forces = np.tile([0.0, 0.0, robot.mass * 9.81 / 4], (4, 1))
    found, after = plan_tick(controller.model, ff.Sensed(q=q, v=v, forces=forces), ff.Command(), memory)
    asked, _ = controller._mpc(ff.Sensed(q=q, v=v, forces=forces), ff.Command(), found, after)
    program = found.qp
    solution = solve_bounded(program.H, program.f + program.F @ asked.ravel(), program.A, program.low, program.high)
    np.testing.assert_allclose(solution.x[robot.nv :].reshape(4, 3), asked, atol=2.0)
