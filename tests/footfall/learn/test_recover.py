"""Getting up: where episodes begin, what counts as up, and that a training learns some of it."""

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Command
from footfall.control.learned.policy import Drive, Policy
from footfall.errors import FootfallError
from footfall.kinematics.forward import body_poses
from footfall.learn.cuda_lanes import EpisodeSource
from footfall.learn.episode import reset_episode
from footfall.learn.lanes import WalkLanes
from footfall.learn.randomise import Randomisation
from footfall.learn.recover import UP_HEIGHT, WEIGHTS, RecoverTask, evaluate_recovery
from footfall.learn.task import evaluate_tick
from footfall.learn.training import TASKS, CpuTraining
from footfall.robot.library import load
from footfall.sim.tick import at_rest
from footfall.spatial.quaternion import to_rotation

CHEETAH = load("mini_cheetah")


@pytest.fixture(scope="module")
def source():
    return EpisodeSource(RecoverTask.of(load("xiling"), any_pose=1.0), Randomisation(), RecoverTask.commands, 1.0)


def test_episodes_begin_turned_any_way_with_no_link_in_the_ground(source):
    rng, task = np.random.default_rng(2), source.episodes.task
    up, lowest = [], []
    for _ in range(200):
        q = reset_episode(source.episodes, rng.random(source.episodes.draws)).state.q
        poses = body_poses(task.robot, q)
        lowest.append(min(poses[s.body].point(s.center)[2] - s.radius for s in task.spheres))
        up.append(to_rotation(q[3:7])[2, 2])
        assert np.linalg.norm(q[3:7]) == pytest.approx(1.0)
        assert (task.limits[0] - 1e-9 <= q[7:]).all()
        assert (q[7:] <= task.limits[1] + 1e-9).all()
    assert np.allclose(lowest, 0.02)
    assert np.mean(up) == pytest.approx(0.0, abs=0.13)  # of a direction that is uniform on the sphere
    assert np.mean(np.square(up)) == pytest.approx(1 / 3, abs=0.07)


def test_what_touches_in_an_episode_is_what_touches_in_its_simulation(source):
    ours, theirs = source.episodes.task.spheres, source.ticks.simulation.model.world.spheres
    assert [s.name for s in ours] == [s.name for s in theirs]
    assert all((a.center == b.center).all() for a, b in zip(ours, theirs))


@pytest.mark.parametrize("level", [0.0, 4.0, 9.0])
def test_higher_levels_begin_further_from_standing(level):
    task, rng = RecoverTask.of(CHEETAH, any_pose=0.0), np.random.default_rng(3)
    q, _ = CHEETAH.state("stand")
    begun_at = [task.initial_pose(q, Randomisation(), rng.random(12), rng.random(4), {}, level) for _ in range(100)]
    lean = [np.arccos(to_rotation(q[3:7])[2, 2]) for q in begun_at]
    assert 0.8 * np.pi * (level + 1) / 10 < max(lean) <= np.pi * (level + 1) / 10
    assert task.next_level(level, 0.0, 0.0, 0.0, 1.0) == min(level + 1.0, 9.0)
    assert task.next_level(level, 0.0, 0.0, 0.0, 0.0) == max(level - 0.5, 0.0)


def test_righting_pays_as_much_in_all_as_the_trunk_has_turned():
    task = RecoverTask.of(CHEETAH, weights={"righting": 2.0})
    lanes = WalkLanes(task, 4, threads=1, randomise=False)
    lanes.generators = [np.random.default_rng(k) for k in range(4)]
    lanes.level[:] = 9.0
    lanes.begin(range(4))
    first, paid = lanes.batch.q.copy(), np.zeros(4)
    for _ in range(25):
        paid += lanes.tick(np.zeros((4, 12))).result.terms["righting"]
    turned = [to_rotation(b[3:7])[2, 2] - to_rotation(a[3:7])[2, 2] for a, b in zip(first, lanes.batch.q)]
    assert np.allclose(paid, np.array(turned), atol=1e-4)


@pytest.mark.parametrize("fault", ["none", "low", "leaning", "on its knee"])
def test_up_is_upright_and_high_and_on_feet_alone(fault):
    task = RecoverTask.of(CHEETAH)
    q, v = CHEETAH.state("stand")
    world = ff.Simulation(CHEETAH, **task.world).model.world
    memory = {"action": np.zeros(12), "last": np.zeros(12), "gains": np.ones(2), "upright": 1.0}
    state = at_rest(world, q, v, memory)
    state.forces[:4, 2] = 0.25 * CHEETAH.mass * 9.81
    if fault == "low":
        state.q[2] *= UP_HEIGHT - 0.01
    if fault == "leaning":
        state.q[3:7] = np.cos(0.25), np.sin(0.25), 0.0, 0.0
    if fault == "on its knee":
        state.forces[-1, 2] = 5.0
    result = evaluate_tick(task, state, Command())
    assert result.score == (1.0 if fault == "none" else 0.0)
    assert result.fallen == 0.0
    assert result.reward == pytest.approx(sum(result.terms.values()))
    if fault == "none":  # standing still is worth all that is to be had
        assert result.reward * task.drive.rate == pytest.approx(
            sum(w for key, w in WEIGHTS.items() if w > 0.0 and key != "righting")
        )


def test_a_robot_that_is_lost_ends_its_episode():
    task = RecoverTask.of(CHEETAH)
    q, v = CHEETAH.state("stand")
    memory = {"action": np.zeros(12), "last": np.zeros(12), "gains": np.ones(2), "upright": 1.0}
    world = ff.Simulation(CHEETAH, **task.world).model.world
    assert evaluate_tick(task, at_rest(world, q, np.full(18, np.nan), memory), Command()).fallen == 1.0
    assert evaluate_tick(task, at_rest(world, q, v + 100.0, memory), Command()).fallen == 1.0


def test_the_gpu_runs_its_physics_a_thread_for_each_leg(source):
    assert source.ticks.threads == 4
    assert "step_advance" in source.step


def test_a_robot_without_a_stand_cannot_learn_to_get_up():
    with pytest.raises(FootfallError, match="getting up needs a pose 'stand', which robot 'mini_cheetah' lacks"):
        TASKS["recover"](robot=CHEETAH.replace(poses={}))
    with pytest.raises(FootfallError, match="'jump'"):
        RecoverTask.of(CHEETAH, weights={"jump": 1.0})


def test_evaluation_tells_who_is_up_since_when():
    """By a policy that only stands: who lands on feet is up, who lies on the back is not."""
    drive = Drive(kp=40.0, kd=1.0)
    size = len(drive.bounds(CHEETAH))
    idle = Policy(
        robot="mini_cheetah",
        drive=drive,
        mean=np.zeros(size),
        spread=np.ones(size),
        weights=((np.zeros((size, 12)), np.zeros(12)),),
    )
    found = evaluate_recovery(idle, CHEETAH, robots=64, seconds=2.0, randomise=False, threads=1)
    assert 0 < found.part < 0.5
    assert not found.up[found.lean > 2.6].any()
    assert (np.isfinite(found.seconds) == found.up).all()
    assert (found.seconds[found.up] <= 2.0).all()


@pytest.mark.slow
def test_a_short_training_raises_the_reward():
    """After the first episodes, which all began together."""
    training = CpuTraining(robots=384, seed=1, task=RecoverTask.of(CHEETAH))
    rewards = [training.iterate()["reward"] for _ in range(60)]
    assert np.mean(rewards[-6:]) > np.mean(rewards[6:12]) + 0.002
