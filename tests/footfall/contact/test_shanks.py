"""Shanks that meet edges: where their balls lie, and that an edge of a riser does not pass between knee and foot."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Steps
from footfall.contact.bodies import APART, body_spheres, shank_spheres
from footfall.kinematics.forward import body_poses
from footfall.robot.library import load, names

CHEETAH = load("mini_cheetah")


@pytest.mark.parametrize("name", [name for name in names() if len(load(name).feet) == 4])
def test_balls_lie_in_a_row_between_knee_and_foot_as_many_in_every_leg(name):
    robot = load(name)
    balls = shank_spheres(robot)
    assert len(balls) % 4 == 0
    assert len(balls) >= 4
    for foot, body, end in zip(robot.feet, robot.tree.feet, robot.tree.foot_positions):
        own = [ball for ball in balls if ball.name.startswith(f"{foot.name}_shank")]
        along = np.array([ball.position @ end / (end @ end) for ball in own])
        assert len(own) == len(balls) // 4
        assert {ball.link for ball in own} == {robot.tree.bodies[body].name}
        assert np.allclose([ball.position for ball in own], np.outer(along, end))
        steps = np.diff([0.0, *along, 1.0])
        assert np.allclose(steps, steps[0])
        assert steps[0] * np.linalg.norm(end) <= 1.5 * APART * own[0].radius


def test_shanks_touch_between_their_ends_where_they_are_asked_for_by_name():
    plain, named = body_spheres(CHEETAH, "knees"), body_spheres(CHEETAH, "knees,shanks")
    assert len(named) - len(plain) == len(body_spheres(CHEETAH, ["shanks"])) == 8
    assert not [ball for ball in body_spheres(CHEETAH) if "shank" in ball.name]  # knees and feet reach as far


def deepest(touching):
    """How far the edge of a riser comes past the line from knee to foot of the hind legs, of a robot that is thrown
    back against it [m]; below zero before the line."""
    q, v = CHEETAH.state("stand")
    v[3] = -1.0
    edge, rise = -0.31, 0.09
    ground = Steps(np.array([rise, 0.0]), 0.4, edge, fillet=0.01)
    hold = ff.control.Hold(kp=60.0, kd=2.0)
    sim = ff.Simulation(CHEETAH, hold, ground=ground, start=(q, v), collisions=touching, stop_on_fall=False)
    rec, most = sim.run(0.4), -np.inf
    for state in rec.q[::5]:
        poses = body_poses(CHEETAH, state)
        for k in (2, 3):
            body = CHEETAH.tree.feet[k]
            knee, foot = poses[body].p[[0, 2]], poses[body].point(CHEETAH.tree.foot_positions[k])[[0, 2]]
            way = (foot - knee) / np.linalg.norm(foot - knee)
            off = np.array([edge, rise]) - knee
            along = off @ way / np.linalg.norm(foot - knee)
            if 0.1 < along < 0.9:
                most = max(most, float(off @ np.array([-way[1], way[0]])))
    return most


@pytest.mark.parametrize("lean", [0.1, 0.4, 0.8, 1.2])
def test_an_edge_is_held_before_it_is_a_radius_past_the_line_from_knee_to_foot(lean):
    """Wherever it meets the shank, of a leg that is moved back against it."""
    end, radius = CHEETAH.tree.foot_positions[2], CHEETAH.feet[0].radius
    rise, length = 0.3, float(np.linalg.norm(end))
    way = np.array([np.sin(lean), -np.cos(lean)])  # from the knee down to the foot
    ground = Steps(np.array([rise, 0.0]), 0.4, 0.0, fillet=0.0)
    own = [ball for ball in shank_spheres(CHEETAH) if ball.name.startswith("LH")]
    at = [0.0, *(np.linalg.norm(ball.position) for ball in own), length]
    for part in np.linspace(0.15, 0.85, 8):

        def clear(past, part=part):
            """Of the nearest ball, with the edge so far past the line."""
            knee = np.array([0.0, rise]) - part * length * way - past * np.array([-way[1], way[0]])
            balls = [knee + s * way for s in at]
            return min(ground.distance(np.array([x, 0.0, z])) for x, z in balls) - radius

        assert clear(-2.0 * radius) > 0.0 or lean > 1.0
        assert clear(radius) < 0.0


@pytest.mark.slow
def test_the_edge_of_a_riser_does_not_pass_through_a_shank():
    radius = CHEETAH.feet[0].radius
    through, held = deepest("knees"), deepest("knees,shanks")
    assert held < radius
    assert through > held + 0.01
