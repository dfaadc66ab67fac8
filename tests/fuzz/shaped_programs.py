"""Random programs whose values are arrays of many shapes: what NumPy does along axes, by slices, views and broadcasts.

A program has the same form as those of ``programs``, and is compared with NumPy in the same way: two vectors of four
numbers go in, are given other shapes, and a vector of four sums comes out. Steps are chosen by the shapes that they
meet, which NumPy says.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import programs

from nptrace import lookup, repeat, scan

Value = Any  # an array of up to three axes, or a number
Step = Callable[..., Value]
SHAPES = [(4,), (2, 2), (1, 4), (4, 1), (2, 1, 2)]
LARGEST = 36  # numbers in a value
PLANE = np.sin(np.arange(12.0)).reshape(3, 4)
UFUNCS = ["maximum", "minimum", "add", "logical_and", "logical_or", "logical_xor", "fmax", "hypot"]
PLAIN = ["sin", "tanh", "arctan", "abs", "negative", "sign", "floor", "ceil", "rint", "trunc", "cbrt", "deg2rad"]


# -- steps of one value, at an axis ------------------------------------------------------------------------------------
def _along(axis: int, part: object) -> tuple:
    return (*[slice(None)] * axis, part)


def _write_through_a_view(x: Value, axis: int) -> Value:
    y = x.copy()
    first = y[_along(axis, slice(0, 1))]
    first += 0.25
    y[_along(axis, -1)] += 2.0 * y[_along(axis, 0)]
    return y


def _shifted_in_place(x: Value, axis: int) -> Value:
    y = np.zeros_like(x)
    y[_along(axis, slice(1, None))] = x[_along(axis, slice(None, -1))]
    y += 0.5 * x
    return y


def _mask_in_place(x: Value, axis: int) -> Value:
    y = x.copy()
    y[_along(axis, np.arange(x.shape[axis]) % 2 == 0)] *= 0.5
    return y


def _at_axis(choose: random.Random, x: np.ndarray) -> list[Step]:
    axis, keep = choose.randrange(x.ndim), choose.random() < 0.5
    size, name = x.shape[axis], choose.choice(UFUNCS)
    at, shift, stride = choose.randrange(-size, size), choose.randrange(-3, 4), choose.choice([1, 2, -1, -2])
    reduce = choose.choice(["sum", "mean", "max", "min", "std", "var", "ptp"])
    count = choose.choice(["any", "all"])
    found: list[Step] = [
        lambda x: np.flip(x, axis),
        lambda x: np.roll(x, shift, axis),
        lambda x: x[_along(axis, slice(None, None, stride))],
        lambda x: np.take(x, [at, 0, at], axis=axis),
        lambda x: x[_along(axis, at)],
        lambda x: x[_along(axis, np.array([0, -1, size // 2]))],
        lambda x: np.expand_dims(x, axis) if x.ndim < 3 else x,
        lambda x: getattr(np, reduce)(x, axis=axis, keepdims=keep),
        lambda x: np.prod(np.tanh(x) + 1.0, axis=axis),
        lambda x: 1.0 * getattr(np, count)(x > 0.1, axis=axis),
        lambda x: 1.0 * getattr(np, count)(np.floor(x), axis=axis),
        lambda x: 1.0 * np.count_nonzero(x > 0.1, axis=axis),
        lambda x: 1.0 * getattr(np, name).accumulate(np.tanh(x), axis=axis),
        lambda x: 1.0 * getattr(np, name).reduce(np.floor(x), axis=axis),
        lambda x: 0.3 * np.cumsum(x, axis=axis),
        lambda x: np.diff(x, axis=axis) if size > 1 else x,
        lambda x: np.gradient(x, axis=axis) if size > 1 else x,
        lambda x: np.pad(x, [(0, 0)] * axis + [(1, 0)] + [(0, 0)] * (x.ndim - axis - 1)),
        lambda x: np.repeat(x, 2, axis=axis),
        lambda x: np.array_split(x, 2, axis=axis)[0],
        lambda x: x - np.mean(x, axis=axis, keepdims=True),
        lambda x: _write_through_a_view(x, axis),
        lambda x: _shifted_in_place(x, axis),
        lambda x: _mask_in_place(x, axis),
        np.ravel,
        np.transpose,
    ]
    return found


def _of_vector(choose: random.Random, x: np.ndarray) -> list[Step]:
    return [
        lambda x: np.outer(x, np.arange(1.0, 4.0)),
        np.diag,
        lambda x: np.vander(np.tanh(x), 3),
        lambda x: np.convolve(x, [1.0, -0.5, 0.25]) * 0.5,
        lambda x: np.polyval([0.1, -0.3, 1.0], x),
        lambda x: np.interp(x, np.linspace(-2, 2, 5), [0, 1, -1, 0.5, 2.0]),
        lambda x: np.insert(x, 1, 0.5),
        lambda x: x.reshape(2, -1),
        lambda x: np.divmod(x, 0.7)[0] * 0.1 + np.divmod(x, 0.7)[1],
        lambda x: np.modf(x)[0],
        lambda x: scan(lambda c, r: (0.7 * c + r, c * r - 0.2), 0.1, x)[1],
        lambda x: scan(lambda c, r: (np.sin(c + r), np.cos(c) * r), x[-1], x, reverse=True)[1],
        lambda x: scan(_two_sums, (x[0], 0.0), (x, x[::-1]))[1]["a"],
    ]


def _two_sums(carry: tuple, row: tuple) -> tuple:
    return (0.5 * carry[0] + row[0], carry[1] + 1.0), {"a": carry[0] * row[1], "b": carry[1] * 1.0}


def _of_matrix(choose: random.Random, x: np.ndarray) -> list[Step]:
    well = lambda x: np.eye(len(x)) * 2.0 + 0.1 * x @ x.T  # noqa: E731
    return [
        np.diagonal,
        np.trace,
        np.tril,
        lambda x: np.triu(x, 1),
        lambda x: 0.2 * x @ x.T,
        np.rot90,
        lambda x: np.kron(x, np.array([[1.0, -1.0]])),
        lambda x: np.linalg.inv(well(x)),
        lambda x: np.linalg.solve(well(x), x),
        lambda x: np.linalg.cholesky(well(x)),
        lambda x: lookup(PLANE, x, x[::-1] + 1.0),
    ]


def _of_any(choose: random.Random, x: np.ndarray) -> list[Step]:
    name = choose.choice(PLAIN)
    small = lambda y: np.max(np.abs(y)) < 0.6  # noqa: E731
    turn = lambda i, c: (0.5 * c[0] + c[1], 0.9 * c[1] + 0.1 * i, ~c[2])  # noqa: E731
    count = lambda i, d: {"n": d["n"] + 1.0, "v": 0.8 * d["v"] + 0.1 * d["n"]}  # noqa: E731
    return [
        *[lambda x: getattr(np, name)(x)] * 3,
        lambda x: np.exp(np.clip(x, -6.0, 2.0)),
        lambda x: np.where(np.signbit(x), 0.5, 1.0) * x,
        lambda x: repeat(4, lambda i, y: 0.6 * np.sin(y) + 0.05 * i * x, x),
        lambda x: repeat(3, turn, (x, 0.3 * x, np.sum(x) > 0.0))[0],
        lambda x: repeat(10, lambda i, y: 0.75 * y + 0.01 * i, x, until=small),
        lambda x: repeat(5, count, {"n": 0.0, "v": x}, until=lambda d: (d["n"] > 2.5) | (np.sum(d["v"]) > 3.0))["v"],
        lambda x: repeat(6, lambda i, y: 0.9 * y + 0.1 * lookup(programs.LINE, i), x),
    ]


# -- steps of two values -----------------------------------------------------------------------------------------------
def _of_two(choose: random.Random, x: np.ndarray, y: np.ndarray) -> list[Step]:
    found: list[Step] = [
        lambda x, y: x + y,
        lambda x, y: 0.4 * x * y,
        lambda x, y: x / (1.0 + y * y),
        np.maximum,
        np.fmax,
        lambda x, y: np.hypot(x, 0.1 + np.abs(y)),
        lambda x, y: np.where(x > y, x, 2.0 * y),
        lambda x, y: (x < y) * x + (x >= y) * 0.5,
        lambda x, y: np.mod(x, 1.0 + np.abs(y)),
        lambda x, y: np.where((x > 0) & (y > 0) | (x < -1), x, y),
        lambda x, y: np.select([x > 1, y > 0, x < -1], [x, y, -x], 0.1),
        lambda x, y: np.where(np.isclose(x, y, atol=0.3), x, y),
        lambda x, y: x * np.sum(y) * 0.1,
    ]
    if x.shape == y.shape and x.ndim:
        found += [
            lambda x, y: np.concatenate([x, y], axis=-1),
            lambda x, y: np.stack([x, y]),
            lambda x, y: 0.1 * np.inner(x, y),
        ]
    if x.ndim == y.ndim == 1:
        found += [
            lambda x, y: x[:, None] - y,
            lambda x, y: np.einsum("i,j->j", x, y) * 0.2,
            lambda x, y: np.interp(x, np.arange(float(y.size)), y),
            lambda x, y: repeat(4, lambda i, c: (0.5 * c[0] + 0.1 * np.sum(c[1]), 0.9 * c[1] - 0.1 * c[0][0]), (x, y))[
                1
            ],
        ]
    if x.ndim == 2 and y.ndim and x.shape[1] == y.shape[0]:
        found += [lambda x, y: 0.3 * x @ y] * 3
    return found


# -- programs ----------------------------------------------------------------------------------------------------------
def make(seed: int) -> Callable[[Value, Value], Value]:
    """The program of a seed."""
    choose = random.Random(seed)
    shapes = choose.choice(SHAPES), choose.choice(SHAPES)
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=shape) for shape in shapes]
    steps: list[tuple[Step, list[int]]] = []
    for _ in range(60):
        at = [len(values) - 1 - min(int(choose.expovariate(0.8)), len(values) - 1), choose.randrange(len(values))]
        x, y = values[at[0]], values[at[1]]
        kind = choose.random()
        if kind < 0.3:
            step, at = choose.choice(_of_two(choose, x, y)), at
        elif kind < 0.5 or not x.ndim:
            step, at = choose.choice(_of_any(choose, x)), at[:1]
        elif kind < 0.8 or x.ndim > 2:
            step, at = choose.choice(_at_axis(choose, x)), at[:1]
        else:
            step, at = choose.choice((_of_vector if x.ndim == 1 else _of_matrix)(choose, x)), at[:1]
        try:
            result = np.asarray(step(*(values[k].copy() for k in at)), float)
        except (ValueError, IndexError, np.linalg.LinAlgError):
            continue  # not of such shapes
        if 0 < result.size <= LARGEST and result.ndim <= 3 and np.abs(result).max(initial=0.0) < 1e3:
            values.append(result)
            steps.append((step, at))
        if len(steps) == 3 + seed % 7:
            break
    weights = np.cos(np.outer(np.arange(4.0), np.arange(1.0, values[-1].size + 1.0)))

    def function(x: Value, y: Value) -> Value:
        now = [np.reshape(x, shapes[0]), np.reshape(y, shapes[1])]
        for step, at in steps:
            now.append(step(*(now[k] for k in at)))
        return weights @ np.ravel(now[-1])

    return function


def shaped(folder: Path) -> Callable[[int], str]:
    """A case compares one program with itself on NumPy."""
    return programs.programs(folder, make)
