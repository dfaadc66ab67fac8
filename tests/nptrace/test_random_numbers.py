"""Laws of the counter-based generator: published answers, the same bits on every target, independence, tails."""

import math

import numpy as np
import pytest
from c_on_processor import build_and_run, needs_compiler
from cuda_on_processor import COMPILER, emulate, pointer

import nptrace
from nptrace import random
from nptrace.codegen import c_source, interpret
from nptrace.codegen.emit import first_is_state
from nptrace.ir import philox
from nptrace.runtime.compiled import program

# of the authors' kat_vectors for philox4x32-10: counter, key, what comes out
PUBLISHED = [
    ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([2**32 - 1] * 4, [2**32 - 1] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
DTYPES = [np.float64, np.float32]
DRAWS = 1_000_000


def halves(words):
    """Words of 32 bits as those of 16."""
    return [half for word in words for half in (word & 0xFFFF, word >> 16)]


def whole_block(words):
    """The eight halves of a block, as traced code reads them."""
    counter, key = words[: philox.COUNTER_WORDS], words[philox.COUNTER_WORDS :]
    parts = [(word, shift, 16) for word in range(4) for shift in (0, 16)]
    active = nptrace.numeric.tracer.get()
    if active is not None:
        return np.stack(active.random(parts, list(words)))
    found = philox.block(counter, key)
    return np.array([float(philox.part_of(found, part)) for part in parts])


def test_published_answers_of_the_generator():
    for counter, key, expected in PUBLISHED:
        assert [int(x) for x in philox.block(halves(counter), halves(key))] == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
def test_published_answers_on_lanes(lanes, dtype):
    given = np.array([halves([*counter, *key]) for counter, key, _ in PUBLISHED], dtype)
    expected = np.array([halves(words) for _, _, words in PUBLISHED])
    batch = nptrace.compile(whole_block, given[0], target="batch", dtype=dtype, lanes=lanes, verify=False)
    assert np.array_equal(batch(given), expected)


@pytest.mark.parametrize("target", ["native", "interpret"])
def test_published_answers_for_one_element(target):
    compiled = nptrace.compile(whole_block, np.zeros(12), target=target, verify=False)
    for counter, key, expected in PUBLISHED:
        assert np.array_equal(compiled(np.array(halves([*counter, *key]), float)), halves(expected))


@pytest.mark.parametrize("dtype", DTYPES)
@needs_compiler
def test_published_answers_in_c(dtype, tmp_path):
    given = np.array([halves([*counter, *key]) for counter, key, _ in PUBLISHED], dtype)
    expected = np.array([halves(words) for _, _, words in PUBLISHED], dtype)
    paths = c_source.write_c(
        program(whole_block, np.zeros(12)), tmp_path, "block", samples=given, expected=expected, dtype=dtype
    )
    ran = build_and_run(paths, "-fsanitize=undefined", "-fno-sanitize-recover")
    assert (ran.returncode, float(ran.stdout)) == (0, 0.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_published_answers_in_cuda(dtype, tmp_path):
    given = np.ascontiguousarray(np.array([halves([*counter, *key]) for counter, key, _ in PUBLISHED], dtype).T)
    library = emulate(program(whole_block, np.zeros(12)), first_is_state([12]), dtype, tmp_path)
    out = np.zeros((8, 3), dtype)
    library.run_evaluate(pointer(given), None, None, pointer(out), 3)
    assert np.array_equal(out.T, [halves(words) for _, _, words in PUBLISHED])


def three_kinds(key, counter):
    return random.bits(key, counter, (6,), width=24), random.uniform(key, counter, (6,)), random.normal(key, counter, 6)


def counters(count):
    """Counters of three words, near and far."""
    found = np.concatenate([np.arange(count // 2), np.random.default_rng(0).integers(0, 2**47, count - count // 2)])
    return random.words(found, 3)


def on_gpu(function, key, counter, dtype, folder):
    """The CUDA source of a function of key and counters, run on the processor."""
    code = program(function, key, counter[0])
    library = emulate(code, first_is_state([4, 3]), dtype, folder)
    state = np.ascontiguousarray(np.tile(key[:, None], len(counter)).astype(dtype))
    out = np.zeros((len(code.outputs), len(counter)), dtype)
    library.run_evaluate(
        pointer(state), pointer(np.ascontiguousarray(counter.T, dtype)), None, pointer(out), len(counter)
    )
    return out.T


@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_and_uniform_numbers_are_the_same_on_every_target(dtype, tmp_path):
    key, counter = random.key(3), counters(64)
    expected = three_kinds(key, counter)
    keys = np.tile(key, (64, 1)).astype(dtype)
    found = [
        nptrace.compile(three_kinds, key, counter[0], target="batch", dtype=dtype, lanes=lanes)(
            keys, counter.astype(dtype)
        )
        for lanes in (4, 16)
    ]
    rows = interpret.evaluate(
        program(three_kinds, key, counter[0]), np.concatenate([keys.T, counter.T]).astype(dtype)
    ).T
    found.append(np.split(rows, 3, axis=1))
    for bits, uniform, _ in found:
        assert np.array_equal(bits, expected[0])
        assert np.array_equal(uniform, expected[1])
    if COMPILER is not None:
        assert np.array_equal(
            on_gpu(three_kinds, key, counter, dtype, tmp_path)[:, :12], np.concatenate(expected[:2], 1)
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_numbers_are_the_same_bits_alone_on_lanes_and_in_cuda(dtype, tmp_path):
    key, counter = random.key(3), counters(64)
    keys, given = np.tile(key, (64, 1)).astype(dtype), counter.astype(dtype)
    reference = random.normal(key, counter, 6)
    lanes = [
        nptrace.compile(three_kinds, key, counter[0], target="batch", dtype=dtype, lanes=n)(keys, given)[2]
        for n in (1, 4, 16)
    ]
    assert all(np.array_equal(lanes[0], other) for other in lanes[1:])
    if dtype == np.float64:
        alone = nptrace.compile(three_kinds, key, counter[0])
        assert np.array_equal(np.stack([alone(key, c)[2] for c in counter]), lanes[0])
    if COMPILER is not None and nptrace.runtime.machine.host().fused:
        assert np.array_equal(on_gpu(three_kinds, key, counter, dtype, tmp_path)[:, 12:], lanes[0])
    ulps = np.abs(lanes[0] - reference) / (np.finfo(dtype).eps * np.maximum(np.abs(reference), 1.0))
    assert ulps.max() < 4.0


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_moments_and_tails_of_normal_numbers(kind):
    dtype = np.dtype(kind)
    x = drawn(random.normal, random.words(np.arange(DRAWS), 3), dtype)
    n = x.size
    assert abs(x.mean()) < 4 / math.sqrt(n)
    assert abs(x.var() - 1.0) < 4 * math.sqrt(2.0 / n)
    assert abs(np.mean(x**3)) < 4 * math.sqrt(15.0 / n)
    assert abs(np.mean(x**4) - 3.0) < 4 * math.sqrt(96.0 / n)
    for sigmas in (1.0, 2.0, 3.0, 4.0):
        share = math.erfc(sigmas / math.sqrt(2.0))
        assert abs(np.count_nonzero(np.abs(x) > sigmas) - n * share) < 4 * math.sqrt(n * share)


def drawn(kind, counter, dtype=np.float64, seed=5, shape=(4,)):
    """Numbers of many counters, by machine code."""
    key = random.key(seed)
    function = nptrace.compile(
        lambda key, counter: kind(key, counter, shape), key, counter[0], target="batch", dtype=dtype, verify=False
    )
    return function(np.tile(key, (len(counter), 1)).astype(dtype), counter.astype(dtype)).astype(float)


@pytest.mark.parametrize("sigmas", [4.0, 5.0, 6.0, 7.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tails_are_right_to_seven_sigma(dtype, sigmas):
    """All radii beyond so many sigmas, from all their fractions, each with the share of angles that reaches out."""
    count = int(2.0**40 * math.exp(-(sigmas**2) / 2)) + 1
    step = max(1, count // 100_000)
    small = np.arange(0, count, step)
    bits = [small >> 24, (small >> 8) & 0xFFFF, small & 0xFF, np.full(len(small), 2**23)]
    radius = random._box_muller([part.astype(dtype) for part in bits])[0].astype(float)  # angle zero: the radius itself
    share = np.arccos(np.minimum(sigmas / radius, 1.0)) / math.pi  # of angles that reach out to one side
    assert 2 * step * share.sum() / 2.0**40 == pytest.approx(math.erfc(sigmas / math.sqrt(2.0)), rel=0.03)
    assert radius.max() > 7.5


def test_uniform_numbers_fill_their_range_evenly():
    x = drawn(random.uniform, random.words(np.arange(DRAWS), 3))
    assert 0.0 <= x.min() < 1e-5
    assert 1.0 - 1e-5 < x.max() < 1.0
    expected = x.size / 256
    found = np.bincount(np.floor(256 * x.ravel()).astype(int), minlength=256)
    assert abs(np.sum((found - expected) ** 2) / expected - 255) < 5 * math.sqrt(2 * 255)


@pytest.mark.parametrize("kind", [random.uniform, random.normal])
def test_streams_seeds_ticks_and_numbers_of_a_draw_are_independent(kind):
    """Correlations of 1e6 draws: of other seeds, of another stream, of the next tick, of a block's numbers, in runs."""
    ticks = np.arange(DRAWS // 4)
    here = drawn(kind, random.words(ticks, 3))
    others = {
        "seed": drawn(kind, random.words(ticks, 3), seed=6),
        "stream": drawn(kind, np.concatenate([random.words(ticks, 3), np.full((len(ticks), 1), 1.0)], axis=1)),
        "tick": drawn(kind, random.words(ticks + 1, 3)),
        "far tick": drawn(kind, random.words(ticks + 2**32, 3)),
        "number of the draw": np.roll(here, 1, axis=1),
        "tick after tick": np.roll(here, 1, axis=0),
    }
    centred = here - here.mean()
    for name, other in others.items():
        for a, b in ((centred, other - other.mean()), (centred**2 - 1, other**2 - np.mean(other**2))):
            correlation = np.mean(a * b) / (a.std() * b.std())
            assert abs(correlation) < 5 / math.sqrt(a.size), name


def test_every_bit_of_counter_and_key_changes_half_of_the_bits():
    """So no two counters share a block for want of bits, and nothing repeats before 2^96 of them."""
    rng = np.random.default_rng(2)
    start = rng.integers(0, 2**16, 12)
    for word in range(12):
        for bit in range(16):
            other = start.copy()
            other[word] ^= 1 << bit
            a, b = (philox.block(w[:8], w[8:]) for w in (start, other))
            changed = sum(int(x ^ y).bit_count() for x, y in zip(a, b))
            assert 64 - 30 < changed < 64 + 30


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [0, 65535, 2**24, 2**32 - 1, 2**40, 2**48 - 2])
def test_counters_of_words_count_on(start, dtype):
    step = nptrace.compile(random.advance, np.zeros(3), target="batch", dtype=dtype)
    found = step.advance(1, random.words(start, 3).astype(dtype)[None])
    assert random.number(found.astype(float))[0] == start + 1
    drawn = [random.bits(random.key(0), random.words(start + k, 3).astype(dtype), (8,)) for k in range(2)]
    assert not np.array_equal(*drawn)


def test_folded_keys_differ_and_give_other_numbers():
    keys = random.fold_in(random.key(1), random.words(np.arange(10_000), 2))
    assert len(np.unique(keys, axis=0)) == 10_000
    x = random.normal(keys, 0.0, (8,))
    assert abs(np.corrcoef(x.T) - np.eye(8)).max() < 0.05


def test_derivatives_are_zero():
    def noisy(x):
        return x * random.normal(random.key(1), x, (2,)) + random.uniform(random.key(1), x + 1.0)

    slope = nptrace.jacobian(noisy, 3.0, wrt="x")(3.0)
    assert np.allclose(slope, random.normal(random.key(1), 3.0, (2,)), atol=1e-12)
    gradient = nptrace.gradient(lambda x: np.sum(noisy(x)), 3.0, wrt="x")(3.0)
    assert np.allclose(gradient, slope.sum(), atol=1e-12)


def test_words_hold_whole_numbers_of_any_size():
    for value, count in ((0, 1), (2**16 - 1, 1), (2**64 - 1, 4), (2**96 - 1, 6), (5.0, 2), (np.int32(7), 2)):
        found = random.words(value, count)
        assert sum(int(word) << (16 * k) for k, word in enumerate(found)) == value


def test_numbers_of_a_plain_counter_are_those_of_its_words():
    for counter in (0.0, 65535.0, 65536.0, 16777215.0):
        assert np.array_equal(
            random.bits(random.key(9), counter, 4), random.bits(random.key(9), random.words(int(counter), 2), 4)
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: random.key(-1), "hold 0 to"),
        (lambda: random.key(2**64), "hold 0 to"),
        (lambda: random.words(np.array([1.0, np.nan]), 2), "hold 0 to"),
        (lambda: random.words(1e30, 2), "hold 0 to"),
        (lambda: random.words(1.5, 2), "hold 0 to"),
        (lambda: random.uniform(random.key(0), np.zeros(7)), "at most 6 words"),
        (lambda: random.bits(random.key(0), 0.0, width=32), "1 to 24 bits"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, words):
    with pytest.raises(nptrace.InputError, match=words):
        call()
