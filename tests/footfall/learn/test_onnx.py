"""Policies travel: out to ONNX and back in, and in from elsewhere, as traced controllers."""

import dataclasses
import itertools
import json
import shutil
import subprocess

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from onnx_graphs import graph_file, single, whole, with_metadata

import footfall as ff
from footfall.cli.drive import _pilot
from footfall.cli.main import run
from footfall.control.interface import Command
from footfall.control.learned import onnx_file
from footfall.control.learned.interface import KEYS, Interface
from footfall.control.learned.network import OPERATIONS, Graph, Node, product
from footfall.control.learned.policy import Drive, Policy
from footfall.control.learned.travelled import ImportedPolicy
from footfall.errors import InputError
from footfall.sensing.estimation.estimated import Estimated

CHEETAH = ff.load("mini_cheetah")
node = helper.make_node


def chance(activation, seed=0, sizes=(47, 20, 30, 12)):
    rng = np.random.default_rng(seed)
    weights = tuple((rng.normal(size=(a, b)) / 4, rng.normal(size=b)) for a, b in itertools.pairwise(sizes))
    mean, spread = rng.normal(size=sizes[0]), 0.5 + rng.random(sizes[0])
    return Policy(
        robot="mini_cheetah",
        drive=Drive(),
        mean=mean,
        spread=spread,
        weights=weights,
        activation=activation,
        joints=CHEETAH.joint_names,
    )


@pytest.fixture(scope="module")
def walker():
    return Policy.load("mini_cheetah")


@pytest.fixture(scope="module")
def walker_file(walker, tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "walker.onnx"
    walker.save(path)
    return path


def by_runtime(path, rows, name="obs"):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["actions"], {name: rows.astype(np.float32)})[0]


@pytest.mark.parametrize("activation", ["tanh", "elu", "relu"])
def test_onnx_runtime_computes_our_network_for_any_batch(activation, tmp_path):
    policy, path = chance(activation), tmp_path / "policy.onnx"
    policy.save(path)
    for rows in (1, 7):
        observation = 2.0 * np.random.default_rng(rows).normal(size=(rows, 47))
        np.testing.assert_allclose(by_runtime(path, observation), policy.action(observation), atol=1e-5)


def test_the_shipped_policy_is_the_same_in_onnx_runtime(walker, walker_file):
    observation = CHEETAH.nj * np.random.default_rng(0).normal(size=(500, 47))
    np.testing.assert_allclose(by_runtime(walker_file, observation), walker.action(observation), atol=1e-5)


def test_a_policy_comes_back_from_onnx_as_it_was(walker, walker_file, tmp_path):
    again = Policy.load(walker_file)
    assert isinstance(again, Policy)
    assert (again.robot, again.drive, again.activation) == (walker.robot, walker.drive, walker.activation)
    assert again.joints == CHEETAH.joint_names
    again.save(tmp_path / "policy.npz")
    last = Policy.load(tmp_path / "policy.npz")
    assert last.joints == CHEETAH.joint_names
    observation = np.random.default_rng(1).normal(size=47)
    np.testing.assert_allclose(last.action(observation), walker.action(observation), atol=1e-6)


def test_metadata_say_how_a_policy_is_wired(walker_file):
    _, words = onnx_file.read_onnx(walker_file)
    assert set(KEYS) <= set(words)
    assert words["joint_names"].split(",") == list(CHEETAH.joint_names)
    assert words["written_by"].startswith("footfall ")
    assert words["normalisation"] == "inside"
    assert [float(x) for x in words["default_joint_pos"].split(",")] == list(CHEETAH.poses["stand"].joints)


def test_what_metadata_say_is_obeyed(walker_file, tmp_path):
    """A file of ours whose words were changed is wired as they say, not as it was written."""
    changed = with_metadata(walker_file, tmp_path / "changed.onnx", joint_stiffness="55")
    policy = Policy.load(changed)
    assert isinstance(policy, ImportedPolicy)
    assert (policy.interface.kp == 55.0).all()


# -- made elsewhere ----------------------------------------------------------------------------------------------------
def elsewhere(policy, robot, order, signs, unit, history, stacking):
    """The same policy as someone else would have wired it: order, signs, unit and history are its own."""
    it, n, factor = policy.drive.interface(robot), robot.nj, 180.0 / np.pi if unit == "deg" else 1.0
    order, signs = np.array(order), np.array(signs, float)
    sizes = [size for size, _ in policy.drive.terms(robot).values()]
    edges = np.cumsum([0, *sizes])
    # columns of an own observation in terms of the travelled one's newest frame
    to_own = np.zeros((47, 47))
    for name, a, b in zip(it.terms, edges, edges[1:]):
        block = np.eye(b - a)
        if name in ("joints", "rates", "action"):
            block = np.zeros((n, n))
            block[np.arange(n), order] = signs / (factor if name != "action" else 1.0)
        to_own[a:b, a:b] = block
    frame = np.zeros((47 * history, 47))
    if stacking == "frame":
        frame[-47:] = to_own
    else:
        for a, b in itertools.pairwise(edges):
            frame[a * history + (b - a) * (history - 1) : b * history, :] = to_own[a:b]
    last = np.zeros((n, n))
    last[order, np.arange(n)] = signs
    bounds = policy.drive.bounds(robot)
    nodes = [
        Node("MatMul", ("obs", "own"), ("seen",), {}),
        Node("Max", ("seen", "low"), ("cut",), {}),
        Node("Min", ("cut", "high"), ("fine",), {}),
        Node("Sub", ("fine", "mean"), ("away",), {}),
        Node("Div", ("away", "spread"), ("x0",), {}),
    ]
    constants = {"own": frame, "low": -bounds, "high": bounds, "mean": policy.mean, "spread": policy.spread}
    for k, (W, b) in enumerate(policy.weights):
        constants |= {f"W{k}": W, f"b{k}": b}
        nodes.append(Node("Gemm", (f"x{k}", f"W{k}", f"b{k}"), (f"y{k}",), {}))
        last_one = k == len(policy.weights) - 1
        settings = {"min": -1.0, "max": 1.0} if last_one else {}
        nodes.append(Node("Clip" if last_one else "Tanh", (f"y{k}",), (f"x{k + 1}",), settings))
    constants["last"] = last
    nodes.append(Node("MatMul", (f"x{len(policy.weights)}", "last"), ("actions",), {}))
    graph = Graph(
        reads="obs", writes="actions", inputs=47 * history, outputs=n, nodes=tuple(nodes), constants=constants
    )
    words = {**it.to_dict(), "joint_names": [robot.joint_names[k] for k in order]}
    words |= {
        "joint_signs": signs.tolist(),
        "joint_unit": unit,
        "observation_history": history,
        "default_joint_pos": (factor * signs * it.default[order]).tolist(),
        "action_scale": [factor * 0.5],
        "observation_stacking": stacking,
        "observation_clip": [np.inf],
    }
    return ImportedPolicy(graph, Interface.of(words, "a test"))


@pytest.mark.parametrize(("unit", "history", "stacking"), [("deg", 3, "term"), ("rad", 2, "frame")])
def test_order_sign_unit_and_history_change_no_step(walker, unit, history, stacking):
    rng = np.random.default_rng(history)
    other = elsewhere(walker, CHEETAH, rng.permutation(12), rng.choice([-1, 1], 12), unit, history, stacking)
    ends = []
    for policy in (walker, other):
        memory, (q, v) = policy.start(CHEETAH), CHEETAH.state("stand")
        for k in range(4):
            rng = np.random.default_rng(k)
            q, v = q + np.r_[np.zeros(7), 0.1 * rng.normal(size=12)], rng.normal(size=18)
            sensed = ff.Sensed(q=q, v=v, forces=np.zeros((4, 3)))
            asked, memory = policy(0.02 * k, CHEETAH, sensed, Command(forward=0.3, sideways=0.1, turn=-0.2), memory)
            ends.append(np.concatenate([asked.position, asked.kp, asked.kd]))
    np.testing.assert_allclose(ends[4:], ends[:4], atol=1e-9)
    np.testing.assert_allclose(other.posture(CHEETAH), CHEETAH.poses["stand"].joints, atol=1e-12)


def test_a_travelled_policy_is_compiled_and_walks(walker_file, tmp_path):
    file = with_metadata(walker_file, tmp_path / "foreign.onnx", drop=("drive",))
    policy = Policy.load(file)
    simulation = ff.Simulation(CHEETAH, policy, command=Command(forward=0.4))
    rec = simulation.run(2.0)
    assert isinstance(policy, ImportedPolicy)
    assert simulation.controller_is_compiled
    assert simulation.stopped is None
    assert rec.mean_velocity(after=1.0)[0] == pytest.approx(0.4, abs=0.06)


ROWS, WIDE = np.linspace(0.2, 1.4, 6) * np.array([1, -1, 1, 1, -1, 1]), np.linspace(-1.0, 2.0, 6)
ONE = {
    "Identity": ([], {}),
    "Dropout": ([], {}),
    "Flatten": ([], {}),
    "Cast": ([], {"to": 1}),
    "Neg": ([], {}),
    "Abs": ([], {}),
    "Exp": ([], {}),
    "Reciprocal": ([], {}),
    "Relu": ([], {}),
    "LeakyRelu": ([], {"alpha": 0.2}),
    "Elu": ([], {"alpha": 0.7}),
    "Selu": ([], {}),
    "Tanh": ([], {}),
    "Sigmoid": ([], {}),
    "Softplus": ([], {}),
    "Softsign": ([], {}),
    "Add": ([WIDE], {}),
    "Sub": ([WIDE[None]], {}),
    "Mul": ([WIDE], {}),
    "Div": ([WIDE + 2], {}),
    "Min": ([WIDE], {}),
    "Max": ([WIDE], {}),
    "Pow": ([np.array(3.0)], {}),
    "Sqrt": ([], {}),
    "Clip": ([np.array(-0.3), np.array(0.4)], {}),
    "MatMul": ([np.outer(WIDE, ROWS)], {}),
    "Gemm": ([np.outer(WIDE, ROWS), WIDE], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    "LayerNormalization": ([WIDE, ROWS], {"axis": -1, "epsilon": 1e-3}),
    "BatchNormalization": ([WIDE, ROWS, 0.1 * WIDE, WIDE + 2], {"epsilon": 1e-3}),
    "ReduceMean": ([], {"axes": [1], "keepdims": 1}),
    "Concat": ([], {"axis": 1}),
    "Split": ([], {"axis": 1}),
    "Slice": ([np.array([1]), np.array([5]), np.array([1]), np.array([2])], {}),
    "Gather": ([np.array([4, 0, 2])], {"axis": 1}),
}


def test_every_operation_that_is_read_has_a_test():
    assert set(ONE) == set(OPERATIONS)


@pytest.mark.parametrize("operation", ONE)
def test_operations_are_those_of_onnx_runtime(operation, tmp_path):
    """For rows and, as in a controller, for one observation."""
    constants, settings = ONE[operation]
    made = [(whole if c.dtype.kind == "i" else single)(c, f"c{k}") for k, c in enumerate(constants)]
    reads = ["obs", *(f"c{k}" for k in range(len(made)))] + (["obs"] if operation == "Concat" else [])
    writes = ["actions", "rest"] if operation == "Split" else ["actions"]
    wide = {"Concat": 12, "Split": 3, "Slice": 2, "Gather": 3, "ReduceMean": 1}.get(operation, 6)
    path = graph_file(tmp_path / "one.onnx", [node(operation, reads, writes, **settings)], made, 6, wide)
    graph, _ = onnx_file.read_onnx(path)
    rows = np.stack([ROWS, WIDE, ROWS + WIDE]) if operation != "Sqrt" else np.abs(np.stack([ROWS, WIDE]))
    rows = np.where(rows == 0.0, 0.1, rows)
    expected = by_runtime(path, rows)
    np.testing.assert_allclose(graph(rows), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose([graph(row) for row in rows], expected, rtol=1e-5, atol=1e-6)
    assert (graph.inputs, graph.outputs) == (6, wide)


def test_large_layers_are_loops_in_a_trace():
    W = np.random.default_rng(0).normal(size=(150, 130))
    looped = ff.program(lambda robot, x: product(x, W), CHEETAH, np.zeros(150))
    assert looped.live_operations < W.size / 10
    x = np.random.default_rng(1).normal(size=150)
    compiled = ff.compile(lambda robot, x: product(x, W), CHEETAH, np.zeros(150), verify=False)
    np.testing.assert_allclose(compiled(x), x @ W, atol=1e-11)
    np.testing.assert_allclose(product(x, W), x @ W, atol=1e-11)


# -- files that are none -----------------------------------------------------------------------------------------------
def test_files_that_are_no_policy_are_one_sentence(tmp_path, walker_file):
    path = tmp_path / "policy.onnx"
    with pytest.raises(InputError, match="cannot read the policy"):
        Policy.load(path)
    for junk in (b"", b"\x08", b"junk" * 99, walker_file.read_bytes()[:2000]):
        path.write_bytes(junk)
        with pytest.raises(InputError, match="policy"):
            Policy.load(path)
    weights = [single(np.ones((6, 6)), "W")]
    graph_file(path, [node("MatMul", ["obs", "W"], ["y"]), node("Erf", ["y"], ["actions"])], weights, 6, 6)
    with pytest.raises(InputError, match="the operation Erf, which is not supported"):
        Policy.load(path)
    graph_file(path, [node("MatMul", ["obs", "W"], ["actions"])], weights, 6, 6, more=("h_in", "c_in"))
    with pytest.raises(InputError, match="has the inputs obs, h_in, c_in"):
        Policy.load(path)
    graph_file(path, [node("MatMul", ["obs", "W"], ["actions"])], weights, 6, 6)
    with pytest.raises(InputError, match=r"lacks joint_names, .*: add it to a mapping file"):
        Policy.load(path)
    graph_file(path, [node("MatMul", ["obs", "W"], ["actions"])], [single(np.full((6, 6), np.nan), "W")], 6, 6)
    with pytest.raises(InputError, match="not finite"):
        Policy.load(path)
    with pytest.raises(InputError, match=r"a policy is an \.npz or \.onnx file"):
        chance("tanh").save(tmp_path / "policy.pt")


def test_small_files_that_would_grow_without_bound_are_refused(tmp_path):
    doubled = [node("Concat", [f"x{k}", f"x{k}"], [f"x{k + 1}"], axis=1) for k in range(60)]
    first, last = node("Identity", ["obs"], ["x0"]), node("Identity", ["x60"], ["actions"])
    path = graph_file(tmp_path / "wide.onnx", [first, *doubled, last], [], 6, 6)
    with pytest.raises(InputError, match="a Concat of more than"):
        onnx_file.read_onnx(path)
    column, row = single(np.ones((4000, 1)), "a"), single(np.ones((1, 4000)), "b")
    for made in (node("Add", ["a", "b"], ["c"]), node("MatMul", ["a", "b"], ["c"])):
        path = graph_file(
            tmp_path / "wide.onnx", [made, node("MatMul", ["obs", "c"], ["actions"])], [column, row], 6, 6
        )
        with pytest.raises(InputError, match="with constants of shape"):
            onnx_file.read_onnx(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("joint_signs", "2", "must be 1 or -1"),
        ("rate", "-5", "rate of .* must be positive"),
        ("joint_unit", "turns", "unknown joint_unit"),
        ("observation_names", "joint_pos,height_scan", "unknown part of an observation"),
        ("default_joint_pos", "1,2", r"one number, or one per joint \(12\)"),
        ("joint_stiffness", "nan", "finite"),
        ("joint_damping", "soft", "must be numbers"),
        ("observation_history", "0", "must be at least 1, got 0"),
        ("observation_history", "3", "sees 47 numbers, but its observation has 141"),
    ],
)
def test_words_that_make_no_sense_are_named(walker_file, tmp_path, key, value, words):
    file = with_metadata(walker_file, tmp_path / "odd.onnx", **{key: value})
    with pytest.raises(InputError, match=words):
        Policy.load(file)


def test_a_policy_refuses_a_robot_with_other_joints(walker_file, tmp_path):
    with pytest.raises(InputError, match="drives the joints RH_knee"):
        dataclasses.replace(chance("tanh"), joints=CHEETAH.joint_names[::-1]).start(CHEETAH)
    foreign = Policy.load(with_metadata(walker_file, tmp_path / "f.onnx", drop=("drive",)))
    with pytest.raises(InputError, match="nothing controls spine_pitch"):
        foreign.start(ff.load("spined"))
    words = ",".join(["hip", *CHEETAH.joint_names[1:]])
    foreign = Policy.load(with_metadata(walker_file, tmp_path / "f.onnx", joint_names=words))
    with pytest.raises(InputError, match="it has no hip"):
        foreign.start(CHEETAH)


def test_commands_train_and_simulate_policies_in_onnx(walker_file, tmp_path, capsys):
    file = tmp_path / "short.onnx"
    short = ["--device", "cpu", "--robots", "8", "--iterations", "1", "--out", str(file)]
    assert run(["train", "mini_cheetah", *short]) == 0
    assert isinstance(Policy.load(file), Policy)
    capsys.readouterr()
    assert run(["simulate", "mini_cheetah", "--controller", str(walker_file), "--duration", "0.5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["commanded_speed"], told["fell"]) == (0.4, False)
    assert run(["simulate", "mini_cheetah", "--controller", str(tmp_path / "none.onnx")]) == 2
    assert "cannot read the policy" in capsys.readouterr().err
    assert run(["simulate", "spined", "--controller", str(walker_file)]) == 2


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_any_policy_is_exported_as_c(tmp_path, capsys):
    """Ours, one with a history that sees the ground, and one of another kind; the C test holds them to NumPy."""
    small = chance("elu", sizes=(47, 6, 12))
    small.save(tmp_path / "small.onnx")
    seeing = chance("elu", sizes=(2 * 49, 4, 12))
    drive = dataclasses.replace(seeing.drive, history=2, scan=((0.2, 0.1), (0.2, -0.1)))
    dataclasses.replace(seeing, drive=drive).save(tmp_path / "seeing.onnx", CHEETAH)
    foreign = with_metadata(tmp_path / "small.onnx", tmp_path / "foreign.onnx", drop=("drive",), frame="world")
    for name in ("small.onnx", "seeing.onnx", foreign.name):
        folder = tmp_path / name.split(".")[0]
        assert run(["export", "mini_cheetah", str(tmp_path / name), "--out", str(folder)]) == 0
        sources = [str(folder / "policy_tick.c"), str(folder / "policy_tick_test.c")]
        subprocess.run(["gcc", "-O0", "-o", str(folder / "test"), *sources, "-lm"], check=True, timeout=60)
        subprocess.run([str(folder / "test")], check=True, timeout=10)
    capsys.readouterr()


def test_drive_takes_a_policys_file(walker_file):
    assert isinstance(_pilot(str(walker_file), CHEETAH), Policy)
    with pytest.raises(InputError, match="12 joints"):
        _pilot(str(walker_file), ff.load("spined"))


@pytest.mark.slow
def test_drive_estimates_the_speed_that_a_policy_wants_to_see(walker_file, tmp_path):
    """No sensor measures how fast the base moves."""
    words = {"observation_names": "base_lin_vel", "observation_clip": "10", "observation_scales": "2"}
    file = graph_file(
        tmp_path / "fast.onnx",
        [node("Gemm", ["obs", "W"], ["actions"])],
        [single(np.zeros((3, 12)), "W")],
        3,
        12,
        {**onnx_file.read_onnx(walker_file)[1], **words},
    )
    assert isinstance(_pilot(str(file), CHEETAH), Estimated)
