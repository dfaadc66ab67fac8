"""The simulation behind the page, without a page."""

import threading
import time

import numpy as np
import pytest
from waiting import PATIENCE, finish, until

from footfall.control.interface import Command
from footfall.kinematics.forward import foot_positions
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.run_options import RunOptions, page_options
from footfall.view.driver import SimulationThread, clipped, fitting_controller, with_stand


@pytest.fixture(scope="module")
def driver():
    made = SimulationThread()
    made.start()
    yield made
    made.stop()


@pytest.mark.parametrize(
    ("value", "is_"), [(0.5, 0.5), (99, 1.5), (-1e9, -1.5), (float("nan"), 0), (float("inf"), 0), ("x", 0), (None, 0)]
)
def test_a_command_is_clipped_and_junk_is_zero(value, is_):
    assert clipped("forward", value) == is_


def test_it_walks_when_told_and_stands_when_nobody_is_there(driver):
    driver.present = lambda: True
    driver.set_command(forward=0.5)
    until(lambda: driver.sim.q[0] > 0.1)
    there, looks, walked = [True], [], []  # (simulated time, answer) of every look for somebody; of every piece walked
    advance = driver.sim.advance

    def present():
        looks.append((driver.sim.time, there[0]))
        return there[0]

    def advanced(*arguments):
        walked.append((driver.sim.time, driver.sim.command.forward))
        return advance(*arguments)

    driver.present, driver.sim.advance = present, advanced
    until(lambda: len(looks) > 20)
    there[0] = False
    until(lambda: driver.command == Command())
    driver.present = lambda: True
    del driver.sim.advance
    gone = next(time for time, answer in looks if not answer)
    assert np.diff([time for time, _ in looks]).max() < 0.0101  # it looks every 10 ms of walking
    assert {forward for time, forward in walked if time >= gone} == {0.0}  # and walks no further than it has looked
    assert {forward for time, forward in walked if time < gone} == {0.5}


def test_a_gait_switch_goes_on_from_where_the_robot_is(driver):
    driver.choose("gait", "no such gait")
    before = driver.sim.time
    driver.choose("gait", "walk")
    until(lambda: driver.choice.gait == "walk")
    assert driver.sim.time >= before
    times = []
    driver.reset()
    driver.do(lambda: times.append(driver.sim.time))
    finish(driver)
    assert times == [0.0]


def test_a_push_moves_it_to_its_right(driver):
    driver.reset()
    driver.push(0.5)
    until(lambda: driver.sim.q[1] < -0.01)


def test_pause_holds_and_step_steps(driver):
    driver.paused = True
    driver.reset()
    finish(driver)
    held = driver.sim.time
    for _ in range(5):
        finish(driver)
    assert driver.sim.time == held == 0.0
    driver.step()
    finish(driver)
    assert driver.sim.time == pytest.approx(held + 0.01)
    driver.paused = False


def test_a_recording_opens_again(driver, tmp_path):
    got = []
    driver.record()
    until(lambda: driver.recording is not None)
    start = driver.sim.time
    until(lambda: driver.sim.time > start + 0.1)
    driver.take(lambda path: got.append(path.read_bytes()))
    until(lambda: got)
    file = tmp_path / "live.mcap"
    file.write_bytes(got[0])
    rec = Recording.load(file)
    assert rec.duration > 0.05
    assert np.isfinite(rec.q).all()


def test_what_cannot_be_made_is_said_and_the_old_goes_on(driver):
    driver.choose("controller", "pd")
    until(lambda: driver.choice.controller == "pd")
    driver.choose("gait", "pronk")  # not tuned for joint PD: whatever comes of it, the driver lives
    finish(driver)
    driver.choose("controller", "whole_body")
    until(lambda: driver.choice.controller == "whole_body")
    assert isinstance(driver.choice, RunOptions)


def test_a_robot_without_a_pose_gets_one_to_stand_in():
    robot = library.load("mini_cheetah").replace(poses={})
    stood = with_stand(robot)
    feet = foot_positions(stood, stood.state("stand")[0])[:, 2] - [foot.radius for foot in stood.feet]
    np.testing.assert_allclose(feet, 0.0, atol=1e-9)
    assert with_stand(stood) is stood


@pytest.mark.parametrize(
    "name", ["mini_cheetah", "dynakat", *(pytest.param(name, marks=pytest.mark.slow) for name in ("spined", "xiling"))]
)
def test_every_robot_stays_on_its_feet_with_the_controller_it_is_shown_with(name):
    driver = SimulationThread(choice=page_options(robot=name, controller=fitting_controller(library.load(name))))
    driver.set_command(forward=0.2)
    for _ in range(100):
        driver._advance(0.02)
    assert driver.sim.stopped is None
    assert driver.sim.time > 0.5
    driver.stop()


def test_every_controller_of_the_menu_is_made_or_refused_in_a_sentence_and_the_menu_is_told(driver):
    refused = []
    driver.on_refused = lambda: refused.append(driver.choice.controller)
    driver.choose("controller", "lqr")  # stands, and takes no gait
    until(lambda: driver.choice.controller == "lqr")
    driver.choose("robot", "xiling")
    until(lambda: driver.choice.robot == "xiling")
    driver.choose("controller", "learned")
    until(lambda: refused)
    assert refused == [driver.choice.controller] == ["whole_body"]
    assert "unknown policy 'xiling'" in driver.status
    driver._reported -= 60.0
    assert driver.status in ("running", "paused")  # said long enough
    driver.choose("robot", "mini_cheetah")
    until(lambda: driver.choice.robot == "mini_cheetah")


def test_a_recording_that_a_reset_ends_is_handed_over(driver):
    got = []
    driver.on_recorded = lambda path: got.append(len(Recording.load(path)))
    driver.record()
    until(lambda: driver.recording is not None)
    until(lambda: driver.recorder.rows > 30)  # a run to a file keeps only its last block
    driver.reset()
    until(lambda: got)
    assert got[0] > 20
    assert driver.recording is None


def test_time_stands_still_while_nobody_watches(driver):
    spans, advance = [], driver._advance
    driver.watched = lambda: False
    finish(driver)
    before = driver.sim.time
    driver._advance = lambda seconds: spans.append(seconds) or advance(seconds)
    time.sleep(0.3)
    finish(driver)
    assert (driver.sim.time, spans) == (before, [])
    driver.watched = lambda: True
    until(lambda: driver.sim.time > before)
    del driver._advance
    assert spans[0] < 0.1  # what was slept through is not made up for


def test_a_defect_is_said_and_ends_nothing(driver, capsys):
    driver.do(lambda: [][1])
    until(lambda: "IndexError" in driver.status)
    assert driver.paused
    assert "Traceback" in capsys.readouterr().err
    driver.paused = False
    driver.reset()
    until(lambda: driver.status == "running")


def test_of_choices_made_in_quick_succession_only_the_last_is_prepared(driver):
    made, make = [], driver._made
    driver._made = lambda choice, *others: made.append(choice) or make(choice, *others)
    busy, done = threading.Event(), threading.Event()
    driver.do(lambda: busy.set() or done.wait(PATIENCE))  # as with another simulation
    assert busy.wait(PATIENCE)
    for ground in ("slope:5", "slope:10", "steps:0.04", "rough:0.03", "plane"):
        driver.choose("ground", ground)
        driver.choose("gait", "walk" if ground != "plane" else "trot")
    driver.choose("controller", "hold")
    done.set()
    until(lambda: driver.choice.controller == "hold")
    assert driver.choice.ground == "plane"
    assert len(made) == 1
    driver.choose("controller", "whole_body")
    until(lambda: driver.choice.controller == "whole_body")


def test_a_gait_on_oscillators_goes_over_into_another_and_a_reset_begins_with_it():
    driver = SimulationThread(choice=page_options(robot="xiling", controller="pd", gait="walk", oscillator="rulkov"))
    driver._advance = lambda seconds: None  # time moves by hand
    driver.set_command(forward=0.2)
    driver._heed()
    driver.sim.advance(3000)
    before, phase = driver.sim.q.copy(), driver.sim.state.memory["phase"]
    driver.choose("gait", "trot")
    driver._frame()
    assert driver.choice.gait == "trot"
    np.testing.assert_array_equal(driver.sim.q, before)
    np.testing.assert_array_equal(driver.sim.state.memory["phase"], phase)
    assert driver.sim.controller.transition.first.name == "walk"
    driver.sim.command = Command(forward=0.4)
    driver.sim.advance(5000)
    assert driver.sim.stopped is None
    assert driver.sim.q[0] > before[0] + 0.5
    driver._reset()
    assert driver.sim.time == 0.0
    assert driver.sim.controller.gait.name == "trot"
    driver.stop()


@pytest.mark.slow  # three simulations are compiled
def test_another_plan_is_taken_over_while_the_robot_walks():
    driver = SimulationThread(choice=page_options(robot="xiling", controller="plan", plan="trot"))
    driver._advance = lambda seconds: None  # time moves by hand
    for plan, ticks in (("walk", 1870), ("postures", 2310)):
        driver.sim.advance(ticks)
        before, now, follower = driver.sim.q.copy(), driver.sim.time, driver.sim.controller
        driver.choose("plan", plan)
        driver._frame()
        assert driver.choice.plan == plan
        np.testing.assert_array_equal(driver.sim.q, before)
        assert driver.sim.time == now
        old, new = follower.plan.at(now), driver.sim.controller.plan.at(now)
        np.testing.assert_allclose(new.position, old.position, atol=1e-9)
        np.testing.assert_allclose(new.feet, old.feet, atol=1e-9)
    driver.sim.advance(2000)
    assert driver.sim.stopped is None
    driver._reset()
    assert driver.sim.time == 0.0
    driver.stop()


def test_a_plan_in_words_is_followed_and_one_that_makes_no_sense_is_said():
    driver = SimulationThread(choice=page_options(robot="xiling", controller="plan", plan="trot"))
    driver._advance = lambda seconds: None  # time moves by hand
    driver.choose("plan", "walk step=0.05 height=0.03; postures")
    driver._frame()
    assert driver.choice.plan == "walk step=0.05 height=0.03; postures"
    assert driver.sim.controller.plan.duration > 10.0
    driver.choose("plan", "walk stp=0.05")
    driver._frame()
    assert "did you mean 'step'" in driver.status
    assert driver.choice.plan == "walk step=0.05 height=0.03; postures"
    driver.choose("plan", "x" * 1000)
    assert driver.wanted.plan == driver.choice.plan
    driver.stop()


def test_a_sampling_planner_takes_weights_and_a_place_to_walk_to():
    made = SimulationThread(choice=page_options(controller="sampling"))
    try:
        made.set_weight("height", 2.0)
        made.set_weight("height", float("nan"))
        made.set_weight("no such term", 2.0)
        assert made.planner.weights["height"] == 2.0
        assert set(made.planner.weights) == set(made.planner.task.weights)
        made.present = lambda: True
        made.set_goal((0.6, 0.3, 0.0))
        made._heed()
        assert made.sim.command.forward > 0.0
        assert made.sim.command.turn > 0.0
        made.sim.advance(10)
        path = made.planner.planned_path(made.sim)
        assert path.shape == (made.planner.horizon(made.sim.robot), 5, 3)
        assert np.allclose(path[0, 0], made.sim.q[:3], atol=0.02)
    finally:
        made.stop()
