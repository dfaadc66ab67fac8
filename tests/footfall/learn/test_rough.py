"""Walking over courses: ten levels of every kind, who goes up and down, what a policy sees of the ground."""

from dataclasses import replace

import numpy as np
import pytest

from footfall import compiling
from footfall.contact.course import Course
from footfall.control.interface import Command
from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions
from footfall.learn.cuda_lanes import EpisodeSource
from footfall.learn.episode import reset_episode, step_episode
from footfall.learn.randomise import Randomisation
from footfall.learn.rough import DEEP, KINDS, LEVELS, SCAN, Mastery, RoughTask, course_of
from footfall.learn.terms import Tick, feet_on_edge
from footfall.learn.training import TASKS
from footfall.learn.walk import WalkTask
from footfall.robot.library import load
from nptrace.frontend import tree

CHEETAH = load("mini_cheetah")


def ground(parameters):
    return Course(**{path.partition(".")[2]: float(value) for path, value in parameters.items() if "ground" in path})


@pytest.fixture(scope="module")
def source():
    return EpisodeSource(RoughTask.of(CHEETAH), Randomisation.full(CHEETAH), RoughTask.commands, 2.0)


def on(kind, level, phase=0.0):
    return ground({**course_of(float(list(KINDS).index(kind)), float(level), phase), "ground.deep": DEEP})


def test_levels_grow_to_what_is_to_be_mastered():
    up, hill, stones, gaps = (on(kind, LEVELS - 1) for kind in ("upstairs", "uphill", "stones", "gaps"))
    assert (up.rise, hill.slope) == (pytest.approx(0.15), pytest.approx(0.3))
    assert (stones.gap, stones.tread) == (pytest.approx(0.12), pytest.approx(0.25))
    assert (gaps.gap >= 0.15, gaps.tread) == (True, pytest.approx(0.5))
    for kind in KINDS:
        first, last = on(kind, 0, 3.0), on(kind, LEVELS - 1, 3.0)
        for key in ("slope", "rise", "bumps", "gap"):
            assert abs(getattr(first, key)) == pytest.approx(0.1 * abs(getattr(last, key)))
    many = course_of(np.array([0.0, 4.0]), np.array([1.0, 6.0]), np.zeros(2))
    assert many["ground.rise"] == pytest.approx([0.0, 0.105])


@pytest.mark.parametrize("kind", ["stones", "gaps"])
def test_a_trench_cannot_be_walked_through_on_any_level(kind):
    """A leg in line does not reach its bottom from where the trunk stands."""
    reach = sum(np.linalg.norm(body.X_PJ.p) for body in CHEETAH.tree.bodies[3:4])
    reach += np.linalg.norm(CHEETAH.tree.foot_positions[0]) + CHEETAH.feet[0].radius
    for level in range(LEVELS):
        course = on(kind, level)
        x = course.start + course.tread + 0.5 * course.gap
        assert course.height(x) == pytest.approx(-DEEP)
        assert CHEETAH.poses["stand"].height + DEEP > reach
        assert 0.9 * reach < DEEP


def test_a_scan_sees_both_edges_of_the_narrowest_gap_that_is_to_be_mastered_before_a_foot_is_there():
    """From any place before it: at least four of the places lie in 15 cm, and it reaches a stride beyond the feet."""
    places = np.array([x for x, _ in SCAN])
    for at in np.linspace(-0.3, 0.4, 71):
        assert np.sum((places > at) & (places < at + 0.15)) >= 4
    assert places.max() > foot_positions(CHEETAH, CHEETAH.state("stand")[0])[:, 0].max() + 0.2 + 0.15


def test_feet_on_the_edge_of_a_trench_are_told_from_feet_beside_a_riser():
    task, q = RoughTask.of(CHEETAH), CHEETAH.state("stand")[0]
    feet, tick = foot_positions(CHEETAH, q), task._standing()
    down = np.tile([0.0, 0.0, 20.0], (4, 1))
    front = feet[0, 0]

    def footing(at, **course):
        parameters = {"ground.start": at, "ground.tread": 0.5, **{f"ground.{k}": v for k, v in course.items()}}
        return feet_on_edge(Tick(task, replace(tick.state, forces=down), tick.command, parameters))

    assert footing(front - 0.5 + 0.02, gap=0.15) == 0.5  # both front feet stand 2 cm before a trench
    assert footing(front - 0.5 + 0.04, gap=0.15) == 0.0
    assert footing(front + 0.02, rise=0.15) == 0.0  # before a riser they stand well
    down = 0.0 * down
    assert footing(front - 0.48, gap=0.15) == 0.0


@pytest.mark.parametrize(
    ("level", "travelled", "fallen", "after"),
    [
        (3.0, 1.9, 0.0, 4.0),
        (3.0, 1.3, 0.0, 3.0),
        (3.0, 0.5, 0.0, 2.0),
        (3.0, 1.9, 1.0, 2.0),
        (0.0, 0.0, 1.0, 0.0),
        (9.0, 2.0, 0.0, 9.0),
    ],
)
def test_who_walks_far_goes_up_and_who_falls_goes_down(level, travelled, fallen, after):
    assert RoughTask.of(CHEETAH).next_level(level, travelled, 2.0, fallen, 0.0) == after


def test_episodes_begin_on_their_course_with_no_foot_in_it(source):
    rng, episodes = np.random.default_rng(8), source.episodes
    seen = set()
    for k in range(60):
        episode = reset_episode(episodes, rng.random(episodes.draws), float(k % LEVELS))
        course, q = ground({**episode.parameters, "ground.deep": DEEP}), episode.state.q
        feet = foot_positions(CHEETAH, q)
        clear = [course.distance(p) - foot.radius for p, foot in zip(feet, CHEETAH.feet)]
        assert -2e-3 < min(clear) < 0.02
        seen.add(tuple(key for key in ("slope", "rise", "bumps", "gap") if getattr(course, key)))
        assert episode.parameters["trunk.mass"] <= 1.3 * CHEETAH.link("trunk").mass + 0.1 * CHEETAH.mass
        assert 0.0 <= episode.state.memory["delay"] <= 0.8
    assert len(seen) == 4


def test_a_scan_is_the_height_of_the_ground_around_the_robot(source):
    task, rng = source.episodes.task, np.random.default_rng(9)
    episode = reset_episode(source.episodes, rng.random(source.episodes.draws), 7.0)
    yaw, q = 0.7, episode.state.q.copy()
    q[0], q[3:7] = 1.1, (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
    seen = task.observe(replace(episode.state, q=q), Command(), episode.parameters)
    course, low = ground({**episode.parameters, "ground.deep": DEEP}), q[2] - CHEETAH.poses["stand"].height
    wanted = [course.height(q[0] + np.cos(yaw) * x - np.sin(yaw) * y) - low for x, y in SCAN]
    assert np.allclose(seen[-len(SCAN) :], np.clip(wanted, -1.0, 1.0))
    assert len(seen) == len(task.bounds)
    assert len(WalkTask.of(CHEETAH).bounds) == len(seen) - len(SCAN)


def test_machine_code_judges_as_numpy_does_and_moves_a_robot_up_a_level(source):
    rng, episodes = np.random.default_rng(10), source.episodes
    chance = rng.random(source.draws)
    early = reset_episode(episodes, rng.random(episodes.draws), 4.0)
    q = early.state.q.copy()
    q[0] = 5.0
    state = replace(early.state, q=q + np.eye(19)[2] * ground(early.parameters).height(5.0))
    late = replace(early, age=episodes.limit - 1.0, state=state)
    compiled = compiling.compile(step_episode, episodes, early, chance, verify=False)
    for episode, level in ((early, 4.0), (late, 5.0)):
        now, outcome = step_episode(episodes, episode, chance)
        assert np.floor(now.level) == level
        assert now.level % 1.0 == early.level % 1.0  # the kind of its course
        assert outcome.score == pytest.approx(0.5)
        found = compiled(episode, chance)
        for ours, theirs in zip(tree.flatten((now, outcome))[0], tree.flatten(found)[0]):
            assert np.allclose(ours, theirs, atol=1e-9)


def test_noise_hides_what_is_seen_and_not_what_is_judged(source):
    rng, episodes = np.random.default_rng(11), source.episodes
    episode = reset_episode(episodes, rng.random(episodes.draws), 0.0)
    chance = rng.random(source.draws)
    _, outcome = step_episode(episodes, episode, chance)
    off = np.abs(outcome.seen - outcome.final) / episodes.task.bounds
    assert 0.005 < off.max() <= 0.01 + 1e-9


def test_the_gpu_runs_its_physics_a_thread_for_each_leg(source):
    assert source.ticks.threads == 4
    assert len(source.ticks.simulation.model.world.spheres) == 16  # feet, knees, two on every shank
    assert source.places["level"].start == source.places["next_push"].stop


def test_what_is_drawn_by_name_is_checked():
    with pytest.raises(InputError, match="delay"):
        Randomisation(delay=(0.0, 2.0))
    with pytest.raises(InputError, match="strength"):
        Randomisation(strength=(0.0, 1.0))
    assert Randomisation().extras == ()
    assert {"rough", "rough_blind", "recover", "walk"} == set(TASKS)


def test_a_table_of_mastery_has_a_row_for_each_kind():
    text = Mastery(np.full((len(KINDS), LEVELS), 0.5)).table()
    assert [line.split()[0] for line in text.splitlines()[1:]] == list(KINDS)
    assert text.splitlines()[1].split()[1:] == ["50"] * LEVELS
