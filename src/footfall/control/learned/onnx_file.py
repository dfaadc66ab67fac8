"""Read and write ONNX files of policies. Needs the extra ``policies``; running a policy needs nothing.

Opset 17, one input ``obs`` (batch, numbers) and one output ``actions`` (batch, joints), normalisation and clip inside.
A file is read node by node into plain NumPy; nothing in it is executed, and no other file is opened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy import ndarray

from footfall.control.learned.network import OPERATIONS, Graph, Node
from footfall.errors import InputError, MissingExtraError, reason
from nptrace._types import Given, PyTree, Scalar

OPSET, IR_VERSION = 17, 8
NEWEST_OPSET = 30
MAX_BYTES = 1 << 27
_MAX_NODES = 10_000
_ACTIVATIONS = {"tanh": "Tanh", "elu": "Elu", "relu": "Relu"}


def import_onnx() -> ModuleType:
    """Return the package ``onnx``, or raise with how to install it."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError:
        raise MissingExtraError("a policy in ONNX", "policies", "onnx") from None
    return onnx


def write_onnx(
    path: str | Path,
    mean: ndarray,
    spread: ndarray,
    weights: PyTree,
    activation: str,
    clip: float,
    metadata: Mapping[str, str],
) -> None:
    """Write clip(layers((obs - mean) / spread)) in single precision, with its wiring as metadata."""
    onnx = import_onnx()
    make, tensor = onnx.helper, onnx.numpy_helper.from_array

    def single(x: Scalar, name: str) -> Given:
        return tensor(np.asarray(x, np.float32), name)

    constants = [single(mean, "mean"), single(spread, "spread"), single(-clip, "least"), single(clip, "most")]
    nodes = [make.make_node("Sub", ["obs", "mean"], ["centred"]), make.make_node("Div", ["centred", "spread"], ["x0"])]
    for k, (W, b) in enumerate(weights):
        constants += [single(W, f"W{k}"), single(b, f"b{k}")]
        nodes.append(make.make_node("Gemm", [f"x{k}", f"W{k}", f"b{k}"], [f"y{k}"]))
        if k < len(weights) - 1:
            nodes.append(make.make_node(_ACTIVATIONS[activation], [f"y{k}"], [f"x{k + 1}"]))
    nodes.append(make.make_node("Clip", [f"y{len(weights) - 1}", "least", "most"], ["actions"]))
    real = onnx.TensorProto.FLOAT
    graph = make.make_graph(
        nodes,
        "policy",
        [make.make_tensor_value_info("obs", real, ["batch", len(mean)])],
        [make.make_tensor_value_info("actions", real, ["batch", len(weights[-1][1])])],
        constants,
    )
    model = make.make_model(
        graph, opset_imports=[make.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="footfall"
    )
    make.set_model_props(model, dict(metadata))
    onnx.checker.check_model(model)
    Path(path).write_bytes(model.SerializeToString())


def read_onnx(path: str | Path) -> tuple[Graph, dict[str, str]]:
    """Return (network, metadata) of an untrusted file."""
    onnx, file = import_onnx(), Path(path)
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the policy {file}: {reason(error)}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{file} is larger than {MAX_BYTES / 1e6:g} MB, too large for a policy")
    try:
        model = onnx.ModelProto.FromString(data)
        words = {p.key: p.value for p in model.metadata_props}
        if not all(isinstance(text, str) for pair in words.items() for text in pair):
            raise InputError(f"the metadata of {file} are not text")
        graph = _graph(onnx, model, file)
    except InputError:
        raise
    except Exception as error:  # protobuf raises errors of many types on a corrupt file
        raise InputError(f"{file} is not an ONNX file of a policy: {error}") from None
    return graph, words


def _graph(onnx: ModuleType, model: Given, file: Path) -> Graph:
    """Return the operations that the first output needs; each must be of a supported kind."""
    inner = model.graph
    if not inner.node or len(inner.node) > _MAX_NODES:
        raise InputError(f"{file} holds no network that could be a policy ({len(inner.node)} operations)")
    versions = {entry.domain: entry.version for entry in model.opset_import}
    if not 9 <= versions.get("", 0) <= NEWEST_OPSET:
        raise InputError(f"{file} is of ONNX opset {versions.get('', 0)}: 9 to {NEWEST_OPSET} are supported")
    constants = {t.name: _array(onnx, t, file) for t in inner.initializer}
    fed = [value for value in inner.input if value.name not in constants]
    if len(fed) != 1:
        names = ", ".join(value.name for value in fed) or "none"
        raise InputError(f"{file} has the inputs {names}: only policies with one input are supported")
    nodes = []
    for node in inner.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = _constant(onnx, node, file)
        else:
            nodes.append(_node(onnx, node, file))
    out = inner.output[0].name
    used = _needed(nodes, out)
    read = fed[0].name
    network = Graph(
        reads=read,
        writes=out,
        inputs=_width(fed[0], file),
        outputs=0,
        nodes=used,
        constants={k: v for k, v in constants.items() if _reads(used, k)},
    )
    known = {read, "", *network.constants}
    for node in used:
        loose = [key for key in node.reads if key not in known]
        if loose:
            raise InputError(f"{file}: an operation {node.operation} reads '{loose[0]}', which no operation computes")
        known.update(node.writes)
    _check_sizes(network, file)
    with np.errstate(all="ignore"):
        given = np.asarray(network(np.zeros(network.inputs)))  # a network whose shapes do not match fails here
    if given.ndim != 1 or not all(np.isfinite(x).all() for x in network.constants.values() if x.dtype.kind == "f"):
        raise InputError(f"the policy {file} holds numbers that are not finite, or does not return a vector of actions")
    return Graph(
        reads=read, writes=out, inputs=network.inputs, outputs=len(given), nodes=used, constants=network.constants
    )


def _check_sizes(network: Graph, file: Path) -> None:
    """Raise for constants that would broadcast to huge arrays: matrices outside products with the observation."""
    constants = network.constants
    for node in network.nodes:
        shapes = [constants[key].shape if key in constants else None for key in node.reads]
        if node.operation in ("MatMul", "Gemm"):
            fine = shapes[0] is None and shapes[1] is not None and len(shapes[1]) == 2
        else:
            fine = all(shape is None or math.prod(shape) == (shape[-1] if shape else 1) for shape in shapes)
        if not fine:
            raise InputError(f"{file}: an operation {node.operation} with constants of shape {shapes} is not supported")


def _node(onnx: ModuleType, node: Given, file: Path) -> Node:
    if node.op_type not in OPERATIONS or node.domain not in ("", "ai.onnx"):
        raise InputError(
            f"{file} uses the operation {node.op_type}, which is not supported: choose from"
            f" {', '.join(sorted(OPERATIONS))}"
        )
    settings = {}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            value = value.decode()
        settings[attribute.name] = tuple(value) if isinstance(value, (list, tuple)) else value
    return Node(node.op_type, tuple(node.input), tuple(node.output), settings)


def _array(onnx: ModuleType, tensor: Given, file: Path) -> ndarray:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise InputError(f"{file} keeps its weights in another file: export it whole (external_data=False)")
    array = onnx.numpy_helper.to_array(tensor)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{file} holds a constant '{tensor.name}' of {array.dtype}: only numbers are supported")
    return array.astype(float) if array.dtype.kind == "f" else array.astype(int)


def _constant(onnx: ModuleType, node: Given, file: Path) -> ndarray:
    value = onnx.helper.get_attribute_value(node.attribute[0])
    return _array(onnx, value, file) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _needed(nodes: list[Node], out: str) -> tuple[Node, ...]:
    """Return the operations that compute an output, in order."""
    wanted, kept = {out}, []
    for node in reversed(nodes):
        if wanted & set(node.writes):
            wanted |= set(node.reads)
            kept.append(node)
    return tuple(reversed(kept))


def _reads(nodes: tuple[Node, ...], name: str) -> bool:
    return any(name in node.reads for node in nodes)


def _width(value: Given, file: Path) -> int:
    """Return the size of an observation: the last dimension of the input."""
    sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    if len(sizes) not in (1, 2) or sizes[-1] < 1 or (len(sizes) == 2 and sizes[0] > 1):
        raise InputError(
            f"{file} takes an input of shape {sizes}: a policy needs an input of shape (rows, observations)"
        )
    return int(sizes[-1])


def layers(graph: Graph) -> tuple[ndarray, ndarray, tuple[tuple[ndarray, ndarray], ...], str] | None:
    """Return (mean, spread, weights, activation) of a network as ``write_onnx`` writes it; None for any other."""
    nodes, constants, at = graph.nodes, graph.constants, graph.reads
    kinds = [node.operation for node in nodes]
    if len(nodes) < 4 or kinds[:2] != ["Sub", "Div"] or kinds[-1] != "Clip":
        return None
    inner = kinds[2:-1]
    acts = set(inner[1::2])
    by_onnx = {word: name for name, word in _ACTIVATIONS.items()}
    if set(inner[::2]) != {"Gemm"} or len(inner) % 2 == 0 or len(acts) > 1 or not acts <= set(by_onnx):
        return None
    for node in nodes:
        if node.settings or node.reads[0] != at or any(key not in constants for key in node.reads[1:]):
            return None
        at = node.writes[0]
    if [constants[key].ravel().tolist() for key in nodes[-1].reads[1:]] != [[-1.0], [1.0]]:
        return None
    mean, spread = (constants[node.reads[1]] for node in nodes[:2])
    weights = tuple((constants[n.reads[1]], constants[n.reads[2]]) for n in nodes[2:-1:2])
    return mean, spread, weights, by_onnx[acts.pop()] if acts else "tanh"
