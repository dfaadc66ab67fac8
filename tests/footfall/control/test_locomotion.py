"""Locomotion under a velocity command: it goes where it is told, on every robot, ground and contact that it should."""

import numpy as np
import pytest
from third_party_models import walker

import footfall as ff
from footfall.control.locomotion.footsteps import ground_slope, swing
from footfall.control.locomotion.planner import plan_tick
from footfall.control.locomotion.types import Memory
from footfall.errors import InputError
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp

COMMANDS = {
    "forward": ff.Command(forward=0.5),
    "sideways": ff.Command(sideways=0.2),
    "turning": ff.Command(turn=0.5),
}


def walked(robot, command, seconds=4.0, **options):
    """(simulation, recording) of a run from standing still."""
    controller = options.pop("controller", None) or ff.control.Locomotion()
    start = options.pop("start", None) or ff.control.standing_state(robot)
    simulation = ff.Simulation(robot, controller, start=start, command=command, **options)
    return simulation, simulation.run(seconds)


def on_slope(robot, degrees):
    """Standing along a slope."""
    q, v = ff.control.standing_state(robot)
    half = np.radians(-degrees) / 2
    q[3:7] = [np.cos(half), 0, np.sin(half), 0]
    feet, ground = ff.kinematics.foot_positions(robot, q), ff.contact.Plane.slope(degrees)
    gap = min(ground.distance(p) - foot.radius for p, foot in zip(feet, robot.feet))
    q[2] -= gap / np.cos(np.radians(degrees)) - 1e-4
    return q, v


def keeps_its_command(recording, command, after=1.5):
    wanted = np.array([command.forward, command.sideways, command.turn])
    got = np.array(recording.mean_velocity(after=after))
    assert np.abs(got - wanted).max() <= 0.2 * np.abs(wanted).max(), (got, wanted)


@pytest.mark.parametrize("direction", COMMANDS)
def test_a_command_is_kept_within_a_fifth(direction):
    simulation, recording = walked(walker("mini_cheetah"), COMMANDS[direction])
    assert simulation.stopped is None
    keeps_its_command(recording, COMMANDS[direction])


@pytest.mark.parametrize("name", ["go2", "a1"])
def test_robots_of_other_makers_walk_from_their_urdf(name):
    simulation, recording = walked(walker(name), COMMANDS["forward"], 3.5)
    assert simulation.stopped is None
    keeps_its_command(recording, COMMANDS["forward"])


@pytest.mark.parametrize("stage", ["balance", "mpc"])
def test_forces_without_the_whole_body_program_walk_too(stage):
    simulation, recording = walked(
        walker("mini_cheetah"), COMMANDS["forward"], 3.5, controller=ff.control.Locomotion(stage=stage)
    )
    assert simulation.stopped is None
    keeps_its_command(recording, COMMANDS["forward"])


def test_uphill():
    robot = walker("mini_cheetah")
    simulation, recording = walked(
        robot, COMMANDS["forward"], 4.0, ground=ff.contact.Plane.slope(10), start=on_slope(robot, 10)
    )
    assert simulation.stopped is None
    keeps_its_command(recording, COMMANDS["forward"])


def test_it_starts_from_standing_and_stands_again():
    robot = walker("mini_cheetah")
    simulation, first = walked(robot, ff.Command(), 0.5)
    assert np.abs(first.q[-1, :2]).max() < 2e-3
    simulation.command = ff.Command(forward=0.3)
    simulation.run(2.0)
    simulation.command = ff.Command()
    last = simulation.run(2.5)
    assert simulation.stopped is None
    assert np.abs(last.v[-1, 3:6]).max() < 0.03
    assert last.contact[-1].all()


def test_a_push_is_survived():
    push = ff.Push(start=1.5, duration=0.1, force=(0.0, 40.0, 0.0))
    simulation, _ = walked(walker("mini_cheetah"), ff.Command(forward=0.3), 3.5, pushes=[push])
    assert simulation.stopped is None


def test_commands_beyond_the_robot_are_clipped_and_logged():
    controller = ff.control.Locomotion()
    simulation, _ = walked(walker("mini_cheetah"), ff.Command(forward=9.0), 0.3, controller=controller)
    assert any("clipped" in message for _, message in controller.log)
    assert simulation.state.memory.velocity[0] <= controller.command_limits(simulation.robot)["forward"]


def test_a_program_without_a_solution_falls_back_to_a_safe_torque(monkeypatch):
    from footfall_lab.verify import daqp_locomotion
    from footfall_lab.verify.daqp import Solution

    nothing = lambda *_, **__: Solution(None, "infeasible", 0.0)  # noqa: E731
    monkeypatch.setattr(daqp_locomotion, "solve_bounded", nothing)
    monkeypatch.setattr(daqp_locomotion, "solve_qp", nothing)
    controller = LocomotionByDaqp()
    _, recording = walked(walker("mini_cheetah"), ff.Command(), 0.2, controller=controller)
    assert np.isfinite(recording.torque).all()
    assert any("whole-body QP: infeasible" in message for _, message in controller.log)
    assert recording.q[-1, 2] > 0.2  # the feet that are down hold the weight for now


def test_the_plan_is_the_same_traced_and_in_numpy():
    robot = walker("mini_cheetah")
    controller = LocomotionByDaqp()
    memory = controller.start(robot)
    q, _ = ff.control.standing_state(robot)
    sensed = ff.Sensed(q=q, v=0.1 * np.ones(robot.nv), forces=np.tile([0.0, 0.0, 20.0], (4, 1)))
    command = ff.Command(forward=0.3)
    plain, _ = plan_tick(controller.model, sensed, command, memory)
    controller.prepare(robot, ff.compile)
    compiled, after = controller._plan(sensed, command, memory)
    assert isinstance(after, Memory)
    for key in ("H", "f", "A", "low", "high"):
        np.testing.assert_allclose(getattr(compiled.qp, key), getattr(plain.qp, key), rtol=1e-9, atol=1e-9)


def test_a_swing_starts_and_ends_at_rest_and_clears_the_ground():
    start, end = np.array([0.0, 0.1, 0.02]), np.array([0.2, 0.05, 0.04])
    for s, place in ((0.0, start), (1.0, end)):
        p, dp, _ = swing(start, end, 0.06, s, 0.25)
        np.testing.assert_allclose(p, place, atol=1e-15)
        np.testing.assert_allclose(dp, 0, atol=1e-12)
    assert swing(start, end, 0.06, 0.5, 0.25)[0][2] == pytest.approx(0.1)


def test_the_slope_of_points_on_a_plane_is_the_planes():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 3))
    points[:, 2] = 0.2 * points[:, 0] - 0.1 * points[:, 1] + 0.5
    slope, normal = ground_slope(points)
    np.testing.assert_allclose(slope[:2], [0.2, -0.1], atol=2e-3)
    assert normal @ normal == pytest.approx(1.0)


def test_bad_settings_say_what_is_wrong():
    with pytest.raises(InputError, match="unknown stage 'whole_bdy'"):
        ff.control.Locomotion(stage="whole_bdy")
    with pytest.raises(InputError, match="MPC rate"):
        ff.control.Locomotion(mpc_rate=1e6)
    with pytest.raises(InputError, match="floating robot with the feet"):
        ff.control.Locomotion().start(ff.load("mini_cheetah").replace(feet=()))


@pytest.mark.parametrize("name", ["pd", "gravity", "computed_torque", "impedance"])
def test_controllers_on_a_gait_trot_and_compile(name):
    from footfall.sim.runfile import options_of
    from footfall.sim.runfile import plan as planned

    run = planned(walker("mini_cheetah"), options_of({"robot": "mini_cheetah", "controller": name}))
    recording = run.simulation.run(8.0)
    assert run.simulation.controller_is_compiled
    assert run.simulation.stopped is None
    assert recording.mean_speed(after=1.0) == pytest.approx(run.speed, rel=0.3)


@pytest.mark.parametrize("name", ["balance", "mpc", "whole_body"])
def test_controllers_on_command_go_sideways_and_turn_by_name(name):
    from footfall.sim.runfile import options_of
    from footfall.sim.runfile import plan as planned

    asked = {"robot": "mini_cheetah", "controller": name, "speed": 0.3, "sideways": 0.1, "turn": 0.3}
    run = planned(walker("mini_cheetah"), options_of(asked))
    recording = run.simulation.run(2.5)
    assert run.simulation.stopped is None
    np.testing.assert_allclose(recording.mean_velocity(after=1.2), [0.3, 0.1, 0.3], atol=0.04)


@pytest.mark.parametrize(
    "bad", [{"gait": "trot"}, {"rate": "fast"}, {"friction": (0.4, 0.5)}, {"hip_height": "low"}, {"mpc_rate": None}]
)
def test_settings_of_another_kind_are_refused_by_name(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))} of the locomotion must be"):
        ff.control.Locomotion(**bad)
