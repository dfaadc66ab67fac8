"""A run in pieces, tick by tick."""

import threading

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import FunctionController, JointCommand
from footfall.errors import FootfallError, InputError

ROBOT = ff.load("mini_cheetah")


@pytest.mark.parametrize("ticks", [1, 7, 250, 613])
def test_advancing_in_pieces_is_the_run(ticks):
    push = ff.Push(start=0.1003, duration=0.05, force=(20.0, 0.0, 0.0))
    whole, pieces = (
        ff.Simulation(ROBOT, ff.control.JointPD.tuned(ROBOT, "trot"), pushes=[push], record_rate=250.0)
        for _ in range(2)
    )
    rec = whole.run(ticks * 1e-3)
    recorder, done = pieces.recorder(every=4), 0
    while done < ticks:
        done += pieces.advance(min(97, ticks - done), recorder)
    np.testing.assert_array_equal(pieces.q, whole.q)
    assert done == ticks
    np.testing.assert_array_equal(recorder.finish().time, rec.time)


def test_advancing_stops_where_the_run_does_and_says_how_far_it_came():
    sim = ff.Simulation(
        ROBOT, ff.control.Hold("stand", 40.0, 1.0), pushes=[ff.Push(start=0.05, duration=0.2, force=(0.0, 400.0, 0.0))]
    )
    taken = sim.advance(3000)
    assert sim.stopped is not None
    assert sim.stopped.kind == "fell"
    assert 0 < taken < 3000
    assert sim.time == pytest.approx(taken * 1e-3)
    assert sim.advance(10) == 0
    for wrong in (-1, 2.5, True):
        with pytest.raises(InputError, match="whole number of ticks"):
            sim.advance(wrong)


def test_what_changes_between_two_advances_counts():
    gain = {"kp": 60.0}

    @ff.controller(rate=1000)
    def springs(t, robot, sensed, command, memory):
        return ff.JointCommand(robot.poses["stand"].joints, kp=gain["kp"], kd=2.0), memory

    sim = ff.Simulation(ROBOT, springs)
    sim.advance(300)
    high = sim.q[2]
    gain["kp"] = 15.0
    sim.advance(300)
    assert sim.q[2] < high - 0.01
    sim.command = "fast"
    with pytest.raises(InputError, match="must be a Command"):
        sim.advance(1)


def test_rows_are_handed_on_as_they_come():
    sim, heights = ff.Simulation(ROBOT), []
    recorder = sim.recorder(on_rows=lambda columns: heights.extend(columns["q"][:, 2]))
    sim.advance(30, recorder)
    assert (len(heights), recorder.rows) == (30, 30)
    assert heights[-1] == sim.q[2]


def test_simulation_that_another_thread_is_running_is_refused():
    robot, inside, go_on = ff.load("mini_cheetah"), threading.Event(), threading.Event()

    def waits(t, robot, sensed, command, memory):
        inside.set()
        assert go_on.wait(300.0)
        return JointCommand(position=robot.poses["stand"].joints, kp=60.0, kd=2.0), memory

    sim = ff.Simulation(robot, FunctionController(waits, 100.0), compile_controller=False)
    thread = threading.Thread(target=sim.run, args=(0.05,))
    thread.start()
    assert inside.wait(300.0)
    with pytest.raises(FootfallError, match="another thread is running this simulation"):
        sim.run(0.05)
    with pytest.raises(FootfallError, match="another thread"):
        sim.advance(1)
    go_on.set()
    thread.join()
    assert sim.time == pytest.approx(0.05)
    sim.run(0.05)
    assert sim.time == pytest.approx(0.1)
