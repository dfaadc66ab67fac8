"""Policy networks: layers, and graphs of operations read from a file. Plain NumPy that can be traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError
from nptrace._types import Given, Operand, PyTree, Scalar

_MAX_WIDTH = 1 << 16  # largest number of values between two operations
_MAX_UNROLLED_WEIGHTS = 12_000  # largest number of weights in a layer that a trace unrolls


def elu(x: Scalar, alpha: float = 1.0) -> Scalar:
    return np.where(x > 0.0, x, alpha * (np.exp(np.minimum(x, 0.0)) - 1.0))


def sigmoid(x: Scalar) -> Scalar:
    return 1.0 / (1.0 + np.exp(-x))


ACTIVATIONS: dict[str, Callable[[PyTree], PyTree]] = {  # activations between the layers of a network
    "tanh": np.tanh,
    "elu": elu,
    "relu": lambda x: np.maximum(x, 0.0),
}


def product(x: Operand, W: ndarray) -> Operand:
    """Return x @ W; a trace of one input and a large W loops over the columns, so that the program stays small.

    Each column's result is shifted in at the end, so that the first is at the front after the last.
    """
    if W.size <= _MAX_UNROLLED_WEIGHTS or x.ndim != 1 or not nptrace.is_tracing():
        return x @ W
    rows = np.arange(W.shape[0])

    def column(i: Operand, y: Operand) -> Operand:
        return np.concatenate([y[1:], np.stack([np.sum(nptrace.lookup(W, rows, i) * x)])])

    return nptrace.repeat(W.shape[1], column, np.zeros(W.shape[1]))


def layers_of(weights: PyTree, x: Scalar, activation: str = "tanh") -> list[Operand]:
    """Return the input and the output of each layer; the last layer has no activation.

    ``weights`` are pairs (W, b); x is one input, or rows of them.
    """
    given = [x]
    for k, (W, b) in enumerate(weights):
        linear = product(given[-1], W) + b
        given.append(ACTIVATIONS[activation](linear) if k < len(weights) - 1 else linear)
    return given


# -- graphs ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Node:
    """One operation of a graph, by its ONNX name, with its inputs, outputs and settings."""

    operation: str
    reads: tuple[str, ...]  # "" for an omitted input
    writes: tuple[str, ...]
    settings: Mapping[str, Given]  # numbers, tuples of numbers, or names


@dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """A network as operations in order, from ``reads`` to ``writes``; ``constants`` by name."""

    reads: str
    writes: str
    inputs: int  # size of an observation
    outputs: int
    nodes: tuple[Node, ...]
    constants: Mapping[str, ndarray]

    def __call__(self, x: Scalar) -> Scalar:
        """Evaluate the network for an observation, or for rows of them."""
        values: dict[str, Scalar] = {**self._constants, self.reads: x}
        for node in self.nodes:
            given = OPERATIONS[node.operation](node, *(values[key] if key else None for key in node.reads))
            values.update(zip(node.writes, given if isinstance(given, tuple) else (given,)))
        return values[self.writes]

    @cached_property
    def _constants(self) -> dict[str, ndarray]:
        """Return the constants without a row axis of size one, so that a vector stays a vector."""
        used = {key for node in self.nodes if node.operation not in ("MatMul", "Gemm") for key in node.reads}
        return {
            key: value[0] if key in used and value.ndim == 2 and value.shape[0] == 1 else value
            for key, value in self.constants.items()
        }


def _gemm(node: Node, x: Operand, W: Operand, b: Scalar | None = None) -> Operand:
    s = node.settings
    if s.get("transA", 0):
        raise InputError("a Gemm that transposes its input is not supported")
    out = s.get("alpha", 1.0) * product(x, W.T if s.get("transB", 0) else W)
    return out if b is None else out + s.get("beta", 1.0) * np.ravel(b)


def _layer_norm(node: Node, x: Operand, scale: Operand, shift: Scalar | None = None) -> Operand:
    if node.settings.get("axis", -1) not in (-1, 1):
        raise InputError("a LayerNormalization over an axis other than the last is not supported")
    away = x - _mean(x)
    out = away / np.sqrt(_mean(away * away) + node.settings.get("epsilon", 1e-5)) * scale
    return out if shift is None else out + shift


def _mean(x: Operand) -> Operand:
    return np.sum(x, axis=-1, keepdims=True) / x.shape[-1]


def _reduce_mean(node: Node, x: Scalar, axes: Given = None) -> Scalar:
    over = np.ravel(node.settings.get("axes", ()) if axes is None else axes)
    if not node.settings.get("keepdims", 1) or over.size != 1 or over[0] not in (-1, 1):
        raise InputError("a ReduceMean over an axis other than the last, or one that drops it, is not supported")
    return _mean(x)


def _clip(node: Node, x: Operand, low: Scalar | None = None, high: Scalar | None = None) -> Operand:
    low = node.settings.get("min") if low is None else low
    high = node.settings.get("max") if high is None else high
    x = x if low is None else np.maximum(x, np.ravel(low)[0])
    return x if high is None else np.minimum(x, np.ravel(high)[0])


def _pow(node: Node, x: Scalar, power: Scalar) -> Scalar:
    value = float(np.ravel(power)[0])
    if np.size(power) != 1 or value not in (1.0, 2.0, 3.0, 0.5, -0.5, -1.0):
        raise InputError(f"a Pow with the power {value:g} is not supported")
    root = x if value == int(value) else np.sqrt(x)
    times = int(2 * value) if value != int(value) else int(value)
    out = root
    for _ in range(abs(times) - 1):
        out = out * root
    return out if times > 0 else 1.0 / out


def _slice(
    node: Node, x: Operand, starts: Given, ends: Given, axes: Given = None, steps: Scalar | None = None
) -> Operand:
    first = (np.ravel(v) for v in (starts, ends))
    start, end = (int(v[0]) for v in first)
    axis = -1 if axes is None else int(np.ravel(axes)[0])
    if np.size(starts) != 1 or axis not in (-1, 1) or (axes is None and x.ndim > 1):
        raise InputError("a Slice over an axis other than the last is not supported")
    return x[..., slice(start, end, None if steps is None else int(np.ravel(steps)[0]))]


def _gather(node: Node, x: Operand, positions: Operand) -> Operand:
    if node.settings.get("axis", 0) not in (-1, 1) or np.ndim(positions) != 1:
        raise InputError("a Gather over an axis other than the last is not supported")
    return x[..., np.asarray(positions, int)]


def _concat(node: Node, *parts: Operand) -> Operand:
    if node.settings.get("axis", -1) not in (-1, 1):
        raise InputError("a Concat over an axis other than the last is not supported")
    if sum(part.shape[-1] for part in parts) > _MAX_WIDTH:
        raise InputError(f"a Concat of more than {_MAX_WIDTH} numbers is not supported")
    return np.concatenate(parts, axis=-1)


def _split(node: Node, x: Operand, sizes: Given = None) -> Operand:
    if node.settings.get("axis", 0) not in (-1, 1):
        raise InputError("a Split over an axis other than the last is not supported")
    if sizes is None:
        sizes = node.settings.get("split") or [x.shape[-1] // len(node.writes)] * len(node.writes)
    edges = np.cumsum([0, *np.ravel(sizes)]).astype(int)
    return tuple(x[..., a:b] for a, b in pairwise(edges))


def _batch_norm(node: Node, x: Scalar, scale: Scalar, shift: Scalar, mean: Scalar, variance: Scalar) -> Scalar:
    return (x - mean) / np.sqrt(variance + node.settings.get("epsilon", 1e-5)) * scale + shift


OPERATIONS: dict[str, Callable[..., PyTree]] = {
    "Identity": lambda node, x: x,
    "Dropout": lambda node, x, *rest: x,  # dropout has no effect in a trained network
    "Cast": lambda node, x: x,  # a cast keeps real numbers
    "Flatten": lambda node, x: x,  # rows are already flat
    "Gemm": _gemm,
    "MatMul": lambda node, x, W: product(x, W),
    "Add": lambda node, a, b: a + b,
    "Sub": lambda node, a, b: a - b,
    "Mul": lambda node, a, b: a * b,
    "Div": lambda node, a, b: a / b,
    "Neg": lambda node, x: -x,
    "Abs": lambda node, x: np.abs(x),
    "Exp": lambda node, x: np.exp(x),
    "Sqrt": lambda node, x: np.sqrt(x),
    "Reciprocal": lambda node, x: 1.0 / x,
    "Pow": _pow,
    "Min": lambda node, a, b: np.minimum(a, b),
    "Max": lambda node, a, b: np.maximum(a, b),
    "Clip": _clip,
    "Relu": lambda node, x: np.maximum(x, 0.0),
    "LeakyRelu": lambda node, x: np.where(x > 0.0, x, node.settings.get("alpha", 0.01) * x),
    "Elu": lambda node, x: elu(x, node.settings.get("alpha", 1.0)),
    "Selu": lambda node, x: (
        node.settings.get("gamma", 1.0507009873554805) * elu(x, node.settings.get("alpha", 1.6732632423543772))
    ),
    "Tanh": lambda node, x: np.tanh(x),
    "Sigmoid": lambda node, x: sigmoid(x),
    "Softplus": lambda node, x: np.maximum(x, 0.0) + np.log(1.0 + np.exp(-np.abs(x))),
    "Softsign": lambda node, x: x / (1.0 + np.abs(x)),
    "LayerNormalization": _layer_norm,
    "BatchNormalization": _batch_norm,
    "ReduceMean": _reduce_mean,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
}
