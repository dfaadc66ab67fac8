"""Compiled loops hear Ctrl-C, and batches travel to other processes."""

import copy
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import footfall as ff
from footfall.errors import InputError

JOINT = ff.load("mini_cheetah").joint_names[1]
START = """
    import threading, time
    import numpy as np
    import footfall as ff
    robot = ff.load("mini_cheetah")
"""
LOOPS = {
    "batch": "batch = ff.Batch(robot, 4096, threads=1)\nloop = lambda: batch.run(10**6)",
    "threads": "batch = ff.Batch(robot, 4096, threads=2)\nloop = lambda: batch.run(10**6)",
    "recorded": "batch = ff.Batch(robot, 64)\nloop = lambda: batch.run(10**7, record=[0, 1], every=10**4)",
    "advance": (
        "f = ff.compile(lambda robot, x: x + 1e-9 * np.sin(x), robot, np.zeros(40))\n"
        "loop = lambda: f.advance(10**10, np.zeros(40))"
    ),
    "roll": (
        "f = ff.compile(lambda robot, x: x + 1e-9 * np.sin(x), robot, np.zeros(40))\n"
        "loop = lambda: f.roll(10**10, np.zeros(40), every=10**8)"
    ),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_ctrl_c_ends_compiled_loops(kind):
    """Within a second on a machine that is idle; here anything far below the hours that each would take."""
    end = """
    print("ready", flush=True)
    try:
        loop()
    except KeyboardInterrupt:
        print("stopped", flush=True)
    """
    script = textwrap.dedent(START) + LOOPS[kind] + textwrap.dedent(end)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert said == "stopped\n"
    assert process.returncode == 0


def test_a_batch_goes_on_after_an_interrupt():
    """Each robot is before or after the call that was ended."""
    robot = ff.load("mini_cheetah")
    batch, calm = (ff.Batch(robot, 4096, threads=2) for _ in range(2))
    main = threading.main_thread().ident or 0
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        batch.run(10**6)
    assert set(np.round(batch.time / batch.period).tolist()) <= {0.0, 1e6}
    for one in (batch, calm):
        one.reset()
        one.run(5)
    np.testing.assert_array_equal(batch.q, calm.q)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_a_batch_that_was_sent_elsewhere_does_the_same_bit_for_bit(copied):
    batch = ff.Batch(ff.load("mini_cheetah"), 12, free=["trunk.mass"], threads=2)
    batch.randomise({"trunk.mass": (3.0, 5.0)}, seed=4)
    batch.run(20)
    other = copied(batch)
    for one in (batch, other):
        one.run(30)
    np.testing.assert_array_equal(other.q, batch.q)
    np.testing.assert_array_equal(other.parameters["trunk.mass"], batch.parameters["trunk.mass"])


@pytest.mark.parametrize("target", ["native", "batch", "interpret"])
def test_a_compiled_function_says_that_it_stays_here(target):
    function = ff.compile(lambda robot, x: 2.0 * x, ff.load("mini_cheetah"), np.zeros(3), target=target)
    with pytest.raises(InputError, match="cannot be copied or sent to another process: compile it there"):
        pickle.dumps(function)


@pytest.fixture(scope="module")
def changeable():
    paths = [
        "trunk.mass",
        "trunk.com",
        "trunk.inertia",
        *(f"{JOINT}.{key}" for key in ("rotation", "damping", "armature")),
    ]
    return ff.Batch(ff.load("mini_cheetah"), 4, free=paths)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("trunk.inertia", -0.01 * np.eye(3), "positive principal moments"),
        ("trunk.inertia", np.zeros((3, 3)), "positive principal moments"),
        ("trunk.inertia", [[0.1, 1e-3, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]], "symmetric"),
        (f"{JOINT}.rotation", 2.0 * np.eye(3), "rotation matrices"),
        (f"{JOINT}.damping", -1.0, "0 or more"),
        ("trunk.mass", [3.0, 3.0, 1e30, 3.0], r"a value beyond 1e\+09: 1e\+30"),
        ("trunk.com", [0.0, 0.0, -1e7], r"a value beyond 1e\+06: -1e\+07"),
        ("trunk.inertia", 1e20 * np.eye(3), r"a value beyond 1e\+15: 1e\+20"),
        (f"{JOINT}.armature", 1e30, r"a value beyond 1e\+15"),
    ],
)
def test_parameters_that_no_robot_has_are_refused(path, value, words, changeable):
    batch = changeable
    before = batch.parameters[path].copy()
    with pytest.raises(InputError, match=words):
        batch.set({path: value})
    np.testing.assert_array_equal(batch.parameters[path], before)


def test_pieces_of_a_loop_give_the_same_numbers_as_one():
    """A loop is cut by the clock: where it is cut must not show."""
    from nptrace.runtime import memory

    def swing(robot, x):
        return np.stack([x[0] + 1e-3 * x[1], x[1] - 1e-3 * np.sin(x[0])])

    start = np.array([[0.3 + 0.01 * k, 0.0] for k in range(20)])
    function = ff.compile(swing, ff.load("mini_cheetah"), np.zeros(2), target="batch")
    whole, rows = function.roll(5000, start, every=7)
    first, memory._FIRST = memory._FIRST, 1
    try:
        cut, cut_rows = function.roll(5000, start, every=7)
        advanced = function.advance(5000, start)
    finally:
        memory._FIRST = first
    np.testing.assert_array_equal(cut, whole)
    np.testing.assert_array_equal(advanced, whole)
    np.testing.assert_array_equal(cut_rows, rows)
    assert cut_rows.shape == (20, 714, 2)
