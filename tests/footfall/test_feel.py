"""How it feels: short reprs, a word where one waits, packages that show their own names (frictions F19, F20)."""

from __future__ import annotations

import io
import threading
import time
import warnings

import numpy as np
import pytest

import footfall as ff
from nptrace import binding

ROBOT = ff.load("xiling")


def test_simulations_batches_and_linear_steps_show_themselves_in_a_line():
    sim = ff.Simulation(ROBOT, ground="slope:5")
    assert repr(sim) == "Simulation('xiling': controller Hold, contact Compliant, ground Plane, dt 0.001 s, at 0 s)"
    assert "<table>" in sim._repr_html_()
    batch = ff.Batch(ROBOT, 3, free=["trunk.mass"])
    assert repr(batch) == "Batch(3 x 'xiling': controller Hold, dtype float64, free trunk.mass)"
    one = ff.sim.Linearised(np.eye(4), np.zeros((4, 2)), np.zeros(3), np.zeros(2))
    assert repr(one) == "Linearised(x' = A dx + B du: A (4, 4), B (4, 2), largest eigenvalue of A 1)"


def test_whatever_a_user_makes_shows_itself_in_a_line_or_two():
    sim = ff.Simulation(ROBOT)
    rec = sim.run(0.1)
    made = [
        ff.program(ff.dynamics.gravity_terms, ROBOT),
        ff.analysis.stability(rec),
        ROBOT,
        sim,
        rec,
        ff.sim.lqr_stand(ff.load("mini_cheetah")),
        ff.contact.terrain.named("rough:0.05", seed=1),
        ff.sim.RolloutCost(sim, lambda q, v, command: q[2], 0.01, ["trunk.mass"]),
        ff.learn.WalkEnv("xiling"),
        ff.compile(ff.dynamics.gravity_terms, ROBOT),
        ff.control.Policy.load("mini_cheetah"),
    ]
    for one in made:
        assert 10 < len(repr(one)) < 160, repr(one)
        assert "array(" not in repr(one)
        assert " at 0x" not in repr(one)
        if hasattr(one, "_repr_html_"):
            assert one._repr_html_().count("<table>") == one._repr_html_().count("</table>") == 1


def test_a_run_that_ended_early_says_so_where_it_is_shown():
    weak = ff.Simulation(ROBOT, ff.control.Hold("stand", 1.0, 0.1)).run(2.0)
    assert repr(weak).endswith(f"{len(weak.columns)} columns; the robot fell at {weak.meta['stop_time']:.3f} s)")
    assert "the robot fell" in weak._repr_html_()
    assert "fell" not in repr(ff.Simulation(ROBOT).run(0.01))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_who_waits_is_told_once(monkeypatch):
    def slow(x):
        time.sleep(0.05)
        return x + 1.0

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(binding, "_QUIET", 0.02)
    monkeypatch.setattr(binding, "_reported", type(binding._reported)())
    for _ in range(2):
        ff.compile(slow, None, 1.0, target="interpret", verify=False)
    assert screen.getvalue() == "footfall: compiling slow\n"


def test_nobody_is_told_of_compiling_where_code_comes_from_the_cache(monkeypatch, tmp_path):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    store = tmp_path / "cache"
    ff.compile(ff.dynamics.gravity_terms, ROBOT, cache=store)
    timer = threading.Timer
    monkeypatch.setattr(threading, "Timer", lambda seconds, say: timer(0.0, say))
    monkeypatch.setattr(binding, "_reported", type(binding._reported)())
    ff.compile(ff.dynamics.gravity_terms, ROBOT, cache=store)
    assert screen.getvalue() == ""
    ff.compile(ff.dynamics.gravity_terms, ff.load("dynakat"), cache=store)
    assert screen.getvalue() == "footfall: compiling gravity_terms, cached from now on\n"


def test_a_run_is_recorded_under_the_name_of_the_function_that_controls_it():
    @ff.controller
    def sway(t, robot, sensed, command, memory):
        return ff.JointCommand(position=ROBOT.poses["stand"].joints, kp=60.0, kd=2.0), memory

    assert ff.Simulation(ROBOT, sway).run(0.01).meta["controller"] == "sway"
    assert "controller sway" in repr(ff.Batch(ROBOT, 2, sway))


def test_nobody_is_told_where_nobody_looks(monkeypatch, capsys):
    monkeypatch.setattr(binding, "_QUIET", 0.0)
    ff.compile(lambda x: x + 1.0, None, 1.0, target="interpret")
    assert capsys.readouterr().err == ""


def test_warnings_name_the_line_of_who_uses_footfall(tmp_path):
    model = tmp_path / "own.urdf"
    model.write_text(ff.robot.to_urdf(ROBOT).replace("</robot>", "<transmission name='t'/></robot>"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ff.load(model)
        ff.Simulation(ROBOT, command=ff.Command(forward=0.5)).run(0.01)
    assert len(said) >= 2
    assert {warning.filename for warning in said} == {__file__}


@pytest.mark.parametrize("package", ["sim", "dynamics", "kinematics", "analysis", "learn"])
def test_a_package_shows_names_and_nothing_else(package):
    shown = dir(getattr(ff, package))
    assert shown == sorted(getattr(ff, package).__all__)
    assert not {"Any", "Float", "annotations"} & set(shown)
