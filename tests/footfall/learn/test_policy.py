"""A learned policy is a controller as any other, and the one that comes with footfall walks."""

import json

import numpy as np
import pytest

import footfall as ff
from footfall.analysis.gait_diagram import phases_of_recording
from footfall.control.interface import Command, Sensed
from footfall.control.learned.policy import Drive, Policy, shipped
from footfall.control.named import learned
from footfall.errors import InputError
from footfall.learn.figures import stills_figure
from footfall.learn.gym_env import WalkEnv
from footfall.learn.task import evaluate_tick
from footfall.learn.walk import WalkTask, evaluate
from footfall.sim.runfile import RunOptions, plan

CHEETAH = ff.load("mini_cheetah")


@pytest.fixture(scope="module")
def walker():
    return Policy.load("mini_cheetah")


def small(seed=0):
    """A policy with a tiny network of chance."""
    rng, drive = np.random.default_rng(seed), Drive()
    seen = len(drive.bounds(CHEETAH))
    weights = [(0.3 * rng.normal(size=(seen, 4)), rng.normal(size=4)), (rng.normal(size=(4, 12)), rng.normal(size=12))]
    return Policy(
        robot="mini_cheetah",
        drive=drive,
        mean=rng.normal(size=seen),
        spread=1.0 + rng.random(seen),
        weights=tuple(weights),
    )


def test_the_shipped_policy_trots_at_the_speed_it_is_told(walker):
    """Robots of different mass, gains and friction, pushed now and then."""
    found = evaluate(walker, CHEETAH, Command(forward=0.4), robots=64, seconds=5.0, threads=1)
    assert not found.fallen.any()
    assert found.within(0.4, 0.1) == 1.0
    assert found.trots().all()
    assert np.ptp(found.drawn["ground.friction"]) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1_000_000, 5_000_000])
def test_none_of_256_robots_falls_or_is_off_by_a_tenth_under_the_shipped_policy(walker, seed):
    """What the page on learning says."""
    found = evaluate(walker, CHEETAH, Command(forward=0.4), robots=256, seconds=10.0, seed=seed, threads=1)
    assert not found.fallen.any()
    assert found.within(0.4, 0.1) == 1.0
    assert found.trots().all()


def test_the_shipped_policy_walks_in_a_simulation_with_another_step(walker):
    simulation = ff.Simulation(CHEETAH, walker, dt=1e-3, command=Command(forward=0.4))
    rec = simulation.run(5.0)
    assert simulation.controller_is_compiled
    assert simulation.stopped is None
    forward, sideways, turn = rec.mean_velocity(after=1.0)
    assert forward == pytest.approx(0.4, rel=0.15)
    assert abs(sideways) < 0.05
    assert abs(turn) < 0.1
    assert len(stills_figure(rec, walker.gait, after=4.0).axes) == 8
    with pytest.raises(InputError, match="ends before"):
        stills_figure(rec, walker.gait, after=5.0)
    phases = phases_of_recording(rec.between(1.0, 5.0))
    away = {leg: (phases[leg] - phases["LF"] + 0.5) % 1.0 - 0.5 for leg in phases}
    assert abs(away["RH"]) < 0.1
    assert all(abs(away[leg]) > 0.4 for leg in ("RF", "LH"))


def test_the_shipped_policy_turns_and_steps_aside(walker):
    asked = [Command(turn=0.4), Command(sideways=0.2), Command(forward=-0.2)]
    for command, part in zip(asked, (2, 1, 0)):
        found = evaluate(walker, CHEETAH, command, robots=16, seconds=4.0, randomise=False, threads=1)
        aim = (command.forward, command.sideways, command.turn)[part]
        assert not found.fallen.any()
        assert found.velocity[:, part].mean() == pytest.approx(aim, rel=0.3)


def test_the_command_line_knows_it(walker):
    run = plan(CHEETAH, RunOptions(robot="mini_cheetah", controller="learned"))
    assert isinstance(run.simulation.controller, Policy)
    assert run.commanded_speed == 0.4
    with pytest.raises(InputError, match="only the gait 'trot'"):
        learned("mini_cheetah", "walk")
    with pytest.raises(InputError, match="unknown policy 'xiling'"):
        learned("xiling")
    assert "mini_cheetah" in shipped()


def test_compiled_it_acts_as_in_numpy():
    policy = small()
    simulation = ff.Simulation(CHEETAH, policy, dt=2e-3, command=Command(forward=0.3), start=CHEETAH.state("stand"))
    rec = simulation.run(0.2)
    memory, q, v = policy.start(CHEETAH), *CHEETAH.state("stand")
    assert simulation.controller_is_compiled
    for k in range(5):
        sensed = Sensed(q=q, v=v, forces=np.zeros((4, 3)))
        asked, memory = policy(k / 50, CHEETAH, sensed, Command(forward=0.3), memory)
        np.testing.assert_allclose(rec["command_position"][k], asked.position, atol=1e-9)
        q, v = rec.q[k], rec.v[k]


def test_the_environment_shows_what_a_controller_sees():
    """One observation, two ways: an environment driven by a policy's actions, and the policy in the compiled tick."""
    policy = small(1)
    ahead = {"forward": 0.3, "sideways": 0, "turn": 0}
    task = WalkTask(robot=CHEETAH, drive=policy.drive, contact="default", dt=2e-3)
    env = WalkEnv(task=task, randomise=False, command=ahead, dtype=np.float64)
    env.reset(seed=0)
    env.lanes.batch.state.tick[:] = 0
    start = env.lanes.batch.q[0].copy()
    observation = env.lanes.look(slice(None)).observation[0]
    simulation = ff.Simulation(CHEETAH, policy, dt=2e-3, command=Command(forward=0.3), start=(start, np.zeros(18)))
    rec = simulation.run(0.2)
    for k in range(10):
        env.step(policy.action(observation))
        observation = env.lanes.look(slice(None)).observation[0]
        np.testing.assert_allclose(env.lanes.batch.q[0], rec.q[k], atol=1e-7)


def test_judging_compiled_is_judging_in_numpy():
    env = WalkEnv(dtype=np.float64)
    env.reset(seed=4)
    rng = np.random.default_rng(0)
    for _ in range(6):
        env.step(rng.uniform(-1, 1, 12))
        batch = env.lanes.batch
        state = type(batch.state)(
            **{key: getattr(batch.state, key)[0] for key in ("tick", "q", "v", "motor", "forces", "work", "impulse")},
            contact={},
            memory={key: value[0] for key, value in batch.state.memory.items()},
        )
        command = Command(**{key: float(value[0]) for key, value in batch.command.items()})
        plain, compiled = evaluate_tick(env.lanes.task, state, command), env.lanes.look(slice(None))
        np.testing.assert_allclose(compiled.observation[0], plain.observation, atol=1e-9)
        np.testing.assert_allclose(compiled.reward[0], plain.reward, atol=1e-9)
        assert {key: float(value[0]) for key, value in compiled.terms.items()} == pytest.approx(plain.terms, abs=1e-9)


def test_a_policy_comes_back_from_its_file(tmp_path):
    policy, path = small(), tmp_path / "policy.npz"
    policy.save(path)
    again = Policy.load(path)
    assert (again.robot, again.drive) == (policy.robot, policy.drive)
    observation = np.random.default_rng(0).normal(size=len(policy.mean))
    np.testing.assert_allclose(again.action(observation), policy.action(observation), atol=1e-5)


def test_bad_policies_are_one_sentence(tmp_path):
    path = tmp_path / "policy.npz"
    with pytest.raises(InputError, match="cannot read the policy"):
        Policy.load(path)
    path.write_bytes(b"PK not a zip")
    with pytest.raises(InputError, match="not a policy"):
        Policy.load(path)
    np.savez(path, words=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="not a policy"):  # a pickle inside is never opened
        Policy.load(path)
    small().save(path)
    arrays = dict(np.load(path))
    for change, words in (({"b0": np.zeros(3)}, "do not fit"), ({"mean": arrays["mean"] * np.nan}, "not finite")):
        np.savez(path, **{**arrays, **change})
        with pytest.raises(InputError, match=words):
            Policy.load(path)
    wrong = json.dumps({"robot": "x", "drive": {"gait": {}, "speed": 1}}).encode()
    np.savez(path, **{**arrays, "words": np.frombuffer(wrong, np.uint8)})
    with pytest.raises(InputError, match="not a policy"):
        Policy.load(path)
    with pytest.raises(InputError, match=r"unknown policy 'mini_cheeta'.*did you mean"):
        Policy.load("mini_cheeta")
    with pytest.raises(InputError, match="drives 'mini_cheetah' with 12 joints"):
        small().start(ff.load("spined"))


def test_a_robots_name_is_never_a_path_to_a_policy(tmp_path):
    file = tmp_path / "mine.npz"
    Policy.load("mini_cheetah").save(file)
    assert Policy.load(file).robot == "mini_cheetah"
    with pytest.raises(InputError, match="footfall comes with"):
        learned(str(file))
    robot = ff.load("mini_cheetah").replace(name=str(file))
    with pytest.raises(InputError, match="footfall comes with"):
        plan(robot, RunOptions(robot=robot.name, controller="learned"))
