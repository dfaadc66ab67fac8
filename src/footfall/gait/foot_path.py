"""A foot's path over one cycle: stance below the duty, swing above; section 6.2 of de Paula et al. 2024.

The paper takes its curves from an earlier work whose constants are not public; these are the stance sine and the
12-point Bézier swing of Hyun et al. 2014.
"""

from __future__ import annotations

from numpy import ndarray

from footfall.gait import stance, swing
from footfall.gait.pattern import Gait
from nptrace import select, smoothstep
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float


def foot_offset(
    gait: Gait, phase: Float[ndarray, "n"], curve: swing.Bezier = swing.NORMALISED
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return the offsets of the feet from their positions under the hips.

    Args:
        gait: The gait.
        phase: Phases in [0, 1).
        curve: Shape of the swing.

    Returns:
        x and z [m].
    """
    x_stance, z_stance = stance.position(phase * (1.0 / gait.duty), gait.half_stride, gait.depth)
    flight = 1.0 - gait.duty
    x_swing, z_swing = _swing(curve, gait, phase * (1.0 / flight) - gait.duty / flight)
    down = phase < gait.duty
    return select(down, x_stance, x_swing), select(down, z_stance, z_swing)


def _swing(
    curve: swing.Bezier, gait: Gait, fraction: Float[ndarray, "n"]
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return the point on the curve; for a gait with free parameters, the unit curve is scaled."""
    if type(gait.stride) is float and type(gait.height) is float:
        return curve.scaled(gait.half_stride, gait.height).position(fraction)
    x, z = curve.position(fraction)
    return gait.half_stride * x, gait.height * z


def foot_rate(
    gait: Gait, phase: Float[ndarray, "n"], curve: swing.Bezier = swing.NORMALISED
) -> tuple[Float[ndarray, "n"], Float[ndarray, "n"]]:
    """Return the velocities of the foot offsets, for a constant phase rate of 1 / T.

    Args:
        gait: The gait.
        phase: Phases in [0, 1).
        curve: Shape of the swing.

    Returns:
        Rates of x and z [m/s].
    """
    flight = 1.0 - gait.duty
    dx_stance, dz_stance = stance.rate(phase / gait.duty, gait.half_stride, gait.depth)
    dx_swing, dz_swing = curve.scaled(gait.half_stride, gait.height).rate((phase - gait.duty) / flight)
    down, per_stance, per_swing = phase < gait.duty, 1.0 / (gait.duty * gait.period), 1.0 / (flight * gait.period)
    return (
        select(down, per_stance * dx_stance, per_swing * dx_swing),
        select(down, per_stance * dz_stance, per_swing * dz_swing),
    )


def start_ramp(gait: Gait, t: Scalar) -> Operand:
    """Return the factor of the foot offsets at the start of a gait, 3 u² - 2 u³ with u = t / ramp.

    Args:
        gait: The gait.
        t: Time [s].

    Returns:
        Factor, 1 after the ramp.
    """
    return smoothstep(t / gait.ramp) if gait.ramp > 0 else 1.0
