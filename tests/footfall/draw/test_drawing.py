"""Drawings: every robot can be drawn, labels stay apart, and bad requests are refused."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from footfall.draw.drawing import draw, draw_leg, draw_robot, draw_tree
from footfall.errors import InputError
from footfall.robot import Joint, Link, Robot, library
from footfall.robot.model.parametric import quadruped

ROBOTS = {name: library.load(name) for name in library.names()} | {
    "parametric": quadruped(
        spine=("pitch", "roll", "yaw"),
        axes=("pitch", "roll", "pitch", "pitch"),
        segments=((0.0, 0.03, 0.0), 0.2, 0.2, 0.05),
        segment_masses=(0.5, 0.4, 0.3, 0.1),
    ),
}


def words(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def overlaps(ax):
    """Pairs of labels whose texts lie on each other."""
    renderer = ax.figure.canvas.get_renderer()
    texts = [t for t in ax.texts if t.get_text() and not t.get_text().startswith("$")]
    boxes = [t.get_window_extent(renderer) for t in texts]
    return [
        (texts[i].get_text(), texts[j].get_text())
        for i, j in itertools.combinations(range(len(texts)), 2)
        if boxes[i].shrunk(0.9, 0.9).overlaps(boxes[j].shrunk(0.9, 0.9))
    ]


@pytest.mark.parametrize("name", ROBOTS)
def test_labels_do_not_lie_on_each_other(name):
    figure = draw(ROBOTS[name])
    figure.canvas.draw()
    assert len(figure.axes) == 3
    for ax in figure.axes:
        assert overlaps(ax) == []


@pytest.mark.parametrize("name", ROBOTS)
def test_labels_stay_on_the_sheet(name):
    figure = draw(ROBOTS[name])
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for ax in figure.axes:
        for text in ax.texts:
            box = text.get_window_extent(renderer)
            assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1, text.get_text()
            assert 0 <= box.y0 <= box.y1 <= figure.bbox.y1, text.get_text()


def test_a_drawing_can_be_saved(tmp_path):
    draw(library.spined()).savefig(tmp_path / "spined.png")
    assert (tmp_path / "spined.png").read_bytes()[:4] == b"\x89PNG"
    draw_tree(library.spined()).savefig(tmp_path / "tree.svg")
    assert b"spine_pitch" in (tmp_path / "tree.svg").read_bytes() or (tmp_path / "tree.svg").stat().st_size > 10_000


def test_the_tree_shows_the_arrays_of_the_paper():
    shown = "\n".join(words(draw_tree(library.mini_cheetah())))
    assert "PRED   0  1  2  0  4  5  0  7  8  0 10 11" in shown
    assert "SUCC   1  2  3  4  5  6  7  8  9 10 11 12" in shown
    assert "λ      0  1  2  0  4  5  0  7  8  0 10 11" in shown
    assert "foot RH" in shown


def test_a_leg_names_its_joints_axes_and_places():
    shown = "\n".join(words(draw_leg(library.dynakat(), "RH")))
    assert "RH_hip  (body 13)\naxis −y\nat (-0.14, -0.05, 0) m" in shown
    assert "RH_ankle" in shown
    assert "foot RH\nradius 0.01 m" in shown


def test_all_bodies_are_numbered_and_all_feet_named():
    shown = words(draw_robot(library.spined()))
    assert {str(i) for i in range(15)} <= set(shown)
    assert {"LF", "RF", "LH", "RH", "spine_pitch", "spine_roll"} <= set(shown)


def test_the_pose_is_named_or_given():
    robot = library.mini_cheetah()
    assert "pose stand" in draw_robot(robot).axes[0].get_title()
    assert "pose fold" in draw_robot(robot, robot.state("fold")[0]).axes[0].get_title()
    assert "pose" not in draw_robot(robot, robot.state()[0]).axes[0].get_title()


def test_a_robot_without_feet_or_floating_base_can_be_drawn():
    links = [Link(name=name, mass=1.0, inertia=np.eye(3) * 0.01) for name in ("base", "rod", "slider")]
    joints = [
        Joint(name="hinge", kind="revolute", parent="base", child="rod", origin=(0.1, 0.0, 0.2), axis=(1.0, 1.0, 0.0)),
        Joint(name="rail", kind="prismatic", parent="rod", child="slider", origin=(0.0, 0.0, 0.3)),
    ]
    figure = draw(Robot(name="arm", links=links, joints=joints, floating=False), np.array([0.3, 0.1]))
    assert "base   (base fixed to the world)" in words(figure)
    assert any("axis (0.707, 0.707, 0)" in word for word in words(figure))


def test_one_lone_body_can_be_drawn():
    draw_tree(Robot(name="ball", links=[Link(name="ball", mass=1.0, inertia=np.eye(3))]))
    draw(Robot(name="ball", links=[Link(name="ball", mass=1.0, inertia=np.eye(3))]))


def test_unknown_leg_lists_the_known_ones():
    with pytest.raises(InputError, match=r"unknown foot 'FX'.*: this robot has LF, RF, LH, RH"):
        draw(library.mini_cheetah(), leg="FX")


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(3), r"q of robot 'mini_cheetah' must have shape \(19,\), got \(3,\)"),
        (np.full(19, np.nan), "has a value that is not finite"),
    ],
)
def test_bad_configurations_are_refused(q, message):
    with pytest.raises(InputError, match=message):
        draw_robot(library.mini_cheetah(), q)


def test_importing_the_drawing_does_not_import_matplotlib():
    code = "import sys, footfall.draw.drawing; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
