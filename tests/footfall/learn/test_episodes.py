"""Episodes are one algorithm: plain NumPy, on lanes, and as the kernel that a GPU runs after every tick."""

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer

from footfall import compiling
from footfall.control.interface import Command
from footfall.learn.cuda_lanes import EpisodeSource, RobotColumn, step_column
from footfall.learn.cuda_ppo import row_derivatives
from footfall.learn.episode import Episode, reset_episode, step_episode
from footfall.learn.ppo import Settings, divergence, policy_derivatives
from footfall.learn.randomise import Randomisation
from footfall.learn.walk import COMMAND_RANGES, WalkTask
from footfall.robot.library import load
from footfall.sim.tick import Inputs
from nptrace.codegen import emit
from nptrace.frontend import tree


@pytest.fixture(scope="module", params=["mini_cheetah", "dynakat"])
def source(request):
    task = WalkTask.of(load(request.param))
    return EpisodeSource(task, Randomisation(), COMMAND_RANGES, 0.1)


def an_episode(source, rng, **changes):
    episode = reset_episode(source.episodes, rng.random(source.episodes.draws))
    return Episode(**{**vars(episode), **changes})


def test_what_is_drawn_lies_within_its_ranges(source):
    rng, episodes = np.random.default_rng(3), source.episodes
    ranges = episodes.randomisation
    for _ in range(20):
        episode = an_episode(source, rng)
        assert ranges.friction[0] <= episode.parameters["ground.friction"] <= ranges.friction[1]
        for key, (low, high) in COMMAND_RANGES.items():
            assert low <= getattr(episode.inputs.command, key) <= high
        assert 0 <= episode.next_push <= ranges.push_every * episodes.task.drive.rate


def test_an_episode_goes_on_ends_late_or_ends_with_a_fall(source):
    rng, episodes = np.random.default_rng(5), source.episodes
    chance = rng.random(source.draws)
    goes_on, outcome = step_episode(episodes, an_episode(source, rng, age=0.0), chance)
    assert (goes_on.age, outcome.fallen, outcome.late) == (1.0, 0.0, 0.0)
    assert (outcome.seen == outcome.final).all()
    late, outcome = step_episode(episodes, an_episode(source, rng, age=episodes.limit - 1.0), chance)
    assert (late.age, outcome.fallen, outcome.late) == (0.0, 0.0, 1.0)
    assert (outcome.seen != outcome.final).any()
    over = an_episode(source, rng, age=episodes.limit - 1.0)
    turned = over.state.q.copy()
    turned[3:7] = 0.0, 1.0, 0.0, 0.0  # on its back
    fallen = Episode(**{**vars(over), "state": type(over.state)(**{**vars(over.state), "q": turned})})
    begins, outcome = step_episode(episodes, fallen, chance)
    assert (begins.age, outcome.fallen, outcome.late) == (0.0, 1.0, 0.0)
    assert outcome.reward < 0.0


def test_a_push_comes_at_its_age_for_one_tick(source):
    rng, episodes = np.random.default_rng(7), source.episodes
    episode, pushes = an_episode(source, rng, age=0.0, next_push=2.0), []
    for _ in range(4):
        episode, _ = step_episode(episodes, episode, rng.random(source.draws))
        pushes.append(float(np.hypot(*episode.inputs.push[3:5])))
    assert pushes[0] == 0.0
    assert pushes[1] > 0.0
    assert pushes[2:] == [0.0, 0.0]


@pytest.mark.skipif(COMPILER is None, reason="needs g++ to run the kernel on the processor")
def test_the_kernel_of_a_gpu_evaluates_as_numpy_does(source, tmp_path):
    """Also for a robot whose numbers are lost: it begins anew."""
    rng, n = np.random.default_rng(11), 5
    ages = [0.0, source.episodes.limit - 1.0, 3.0, 1.0, 0.0]
    tracked = [RobotColumn(an_episode(source, rng, age=age, next_push=2.0), source.first.outcome) for age in ages]
    chance = rng.random((n, source.draws)).astype(np.float32).astype(float)
    columns = np.array([source.ticks.numbers(one) for one in tracked], np.float32).T.copy()
    lost = 2
    columns[source.ticks.rows("v"), lost] = np.nan
    program = compiling.program(step_column, source.episodes, source.first, np.zeros(source.draws))
    layout = emit.first_is_state([source.size, source.draws])
    library = emulate(program, layout, np.float32, tmp_path)
    state, rest = columns.copy(), np.ascontiguousarray(chance.T.astype(np.float32))
    library.run_advance(pointer(state), pointer(rest), pointer(np.zeros(1, np.float32)), 1, n)
    for k in range(n):
        leaves, rebuild = tree.flatten(tracked[k])
        exact = rebuild([np.asarray(x, np.float32).astype(float) for x in leaves])
        wanted = source.ticks.numbers(step_column(source.episodes, exact, chance[k]))
        if k == lost:
            assert state[source.places["fallen"], k] == 1.0
            rows = slice(0, source.places["final"].start)  # the episode that it begins, and what it sees
            fresh = reset_episode(source.episodes, chance[k])
            assert np.isfinite(state[rows, k]).all()
            assert np.abs(state[source.ticks.rows("q"), k] - fresh.state.q).max() < 1e-5
            continue
        assert np.abs(state[:, k] - wanted).max() < 2e-4 * max(1.0, np.abs(wanted).max())


def test_slopes_of_a_row_are_those_of_the_batch():
    rng, s = np.random.default_rng(0), Settings()
    center, action, was = rng.normal(size=(3, 6, 4))
    likelihood, merit, target, value = rng.normal(size=(4, 6))
    noise = rng.normal(size=(2, 4)) * 0.2
    _, by_center, by_noise = policy_derivatives(s.clip, center, action, likelihood, merit, noise[0])
    for k in range(6):
        row = (action[k], likelihood[k], was[k], merit[k], target[k])
        slopes = row_derivatives(s.clip, (center[k], value[k]), row, noise)
        np.testing.assert_allclose(slopes[0], by_center[k])
        assert slopes[1] == value[k] - target[k]
        np.testing.assert_allclose(slopes[2], by_noise[k])
        assert slopes[3] == pytest.approx(divergence(was, noise[1], center, noise[0])[k])


def test_places_of_a_column_are_where_the_numbers_lie(source):
    marked = RobotColumn(
        Episode(
            state=source.ticks.first,
            inputs=Inputs(Command(forward=0.123), np.zeros(6)),
            parameters=source.ticks.parameters,
            age=17.0,
            next_push=19.0,
        ),
        source.first.outcome,
    )
    column = source.ticks.numbers(marked)
    assert column[source.places["age"]] == 17.0
    assert column[source.places["next_push"]] == 19.0
    assert column[source.places["inputs"]][0] == np.float32(0.123)
    assert (column[source.places["gains"]] == 1.0).all()
    assert source.places["score"].stop == len(column) == source.size
