"""A rotor behind a belt: two masses and a spring against their closed form, play, limits, and what is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated_bodies import IDEAL, hung, pendulum

import footfall as ff
from footfall.errors import InputError
from footfall.sim import Belt, JointModel

LENGTH, MASS, ROTOR = 0.34, 0.7, 0.021
FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))
ROD = pendulum(1, LENGTH, MASS)
LOAD = float(ff.dynamics.mass_matrix(ROD, np.zeros(1))[0, 0])  # of the rod about its end [kg m²]


@ff.controller(rate=1000)
def limp(t, robot, sensed, command, memory):
    return ff.JointCommand(), memory


def twisted(belt: Belt, seconds: float, twist: float = 0.0, rates: tuple[float, float] = (0.0, 0.0), **world):
    """A rod in weightlessness with its motor at rest, the rotor turned against it by ``twist`` at the start."""
    joints = dataclasses.replace(IDEAL, belt=belt)
    sim = ff.Simulation(ROD, limp, joints=joints, gravity=(0.0, 0.0, 0.0), start=([0.0], [rates[1]]), **world)
    rotor = {"rotor_position": np.array([twist]), "rotor_velocity": np.array([rates[0]])}
    sim.state = dataclasses.replace(sim.state, contact={**sim.state.contact, **rotor})
    return sim.run(seconds)


def column(rec, name: str, joint: int = 0) -> np.ndarray:
    return rec[name][:, joint]


@pytest.mark.parametrize("stiffness", [150.0, 900.0, 2600.0])
def test_two_masses_swing_at_their_eigenfrequency(stiffness):
    """ω² = k (1/J + 1/I), by the times at which the belt is not stretched; the default step of 1 ms."""
    rec = twisted(Belt(stiffness, 0.0, inertia=ROTOR), 0.6, twist=0.01)
    stretch = column(rec, "rotor_position") - rec.joint_position[:, 0]
    up = np.flatnonzero((stretch[:-1] < 0.0) & (stretch[1:] >= 0.0))
    times = rec.time[up] - stretch[up] * np.diff(rec.time)[0] / (stretch[up + 1] - stretch[up])
    found = 2.0 * np.pi * (len(times) - 1) / (times[-1] - times[0])
    true = np.sqrt(stiffness * (1.0 / ROTOR + 1.0 / LOAD))
    sampled = 2.0 / 1e-3 * np.arcsin(0.5e-3 * true)  # what steps of dt make of it: within (ω dt)² / 24
    assert found == pytest.approx(sampled, rel=1e-3)
    assert found == pytest.approx(true, rel=1.1 * (1e-3 * true) ** 2 / 24 + 1e-3)
    early, late = np.abs(stretch[50:150]).max(), np.abs(stretch[-150:]).max()
    assert late == pytest.approx(early, rel=0.03)  # nothing takes its energy


def test_belt_acts_on_rotor_and_joint_alike():
    """Angular momentum of both together stays, damping and play and a belt that is far too stiff for the step."""
    for belt in (Belt(900.0, 0.4, inertia=ROTOR), Belt(900.0, 0.4, 0.006, ROTOR), Belt(1e6, 3.0, 0.001, ROTOR)):
        rec = twisted(belt, 0.4, twist=0.01, rates=(2.0, -1.0))
        momentum = ROTOR * column(rec, "rotor_velocity") + LOAD * rec.joint_velocity[:, 0]
        np.testing.assert_allclose(momentum, 2.0 * ROTOR - LOAD, rtol=1e-9)


@pytest.mark.parametrize("stiffness", [900.0, 4e4, 1e7])
def test_undriven_belt_gives_no_energy(stiffness):
    rec = twisted(Belt(stiffness, 0.3, 0.004, ROTOR), 0.5, rates=(3.0, 0.0))
    moving = 0.5 * ROTOR * column(rec, "rotor_velocity") ** 2 + 0.5 * LOAD * rec.joint_velocity[:, 0] ** 2
    begun, together = 0.5 * ROTOR * 3.0**2, 0.5 * (ROTOR * 3.0) ** 2 / (ROTOR + LOAD)
    assert moving.max() <= (1.0 + 1e-9) * begun
    assert together <= (1.0 + 1e-9) * moving[-50:].min()
    assert moving[-50:].max() < 0.9 * begun


def test_nothing_passes_within_the_play_and_teeth_only_push():
    rec = twisted(Belt(3000.0, 2.0, 0.02, ROTOR), 0.4, rates=(1.5, 0.0))
    torque = LOAD / 1e-3 * np.diff(rec.joint_velocity[:, 0], prepend=0.0)  # of the belt
    ahead = column(rec, "rotor_position") - rec.joint_position[:, 0]
    before = np.concatenate([[0.0], ahead[:-1]])
    free = np.abs(before) <= 0.01
    assert free[:6].all()
    assert not free.all()
    assert (torque[free] == 0.0).all()
    assert (rec.joint_velocity[:6, 0] == 0.0).all()
    assert (torque * np.sign(before) >= 0.0).all()
    assert torque.max() > 1.0
    assert torque.min() < -1.0


def test_joint_settles_by_its_load_over_both_springs_and_half_the_play():
    """A rod held level by a motor: kp and the belt one behind the other, and the teeth on the side of the weight."""
    kp, play, belt = 120.0, 0.01, Belt(700.0, 2.0, 0.01, ROTOR)
    for encoder in ("motor", "joint"):
        sim = ff.Simulation(
            ROD,
            ff.control.Hold(np.array([-1.2]), kp=kp, kd=4.0),
            start=([-1.2], [0.0]),
            joints=dataclasses.replace(IDEAL, belt=dataclasses.replace(belt, encoder=encoder)),
        )
        rec = sim.run(4.0)
        load = MASS * 9.81 * 0.5 * LENGTH * np.sin(rec.joint_position[-1, 0])
        behind = -load / kp + (0.0 if encoder == "joint" else -load / 700.0 + 0.5 * play)
        assert rec.joint_position[-1, 0] + 1.2 == pytest.approx(behind, abs=2e-5)
        ahead = column(rec, "rotor_position")[-1] - rec.joint_position[-1, 0]
        assert ahead == pytest.approx(load / 700.0 - 0.5 * play, abs=2e-5)


def test_stiff_belt_is_the_armature_that_it_stands_for():
    """A rod swings with its rotor behind a stiff belt as with the rotor on its axis, and not as without one."""
    swings = {}
    for name, armature, belt in (("on", ROTOR, None), ("behind", ROTOR, Belt(2e4, 10.0)), ("without", 0.0, None)):
        robot = pendulum(1, LENGTH, MASS, armature=armature)
        sim = ff.Simulation(robot, limp, joints=dataclasses.replace(IDEAL, belt=belt), start=([1.0], [0.0]))
        swings[name] = sim.run(1.0).joint_position[:, 0]
    assert np.abs(swings["behind"] - swings["on"]).max() < 2e-3
    assert np.abs(swings["without"] - swings["on"]).max() > 0.3


def test_motors_behind_belts_keep_their_limits():
    """A knee of XiLing sent far away: its motor gives 216 N m and no more, and none beyond its highest speed."""
    robot = ff.load("xiling")
    knee = robot.joint_names.index("LF_knee")
    hold = ff.control.Hold(robot.poses["stand"].joints + 1.0 * (np.arange(12) == knee), kp=2000.0, kd=1.0)
    belts = JointModel(belt=Belt(5000.0, 3.0, 0.002, 0.05))
    rec = ff.Simulation(hung(robot), hold, joints=belts, start=robot.poses["stand"].joints, ground=FAR).run(0.15)
    rate = column(rec, "rotor_velocity", knee)
    given = rec.torque[1:, knee]
    assert given.max() == pytest.approx(216.0, rel=1e-6)
    too_fast = np.abs(rate[:-1]) > 350 * 2 * np.pi / 60 / 2.0
    assert too_fast.any()
    assert (given * rate[:-1])[too_fast].max() < 1e-6


def test_walk_behind_belts_runs_alike_compiled_in_python_and_from_a_checkpoint(tmp_path):
    robot, belts = ff.load("mini_cheetah"), JointModel(belt=Belt(3000.0, 2.0, 0.002))
    trot = ff.control.JointPD(gait=ff.gait.trot(), kp=60.0, kd=1.5)
    whole = ff.Simulation(robot, trot, joints=belts).run(0.2)
    sim = ff.Simulation(robot, trot, joints=belts)
    sim.run(0.1)
    sim.checkpoint(tmp_path / "middle")
    again = ff.Simulation(robot, trot, joints=belts)
    again.resume(tmp_path / "middle")
    assert (again.run(0.1).q[-1] == whole.q[-1]).all()
    assert np.abs(whole["rotor_position"] - whole.joint_position).max() > 1e-3
    apart = ff.Simulation(robot, trot, joints=belts, compile_controller=False).run(0.2)
    np.testing.assert_allclose(apart.q, whole.q, atol=1e-9)
    batch = ff.Batch(robot, 2, trot, joints=belts)
    batch.run(200)
    np.testing.assert_allclose(batch.q[1], whole.q[-1], atol=1e-9)


@pytest.mark.parametrize(
    "bad",
    [
        {"stiffness": 0.0},
        {"damping": -1.0},
        {"play": np.nan},
        {"inertia": 0.0},
        {"inertia": [0.1, -0.1]},
        {"stiffness": "stiff"},
        {"encoder": "elbow"},
    ],
)
def test_bad_belts_are_refused_in_one_sentence(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))}|motor, joint"):
        Belt(**bad)


def test_belts_that_do_not_fit_are_refused_in_one_sentence():
    xiling, cheetah = ff.load("xiling"), ff.load("mini_cheetah")
    for robot, joints, options, words in (
        (xiling, JointModel(belt=Belt()), {}, "LF_abad.* has no armature"),
        (cheetah, JointModel(belt=Belt(play=np.zeros(5))), {}, "12 of them"),
        (cheetah.replace(rotors="exact"), JointModel(belt=Belt()), {}, "exact"),
        (cheetah, JointModel(belt=Belt()), {"integrator": "rk4"}, "only the integrator linearly_implicit, not rk4"),
    ):
        with pytest.raises(InputError, match=words):
            ff.Simulation(robot, joints=joints, **options)
    with pytest.raises(InputError, match="set the play of the belt"):
        JointModel(belt=Belt(), backlash=0.01)
    with pytest.raises(InputError, match="needs the state of their rotors"):
        ff.sim.linearize(ff.Simulation(cheetah, joints=JointModel(belt=Belt())), *cheetah.state("stand"))
