"""What a policy saw before, and what comes late: one algorithm on lanes, on a GPU and in the policy that is saved."""

from dataclasses import replace

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer

from footfall import compiling
from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import Drive, Policy
from footfall.errors import InputError
from footfall.learn.cuda_lanes import EpisodeSource, RobotColumn, reset_column, step_column
from footfall.learn.episode import Episodes, observe, step_episode
from footfall.learn.gym_env import WalkEnv, WalkVectorEnv
from footfall.learn.preflight import preflight
from footfall.learn.randomise import Randomisation
from footfall.learn.walk import COMMAND_RANGES, WalkTask
from footfall.robot.library import load
from nptrace.codegen import emit
from nptrace.frontend import tree

DYNAKAT = load("dynakat")
LATE = {"latency": (0.5, 2.0), "noise": 0.5}


def walk(history=3):
    task = WalkTask.of(DYNAKAT)
    return replace(task, drive=replace(task.drive, history=history))


@pytest.fixture(scope="module")
def source():
    return EpisodeSource(walk(), Randomisation(**LATE), COMMAND_RANGES, 0.1)


def policy_with(history, rng):
    drive = Drive(history=history, kp=12.0, kd=0.3)
    seen = len(drive.bounds(DYNAKAT))
    layers = ((0.1 * rng.normal(size=(seen, 8)), np.zeros(8)), (0.1 * rng.normal(size=(8, DYNAKAT.nj)), np.zeros(16)))
    return Policy(
        robot="dynakat",
        drive=drive,
        mean=np.zeros(seen),
        spread=np.ones(seen),
        weights=layers,
        joints=DYNAKAT.joint_names,
    )


@pytest.mark.parametrize("latency", [0.0, 1.0, 1.25, 3.0])
def test_what_is_measured_comes_late_and_what_is_known_does_not(latency):
    task = walk(history=1)
    episodes = Episodes(
        task=task,
        randomisation=Randomisation(latency=(0.0, 3.0)),
        ranges=COMMAND_RANGES,
        first=None,
        nominal={},
        limit=5,
    )
    size = len(task.frame_bounds)
    past = {"frames": np.zeros((4, size)), "latency": np.array(latency)}
    for age in range(6):
        past, seen = observe(episodes, past, np.full(size, 10.0 + age), float(age))
        measured, known = max(10.0, 10.0 + age - latency), 10.0 + age
        if age == 0 or age >= 3:  # between them part of the past is that of the first tick
            np.testing.assert_allclose(seen[task.delayed], measured)
        np.testing.assert_allclose(seen[~task.delayed], known)
    assert (~task.delayed).sum() == 3 + DYNAKAT.nj + 2


def test_a_history_is_what_was_seen_before_the_oldest_first(source):
    rng, episodes = np.random.default_rng(1), source.episodes
    size = len(episodes.task.frame_bounds)
    tracked = reset_column(episodes, source.first, rng.random(source.draws))
    episode, seen = tracked.episode, tracked.outcome.seen
    assert (seen.reshape(3, size) == seen[:size]).all()  # before the first tick the past is as the present
    for _ in range(3):
        before = seen
        episode, outcome = step_episode(episodes, episode, rng.random(source.draws))
        seen = outcome.seen
        assert (seen[: 2 * size] == before[size:]).all()
        assert (outcome.final[: 2 * size] == before[size:]).all()
    late, outcome = step_episode(episodes, replace(episode, age=episodes.limit - 1.0), rng.random(source.draws))
    assert (outcome.seen.reshape(3, size) == outcome.seen[:size]).all()
    assert (outcome.final[: 2 * size] == seen[size:]).all()
    assert 0.5 <= late.past["latency"] <= 2.0


@pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernel on the processor")
def test_the_kernel_of_a_gpu_keeps_the_past_as_numpy_does(source, tmp_path):
    rng, n = np.random.default_rng(2), 3
    tracked = [reset_column(source.episodes, source.first, rng.random(source.draws)) for _ in range(n)]
    chance = rng.random((n, source.draws)).astype(np.float32).astype(float)
    columns = np.array([source.ticks.numbers(one) for one in tracked], np.float32).T.copy()
    program = compiling.program(step_column, source.episodes, source.first, np.zeros(source.draws))
    library = emulate(program, emit.first_is_state([source.size, source.draws]), np.float32, tmp_path)
    rest = np.ascontiguousarray(chance.T.astype(np.float32))
    library.run_advance(pointer(columns), pointer(rest), pointer(np.zeros(1, np.float32)), 1, n)
    for k in range(n):
        leaves, rebuild = tree.flatten(tracked[k])
        exact: RobotColumn = rebuild([np.asarray(x, np.float32).astype(float) for x in leaves])
        wanted = source.ticks.numbers(step_column(source.episodes, exact, chance[k]))
        assert np.abs(columns[:, k] - wanted).max() < 2e-4 * max(1.0, np.abs(wanted).max())
    assert source.places["past"].start == source.places["level"].stop


def test_a_lane_with_a_past_is_a_single_environment_and_an_end_keeps_its_own():
    options = {"task": walk(), "randomise": LATE, "seconds": 0.1}
    many, one = WalkVectorEnv(3, threads=1, **options), WalkEnv(**options)
    seen, _ = many.reset(seed=7)
    alone, _ = one.reset(seed=8)
    rng, size = np.random.default_rng(0), seen.shape[1] // 3
    for _ in range(5):
        assert (seen[1] == alone).all()
        before, actions = seen, rng.uniform(-1, 1, (3, DYNAKAT.nj))
        seen, _, _, late, infos = many.step(actions)
        alone, _, _, _, _ = one.step(actions[1])
    assert late.all()
    for k in range(3):
        assert (infos["final_obs"][k][: 2 * size] == before[k][size:]).all()
        assert (seen[k].reshape(3, size) == seen[k][:size]).all()
    assert many.observation_space.contains(seen)


def test_a_reset_of_some_lanes_leaves_the_past_of_the_others():
    many = WalkVectorEnv(2, threads=1, task=walk(), randomise=LATE)
    many.reset(seed=3)
    before = many.step(np.zeros((2, DYNAKAT.nj)))[0]
    kept = {key: value[1].copy() for key, value in many.lanes.past.items()}
    seen, _ = many.reset(options={"reset_mask": np.array([True, False])})
    assert (seen[1] == before[1]).all()
    assert (seen[0] != before[0]).any()
    assert all((many.lanes.past[key][1] == value).all() for key, value in kept.items())


def test_a_policy_with_a_history_acts_as_its_environment_shows_it_and_travels(tmp_path):
    rng = np.random.default_rng(4)
    policy = policy_with(3, rng)
    size = len(policy.drive.frame_bounds(DYNAKAT))
    memory, frames = policy.start(DYNAKAT), []
    for k in range(4):
        q, v = DYNAKAT.state("stand")
        q, v = q + 0.01 * rng.normal(size=len(q)), rng.normal(size=len(v))
        sensed = Sensed(q=q, v=v, forces=np.zeros((DYNAKAT.nf, 3)))
        frames.append(policy.drive.observe(DYNAKAT, 0.02 * k, sensed, Command(forward=0.2), memory["action"]))
        _, memory = policy(0.02 * k, DYNAKAT, sensed, Command(forward=0.2), memory)
        stacked = np.concatenate([frames[max(0, k - 2 + i)] for i in range(3)])
        np.testing.assert_allclose(memory["action"], policy.action(stacked), atol=1e-12)
    onnxruntime = pytest.importorskip("onnxruntime")
    for name in ("past.onnx", "past.npz"):
        policy.save(tmp_path / name, DYNAKAT)
        again = Policy.load(tmp_path / name)
        assert again.drive == policy.drive
        np.testing.assert_allclose(again.action(stacked), policy.action(stacked), atol=1e-6)
    session = onnxruntime.InferenceSession(tmp_path / "past.onnx")
    words = session.get_modelmeta().custom_metadata_map
    assert (words["observation_history"], words["observation_stacking"]) == ("3", "frame")
    theirs = session.run(["actions"], {"obs": stacked[None].astype(np.float32)})[0][0]
    assert session.get_inputs()[0].shape[1] == 3 * size
    np.testing.assert_allclose(theirs, policy.action(stacked), atol=1e-5)
    found = preflight(tmp_path / "past.onnx", DYNAKAT, seconds=0)
    assert "history" not in {m.kind for m in found.mismatches}


def test_a_latency_or_history_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="latency must lie between 0 and 10"):
        Randomisation(latency=(0.0, 11.0))
    with pytest.raises(InputError, match="history"):
        Drive(history=0)
    assert Randomisation(latency=(1.0, 2.0)).extras == ("latency",)
