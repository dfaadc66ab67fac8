"""NumPy's functions, methods and ways of writing on traced arrays are NumPy's."""

import copy

import numpy as np
import pytest
from numpy import array as raw_array
from numpy import maximum as raw_maximum
from replaying import assert_traces_right, operations

from nptrace.frontend.tracer import trace

X, Y = np.array([0.3, -0.4, 1.2]), np.array([-1.1, 0.6, 0.2])
A = np.arange(12.0).reshape(3, 4) / 7 - 0.6


def filled(x):
    y = np.zeros(3)
    y[0], y[1:] = x[1], x[:2]
    y += x
    y[1:] *= 2
    y[-1] -= x[0]
    return y


def written_down(x):
    y = np.array([0.0, 1.0, 2.0])
    y[1] = x[0]
    return y


def masked(x):
    y = x.copy()
    y[y > 0] = 0.5
    return y


def masked_rows(x):
    y = np.outer(x, x)
    y[x > 0] = 2.0
    return y


def copied(x):
    y = np.empty(3)
    np.copyto(y, x)
    np.fill_diagonal(z := np.zeros((3, 3)), x)
    return y @ z


ON_VECTORS = {
    "arithmetic": lambda x: np.concatenate([x + 1, 2 - x, x * x, x / 3, 1 / x, -x, +x, x**2, x // 0.5, x % 0.5]),
    "filling": filled,
    "filling a literal": written_down,
    "mask assignment": masked,
    "mask of rows": masked_rows,
    "copyto and fill_diagonal": copied,
    "x.max()": lambda x: np.stack([x.max(), x.min(), x.sum(), x.mean(), x.prod(), x.std(), x.var()]),
    "x.clip": lambda x: x.clip(0, 1),
    "np.clip one side": lambda x: np.clip(x, None, 0.5) + np.clip(x, a_min=0, a_max=None) + np.clip(x, min=0, max=1),
    "any, all": lambda x: np.where((x > 0).any(), x, 0) + np.where(np.all(x > -1), x, 7),
    "isnan": lambda x: np.where(np.isnan(x), 0, x),
    "isinstance float": lambda x: x if isinstance(x[0], float) and np.isscalar(x[0]) else 2 * x,
    "isinstance array": lambda x: x if isinstance(x, np.ndarray) else 2 * x,
    "isinstance bool": lambda x: x if isinstance(x[0] > 0, np.bool_) else 2 * x,
    "dtype": lambda x: x if x.dtype == float and (x > 0).dtype == bool and x[0].dtype == np.float64 else 2 * x,
    "dtype of zeros": lambda x: np.zeros(3, dtype=x.dtype) + x,
    "issubdtype": lambda x: x if np.issubdtype(x.dtype, np.floating) else 2 * x,
    "result_type": lambda x: x if np.result_type(x, 1.0) == np.dtype(float) else 2 * x,
    "hasattr": lambda x: x if not hasattr(x[0], "keys") else 2 * x,
    "iterable": lambda x: x if np.iterable(x) and not np.iterable(x[0]) else 2 * x,
    "raw array @": lambda x: raw_array([x[0], 0.0]) @ x[:2],
    "raw sin": lambda x: np.sin(raw_array([x[0], x[1]])),
    "raw ufunc": lambda x: raw_maximum(x, 0),
    "sum of list": lambda x: sum(x) + sum([x[0], x[1]]),
    "np.sum": lambda x: np.sum(np.outer(x, x), axis=1) + np.sum([x[0], x[1]]),
    "trace": lambda x: np.trace(np.outer(x, x)),
    "cumsum": lambda x: np.concatenate([np.cumsum(x), x.cumsum(), np.cumprod(x)]),
    "diff": np.diff,
    "roll, tile, repeat": lambda x: np.roll(np.tile(np.repeat(x, 2), 2), 1),
    "block": lambda x: np.block([[np.outer(x, x), np.zeros((3, 1))], [x, np.ones(1)]]),
    "kron": lambda x: np.kron(x, x),
    "vectorize": lambda x: np.vectorize(lambda a: a * 2)(x),
    "polyval": lambda x: np.polyval([1.0, 2.0, 3.0], x),
    "where of truths": lambda x: 1.0 * ~np.where(x > 0, x < 1, x < -0.2),
    "select": lambda x: np.select([x > 0.5, x < 0], [x, x * 2], 0.25),
    "select without default": lambda x: np.select([x > 0.5, x < 0], [x, x * 2]),
    "interp": lambda x: np.interp(x, [0, 0.2, 1], [0, 2, 1]),
    "interp of many": lambda x: np.interp(x, [-1, -0.5, 0, 0.2, 0.9, 1], [0, 2, 1, 5, 4, -1], left=-9, right=9),
    "interp traced values": lambda x: np.interp(0.7, [-1, 0, 0.9], x) + np.interp(x, [0, 1], x[:2]),
    "linspace": lambda x: np.linspace(0, x[0], 4) + np.linspace(x[0], x[1], 4, endpoint=False),
    "meshgrid": lambda x: np.meshgrid(x, x)[0],
    "einsum": lambda x: np.einsum("i,j->ij", x, x).ravel() + np.einsum("i,i->", x, x),
    "matrix_power": lambda x: np.linalg.matrix_power(np.outer(x, x), 3),
    "norms": lambda x: np.stack([np.linalg.norm(x)] + [np.linalg.norm(x, k) for k in (1, 2, np.inf, -np.inf)]),
    "matrix norm": lambda x: np.linalg.norm(np.outer(x, x + 1)),
    "norm by axis": lambda x: np.linalg.norm(np.outer(x, x + 1), axis=1) + np.linalg.norm(np.outer(x, x), axis=0),
    "round": lambda x: np.round(x, 1) + x.round(2) + np.around(x),
    "out=": lambda x: np.multiply(x, 2, out=np.empty(3)),
    "zeros_like and friends": lambda x: np.zeros_like(x) + np.ones_like(x) + np.full_like(x, x[0]) + x,
    "zeros_like of a constant": lambda x: (y := np.zeros_like(Y), y.__setitem__(0, x[0]))[0],
    "int zeros": lambda x: np.zeros(3, int) + np.full(3, 2) + x,
    "int index array": lambda x: x[np.array([2, 0])] + x[[0, 1]] + np.take(x, [1, 2]),
    "constant mask": lambda x: x[np.array([True, False, True])],
    "constants decide": lambda x: x * np.argmax(np.abs(np.array([0.0, 2.0, 1.0]))) if np.eye(3)[0, 0] == 1 else x,
    "constant inverse": lambda x: np.linalg.inv(np.diag([1.0, 2.0, 4.0])) @ x + np.linalg.solve(np.eye(3), Y),
    "constant sort": lambda x: x * np.sort(np.array([3.0, 1.0, 2.0])),
    "counting": lambda x: np.sum(x > 0) * x + np.mean(x > 0) + (x > 0).sum(),
    "adding truths is or": lambda x: ((x > 0) + (x > 1)) * 1.0 + ((x > 0) * (x > 1)) * 1.0,
    "comparing truths": lambda x: ((x > 0) == (x < 1)) * 1.0 + ((x > 0) != (x < 1)),
    "truth arithmetic": lambda x: (x > 0) * x + 2 * (x < 1) - 0.5 * ~(x < 0.5),
    "xor": lambda x: (x > 0) ^ (x < 1),
    "truths stored as numbers": lambda x: (y := np.zeros(3), y.__setitem__(slice(None), x > 0), y + y)[-1],
    "a truth stored as a number": lambda x: (y := np.zeros(3), y.__setitem__(0, x[0] > 0), y + y)[-1],
    "numbers stored as truths": lambda x: (m := x > 0, m.__setitem__(1, x[2]), (m + m) * 1.0)[-1],
    "truths beside numbers": lambda x: np.stack([x[0] > 0, x[1]]) + np.array([x[0] > 0, 1.5]) + np.array([True, x[2]]),
    "truths made floats": lambda x: (m := np.array([x[0] > 0, x[1] > 0], dtype=float), m + m)[-1],
    "chosen truths": lambda x: (m := np.where([True, False, True], x > 0, x), m + m)[-1],
    "concatenated": lambda x: (m := np.concatenate([x > 0, x]), m + m)[-1],
    "truths as whole numbers": lambda x: (x > 0).astype(int) + (x > 0).astype(int),
    "astype": lambda x: x.astype(float) + x.astype(bool) + (x > 0).astype(float),
    "list arithmetic": lambda x: (x[0] + [1.0, 2.0]) * (np.array([3.0, 4.0]) - x[1]),
    "functions of lists": lambda x: np.where(np.any([x[0] > 0, x[1] > 0]), np.max([x[0], 0.1]), np.mean([x[1], 2.0])),
    "lists beside arrays": lambda x: np.maximum(x, [0.0, x[1], 1.0]) + np.where(x > 0, [1.0, 2.0, 3.0], [x[0], 0, 1]),
    "methods of a number": lambda x: x[0].clip(0, 1) + x[1].sum() + x[1].max() + x[1].astype(float) + x[0].reshape(1),
    "pad": lambda x: np.pad(x, 1) + np.pad(x, 1, mode="edge"),
    "count_nonzero": lambda x: np.count_nonzero(x > 0) * x,
    "tolist": lambda x: np.array(x.tolist()) + np.stack([v.item() for v in x]),
    "deepcopy": lambda x: copy.deepcopy(x) + copy.copy(x),
    "scalar array": lambda x: np.array(x[0]) + np.asarray(x[1]) * np.float64(2) + np.array(2.0) * x[2],
    "outer ufunc": lambda x: np.subtract.outer(x, x),
    "maximum.reduce": lambda x: np.maximum.reduce(np.outer(x, x), axis=1) + np.minimum.accumulate(x),
    "add.at": lambda x: (y := np.zeros(3), np.add.at(y, [0, 0, 2], x))[0],
    "add.reduce": lambda x: np.add.reduce(np.outer(x, x), axis=(0, 1)),
    "isclose": lambda x: np.where(np.isclose(x, 0.3), 1.0, x),
    "average": lambda x: np.average(x) + np.average(x, weights=Y),
    "ptp": lambda x: np.ptp(x),
    "gradient": lambda x: np.gradient(x),
    "convolve": lambda x: np.convolve(x, [1.0, 2.0]),
    "trapezoid": lambda x: np.trapezoid(x, dx=0.1),
    "unpacking": lambda x: (lambda a, b, c: a + b * c)(*x),
    "walrus and comprehension": lambda x: np.stack([a * b for a, b in zip(x, x[::-1])]),
    "real": lambda x: np.real(x) + x.real + x[0].real,
    "enumerate dict": lambda x: np.stack(list(dict(enumerate(x)).values())),
}


@pytest.mark.parametrize("name", ON_VECTORS)
def test_traced_like_numpy(name):
    assert_traces_right(ON_VECTORS[name], X)


ON_MATRICES = {
    "max axis": lambda a: a.max(axis=0) + np.max(a, axis=0) + np.amax(a, 0) + np.min(a) + np.amin(a),
    "keepdims": lambda a: a - np.max(a, axis=1, keepdims=True) + np.sum(a, axis=0, keepdims=True),
    "two axes": lambda a: np.max(a, axis=(0, 1)) + np.any(a > 0, axis=(0, 1)) + np.all(a > 0),
    "mean, var": lambda a: np.mean(a, axis=0) + np.var(a, axis=0, ddof=1) + np.std(a) + a.mean(axis=(0, 1)),
    "shapes": lambda a: a.T.reshape(2, 6)[:, ::2].ravel() + np.swapaxes(a, 0, 1).ravel()[:6],
    "stacks": lambda a: np.vstack([a, a])[2:4] + np.hstack([a, a])[:2, 4:] + np.concatenate([a, a], axis=0)[1],
    "products": lambda a: a @ a.T + np.dot(a, a.T) + a.dot(a.T) + np.inner(a, a) + np.matmul(a, a.T),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a) + np.tensordot(a, a, axes=(1, 1)),
    "diag": lambda a: np.diag(a[:, :3]) + np.diag(np.diag(a[:3, :3])) + np.tril(a[:, :3]) + np.triu(a[:, 1:]),
    "cross": lambda a: np.cross(a[:, :3], a[:, 1:]) + np.linalg.cross(a[:, :3], a[:, 1:]),
    "broadcast": lambda a: np.broadcast_to(a[0], (3, 4)) + np.expand_dims(a[1], 0) + np.atleast_2d(a[2]),
    "split": lambda a: np.split(a, 2, axis=1)[0] + np.array_split(a, 2, axis=1)[1],
    "flips": lambda a: np.flip(a) + a[::-1] + np.fliplr(a) + np.rot90(a, 2) + np.moveaxis(a, 0, 1).T,
    "flat": lambda a: np.stack(list(a.flat)) + a.flatten() + np.ravel(a),
    "rows": lambda a: sum(row @ row for row in a),
    "linalg names": lambda a: np.linalg.matmul(a, a.T) + np.linalg.outer(a[0, :3], a[1, :3]) + np.linalg.trace(a),
    "vecdot": lambda a: np.vecdot(a, a) + np.linalg.vector_norm(a, axis=1) + np.linalg.vector_norm(a),
}


@pytest.mark.parametrize("name", ON_MATRICES)
def test_matrices_traced_like_numpy(name):
    assert_traces_right(ON_MATRICES[name], A)


def test_boolean_and_integer_arguments_keep_their_arithmetic():
    mask, other, count = np.array([True, False, True]), np.array([True, True, False]), np.array([5, -3, 2])
    assert_traces_right(lambda m, n: (m + n) * 1.0 + ~m + (m & n) + np.where(m, 2.0, 3.0), mask, other)
    assert_traces_right(lambda n: n / 2 + n // 2 + n % 3 + n**2, count)


def test_a_structural_zero_costs_nothing():
    assert operations(lambda x: np.eye(3) @ x + np.zeros((3, 3)) @ x, X).total() == 0


def test_a_quotient_is_a_shared_reciprocal():
    assert operations(lambda x: x / x[0] + Y / x[0], X)["inv"] == 1


def test_a_trace_leaves_numpy_as_it_was():
    before = {name: getattr(np, name) for name in dir(np)}
    trace(lambda x: x + np.zeros(3), X)
    with pytest.raises(ValueError, match="mine"):
        trace(raise_mine, X)
    assert all(getattr(np, name) is value for name, value in before.items())


def raise_mine(x):
    raise ValueError("mine")


def test_the_users_own_exception_comes_through():
    with pytest.raises(KeyError):
        trace(lambda x: {"a": x}["b"], X)
