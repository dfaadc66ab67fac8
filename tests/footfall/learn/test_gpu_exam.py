"""Exams on a GPU: what is counted, on lanes that stand in for it, and that its courses are those of the processor."""

import json
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from footfall import compiling
from footfall.control.learned.policy import Policy
from footfall.learn.cuda_lanes import EpisodeSource, GpuExam, reset_column, step_column
from footfall.learn.episode import reset_episode
from footfall.learn.rough import KINDS, LEVELS, UP, Courses, GivenCourse, RoughTask, course_of
from footfall.learn.task import Exam, ExamRuns
from footfall.learn.tasks import TASKS
from footfall.learn.walk import WalkTask
from footfall.robot.library import load
from footfall.sim.rollouts import compile_tick
from nptrace.frontend import tree

sys.path.append(str(Path(__file__).parents[3] / "studies"))
import gpu_bench
from gpu_bench import CURVE, LAST, Bench, level

CHEETAH = load("mini_cheetah")
CELLS = len(KINDS) * LEVELS


def given(task):
    return GivenCourse(**{f.name: getattr(task, f.name) for f in fields(task)})


class Toy:
    """Lanes of which lane k moves on by 0.01 k m a tick, and falls in tick k if k is odd; its numbers are then lost."""

    def __init__(self, task, n):
        self.n, self.tick_now = n, 0
        self.cupy = SimpleNamespace(asarray=np.asarray, asnumpy=np.asarray)
        episodes = SimpleNamespace(draws=5)
        self.source = SimpleNamespace(draws=7, episodes=episodes, ticks=SimpleNamespace(rows=lambda name: slice(1, 2)))
        sizes = {"seen": len(task.bounds), "action": 12, "fallen": 1, "velocity": 3, "state": 3, "score": 1}
        self.numbers = {key: np.zeros((size, n), np.float32) for key, size in sizes.items()}
        self.chances = []

    def rows(self, name):
        return self.numbers[name]

    def begin(self, chance):
        self.chances.append(chance)

    def tick(self, chance):
        lane = np.arange(self.n)
        self.chances.append(chance)
        self.tick_now += 1
        self.numbers["state"][1] += 0.01 * lane
        self.numbers["velocity"][0] = 0.5 * lane
        fell = (lane % 2 == 1) & (self.tick_now == lane)
        self.numbers["fallen"][0] = np.where(fell, np.where(lane == 3, np.nan, 1.0), 0.0)
        self.numbers["score"][0] = self.tick_now


def test_an_exam_counts_who_ever_fell_where_the_others_are_and_how_fast():
    task = WalkTask.of(CHEETAH)
    lanes, seen = Toy(task, 6), len(task.bounds)
    layers = ((np.zeros((seen, 4)), np.zeros(4)), (np.zeros((4, 12)), np.full(12, 3.0)))
    policy = Policy(
        robot="mini_cheetah",
        drive=task.drive,
        mean=np.zeros(seen),
        spread=np.ones(seen),
        weights=layers,
        joints=CHEETAH.joint_names,
    )
    exam = Exam(task=task, robots=6, seconds=2.0, first=np.full(6, 0.25))
    runs = GpuExam(exam, lanes).run(policy, 4)
    assert runs.fallen.tolist() == [False, True, False, True, False, True]
    assert runs.x == pytest.approx(np.arange(6.0), rel=1e-5)  # 100 ticks
    assert runs.velocity[:, 0] == pytest.approx(0.5 * np.arange(6))
    assert (runs.score == 100).all()
    assert (lanes.numbers["action"] == 1.0).all()  # as far as an action goes
    assert (lanes.chances[0][5 - task.start_draws] == np.float32(0.25)).all()
    assert len({chance.tobytes() for chance in lanes.chances}) == 101


def test_a_given_course_is_every_level_of_every_kind():
    task = given(RoughTask.of(CHEETAH))
    for cell in range(CELLS):
        chance = np.array([(cell + 0.5) / CELLS, 0.3])
        told = task.assign_level(2.0, chance)
        kind, level_ = divmod(cell, LEVELS)
        wanted = course_of(float(kind), float(level_), np.floor(64 * 0.3))
        found = task.terrain(told, chance)
        assert set(found) == set(wanted)
        assert all(found[key] == pytest.approx(float(wanted[key])) for key in found)
        assert task.next_level(told, 9.0, 1.0, 0.0, 1.0) == told
    assert len(task.bounds) == len(RoughTask.of(CHEETAH).bounds)


def test_the_level_of_walking_is_where_the_measured_curve_ends(tmp_path):
    lines = CURVE.read_text().splitlines()
    at = lines[0].split(",").index("reward")
    assert level() == pytest.approx(sum(float(line.split(",")[at]) for line in lines[-LAST:]) / LAST)
    short = tmp_path / "short.csv"
    short.write_text("\n".join(lines[:5]))
    with pytest.raises(Exception, match="at least 10 rows"):
        level(short)


def test_a_part_without_time_is_left_out_and_what_was_found_before_stays(tmp_path, capsys):
    (tmp_path / "tasks.json").write_text('{"walk": {"fallen": 0.0}}')
    assert Bench(folder=tmp_path, until=0.0).run(list(TASKS)) == {"walk": {"fallen": 0.0}}
    assert capsys.readouterr().err.count("left_out") == len(TASKS)


class ToyTraining:
    """Whose policies give one more of 0.1 after every look; half a second each."""

    def __init__(self, task, seed):
        self.task, self.seconds, self.iteration, self.curve, self.robots = task, 0.0, 0, [], 4096
        self.torch = SimpleNamespace(cuda=SimpleNamespace(get_device_name=lambda: "toy"))

    def iterate(self, count):
        self.seconds, self.iteration = self.seconds + 0.5, self.iteration + count
        self.curve.append(
            {"iteration": self.iteration, "seconds": self.seconds, "reward": 0.0, "falls": 0.0, "score": 0}
        )
        return self.curve[-1]

    def policy(self):
        seen, task = len(self.task.bounds), self.task
        layers = ((np.zeros((seen, 4)), np.zeros(4)), (np.zeros((4, 12)), np.full(12, 0.01 * self.iteration)))
        return Policy(
            robot="mini_cheetah",
            drive=task.drive,
            mean=np.zeros(seen),
            spread=np.ones(seen),
            weights=layers,
            joints=CHEETAH.joint_names,
        )


class ToyExam:
    """Mastered the better the nearer actions are to 0.1."""

    def __init__(self, exam):
        self.exam = exam

    @staticmethod
    def of(exam):
        return ToyExam(exam)

    def run(self, policy, seed):
        n, off = self.exam.robots, abs(policy.action(np.zeros(len(self.exam.task.bounds)))[0] - 0.1)
        x = np.where(np.arange(n) < round(n * (1.0 - off)), 100.0, 0.0)
        return ExamRuns(np.zeros(n, bool), x, np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n))


@pytest.mark.parametrize("name", ["rough", "rough_blind"])
def test_a_part_keeps_the_best_of_its_exams_and_writes_policy_and_numbers(tmp_path, monkeypatch, name):
    monkeypatch.setattr(gpu_bench, "CudaTraining", ToyTraining)
    monkeypatch.setattr(gpu_bench, "GpuExam", ToyExam)
    found = Bench(folder=tmp_path, until=time.monotonic() + 1e4, seconds=2.0).run([name])[name]
    assert json.loads((tmp_path / "tasks.json").read_text())[name]["percent_by_level"] == found["percent_by_level"]
    assert (found["iterations"], len(found["exams"]), found["mastered"]) == (20, 4, 1.0)
    kept = Policy.load(tmp_path / f"mini_cheetah-{name}.npz")
    assert (kept.task, set(found["percent_by_level"])) == (name, set(KINDS))
    assert kept.action(np.zeros(len(kept.mean)))[0] == pytest.approx(0.1)


class OnProcessor:
    """What ``CudaLanes`` does, its three functions compiled for the processor."""

    def __init__(self, task, n, command, seconds):
        self.n, self.cupy = n, SimpleNamespace(asarray=np.asarray, asnumpy=np.asarray)
        self.source = source = EpisodeSource(task, task.randomisation(True), command, seconds)
        example, ticks = np.zeros(source.draws), source.ticks
        self.columns = np.zeros((source.size, n), np.float32)
        options = {"target": "batch", "dtype": np.float32, "verify": False}
        self._begin = compiling.compile(reset_column, source.episodes, source.first, example, **options)
        self._step = compiling.compile(step_column, source.episodes, source.first, example, **options)
        free = tuple(ticks.parameters)
        model = ticks.simulation.model
        self._tick = compile_tick(model, ticks.first, ticks.inputs, free=free, **options)

    def rows(self, name):
        return self.columns[self.source.places[name]]

    def _tracked(self):
        leaves, rebuild = tree.flatten(self.source.first)
        out, at = [], 0
        for leaf in leaves:
            size = np.size(leaf)
            out.append(self.columns[at : at + size].T.reshape(self.n, *np.shape(leaf)))
            at += size
        return rebuild(out)

    def _keep(self, tracked):
        flat = [np.asarray(x, np.float32).reshape(self.n, -1) for x in tree.flatten(tracked)[0]]
        self.columns[:] = np.concatenate(flat, axis=1).T

    def begin(self, chance):
        self._keep(self._begin(self._tracked(), chance.T))

    def tick(self, chance):
        now = self._tracked()
        episode = now.episode
        state = self._tick(episode.state, episode.inputs, episode.parameters)
        self._keep(self._step(replace(now, episode=replace(episode, state=state)), chance.T))


@pytest.mark.slow
def test_courses_of_a_gpu_are_mastered_as_those_of_the_processor():
    policy = Policy.load("mini_cheetah-rough")
    task, each, seconds = RoughTask(robot=CHEETAH, drive=policy.drive), 2, 4.0
    exam = given(task)
    lanes = OnProcessor(exam, each * CELLS, {**exam.command_ranges, "forward": (0.4, 0.4)}, seconds + 1.0)
    cell = np.arange(lanes.n) // each
    robots = Exam(task=exam, robots=lanes.n, seconds=seconds, first=(cell + 0.5) / CELLS)
    runs = GpuExam(robots, lanes).run(policy, 1)
    ours = (~runs.fallen & (runs.x > UP * 0.4 * seconds)).reshape(len(KINDS), -1).mean(axis=1)
    theirs = Courses(task, each=each, seconds=seconds).mastered(policy, 1).success.mean(axis=1)
    assert np.abs(ours - theirs).max() < 0.3  # 20 robots of a kind, other draws
    assert ours.mean() == pytest.approx(theirs.mean(), abs=0.1)
    assert ours.mean() > 0.4
    begins = reset_episode(lanes.source.episodes, np.full(lanes.source.draws, 0.5, float))
    assert np.isfinite(begins.state.q).all()
