"""Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"), for every target.

A counter-based generator is a function: 128 bits of counter and 64 bits of key give 128 random bits, and other
counters or keys give independent ones. There is no state, so any element of a batch may compute any number.

A program's numbers are floats, which hold 16-bit words exactly in either precision: counter and key are 16-bit words,
low first, and the output is read in parts of at most 24 bits. ``philox`` is written once, for the integers of any
target; those of NumPy are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

COUNTER_WORDS, KEY_WORDS = 8, 4  # 16-bit words
ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)  # added to the key between rounds: the golden ratio and sqrt(3) - 1
LARGEST_WORD = 2**16 - 1

W = TypeVar("W")  # a 32-bit word of the target
Part: TypeAlias = tuple[int, int, int]  # (word 0 to 3 of a block, bits below it, bits in it: at most 24)


class Integers(Protocol[W]):
    """Arithmetic modulo 2^32."""

    def word_product(self, a: W, factor: int) -> tuple[W, W]:
        """Return the (high, low) words of a product."""
        ...

    def word_add(self, a: W, b: int) -> W: ...
    def word_xor(self, a: W, b: W) -> W: ...


def philox(e: Integers[W], counter: Sequence[W], key: Sequence[W]) -> tuple[W, ...]:
    """Return four random words for a counter of four words and a key of two."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for k in range(ROUNDS):
        if k:
            k0, k1 = e.word_add(k0, _WEYL[0]), e.word_add(k1, _WEYL[1])
        (high0, low0), (high1, low1) = e.word_product(c0, _MULTIPLIERS[0]), e.word_product(c2, _MULTIPLIERS[1])
        c0, c1 = e.word_xor(e.word_xor(high1, c1), k0), low1
        c2, c3 = e.word_xor(e.word_xor(high0, c3), k1), low0
    return c0, c1, c2, c3


class NumPyIntegers:
    """32-bit words in uint64 arrays."""

    def word_product(self, a: np.ndarray, factor: int) -> tuple[np.ndarray, np.ndarray]:
        product = a * np.uint64(factor)
        return product >> np.uint64(32), product & np.uint64(0xFFFFFFFF)

    def word_add(self, a: np.ndarray, b: int) -> np.ndarray:
        return (a + np.uint64(b)) & np.uint64(0xFFFFFFFF)

    def word_xor(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a ^ b


class PythonIntegers:
    """32-bit words as Python integers: for a single block, ten times as fast as NumPy."""

    def word_product(self, a: int, factor: int) -> tuple[int, int]:
        product = a * factor
        return product >> 32, product & 0xFFFFFFFF

    def word_add(self, a: int, b: int) -> int:
        return (a + b) & 0xFFFFFFFF

    def word_xor(self, a: int, b: int) -> int:
        return a ^ b


def block(counter: Sequence[Any], key: Sequence[Any]) -> tuple[np.ndarray | int, ...]:
    """Return four random words, from 16-bit words that are numbers or arrays."""
    if not all(isinstance(x, float) for x in (*counter, *key)):
        return philox(NumPyIntegers(), joined(counter), joined(key))
    whole = [int(min(max(x, 0.0), LARGEST_WORD)) if x == x else 0 for x in (*counter, *key)]
    words = [low | high << 16 for low, high in zip(whole[::2], whole[1::2])]
    return philox(PythonIntegers(), words[: COUNTER_WORDS // 2], words[COUNTER_WORDS // 2 :])


def part_of(words: Sequence[np.ndarray | int], part: Part) -> np.ndarray | int:
    """Return some bits of a block as integers."""
    word, shift, bits = part
    found = words[word]
    if isinstance(found, int):
        return found >> shift & (1 << bits) - 1
    return (found >> np.uint64(shift)) & np.uint64(2**bits - 1)


def joined(parts: Sequence[Any]) -> list[np.ndarray]:
    """Join 16-bit words to 32-bit words: rounded down and clamped, NaN as zero, as on every target."""
    whole = [np.clip(np.nan_to_num(np.floor(x), nan=0.0), 0, LARGEST_WORD).astype(np.uint64) for x in parts]
    return [low | (high << np.uint64(16)) for low, high in zip(whole[::2], whole[1::2])]
