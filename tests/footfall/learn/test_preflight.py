"""The preflight names what does not fit between a policy and a robot, and tries what does."""

import dataclasses
import json

import numpy as np
import pytest
from onnx_graphs import with_metadata

import footfall as ff
from footfall.cli.main import run
from footfall.control.learned import onnx_file
from footfall.control.learned.differences import fits_robot
from footfall.control.learned.interface import Interface
from footfall.control.learned.mapping import read_mapping
from footfall.control.learned.policy import Policy
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import InputError
from footfall.learn.preflight import preflight
from footfall.learn.recover import RecoverTask, assess_recovery
from footfall.learn.walk import assess
from footfall.mujoco.run import run_mujoco

CHEETAH = ff.load("mini_cheetah")
NAMES = CHEETAH.joint_names
STAND = CHEETAH.poses["stand"].joints
SWAPPED = [*NAMES[3:6], *NAMES[:3], *NAMES[6:]]
SIGNS = [1, -1, 1] * 4
TERMS = ["angular_velocity", "down", "command", "rates", "joints", "action", "clock"]
# kind: what is written into the metadata, or into a mapping
PLANTED = {
    "joint_order": {"joint_names": SWAPPED},
    "sign": {"joint_signs": SIGNS},
    "unit": {"joint_unit": "deg"},
    "missing_joint": {"joint_names": ["LF_shoulder", *NAMES[1:]]},
    "stiffness": {"joint_stiffness": [20.0]},
    "damping": {"joint_damping": [0.5]},
    "rate": {"rate": 200.0},
    "clip": {"action_clip": 100.0},
    "action_scale": {"action_scale": [0.25]},
    "default_pose": {"default_joint_pos": (STAND + np.tile([0.0, 0.1, -0.2], 4)).tolist()},
    "observation": {"observation_names": TERMS},
    "observation_scale": {"observation_scales": [0.25, 1, 1, 1, 1, 1, 1]},
    "history": {"observation_history": 5},
    "frame": {"frame": "world"},
    "clock": {"clock_period": 0.5},
    "robot": {"robot": "go2"},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "trot.onnx"
    Policy.load("mini_cheetah").save(path)
    return path


def text(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def toml(words):
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in words.items() if value is not None)


def kinds(found):
    return {m.kind for m in found.mismatches}


def full_mapping(file, **changes):
    """A mapping that says everything again, with changes."""
    it = Policy.load(file).drive.interface(CHEETAH).to_dict()
    return toml({**it, **changes})


def test_a_policy_fits_the_robot_that_it_was_learned_on(file, tmp_path):
    assert preflight(file, CHEETAH, seconds=0).ok
    mapping = tmp_path / "m.toml"
    mapping.write_text(full_mapping(file))
    assert preflight(file, CHEETAH, mapping, seconds=0).ok
    Policy.load(file).save(tmp_path / "trot.npz")
    assert preflight(tmp_path / "trot.npz", CHEETAH, seconds=0).ok


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_into_the_metadata_is_named(kind, file, tmp_path):
    ((key, value),) = PLANTED[kind].items()
    planted = with_metadata(file, tmp_path / "planted.onnx", **{key: text(value)})
    found = preflight(planted, CHEETAH, seconds=0)
    assert not found.ok
    assert kind in kinds(found)
    assert len(kinds(found)) <= (3 if kind in ("joint_order", "sign", "unit") else 1)  # those also bend the pose


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_into_a_mapping_is_named(kind, file, tmp_path):
    mapping = tmp_path / "planted.toml"
    mapping.write_text(full_mapping(file, **PLANTED[kind]))
    found = preflight(file, CHEETAH, mapping, seconds=0)
    assert not found.ok
    assert kind in kinds(found)


def test_a_mapping_short_of_a_joint_is_named(file, tmp_path):
    mapping = tmp_path / "short.toml"
    mapping.write_text(toml({"joint_names": list(NAMES[:-1])}))
    found = preflight(file, CHEETAH, mapping, seconds=0)
    assert "missing_joint" in kinds(found)
    assert any("RH_knee" in m.message for m in found.mismatches)


def test_a_pose_that_does_not_stand_is_found_without_anything_to_compare_with():
    words = Policy.load("mini_cheetah").drive.interface(CHEETAH).to_dict()
    assert fits_robot(Interface.of(words, "x"), CHEETAH) == []
    for changes in ({"joint_names": [*NAMES[1:], NAMES[0]]}, {"joint_signs": SIGNS}):
        assert [m.kind for m in fits_robot(Interface.of({**words, **changes}, "x"), CHEETAH)] == ["default_pose"]
    degrees = {**words, "default_joint_pos": np.degrees(STAND).tolist()}
    assert [m.kind for m in fits_robot(Interface.of(degrees, "x"), CHEETAH)] == ["unit"]


def test_a_wrong_order_that_nobody_wrote_down_falls_in_the_trial(file, tmp_path):
    """The words are right, the network is wired otherwise: only walking shows it."""
    policy = Policy.load(file)
    order = np.array([3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8])
    W, b = policy.weights[-1]
    wrong = Policy(
        robot=policy.robot,
        drive=policy.drive,
        mean=policy.mean,
        spread=policy.spread,
        weights=(*policy.weights[:-1], (W[:, order], b[order])),
        activation=policy.activation,
    )
    wrong.save(tmp_path / "wrong.onnx")
    found = preflight(tmp_path / "wrong.onnx", CHEETAH, seconds=3.0, engine="mujoco")
    assert kinds(found) <= {"falls", "tracking"}
    assert not found.ok


def test_the_command_says_ok_and_exits_1_on_a_mismatch(file, tmp_path, capsys):
    assert run(["policy", "check", str(file), "--robot", "mini_cheetah", "--in", "mujoco", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert told["mismatches"] == []
    assert told["trial"]["tracking_error"] < 0.1
    slow = with_metadata(file, tmp_path / "slow.onnx", rate="100", joint_damping="3")
    words = ["policy", "check", str(slow), "--robot", "mini_cheetah", "--seconds", "0"]
    assert run([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [m["kind"] for m in told["mismatches"]] == ["damping", "rate"]
    assert run(words) == 1
    assert "does not fit" in capsys.readouterr().out
    assert run(["policy", "chekc", str(file), "--robot", "mini_cheetah"]) == 2
    assert run(["policy", "check", str(file), "--robot", "mini_cheetah", "--in", "gazebo"]) == 2


def test_a_file_without_words_says_what_it_lacks(file, tmp_path):
    _, words = onnx_file.read_onnx(file)
    bare = with_metadata(file, tmp_path / "bare.onnx", drop=tuple(words))
    found = preflight(bare, CHEETAH)
    assert kinds(found) == {"unsaid"}
    assert "joint_names" in found.mismatches[0].message


def test_others_names_of_joints_and_observations_are_taken(file, tmp_path):
    """As mjlab writes them: the file's own words, aliases, and what it leaves out in a mapping."""
    _, words = onnx_file.read_onnx(file)
    theirs = [name.replace("LF_", "FL_").replace("abad", "hip_roll") for name in NAMES]
    names = "base_ang_vel,projected_gravity,command,joint_pos,joint_vel,actions,phase"
    kept = ("joint_stiffness", "joint_damping", "default_joint_pos", "action_scale")
    foreign = with_metadata(
        file,
        tmp_path / "theirs.onnx",
        drop=tuple(set(words) - {*kept, "joint_names", "observation_names"}),
        joint_names=",".join(theirs),
        observation_names=names,
    )
    with pytest.raises(InputError, match="lacks rate"):
        Policy.load(foreign)
    mapping = tmp_path / "theirs.toml"
    aliases = "\n".join(f'"{a}" = "{b}"' for a, b in zip(theirs, NAMES))
    mapping.write_text(f"rate = 50.0\naction_clip = 1.0\nclock_period = 0.4\n[joint_aliases]\n{aliases}\n")
    policy = Policy.load(foreign, mapping)
    assert isinstance(policy, ImportedPolicy)
    assert policy.interface.joints == NAMES
    found = preflight(foreign, CHEETAH, mapping, engine="mujoco", seconds=3.0)
    assert found.ok
    assert found.trial.error < 0.1


def test_mapping_files_are_checked(tmp_path):
    path = tmp_path / "m.toml"
    for words, said in (
        ("joint_naems = ['a']", "did you mean 'joint_names'"),
        ("rate = 'fast'", "must be a finite number"),
        ("joint_aliases = 3", "must be a table of names"),
        ("rate = [", "is not TOML"),
    ):
        path.write_text(words)
        with pytest.raises(InputError, match=said):
            read_mapping(path)


def test_the_shipped_policy_walks_in_mujoco_as_many_robots_that_differ():
    """Sim-to-sim: MuJoCo's own contact, unseen seeds, pushes; 200 robots are documented."""
    done = assess(Policy.load("mini_cheetah"), CHEETAH, engine="mujoco", robots=6, seconds=5.0)
    assert done.ok
    assert np.ptp(done.command[:, 0]) > 0.3


def test_assessing_sees_falls(file):
    """The same robots with gains that cannot carry them lie down."""
    graph, _ = onnx_file.read_onnx(file)
    words = Policy.load(file).drive.interface(CHEETAH).to_dict()
    weak = ImportedPolicy(graph, Interface.of({**words, "joint_stiffness": [2.0]}, "x"))
    done = assess(weak, CHEETAH, engine="mujoco", robots=2, seconds=2.0)
    assert done.fallen.all()
    assert not done.ok


# -- getting up --------------------------------------------------------------------------------------------------------
def test_links_that_collide_do_so_in_mujoco_as_well():
    """A robot without motors on its back comes to lie on its trunk, not under the ground."""
    q, v = CHEETAH.state("stand")
    q[2], q[3:7] = 0.3, [0.0, 1.0, 0.0, 0.0]
    limp = ff.control.Hold("stand", kp=0.0, kd=0.5)
    low = {}
    for collisions in (False, "trunk"):
        simulation = ff.Simulation(
            CHEETAH, limp, start=(q, v), collisions=collisions, stop_on_fall=False, compile_controller=False
        )
        low[collisions] = run_mujoco(simulation, 1.0).q[-1, 2]
    assert 0.0 < low["trunk"] < 0.15
    assert low[False] < -0.1  # its trunk is under the ground


def test_a_policy_says_what_it_was_learned_for(tmp_path):
    """One that gets up reaches farther than one that walks: it is held to its own task."""
    policy = Policy.load("mini_cheetah")
    risen = dataclasses.replace(policy, drive=RecoverTask.of(CHEETAH).drive, task="recover")
    for name in ("up.onnx", "up.npz"):
        risen.save(tmp_path / name)
        assert Policy.load(tmp_path / name).task == "recover"
        assert preflight(tmp_path / name, CHEETAH).ok
    dataclasses.replace(risen, task="walk").save(tmp_path / "walk.onnx")
    assert kinds(preflight(tmp_path / "walk.onnx", CHEETAH, seconds=0)) == {"action_scale"}


def test_a_policy_that_walks_does_not_get_up_in_mujoco():
    policy = Policy.load("mini_cheetah")
    assert assess_recovery(policy, CHEETAH, engine="mujoco", robots=4, seconds=2.0) <= 0.5
