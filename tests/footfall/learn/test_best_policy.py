"""The best policy of a training is kept, over checkpoints too; one that sees the ground is given it."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from footfall.cli.main import run
from footfall.contact.course import Course
from footfall.contact.ground import Plane
from footfall.contact.terrain import named
from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import SHIPPED, Policy
from footfall.control.learned.scan import MAX_HEIGHT, heights_under
from footfall.errors import InputError
from footfall.learn import training as training_file
from footfall.learn.ppo import Settings
from footfall.learn.preflight import preflight
from footfall.learn.rough import KINDS, LEVELS, SCAN, Courses, RoughTask
from footfall.learn.task import Size
from footfall.learn.training import BestPolicy, train
from footfall.learn.walk import WalkTask
from footfall.robot.library import load

sys.path.append(str(Path(__file__).parents[3] / "studies"))
from task_bench import report

CHEETAH, DYNAKAT = load("mini_cheetah"), load("dynakat")


def still(task, shift=0.0):
    """A policy that stands, by a network of zeros."""
    seen, acts = len(task.bounds), task.robot.nj
    layers = ((np.zeros((seen, 4)), np.zeros(4)), (np.zeros((4, acts)), np.full(acts, shift)))
    return Policy(
        robot=task.robot.name,
        drive=task.drive,
        mean=np.zeros(seen),
        spread=np.ones(seen),
        weights=layers,
        joints=task.robot.joint_names,
    )


def test_what_did_best_is_kept_and_of_equals_the_later():
    marks = iter([0.2, 0.6, 0.6, 0.1])
    best, task = BestPolicy(lambda policy: next(marks)), WalkTask.of(DYNAKAT)
    policies = [still(task, 0.1 * k) for k in range(4)]
    for k, policy in enumerate(policies):
        best.examine(policy, 10 * k)
    best.examine(policies[0], 30)  # has been looked at
    assert best.policy is policies[2]
    assert (best.score, [at for at, _ in best.scores]) == (0.6, [0, 10, 20, 30])
    again = BestPolicy(best.exam)
    again.restore(best.numbers(), [[at, score] for at, score in best.scores], policies[3])
    assert again.score == 0.6
    seen = np.ones(len(task.bounds))
    assert (again.policy.action(seen) == policies[2].action(seen)).all()


def test_a_training_ends_with_the_best_policy_also_after_it_was_cut_off(tmp_path, monkeypatch):
    monkeypatch.setattr(training_file, "EXAM_EVERY", 1)
    marks = {1: 0.3, 2: 0.9, 3: 0.4, 4: 0.2}
    sat = []

    def exam(policy):
        sat.append(policy)
        return marks[len(sat)]

    monkeypatch.setattr(WalkTask, "exam", lambda task: exam)
    options = {
        "robots": 8,
        "device": "cpu",
        "settings": Settings(steps=4, rows=32),
        "seed": 2,
        "randomise": {"latency": 1},
    }
    train(DYNAKAT, tmp_path / "kept.npz", iterations=3, **options)
    done = train(DYNAKAT, tmp_path / "kept.npz", iterations=4, resume=True, **options)
    assert (done.mastered, len(sat)) == (0.9, 4)
    kept, seen = Policy.load(tmp_path / "kept.npz"), np.random.default_rng(0).normal(size=len(sat[1].mean))
    np.testing.assert_allclose(kept.action(seen), sat[1].action(seen), atol=1e-6)
    assert np.abs(kept.action(seen) - sat[3].action(seen)).max() > 1e-6
    with pytest.raises(InputError, match="randomisation"):
        train(DYNAKAT, tmp_path / "kept.npz", iterations=5, resume=True, **{**options, "randomise": True})


def test_tasks_whose_lessons_are_forgotten_have_an_exam():
    assert WalkTask.of(DYNAKAT).exam() is None


@pytest.mark.slow
def test_an_exam_tells_who_stands_from_who_walks():
    walker = Policy.load("mini_cheetah-rough")
    task = RoughTask(robot=CHEETAH, drive=walker.drive)
    courses = Courses(task, each=1, seconds=3.0)
    stands, walks = courses.mastered(still(task), 5).success, courses.mastered(walker, 5).success
    assert stands.shape == (len(KINDS), LEVELS)
    assert (stands.mean(), walks.mean() > 0.5) == (0.0, True)
    again = courses.mastered(walker, 5).success
    assert (again == walks).all()  # no trace of an exam is left to the next


@pytest.mark.parametrize("ground", ["plane", "slope:8", "rough:0.03"])
def test_heights_of_any_ground_are_found_from_above(ground):
    there, q = named(ground, seed=1), CHEETAH.state("stand")[0]
    q[0], q[2] = 0.3, 0.4
    found = heights_under(there, q, SCAN)
    for (x, y), z in zip(SCAN, found):
        assert abs(there.distance(np.array([q[0] + x, q[1] + y, z]))) < 1e-3


def test_a_scan_of_a_course_is_what_the_task_shows():
    task, course = RoughTask.of(CHEETAH), Course(rise=0.08)
    q, v = CHEETAH.state("stand")
    q[0], q[2] = 0.73, 0.35
    parameters = {f"ground.{key}": getattr(course, key) for key in ("rise", "tread", "start")}
    task_sees = task.scan_heights(q, parameters)
    policy = still(task).over(course)
    _, memory = policy(0.0, CHEETAH, Sensed(q=q, v=v, forces=np.zeros((4, 3))), Command(), policy.start(CHEETAH))
    assert set(memory) == {"action"}
    low = q[2] - CHEETAH.poses["stand"].height
    seen = np.clip(heights_under(course, q, SCAN) - low, -MAX_HEIGHT, MAX_HEIGHT)
    assert np.abs(seen - task_sees).max() < 0.011  # corners are filled with a quarter circle of 1 cm
    assert np.median(np.abs(seen - task_sees)) < 1e-3


def test_a_policy_that_sees_the_ground_travels_and_must_be_told_of_it(tmp_path):
    pytest.importorskip("onnx")
    policy = still(RoughTask.of(CHEETAH))
    with pytest.raises(InputError, match="over"):
        policy.start(CHEETAH)
    for name in ("sees.onnx", "sees.npz"):
        replace(policy, task="rough").save(tmp_path / name, CHEETAH)
        again = Policy.load(tmp_path / name)
        assert again.drive == policy.drive
        assert again.over(Plane()).start(CHEETAH)
        found = preflight(tmp_path / name, CHEETAH, seconds=0)
        assert found.ok, found.mismatches


@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "xiling"])
def test_tasks_scale_with_the_robot(name):
    robot = load(name)
    task, size = WalkTask.of(robot), Size.of(robot)
    assert (size == Size(1.0, 1.0)) == (name == "mini_cheetah")
    for key, (low, high) in WalkTask.commands.items():
        factor = size.speed if key != "turn" else 1.0 / size.time
        assert task.command_ranges[key] == pytest.approx((factor * low, factor * high))
    assert task.drive.gait.period == pytest.approx(0.4 * np.sqrt(robot.poses["stand"].height / 0.286), rel=1e-3)
    assert task.randomisation(True).push[1] / robot.mass == pytest.approx(3.0 / 8.912 * size.speed, rel=1e-4)
    assert task.randomisation({"friction": 0.7}).push == task.randomisation(True).push


def test_changed_ranges_leave_the_rest_as_the_task_has_it():
    full = RoughTask.of(CHEETAH).randomisation({"latency": (0.0, 1.0)})
    assert (full.latency, full.noise, full.strength) == ((0.0, 1.0), 1.0, (0.85, 1.1))


def test_a_training_ends_in_time_and_its_policy_is_evaluated_by_others(tmp_path):
    options = {"robots": 8, "settings": Settings(steps=4, rows=32)}
    rows = report(tmp_path, "cpu", ["walk"], ["dynakat"], 1, 4, seconds=0.01, **options)
    assert rows[0]["samples"] < 8 * 4 * 100
    assert (rows[0]["robot"], rows[0]["exam"], 0.0 <= rows[0]["fallen"] <= 1.0) == ("dynakat", None, True)
    assert (tmp_path / "dynakat-walk-0.npz").exists()


def test_the_policy_of_rough_ground_walks_up_steps_that_it_sees(capsys):
    """Of 6 cm, under the default contact, on a ground of another kind than its courses."""
    file = SHIPPED / "mini_cheetah-rough.npz"
    command = ["simulate", "mini_cheetah", "--controller", str(file), "--ground", "steps:0.06", "--speed", "0.4"]
    assert run([*command, "--duration", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["fell"]
    assert told["mean_speed"] == pytest.approx(0.4, abs=0.1)
