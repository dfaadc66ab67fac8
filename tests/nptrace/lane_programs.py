"""Random programs of four legs and a base: what packing and regrouping are tried on."""

import numpy as np
from hypothesis import strategies as st

from nptrace import lookup, repeat

ANY = 1e9  # packed even where it does not pay
HEIGHTS = np.sin(np.arange(12.0)).reshape(4, 3)
MIRRORED = np.array([[0.2, 0.05, 1.5], [0.2, -0.05, 1.5], [-0.2, 0.05, 1.5], [-0.2, -0.05, 1.5]])

# what a leg may do with two numbers of its own, two of the base, and its constants c
STEPS = {
    "add": lambda a, b, base, c: a + b,
    "sub": lambda a, b, base, c: a - b,
    "mul": lambda a, b, base, c: a * b,
    "offset": lambda a, b, base, c: a + c[1],
    "mirror": lambda a, b, base, c: c[1] * a - c[0] * b,
    "lever": lambda a, b, base, c: a + (base[0] * c[0] - base[1] * c[1]),
    "shared": lambda a, b, base, c: a * base[0] + b,
    "turn": lambda a, b, base, c: np.sin(a) * b - np.cos(a),
    "divide": lambda a, b, base, c: a / (1 + b * b),
    "root": lambda a, b, base, c: np.sqrt(1 + a * a) - b,
    "power": lambda a, b, base, c: np.abs(a) ** 1.7 + 0.1 * b,
    "larger": lambda a, b, base, c: np.maximum(a, b) - np.minimum(a, c[2]),
    "choose": lambda a, b, base, c: np.where((a > b) & ~(b > base[1]), a, 2 * b),
    "angle": lambda a, b, base, c: np.arctan2(a, 1 + b * b),
    "height": lambda a, b, base, c: lookup(HEIGHTS, a, 1 + b),
}


@st.composite
def limb_steps(draw):
    """A random program of one leg: (name, two earlier values) again and again."""
    return [
        (draw(st.sampled_from(sorted(STEPS))), draw(st.integers(0, k + 2)), draw(st.integers(0, k + 2)))
        for k in range(draw(st.integers(6, 20)))
    ]


def four_legs(steps, x, rest):
    """Every leg on its own, a base that feels the sum of all, and legs that feel the base: the shape of a step."""
    base, legs = x[:2], x[2:].reshape(4, 3)
    ends = []
    for leg, c, push in zip(legs, MIRRORED, rest):
        values = [leg[0], leg[1], leg[2] + push]
        for name, i, j in steps:
            values.append(STEPS[name](values[i], values[j], base, c))
        ends.append(values[-3:])
    total = ends[0][0] * ends[0][1] + ends[1][0] * ends[1][1] + ends[2][0] * ends[2][1] + ends[3][0] * ends[3][1]
    moved = np.stack([base[0] + 0.01 * np.tanh(total), base[1] * 0.9])
    return np.concatenate([moved, *(np.stack([0.5 * e[0], 0.5 * e[1] + moved[0], np.tanh(e[2])]) for e in ends)])


def looped(steps, x, rest):
    """The same in a loop that may end early and hands its state through."""

    def again(_, carry):
        x, rest, count = carry
        return four_legs(steps, x, rest), rest, count + np.maximum(x[2], 0)

    return repeat(3, again, (x, rest, 0.0), until=lambda carry: carry[2] > 0.7)[0]


def captured(steps, x, rest):
    """A loop that reads from outside what it does not carry, and what one leg alone carries; it counts its turns."""

    def again(i, carry):
        x, push = carry
        moved = four_legs(steps, x, np.stack([push, rest[1], rest[2], rest[3]]))
        return moved, 0.5 * push + i * moved[0]

    return repeat(3, again, (x, rest[0]))[0]


numbers = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=18))
STEPPING = [
    ("turn", 0, 1), ("lever", 3, 2), ("mirror", 4, 1), ("turn", 1, 5), ("divide", 6, 0), ("choose", 7, 5),
    ("larger", 8, 2), ("power", 9, 1), ("height", 10, 3), ("angle", 11, 4), ("root", 12, 6), ("shared", 13, 2),
    ("mul", 5, 14), ("sub", 6, 15),
]  # fmt: skip
