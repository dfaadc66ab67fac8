"""Random numbers that are functions of a key and a counter, the same on every target: Philox4x32-10.

    key = nptrace.random.key(seed=1)
    x = nptrace.random.normal(key, tick, shape=(3,))      # in NumPy, and in traced code

There is no hidden state: equal keys and counters give equal numbers, different ones independent numbers. A key
holds 64 bits, a counter 96 bits, both in 16-bit words, low first, each a whole number that float32 holds exactly: a
counter of three words reaches 2.8e14, while a single float32 stops at 1.7e7. Words are rounded down and clamped to
their range; NaN counts as zero. All derivatives are zero.

``bits`` and ``uniform`` are the same bit for bit on every target, in float64 and in float32. ``normal`` takes a
logarithm, a root, a sine and a cosine of such numbers: compiled code for one element, for lanes and for any batch
agrees bit for bit, as do C and CUDA with it up to their fused operations; NumPy's own functions, and float32 beside
float64, differ by roundings (4 ulp of the larger of one and the number).

All draws with one key and counter use the same bits: give each draw a different counter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from nptrace._types import Operand
from nptrace.errors import InputError
from nptrace.ir.philox import COUNTER_WORDS, KEY_WORDS, Part, block, part_of
from nptrace.numeric import tracer

Words: TypeAlias = np.ndarray  # (..., n), each an integer below 2^16, low first; or symbols
Shape: TypeAlias = int | tuple[int, ...]

_FREE_WORDS = COUNTER_WORDS - 2  # the last two number the blocks of a draw
_MOST = 24  # bits that float32 holds exactly
_FOLDING = 2**32 - 1  # the number of the block that gives a folded key
_WHOLE: list[Part] = [(word, 8, _MOST) for word in range(4)]
_HALVES: list[Part] = [(word, shift, 16) for word in (0, 1) for shift in (0, 16)]
_OF_NORMALS: list[Part] = [part for k in (0, 2) for part in ((k, 16, 16), (k, 0, 16), (k + 1, 0, 8), (k + 1, 8, _MOST))]


def words(value: int | np.ndarray, count: int) -> Words:
    """Return integers as ``count`` 16-bit words, low first: ``words(tick, 3)``.

    Args:
        value: one number or an array of them, from 0 to 2**(16 * count) - 1.

    Returns:
        An array of the shape of ``value`` with one more axis of ``count`` words.
    """
    given = np.asarray(value)
    whole = given.astype(np.uint64) if given.dtype.kind == "f" and np.all(np.abs(given) < 2.0**64) else given
    ends = [whole.min(), whole.max()] if whole.size else []
    fits = bool(np.all(whole == given)) and all(0 <= int(x) < 1 << (16 * count) for x in ends)
    if not fits:
        raise InputError(f"words of a random counter or key: {count} hold 0 to 2**{16 * count} - 1, got {value!r}")
    return np.stack([np.asarray(whole >> 16 * k & 0xFFFF, float) for k in range(count)], axis=-1)


def number(words: Words) -> np.ndarray:
    """Return the integer that words represent, the inverse of ``words``, exact below 2^53 (2^24 in float32)."""
    total = words[..., -1]
    for k in reversed(range(words.shape[-1] - 1)):
        total = 65536.0 * total + words[..., k]
    return total


def advance(words: Words) -> Words:
    """Return words incremented by one, with carries; the largest number is followed by zero."""
    carry: Operand = 1.0
    found: list[Operand] = []
    for k in range(words.shape[-1]):
        word = words[..., k] + carry
        full = word > 65535.5
        found.append(np.where(full, 0.0, word))
        carry = np.where(full, 1.0, 0.0)
    return np.stack(found, axis=-1)


def key(seed: int) -> Words:
    """Return the key of a seed, an integer from 0 to 2**64 - 1."""
    return words(seed, KEY_WORDS)


def fold_in(key: Words, data: Words) -> Words:
    """Return a new key from a key and the words of a counter, independent of the keys of other seeds."""
    return np.stack(_block(key, data, _FOLDING, _HALVES), axis=-1)


def bits(key: Words, counter: Words, shape: Shape = (), width: int = 16) -> np.ndarray:
    """Return integers of ``width`` random bits, 1 to 24.

    Args:
        key: of ``key`` or ``fold_in``, (..., 4).
        counter: up to six 16-bit words (..., n), or one integer below 2^32.
        shape: of the array that is drawn; batch axes of key and counter come first in the result.
    """
    if not 1 <= width <= _MOST:
        raise InputError(f"nptrace.random.bits gives numbers of 1 to {_MOST} bits, got width = {width}")
    return _drawn(key, counter, shape, [(word, 32 - width, width) for word in range(4)], lambda parts: parts)


def uniform(key: Words, counter: Words, shape: Shape = ()) -> np.ndarray:
    """Return numbers that are uniform in [0, 1): multiples of 2^-24, the same in float64 and float32.

    Arguments as for ``bits``.
    """
    return _drawn(key, counter, shape, _WHOLE, lambda parts: [2.0**-_MOST * x for x in parts])


def normal(key: Words, counter: Words, shape: Shape = ()) -> np.ndarray:
    """Return normal numbers of mean 0 and variance 1, by Box and Muller's transform.

    The radius uses 40 bits, the angle 24: tails are accurate to 7 sigma and end at 7.5. Arguments as for
    ``bits``.
    """
    return _drawn(key, counter, shape, _OF_NORMALS, _box_muller)


def _box_muller(parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return two normal numbers for every four parts: the fraction's high, middle and low bits, and the angle."""
    found = []
    for high, middle, low, angle in zip(parts[::4], parts[1::4], parts[2::4], parts[3::4]):
        fraction = 2.0**-16 * high + (2.0**-32 * middle + (2.0**-40 * low + 2.0**-41))
        radius = np.sqrt(-2.0 * np.log(fraction))
        turned = (2.0**-_MOST * angle - 0.5) * (2.0 * math.pi)
        found += [radius * np.cos(turned), radius * np.sin(turned)]
    return found


def _drawn(key: Words, counter: Words, shape: Shape, parts: list[Part], made: Callable[[list], list]) -> np.ndarray:
    """Return an array of ``made(parts)`` of as many blocks as needed, four numbers per block."""
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    count = math.prod(shape)
    blocks = [_block(key, counter, k, parts) for k in range(-(-count // 4))]
    if tracer.get() is None and len(blocks) > 1:  # all blocks at once
        columns = made([np.stack(column, axis=-1) for column in zip(*blocks)])
        found = list(np.moveaxis(np.stack(columns, axis=-1), (-2, -1), (0, 1)))
        found = [x for of_block in found for x in of_block]
    else:
        found = [x for each in blocks for x in made(each)]
    if shape == ():
        return found[0]
    whole = np.stack(found[:count], axis=-1) if found else np.zeros((*np.shape(counter)[:-1], 0))
    return np.reshape(whole, (*np.shape(whole)[:-1], *shape))


def _block(key: Words, counter: Words, number: int, parts: list[Part]) -> list[Operand]:
    """Return parts of one random block as numbers."""
    given: list[Operand] = [*_counted(counter), float(number % 65536), float(number // 65536), *_last_axis(key)]
    active = tracer.get()
    if active is not None:
        return active.random(parts, given)
    words = block(given[:COUNTER_WORDS], given[COUNTER_WORDS:])
    found = [part_of(words, part) for part in parts]
    dtype = np.float32 if np.result_type(key, counter) == np.float32 else np.float64
    return [dtype(x) if isinstance(x, int) else x.astype(dtype) for x in found]


def _counted(counter: Words) -> list[Operand]:
    """Return the six words of a counter, with zeros for missing ones."""
    if np.ndim(counter) == 0:
        above = np.floor(counter / 65536.0)
        return [counter - 65536.0 * above, above, *[0.0] * (_FREE_WORDS - 2)]
    given = _last_axis(counter)
    if len(given) > _FREE_WORDS:
        raise InputError(f"a random counter has at most {_FREE_WORDS} words of 16 bits, got {len(given)}")
    return [*given, *[0.0] * (_FREE_WORDS - len(given))]


def _last_axis(array: Words) -> list[Operand]:
    if isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind == "f":
        return array.tolist()  # for single numbers, Python floats are faster
    return [array[..., k] for k in range(np.shape(array)[-1])]


__all__ = ["advance", "bits", "fold_in", "key", "normal", "number", "uniform", "words"]


def __dir__() -> list[str]:
    return sorted(__all__)
