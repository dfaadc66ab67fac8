"""Impacts: feet that stop at touchdown, and feet that bounce without gaining energy.

Stopping: the impulses that bring chosen feet to chosen velocities, A λ = wanted - V in their rows, which is the KKT
system of the slides in impulses; without forces and with nothing wanted it is
``dynamics.formalisms.constrained.impact_map``.

Bouncing: Newton's law, V_N⁺ = -e V_N⁻, at the moment of the impact. A step that bounces begins with a gap over the
ground and keeps its new velocity to its end, so it would start the bounce from the gap; V_N⁺ is less than that by as
much as makes height and speed after the step those of a bounce from the ground. With friction, or several contacts at
once, that rule may gain energy (Kane and Levinson's paradox). So the impulses λ_c that merely stop (they dissipate
energy) and those of the full bounce λ_b are blended, λ = λ_c + s (λ_b - λ_c), with the largest s <= 1 for which the
contacts do no work. The blend lies in the friction cone and separates all contacts, as both λ_c and λ_b do; s = 1,
the plain rule, unless energy would be gained.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.dynamics.factor import dense_factor, dense_solve
from nptrace.array_types import Float

_TINY = 1e-18  # [m²/s²], so that the root has a slope
_SLOW = 1e-5  # [m²/s²]: feet at rest lift each other at less, by joints that push against one another
_LIFTS = 10.0  # times the energy of lifting each contact alone: contacts that lift a body together need more


def stopping_impulses(
    A: Float[ndarray, "nc nc"],
    V: Float[ndarray, "nc"],
    wanted: Float[ndarray, "nc"],
    rows: Float[ndarray, "nc"],
    damping: float | Float[ndarray, "nc"] = 0.0,
) -> Float[ndarray, "nc"]:
    """Return λ [N s] with A λ + V = wanted in the rows that are 1, and 0 in those that are 0.

    ``rows`` may be traced: inactive ones become rows of the identity. ``damping`` is added to A as a share of its mean
    diagonal, which makes sets of contacts solvable that hold a body more than once; rows with more of it carry less.
    To stop takes energy; velocities that are wanted, which close gaps, give back ``wanted · λ / 2``. Contacts that are
    jammed, where it is many times that of each contact alone, get as much less of them.
    """
    held = A * (rows[:, None] * rows[None, :])
    slack = (damping + np.zeros(len(rows))) * (sum(A[k, k] for k in range(len(rows))) / len(rows))
    for k in range(len(rows)):
        held[k, k] = held[k, k] + slack[k] + (1.0 - rows[k])
    factors, lift = dense_factor(held), rows * wanted
    stopped, lifted = dense_solve(*factors, -rows * V), dense_solve(*factors, lift)
    energy, alone = lift @ lifted, sum((lift[k] * lift[k] + _SLOW) / held[k, k] for k in range(len(rows)))
    most = _LIFTS * alone
    return stopped + np.where(energy > most, np.sqrt(most / np.where(energy > most, energy, 1.0)), 1.0) * lifted


def bounce_floor(
    floor: Float[ndarray, "ns"],
    impulses: Float[ndarray, "nc"],
    V_before: Float[ndarray, "nc"],
    V_free: Float[ndarray, "nc"],
    restitution: float,
    slowest: float,
) -> Float[ndarray, "ns"]:
    """Return the lowest normal velocities after a bounce, for contacts that approach faster than ``slowest`` [m/s].

    Steps with a fall of g per second conserve E = V²/2 + g gap - g dt V/2, and a bounce keeps e² of it: that is -e V_N⁻
    but for terms of g dt. ``floor`` is the velocity that closes the gap in one step, -gap / dt.
    """
    speed = np.stack([-V_before[3 * k + 2] for k in range(len(floor))])
    fall = np.stack([np.maximum(V_before[3 * k + 2] - V_free[3 * k + 2], 0.0) for k in range(len(floor))])  # g dt
    high = -fall * floor  # g gap
    after = restitution * restitution * (speed * speed + 2.0 * high + fall * speed) - 2.0 * high
    up = np.sqrt(np.maximum(after + 0.25 * fall * fall, _TINY)) - 0.5 * fall
    pressed = np.stack([impulses[3 * k + 2] for k in range(len(floor))])
    hit = (pressed > 0.0) & (speed > slowest) & (after > 0.0)  # a bounce lower than the gap ends on the ground
    return np.where(hit, np.maximum(up, floor), floor)


def without_gain(
    A: Float[ndarray, "nc nc"],
    V_sum: Float[ndarray, "nc"],
    stopping: Float[ndarray, "nc"],
    bouncing: Float[ndarray, "nc"],
) -> Float[ndarray, "nc"]:
    """Return the blend of stopping and bouncing impulses that bounces most while the contacts do no positive work.

    V_sum = V⁻ + V_0. Work is impulse times mean velocity, λ · (V_sum + A λ) / 2: a convex parabola in s. Where even
    stopping does work (feet that were moving up), no more than that is done.
    """
    extra = bouncing - stopping
    A_extra = A @ extra
    work = 0.5 * (stopping @ V_sum + stopping @ (A @ stopping))
    slope = 0.5 * (extra @ V_sum) + stopping @ A_extra
    curvature = 0.5 * (extra @ A_extra)
    room = np.maximum(-work, 0.0)
    root = np.sqrt(slope * slope + 4.0 * curvature * room)
    # 2 room / (slope + root): the positive root, also for small curvature; a falling parabola has no limit
    share = np.where(slope + curvature <= room, 1.0, 2.0 * room / np.maximum(slope + root, 1e-300))
    return stopping + np.minimum(share, 1.0) * extra
