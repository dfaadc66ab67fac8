"""Nothing is ignored in silence: what a run cannot heed is said in one sentence (frictions F14, F15, F20)."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.sim.commanding import Schedule, unfollowed

ROBOT = ff.load("xiling")
TROT = ff.gait.for_robot(ROBOT, "trot")


# -- commands ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("controller", "command", "words"),
    [
        (ff.control.Hold(), ff.Command(forward=0.5), "Hold does not follow forward = 0.5: it takes no command"),
        (
            ff.control.JointPD(gait=TROT.gait, kp=TROT.kp, kd=TROT.kd),
            ff.Command(turn=0.2),
            "JointPD does not follow turn = 0.2",
        ),
        (
            ff.control.GravityCompensation(
                ff.control.JointPD(gait=TROT.gait, kp=TROT.kp, kd=TROT.kd, speed_feedback=0.5)
            ),
            ff.Command(sideways=0.1),
            "it takes forward",
        ),
        (
            ff.control.JointPD(gait=TROT.gait, kp=TROT.kp, kd=TROT.kd, speed_feedback=0.5),
            ff.Command(forward=50.0),
            "clips forward = 50 to",
        ),
    ],
)
def test_a_command_that_is_not_followed_is_said(controller, command, words):
    with pytest.warns(UserWarning, match=words):
        ff.Simulation(ROBOT, controller, command=command).run(0.002)


def test_a_command_that_grows_in_time_is_said_for_the_most_that_it_asks():
    rising = ff.Simulation(ROBOT, ff.control.Hold(), command=lambda t: ff.Command(forward=-100.0 * t))
    with pytest.warns(UserWarning, match="Hold does not follow forward = -0.2: it takes no command") as said:
        rising.run(0.002)
    assert len(said) == 1


def test_locomotion_says_to_what_it_clips():
    walker = ff.control.Locomotion()
    most = walker.command_limits(ROBOT)["forward"]
    followed, said = unfollowed(walker, ROBOT, ff.Command(forward=9.0, turn=-1.0, height=-1.0))
    assert 1.0 < most < 9.0
    assert followed == ff.Command(forward=most, turn=-1.0, height=-0.08)
    fast, low = said
    assert fast.startswith(f"controller Locomotion clips forward = 9 to {most:.3g} m/s: its legs reach 0.")
    assert low == "controller Locomotion clips height = -1 to 0.08 m"


def test_the_command_line_prints_the_speed_that_is_followed(capsys):
    cli.run(["simulate", "xiling", "--speed", "5", "--duration", "0.02", "--json"])
    said = capsys.readouterr()
    assert 0.1 < json.loads(said.out)["commanded_speed"] < 4.0
    assert said.err.count("controller JointPD clips forward = 5 to ") == 1


def test_a_command_that_is_followed_is_not_talked_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.Simulation(ROBOT, ff.control.Hold()).run(0.002)
        walker = ff.control.JointPD(gait=TROT.gait, kp=TROT.kp, kd=TROT.kd, speed_feedback=0.5)
        ff.Simulation(ROBOT, walker, command=ff.Command(forward=0.1)).run(0.002)


def test_a_batch_refuses_what_it_would_not_heed():
    with pytest.raises(ff.InputError, match="a batch takes no pushes"):
        ff.Batch(ROBOT, 2, pushes=[ff.Push(start=0.0, duration=0.1, force=(1.0, 0.0, 0.0))])
    with pytest.raises(ff.InputError, match="commands of a batch are constant until"):
        ff.Batch(ROBOT, 2, command=lambda t: ff.Command(forward=t))
    with pytest.warns(UserWarning, match="Hold does not follow forward"):
        ff.Batch(ROBOT, 2).set_command(forward=0.4)


@ff.controller(rate=250)
def leans(t, robot, sensed, command, memory):
    """Shows the command in the torque of its first joint."""
    stand = np.array([0.0, 0.9, -1.8] * 4)
    shown = np.array([command.forward, command.turn, *[0.0] * 10])
    return ff.JointCommand(position=stand, kp=80.0, kd=2.0, torque=shown), memory


def test_a_function_of_time_is_asked_at_every_tick():
    rec = ff.Simulation(ROBOT, leans, command=lambda t: ff.Command(forward=0.01 * np.round(50 * t))).run(0.2)
    asked = np.round(50 * (rec.time - 1 / 250)) * 0.01  # at the start of the tick that a row ends
    np.testing.assert_allclose(rec["command_torque"][:, 0], asked, atol=1e-12)
    with pytest.raises(ff.InputError, match=r"command\(t\) must return a Command, got float at 0 s"):
        ff.Simulation(ROBOT, leans, command=lambda t: t)


def test_a_schedule_holds_each_command_from_its_time_on():
    schedule = Schedule.parse("0.02: forward=0.3; 0.1: forward=-0.2, turn=0.5")
    rec = ff.Simulation(ROBOT, leans, command=schedule).run(0.2)
    start = rec.time - 1 / 250 + 1e-9
    np.testing.assert_allclose(rec["command_torque"][:, 0], np.select([start < 0.02, start < 0.1], [0.0, 0.3], -0.2))
    np.testing.assert_allclose(rec["command_torque"][:, 1], np.where(start < 0.1, 0.0, 0.5))
    assert Schedule.parse(str(schedule)) == schedule


def test_run_files_and_the_command_line_have_schedules_and_pushes(tmp_path, capsys):
    table = """
        robot = "xiling"
        duration = 0.05
        push = "0.01, 0.02, 0, 15, 0, LF_shank"
        schedule = [{time = 0.0, forward = 0.1}, {time = 0.03, forward = 0.2}]
    """.replace("LF_shank", ROBOT.links[3].name)
    (tmp_path / "run.toml").write_text(table)
    assert cli.run(["simulate", str(tmp_path / "run.toml"), "--json", "--out", str(tmp_path / "a.mcap")]) == 0
    assert json.loads(capsys.readouterr().out)["commanded_speed"] == 0.2
    said = ff.Recording.load(tmp_path / "a.mcap").events
    assert [event.message for event in said] == [f"[0.0, 15.0, 0.0] N for 0.02 s on {ROBOT.links[3].name}"]
    for option, words in (
        ("0: forwards=1", "unknown part of a command 'forwards'"),
        ("2: forward=1; 1: turn=1", "must rise"),
        ("0 forward=1", "an entry of a schedule must read"),
        ("0: forward=fast", "is not a number"),
    ):
        assert cli.run(["simulate", "xiling", "--schedule", option]) == 2
        assert words in capsys.readouterr().err
    assert cli.run(["simulate", "xiling", "--schedule", "0: forward=0.1", "--speed", "0.2"]) == 2
    assert "remove speed" in capsys.readouterr().err
    assert cli.run(["simulate", "xiling", "--push", "1, 0.1, 5"]) == 2
    assert "a push is" in capsys.readouterr().err


# -- pushes on links ---------------------------------------------------------------------------------------------------
def test_a_push_on_a_link_is_the_transposed_jacobian_of_its_point():
    """In flight and limp, the first step's change of momentum is Jᵀ w dt, whatever the link."""
    floating = ff.Simulation(
        ROBOT, ff.control.Hold(kp=0.0, kd=0.0), start=_lifted(), stop_on_fall=False, gravity=(0.0, 0.0, 0.0)
    )
    still = floating.run(0.001).v[-1]
    link, point, force = ROBOT.links[5].name, (0.02, -0.01, -0.1), (3.0, -7.0, 2.0)
    pushed = (
        ff.Simulation(
            ROBOT,
            ff.control.Hold(kp=0.0, kd=0.0),
            start=_lifted(),
            stop_on_fall=False,
            gravity=(0.0, 0.0, 0.0),
            pushes=[ff.Push(start=0.0, duration=0.001, force=force, link=link, point=point)],
        )
        .run(0.001)
        .v[-1]
    )
    q = _lifted()[0]
    J = ff.kinematics.frame_jacobian(ROBOT, q, link, point)
    a = ff.dynamics.forward_dynamics(
        ROBOT, q, np.zeros(ROBOT.nv), np.zeros(ROBOT.nj), external=J.T @ [0, 0, 0, *force], gravity=(0.0, 0.0, 0.0)
    )
    found = (pushed - still) / 1e-3
    np.testing.assert_allclose(found[:6], a[:6], rtol=0.05, atol=0.05 * np.abs(a[:6]).max())
    assert np.abs(found[6:]).max() > 0.0


def test_the_work_of_a_push_on_a_link_closes_the_audit():
    link = ROBOT.links[2].name
    sim = ff.Simulation(ROBOT, pushes=[ff.Push(start=0.05, duration=0.2, force=(0.0, 12.0, 5.0), link=link)])
    rec = sim.run(0.4)
    assert abs(rec["push_work"][-1]) > 1e-3
    assert rec.energy_residual() < 0.02
    sim.pushes = [
        ff.Push(start=sim.time, duration=0.05, force=(0.0, 9.0, 0.0), link=ROBOT.links[6].name)
    ]  # a link not pushed before
    assert abs(sim.run(0.1)["push_work"][-1]) > 1e-5


def test_a_push_on_a_link_that_is_not_there_is_refused():
    with pytest.raises(ff.InputError, match="unknown link or foot of robot 'xiling' 'tail'"):
        ff.Simulation(ROBOT, pushes=[ff.Push(start=0.0, duration=0.1, force=(1.0, 0.0, 0.0), link="tail")])


def _lifted():
    q, v = ROBOT.state("stand")
    return q + np.array([0.0, 0.0, 1.0, *[0.0] * (ROBOT.nq - 3)]), v


# -- users' own parts --------------------------------------------------------------------------------------------------
def test_an_answer_the_other_way_round_is_told_so():
    @ff.controller
    def swapped(t, robot, sensed, command, memory):
        return memory, ff.JointCommand()

    with pytest.raises(ff.InputError, match=r"got \(dict, JointCommand\): in the wrong order"):
        ff.Simulation(ROBOT, swapped).run(0.01)


def test_a_controller_of_other_arguments_is_refused_where_it_is_made():
    with pytest.raises(ff.InputError, match=r"short\(t, robot, sensed, command, memory\) is the required signature"):

        @ff.controller
        def short(t, robot, sensed):
            return ff.JointCommand(), {}


@dataclass(frozen=True)
class Spring(ff.contact.ForceLaw):
    """A linear spring and damper; ``turned`` spoils its slopes."""

    turned: float = 1.0

    def law(self, depth, v_C, friction, dt):
        k, d = 3e4, 150.0
        touches = depth > 0.0
        n = np.where(touches, np.maximum(k * (depth - dt * v_C[2]) - d * v_C[2], 0.0), 0.0)
        slope = self.turned * np.where(touches & (n > 0.0), k * dt + d, 0.0)
        return np.stack([0.0 * n, 0.0 * n, n]), np.stack([0.0 * n, 0.0 * n, slope])


def test_slopes_of_an_own_law_are_compared_with_how_its_force_falls():
    ff.Simulation(ROBOT, contact=Spring())
    with pytest.raises(
        ff.InputError, match="falls by 180 N s/m with the velocity there, and its derivative says -180: it has"
    ):
        ff.Simulation(ROBOT, contact=Spring(turned=-1.0))
    with pytest.warns(UserWarning, match="its derivative says 540"):
        ff.Simulation(ROBOT, contact=Spring(turned=3.0))


class Hill:
    """A slope of 0.2 rad whose frame is, as written, transposed."""

    R = np.array([[np.cos(0.2), 0.0, np.sin(0.2)], [0.0, 1.0, 0.0], [-np.sin(0.2), 0.0, np.cos(0.2)]])

    def distance(self, p):
        return self.R[:, 2] @ p

    def frame(self, p):
        return self.R.T

    def friction_at(self, p):
        return 0.8


def test_a_transposed_frame_is_refused():
    with pytest.raises(ff.InputError, match="must have the normal, along which its distance grows, as its last column"):
        ff.Simulation(ROBOT, ground=Hill())


def test_methods_of_other_arguments_are_told_how_they_are_called():
    class Short(ff.contact.ForceLaw):
        def law(self, depth, v_C):
            return np.zeros(3), np.zeros(3)

    class Nowhere(Hill):
        def distance(self):
            return 0.0

    with pytest.raises(ff.InputError, match=r"is called as law\(self, depth, v_C, friction, dt\)"):
        ff.Simulation(ROBOT, contact=Short())
    with pytest.raises(ff.InputError, match=r"is called as distance\(self, p\)"):
        ff.Simulation(ROBOT, ground=Nowhere())


def test_a_ground_of_forty_metres_is_refused():
    with pytest.raises(ff.InputError, match="at most 1 m between its lowest and highest point, got 40"):
        ff.Simulation(ROBOT, ground="rough:40")


def test_a_zero_quaternion_and_a_torque_of_another_length_are_refused():
    q, v = ROBOT.state("stand")
    with pytest.raises(ff.InputError, match=r"the quaternion \(w, x, y, z\) in q of robot 'xiling' has length 0"):
        ff.dynamics.mass_matrix(ROBOT, np.zeros(ROBOT.nq))
    with pytest.raises(ff.InputError, match="has length 2, not 1"):
        ff.dynamics.mass_matrix(ROBOT, np.concatenate([q[:3], 2.0 * q[3:7], q[7:]]))
    with pytest.raises(ff.InputError, match="tau of robot 'xiling' must have shape"):
        ff.dynamics.forward_dynamics(ROBOT, q, v, np.zeros(ROBOT.nv + 1))
    assert "generalized forces" in str(ff.dynamics.forward_dynamics.__doc__)


def test_a_part_that_no_command_has_is_refused_with_the_nearest_name():
    with pytest.raises(ff.InputError, match=r"unknown part of a command 'foward' \(did you mean 'forward'\?\)"):
        ff.Command(foward=1.0)
    assert ff.Command(forward=0.3, turn=0.1) == ff.Command(forward=0.3, turn=0.1)
