"""What notebooks show: tables that are well-formed HTML and escape what comes from files; plots that are figures."""

from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from footfall.analysis.plots import _KINDS, plot_compare
from footfall.analysis.run_stability import plot_stability, plot_support
from footfall.draw import drawing
from footfall.errors import FootfallError
from footfall.recording.recording_writer import Event
from footfall.robot import library
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from footfall.sim.simulation import Simulation
from footfall.view.replay import ReplayPage
from footfall_lab.verify.report import Check, Report

EVIL = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """Checks that every tag is closed, and collects them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def rec():
    return Simulation(library.load("mini_cheetah")).run(0.3)


@pytest.mark.parametrize("name", library.names())
def test_a_robot_is_a_table_and_a_picture(name):
    found = Tags(library.load(name)._repr_html_())
    assert "table" in found.seen
    assert "img" in found.seen
    assert name in found.words


def test_names_from_files_are_escaped(rec):
    with pytest.raises(FootfallError, match="names are printable"):
        robot_from_json(robot_to_json(library.load("mini_cheetah")).replace("mini_cheetah", EVIL, 1))
    rec = type(rec)(rec.robot, rec.columns, [Event(0.1, EVIL, EVIL)], {"stopped": EVIL})
    assert "script" not in Tags(rec._repr_html_()).seen
    check = Check(
        quantity=EVIL,
        left=EVIL,
        right="b",
        max_rel_error=1e-3,
        median_rel_error=1e-4,
        tolerance=1e-9,
        samples=3,
        note=EVIL,
    )
    assert (
        "script"
        not in Tags(
            Report(
                robot=EVIL, samples=3, seed=0, backend="numpy", checks=(check,), skipped={"mujoco": EVIL}
            )._repr_html_()
        ).seen
    )


def test_a_verify_report_is_a_table_of_all_its_checks():
    checks = tuple(
        Check(
            quantity=f"quantity_{k}",
            left="a",
            right="b",
            max_rel_error=1e-14 * 10.0**k,
            median_rel_error=1e-15,
            tolerance=1e-10,
            samples=3,
        )
        for k in range(8)
    )
    found = Tags(
        Report(
            robot="mini_cheetah", samples=3, seed=0, backend="numpy", checks=checks, skipped={"mujoco": "not installed"}
        )._repr_html_()
    )
    assert found.seen.count("tr") == 9
    assert sum("holds" in word for word in found.words) == 5
    assert any("not installed" in word for word in found.words)


def test_a_recording_is_a_table_and_its_replay_a_page_of_its_own(rec):
    assert "table" in Tags(rec._repr_html_()).seen
    shown = ReplayPage("stand", {"footfall": rec.between(0.0, 0.1)})._repr_html_()
    assert shown.startswith("<iframe")


@pytest.mark.parametrize("kind", _KINDS)
def test_every_plot_of_a_recording_is_a_figure(rec, kind):
    assert isinstance(rec.plot(kind), Figure)


def test_every_other_plot_is_a_figure(rec):
    robot = rec.robot
    for figure in (
        drawing.draw(robot),
        drawing.draw_robot(robot),
        drawing.draw_leg(robot),
        drawing.draw_tree(robot),
        plot_stability(rec),
        plot_support(rec),
        plot_compare({"a": rec, "b": rec}),
    ):
        assert isinstance(figure, Figure)
        assert np.all(figure.get_size_inches() > 1)
