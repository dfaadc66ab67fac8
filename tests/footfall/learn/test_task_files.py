"""Tasks as TOML files: a copy is the shipped task bit for bit, own terms are what NumPy says, wrong files are named."""

import tomllib
from dataclasses import fields

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.contact.compliant import Compliant
from footfall.contact.planning import Planning
from footfall.control.learned.policy import USUAL, Policy
from footfall.errors import InputError
from footfall.learn import terms
from footfall.learn.cuda_lanes import EpisodeSource
from footfall.learn.gym_env import WalkEnv
from footfall.learn.ppo import Settings
from footfall.learn.preflight import preflight, task_of
from footfall.learn.randomise import Randomisation
from footfall.learn.rough import RoughTask
from footfall.learn.task_spec import code_names, example, shipped, shipped_names
from footfall.learn.tasks import TASKS, load_task
from footfall.learn.training import CpuTraining, train
from footfall.learn.walk import WalkTask

pytest.importorskip("gymnasium")
DYNAKAT = ff.load("dynakat")
SMALL = Settings(steps=4, rows=32, hidden=(8, 8))


def written(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def copied(folder, name="walk", **changes):
    """A copy of a shipped task with some lines in place of others."""
    text = example(name)
    for old, new in changes.items():
        assert changes[old][0] in text
        text = text.replace(*new)
    return written(folder, text)


def weights_after(task, iterations=2):
    training = CpuTraining(robots=8, seed=2, task=task, settings=SMALL, threads=1)
    training.iterate(iterations)
    return [x for layer in (*training.ppo.actor, *training.ppo.critic) for x in layer], training.curve[-1]


@pytest.mark.parametrize("name", ["walk", "rough_blind"])
def test_a_copy_of_a_shipped_task_trains_bit_for_bit_like_it(tmp_path, name):
    copy = load_task(copied(tmp_path, name), DYNAKAT)
    assert copy.spec is not None
    (one, row), (other, again) = weights_after(TASKS[name].of(DYNAKAT)), weights_after(copy)
    assert all((a == b).all() for a, b in zip(one, other))
    assert row["reward"] == again["reward"]
    assert row["score"] == again["score"]


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_shipped_task_is_a_file_and_the_same_kernels_on_a_gpu(tmp_path, name):
    """Its copy gives the same CUDA source, so the same bits on any card."""
    assert name in shipped_names()
    assert shipped(name).kind == shipped(name).name == name
    task, copy = TASKS[name].of(DYNAKAT), load_task(copied(tmp_path, name), DYNAKAT)
    assert task.drive == copy.drive
    assert task.default_randomisation == copy.default_randomisation
    assert (task.seconds, task.dt, dict(task.settings)) == (copy.seconds, copy.dt, dict(copy.settings))
    assert {f.name for f in fields(Settings)} >= set(task.settings)
    if name in ("walk", "recover"):
        one, other = (
            EpisodeSource(each, each.randomisation(True), each.command_ranges, each.seconds) for each in (task, copy)
        )
        assert one.step == other.step
        assert one.reset == other.reset


def test_a_changed_weight_and_a_changed_parameter_are_felt(tmp_path):
    path = copied(
        tmp_path,
        a=("weight = 1.5, error = 0.1", "weight = 3.0, error = 0.2"),
        b=("seconds = 20.0", "seconds = 7.0"),
        c=("forward = [-0.3, 0.8]", "forward = [0.5, 0.5]"),
        d=("friction = [0.5, 1.1]", "friction = [0.4, 0.4]"),
        e=('type = "plane"', 'type = "slope:5"'),
    )
    env = WalkEnv(task=load_task(path, DYNAKAT), randomise={"joints": 0.0})
    env.reset(seed=1)
    lanes = env.lanes
    assert lanes.limit == 350
    assert lanes.batch.parameters["ground.friction"][0] == pytest.approx(0.4)
    forward = float(lanes.batch.command["forward"][0])
    assert forward == pytest.approx(0.5 * lanes.task.size.speed)
    _, _, _, _, info = env.step(np.zeros(DYNAKAT.nj, np.float32))
    off = info["velocity"][:2] - [forward, float(lanes.batch.command["sideways"][0])]
    expected = 3.0 / 50 / (1.0 + np.sum(off**2) / (0.2 * lanes.task.size.speed) ** 2)
    assert info["reward_tracking"] == pytest.approx(expected, rel=1e-4)


OWN = '''"""Terms of a user's own."""

import numpy as np
import footfall as ff


def calm(tick, most=2.0):
    return np.minimum(np.sum(tick.rates**2), most)


def quick(tick, speed=0.05):
    return tick.v[3] ** 2 < speed


def loads(tick):
    return tick.forces[:, 2] / 100.0


def draw(chance):
    return ff.Command(forward=0.2 + 0.1 * chance[0])


def vector(tick):
    return tick.rates


def broken(tick):
    raise KeyError("no")
'''


def own_file(folder, module):
    """A task with terms of the user's own; modules are imported once a process, so each has its own name."""
    written(folder, OWN, f"{module}.py")
    text = example("walk").replace(
        "[terminations]", f'calm = {{ term = "{module}:calm", weight = -0.5, most = 3.0 }}\n\n[terminations]'
    )
    text = text.replace("critic = []", f'critic = ["{module}:loads"]')
    text = text.replace("low = { height = 0.4 }", f'low = {{ height = 0.4 }}\n"{module}:quick" = {{ speed = 400.0 }}')
    return written(folder, text.replace("[commands] ", f'[commands]\ndraw = "{module}:draw" '))


def test_a_users_terms_change_reward_critic_command_and_ends_as_numpy_says(tmp_path):
    path = own_file(tmp_path, "own_terms_one")
    assert set(code_names(tomllib.loads(path.read_text()))) == {
        f"own_terms_one:{name}" for name in ("calm", "loads", "quick", "draw")
    }
    task = load_task(path, DYNAKAT, allow_code=True)
    own, plain = WalkEnv(task=task, randomise=False), WalkEnv(task=WalkTask.of(DYNAKAT), randomise=False)
    _, drawn = own.reset(seed=3)
    assert 0.2 <= drawn["command"][0] <= 0.3
    plain.reset(seed=3)
    action = 0.3 * np.ones(DYNAKAT.nj, np.float32)
    _, reward, fallen, _, info = own.step(action)
    plain.step(action)
    rates = own.lanes.batch.v[0, -DYNAKAT.nj :].astype(float)
    assert info["reward_calm"] == pytest.approx(-0.5 * min(np.sum(rates**2), 3.0) / 50, rel=1e-4)
    assert reward == pytest.approx(sum(v for k, v in info.items() if k.startswith("reward_")), rel=1e-4)
    assert not fallen
    given = own.lanes.privileged(slice(None))
    np.testing.assert_allclose(given[0], own.lanes.batch.state.forces[0, :4, 2] / 100.0, rtol=1e-5)
    stopping = path.read_text().replace("speed = 400.0", "speed = -1.0")
    env = WalkEnv(task=load_task(written(tmp_path, stopping), DYNAKAT, allow_code=True), randomise=False)
    env.reset(seed=3)
    assert env.step(action)[2]


def test_code_in_a_task_needs_to_be_allowed_and_is_remembered_for_resume_until_it_changes(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "tasks").mkdir()
    path, out = own_file(tmp_path / "tasks", "own_terms_two"), tmp_path / "p.npz"
    options = {"robots": 4, "device": "cpu", "settings": SMALL}
    with pytest.raises(InputError, match=r"'own_terms_two:.*' in the task mine.toml is code, .* --allow-code"):
        train(DYNAKAT, out, str(path), iterations=1, **options)
    assert cli.run(["train", "dynakat", "--task", str(path), "--out", str(out)]) == 2
    assert "--allow-code" in capsys.readouterr().err
    train(DYNAKAT, out, str(path), iterations=1, allow_code=True, **options)
    with pytest.raises(InputError, match="is code"):
        train(DYNAKAT, out, str(path), iterations=2, **options)  # remembered for resume alone
    assert train(DYNAKAT, out, str(path), iterations=2, resume=True, **options).training.iteration == 2
    (tmp_path / "tasks" / "own_terms_two.py").write_text(OWN + "\n# changed\n")
    with pytest.raises(InputError, match="is code"):
        train(DYNAKAT, out, str(path), iterations=3, resume=True, **options)
    assert task_of(out) == "walk"
    assert Policy.load(out).task == "walk mine.toml"
    assert preflight(out, DYNAKAT, seconds=0).ok


def test_a_policy_sees_what_its_task_says_in_that_order(tmp_path):
    path = copied(
        tmp_path,
        a=(
            'policy = ["angular_velocity", "down", "command", "joints", "rates", "action", "clock"]',
            'policy = ["command", "linear_velocity", "down", "joints"]',
        ),
        b=("reach = 0.5 ", "reach = 0.3 "),
    )
    task = load_task(path, DYNAKAT)
    env = WalkEnv(task=task, randomise=False)
    seen, drawn = env.reset(seed=1)
    assert len(seen) == 9 + DYNAKAT.nj
    np.testing.assert_allclose(seen[:3], drawn["command"], rtol=1e-6)
    seen, *_ = env.step(0.5 * np.ones(DYNAKAT.nj, np.float32))
    np.testing.assert_allclose(seen[3:6], env.lanes.batch.v[0, 3:6], rtol=1e-5)
    done = train(DYNAKAT, tmp_path / "p.npz", str(path), "cpu", robots=4, iterations=1, settings=SMALL)
    policy = Policy.load(done.policy)
    assert policy.drive == task.drive
    assert policy.drive.observations == ("command", "linear_velocity", "down", "joints")
    sim = ff.Simulation(DYNAKAT, policy, command=ff.Command(forward=0.2))
    sim.run(0.1)
    assert preflight(done.policy, DYNAKAT, seconds=0).ok


def test_terms_are_what_they_say_of_a_robot_that_stands():
    task = WalkTask.of(DYNAKAT)
    tick = task._standing()
    value = {name: float(function(tick)) for name, function in terms.REWARDS.items() if name not in terms.ON_COURSES}
    assert value["velocity_tracking"] == value["turn_tracking"] == value["alive"] == 1.0
    for name in (
        "lean",
        "vertical_speed",
        "rocking",
        "action_change",
        "joint_offset",
        "joint_speed",
        "power",
        "fallen",
    ):
        assert value[name] == pytest.approx(0.0, abs=1e-12)
    assert value["foot_slip"] == value["link_load"] == value["height_error"] == 0.0
    assert value["standing_up"] == value["uprightness"] == value["at_posture"] == 1.0
    assert all((function.__doc__ or "").strip() for function in terms.REWARDS.values())
    course = RoughTask.of(DYNAKAT)._standing()
    assert {name: np.ndim(function(course)) for name, function in terms.CRITIC.items()} == dict.fromkeys(
        terms.CRITIC, 1
    )


def test_slip_counts_feet_that_are_down_alone():
    task = WalkTask.of(DYNAKAT)
    tick = task._standing()
    tick.state.v[3] = 0.5
    assert terms.foot_slip(tick) == 0.0
    tick.state.forces[1, 2] = 20.0
    again = terms.Tick(task, tick.state, tick.command, tick.parameters)
    assert terms.foot_slip(again) == pytest.approx(0.25 / task.size.length)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[physics]", "[physic]", r"unknown key of the task mine.toml 'physic' \(did you mean 'physics'\?\)"),
        ("velocity_tracking", "velocity_trackin", r"unknown term of the reward 'tracking' .*did you mean 'velocity_t"),
        (
            "weight = 1.5, error",
            'weight = "much", error',
            "weight of the reward 'tracking' .* must be a number, got 'much'",
        ),
        ("weight = 1.5, error", "weight = nan, error", "weight of the reward 'tracking' .* must be a number, got nan"),
        (
            "weight = 1.5, error",
            "weight = true, error",
            "weight of the reward 'tracking' .* must be a number, got True",
        ),
        (", weight = 1.0 }", " }", "the reward 'gait' of the task mine.toml has no weight"),
        ("error = 0.1", "eror = 0.1", r"unknown parameter of the reward 'tracking' .* 'eror' \(did you mean 'error'"),
        ("error = 0.1", 'error = "small"', "error of the reward 'tracking' .* must be a number, got 'small'"),
        ("error = 0.1", "error = 0.0", "the reward 'tracking' of the task 'walk' .*"),
        ("leans = { degrees", "leens = { degrees", "unknown term of the termination 'leens'"),
        ('"clock"]', '"clok"]', "unknown observation of the policy in the task mine.toml 'clok'"),
        ('"command", ', "", "the policy of the task mine.toml must observe its command"),
        ("critic = []", 'critic = ["course"]', r"the term 'course' .* .*  type = \"course\""),
        ("friction = [0.5, 1.1]", "friction = [1.1, 0.5]", r"friction of \[randomise\] .* must be a range"),
        ("friction = [0.5, 1.1]", 'friction = "low"', r"friction of \[randomise\] .* must be a range"),
        ("friction = [0.5, 1.1]", "frictoin = [0.5, 1.1]", r"unknown key of \[randomise\] .*did you mean 'friction'"),
        ("forward = [-0.3, 0.8]", "forward = [0.8]", "the command forward of the task mine.toml must be a range"),
        (
            'type = "plane"',
            'type = "moon"',
            "type of the terrain in the task mine.toml is course, or a ground: unknown",
        ),
        ('type = "stand"', 'type = "lying"', "unknown type of the start in the task mine.toml 'lying'"),
        ("seconds = 20.0", "seconds = 0", "seconds of the task mine.toml must be positive"),
        ("scale = true", 'scale = "yes"', "scale of the task mine.toml must be true or false, got 'yes'"),
        ('score = "gait"', 'score = "gate"', r"unknown score of the task mine.toml 'gate' \(did you mean 'gait'"),
        ('gait = "trot"', 'gait = "moonwalk"', "unknown gait of the drive in the task mine.toml 'moonwalk'"),
        ("history = 1", "history = 0", "history of the drive in the task mine.toml must be at least 1"),
        ("[training]", "[training]\nhidden = 3", r"hidden of \[training\] .* must be the sizes"),
        ("[training]", "[training]\nlearning = 3", r"unknown key of \[training\] in the task mine.toml 'learning'"),
        ("[rewards]", "[rewards", "the task .* is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence_that_names_the_culprit(tmp_path, old, new, words):
    text = example("walk")
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(InputError, match=words) as refused, np.errstate(all="ignore"):
        load_task(path, DYNAKAT)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vector", "the reward 'mine' of the task 'mine' must be one finite number, got shape"),
        ("broken", "the reward 'mine' of the task 'mine' raised KeyError"),
        ("nothing", "unknown function of module 'own_terms_three' 'nothing'"),
    ],
)
def test_a_users_term_that_is_none_is_refused_before_any_trace(tmp_path, name, words):
    written(tmp_path, OWN, "own_terms_three.py")
    path = written(tmp_path, f'[rewards]\nmine = {{ term = "own_terms_three:{name}", weight = 1.0 }}\n')
    with pytest.raises(InputError, match=words):
        load_task(path, DYNAKAT, allow_code=True)


def test_a_file_of_one_reward_is_enough(tmp_path):
    path = written(tmp_path, "[rewards]\nalive = { weight = 1.0 }\n")
    task = load_task(path, DYNAKAT)
    assert task.default_randomisation.push[1] == pytest.approx(Randomisation().push[1] * task.size.impulse)
    env = WalkEnv(task=task, randomise=False)
    env.reset(seed=0)
    assert env.step(np.zeros(DYNAKAT.nj, np.float32))[1] == pytest.approx(1.0 / 50)


def test_the_command_writes_an_example_that_trains(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["train", "--example-task", "walk"]) == 0
    assert capsys.readouterr().out == example("walk")
    assert cli.run(["train", "--example-task", "walk", "--out", "mine.toml"]) == 0
    assert cli.run(["train", "--example-task", "walk", "--out", "mine.toml"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert cli.run(["train", "--example-task", "swim"]) == 2
    assert "unknown task 'swim'" in capsys.readouterr().err
    assert cli.run(["train"]) == 2
    assert "train needs a robot" in capsys.readouterr().err
    line = ["train", "dynakat", "--task", "mine.toml", "--robots", "4", "--iterations", "1", "--device", "cpu"]
    assert cli.run(line) == 0
    said = capsys.readouterr().out
    assert "score: fraction of feet whose contact agrees with the gait clock" in said
    assert (tmp_path / "dynakat-mine.npz").is_file()


def test_a_shipped_task_beside_the_kinds_is_trained_by_its_name(tmp_path):
    """``walk_any_ground`` is ``walk`` with its velocity observed, tracked more closely, and a force drawn."""
    done = train(DYNAKAT, tmp_path / "p.npz", "walk_any_ground", "cpu", robots=4, iterations=1, settings=SMALL)
    task, walk = done.training.task, WalkTask.of(DYNAKAT)
    assert isinstance(task, WalkTask)
    assert set(task.drive.observations) - set(USUAL) == {"linear_velocity"}
    assert {key for key in walk.weights if task.weights[key] != walk.weights[key]} == {"tracking"}
    assert done.training.randomisation.force == pytest.approx((0.0, 0.1 * 9.81 * DYNAKAT.mass))
    assert Policy.load(done.policy).task == "walk walk_any_ground"
    with pytest.raises(InputError, match=r"unknown task 'walk_any_grund' \(did you mean 'walk_any_ground'"):
        train(DYNAKAT, tmp_path / "p.npz", "walk_any_grund", "cpu")


@pytest.mark.parametrize("name", TASKS)
def test_no_policy_is_judged_on_contact_for_planning(name):
    """What it learns on may be quick and soft; what judges it has modes, and steps of 2 ms."""
    of = TASKS[name].of
    for task in (of(DYNAKAT), of(DYNAKAT, contact="planning", dt=5e-3)):
        judged = task.examined.world
        assert not isinstance(judged.get("contact"), Planning)
        assert judged["dt"] == 2e-3
        exam = task.gpu_exam(80).task.world
        assert (exam.get("contact"), exam["dt"]) == (judged.get("contact"), 2e-3)
    assert isinstance(of(DYNAKAT, contact="planning", dt=5e-3).world["contact"], Planning)
    with pytest.raises(InputError, match="'sponge'"):
        of(DYNAKAT, contact="sponge").world  # noqa: B018


def test_ground_that_yields_is_no_ground_for_planning():
    task = TASKS["walk"].of(DYNAKAT)
    soft = task.randomisation({"softness": (0.001, 0.01)})
    world = task.world_with(soft)
    assert isinstance(task.world["contact"], Planning)
    assert isinstance(world["contact"], Compliant)
    assert world["dt"] == 2e-3
