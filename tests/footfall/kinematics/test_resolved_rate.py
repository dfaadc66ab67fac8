"""Laws of the resolved rate: rates that do what they say, null spaces that leave the foot alone, damped edges."""

import numpy as np
import pytest

import footfall as ff
import nptrace as trace
from footfall.errors import InputError
from footfall.kinematics import (
    feet_jacobian,
    foot_jacobian,
    foot_position,
    foot_positions,
    leg_chain,
    leg_rates,
    manipulability,
    resolved_rate_leg,
)
from footfall.kinematics.iterative.resolved_rate import RULES
from footfall.robot import library
from footfall.robot.model.parametric import quadruped

GOOD = {  # postures away from the edge of reach
    "mini_cheetah": [0.1, -0.8, 1.6],
    "spined": [0.1, 0.7, -1.4],
    "xiling": [0.1, 0.7, -1.3],
    "dynakat": [-0.6, 0.2, 1.2, -0.4],
}


@pytest.mark.parametrize("name", library.names())
def test_leg_chains_agree_with_the_tree(name):
    robot, random = library.load(name), np.random.default_rng(0)
    q = robot.state(random.uniform(-1, 1, robot.nj))[0]
    for k, foot in enumerate(robot.foot_names):
        leg = leg_chain(robot, foot)
        angles = [q[7 + j] for j in leg.joints]
        X_WC = ff.kinematics.body_poses(robot, q)[leg.carrier]
        p, J = foot_jacobian(leg, angles)
        assert np.abs(X_WC.point(p) - foot_positions(robot, q)[k]).max() < 1e-14
        assert np.abs(p - foot_position(leg, angles)).max() < 1e-15
        whole = feet_jacobian(robot, q)[k, 3:, [6 + j for j in leg.joints]].T
        assert np.abs(X_WC.R @ J - whole).max() < 1e-13


@pytest.mark.parametrize("name", GOOD)
def test_rates_move_the_foot_as_asked_in_a_good_posture(name):
    leg, random = leg_chain(library.load(name), "LF"), np.random.default_rng(1)
    J = foot_jacobian(leg, GOOD[name])[1]
    for _ in range(5):
        velocity = random.normal(size=3)
        rates = leg_rates(leg, GOOD[name], velocity)
        assert np.abs(J @ rates - velocity).max() < 1e-5 * np.abs(velocity).max()
        assert np.allclose(rates, np.linalg.pinv(J) @ velocity, rtol=1e-4, atol=1e-6)


def test_posture_task_moves_joints_and_leaves_the_foot():
    leg = leg_chain(library.load("dynakat"), "RH")
    joints = np.array(GOOD["dynakat"])
    J = foot_jacobian(leg, joints)[1]
    rates = leg_rates(leg, joints, np.zeros(3), toward=np.zeros(4), gain=2.0)
    assert np.abs(J @ rates).max() < 1e-6
    assert np.abs(rates).max() > 0.05
    assert rates @ (np.zeros(4) - joints) > 0  # towards it, as far as the foot lets it


@pytest.mark.parametrize("name", GOOD)
def test_rates_stay_bounded_on_the_edge_of_reach(name):
    leg = leg_chain(library.load(name), "LF")
    straight = np.zeros(len(leg))
    assert manipulability(foot_jacobian(leg, straight)[1]) < 1e-9
    rates = leg_rates(leg, straight, np.array([0.0, 0.0, -1.0]))  # further out: only the roll's offset gives a little
    assert np.abs(rates).max() < 1.0 / leg.reach
    near = np.zeros(len(leg))
    near[-1] = 1e-3
    assert np.abs(leg_rates(leg, near, np.array([0.0, 0.0, 0.1]))).max() < 10 * 0.1 / leg.reach


def test_velocity_inverse_kinematics_follows_a_path_in_task_space():
    """The DynaKat report's way: rates by the pseudo-inverse along a trajectory, integrated to joint angles."""
    leg = leg_chain(library.load("dynakat"), "LF")
    joints, dt = np.array(GOOD["dynakat"]), 1e-3
    centre = foot_position(leg, joints) - np.array([0.02, 0.0, 0.0])
    for k in range(1000):
        angle = 2 * np.pi * k * dt
        velocity = 0.02 * 2 * np.pi * np.array([-np.sin(angle), 0.0, np.cos(angle)])
        wanted = centre + 0.02 * np.array([np.cos(angle), 0.0, np.sin(angle)])
        joints = joints + dt * leg_rates(leg, joints, velocity + 20.0 * (wanted - foot_position(leg, joints)))
        assert np.abs(foot_position(leg, joints) - wanted).max() < 1e-3
    assert np.abs(foot_position(leg, joints) - centre - np.array([0.02, 0.0, 0.0])).max() < 5e-4


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", [*GOOD, "two_joints"])
def test_every_rule_comes_to_a_near_target_within_the_limits(name, rule):
    if name == "two_joints":
        robot = quadruped(name, axes=("pitch", "pitch"), segments=(0.2, 0.2), segment_masses=(0.5, 0.2))
        posture = np.array([0.7, -1.4])
    else:
        robot, posture = library.load(name), np.array(GOOD[name])
    leg = leg_chain(robot, "LF")
    target = foot_position(leg, posture + 0.1)
    found = resolved_rate_leg(leg, target, posture, rule, iterations=2000)
    assert found.residual <= 1e-7
    assert (found.joints >= np.array(leg.lower)).all()
    assert (found.joints <= np.array(leg.upper)).all()
    assert (
        found.iterations
        <= {"levenberg": 12, "manipulability": 60, "constant": 60, "transpose": 2000, "pseudo_inverse": 12}[rule]
    )


@pytest.mark.parametrize("rule", RULES)
def test_limits_are_kept_whatever_is_asked(rule):
    leg, random = leg_chain(library.load("xiling"), "RF"), np.random.default_rng(2)
    targets = random.normal(size=(200, 3))
    fast = trace.compile(
        lambda t: tuple(resolved_rate_leg(leg, t, [0.0, 0.7, -1.3], rule, iterations=60)),
        targets[0],
        target="batch",
        cache=None,
        verify=False,
    )
    joints, residual, _ = fast(targets)
    assert np.isfinite(residual).all()
    assert (joints >= np.array(leg.lower)).all()
    assert (joints <= np.array(leg.upper)).all()


def test_what_is_redundant_goes_to_the_posture():
    leg = leg_chain(library.load("dynakat"), "LF")
    posture = np.array([-0.5, 0.0, 1.3, -1.2])
    target = foot_position(leg, np.array(GOOD["dynakat"]))
    start = np.array(GOOD["dynakat"])
    plain = resolved_rate_leg(leg, target + 0.01, start, "constant")
    drawn = resolved_rate_leg(leg, target + 0.01, start, "constant", toward=posture, iterations=400, tolerance=1e-5)
    assert drawn.residual <= 1e-5
    assert np.linalg.norm(drawn.joints - posture) < np.linalg.norm(plain.joints - posture)


def test_unknown_rules_and_postures_that_a_rule_has_no_use_for_are_refused():
    leg = leg_chain(library.load("dynakat"), "LF")
    with pytest.raises(InputError, match="levenberg, manipulability, constant, transpose"):
        resolved_rate_leg(leg, np.zeros(3), np.zeros(4), "newton")
    with pytest.raises(InputError, match="has no posture task"):
        resolved_rate_leg(leg, np.zeros(3), np.zeros(4), toward=np.zeros(4))
