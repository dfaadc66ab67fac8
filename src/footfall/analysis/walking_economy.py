"""Economy and pace of walking: cost of transport, strides, duty factor and Froude number of a recording.

A stride begins with a foot's touchdown. The Froude number is v² / (g h) (Alexander 1984): animals of all sizes walk
below 0.5 or so and trot above it. The cost of transport counts the positive mechanical work of the motors.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.analysis.gait_diagram import GAP, stances_of_recording
from footfall.checks import positive_number
from footfall.draw.style import COLORS, GREY, new_figure, style
from footfall.errors import InputError
from footfall.spatial.gravity import GRAVITY, strength
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from footfall.recording.recording import Recording


@dataclass(frozen=True, kw_only=True)
class Economy:
    """Means of a run: speed, power, cost of transport."""

    speed: float  # forward [m/s]
    stride_length: float  # [m]
    stride_frequency: float  # [Hz]
    duty: dict[str, float]  # fraction of the time that each foot is in stance
    froude: float
    cost_of_transport: float
    power: float  # positive mechanical power of the motors [W]
    strides: int  # number of complete strides


@dataclass(frozen=True, kw_only=True)
class Strides:
    """The strides of one foot, each from one touchdown to the next."""

    foot: str
    time: Float[ndarray, "n"]  # time of the touchdown at its start [s]
    duration: Float[ndarray, "n"]  # [s]
    length: Float[ndarray, "n"]  # forward displacement of the trunk [m]
    duty: Float[ndarray, "n"]
    cost_of_transport: Float[ndarray, "n"]
    froude: Float[ndarray, "n"]

    @property
    def speed(self) -> Float[ndarray, "n"]:
        """[m/s]"""
        return self.length / self.duration


def economy(rec: Recording, after: float = 0.0, leg_length: float | None = None, gap: float = GAP) -> Economy:
    """Return mean speed, cost of transport and Froude number of a run.

    Args:
        rec: The recording.
        after: Start of the evaluated interval [s].
        leg_length: Leg length in the Froude number [m]; the mean height of the trunk's origin unless given.
        gap: Breaks in contact shorter than this are ignored [s].

    Returns:
        Means over the run.
    """
    part = rec.between(after, None)
    if len(part) < 3:
        raise InputError(f"averages need at least three rows after {after} s, the recording has {len(part)}")
    speed, h = part.mean_speed(part.time[0]), _leg_length(part, leg_length)
    stances = stances_of_recording(part, gap)
    landings = [np.array([start for start, _ in spans if start > part.time[0]]) for spans in stances.values()]
    periods = [float(np.diff(times).mean()) for times in landings if len(times) > 1]
    period = float(np.median(periods)) if periods else float("nan")
    return Economy(
        speed=speed,
        stride_length=speed * period,
        stride_frequency=1.0 / period,
        duty={leg: sum(end - start for start, end in spans) / part.duration for leg, spans in stances.items()},
        froude=speed * speed / (_gravity(rec) * h),
        cost_of_transport=part.cost_of_transport(part.time[0]),
        power=part.spent() / part.duration,
        strides=max((len(t) - 1 for t in landings), default=0),
    )


def strides(rec: Recording, foot: str = "LF", leg_length: float | None = None, gap: float = GAP) -> Strides:
    """Return every complete stride of a foot.

    Args:
        rec: The recording.
        foot: Name of the foot.
        leg_length: Leg length in the Froude number [m]; the mean height of the trunk's origin unless given.
        gap: Breaks in contact shorter than this are ignored [s].

    Returns:
        Time, length, duty factor, speed and cost of transport of each.
    """
    rec.robot.foot(foot)
    spans = stances_of_recording(rec, gap)[foot]
    begins = [(start, end) for start, end in spans if start > rec.time[0]]
    h, gravity = _leg_length(rec, leg_length), _gravity(rec)
    rows: list[tuple[float, ...]] = []
    for (start, lift), (end, _) in pairwise(begins):
        part = rec.between(start, end)
        travelled = part.mean_speed(part.time[0]) * part.duration
        rows.append(
            (
                start,
                end - start,
                travelled,
                (lift - start) / (end - start),
                part.cost_of_transport(part.time[0]),
                (travelled / (end - start)) ** 2 / (gravity * h),
            )
        )
    time, duration, length, duty, cost, froude = np.array(rows).reshape(-1, 6).T
    return Strides(
        foot=foot, time=time, duration=duration, length=length, duty=duty, cost_of_transport=cost, froude=froude
    )


def plot_economy(rec: Recording, foot: str = "LF", leg_length: float | None = None, gap: float = GAP) -> Figure:
    """Plot length, duty factor, speed and cost of transport stride by stride.

    Args:
        rec: The recording.
        foot: Name of the foot that defines the strides.
        leg_length: Leg length in the Froude number [m]; the mean height of the trunk's origin unless given.
        gap: Breaks in contact shorter than this are ignored [s].

    Returns:
        The figure.
    """
    found = strides(rec, foot, leg_length, gap)
    if not len(found.time):
        raise InputError(f"foot {foot} makes no complete stride in the recording")
    h = _leg_length(rec, leg_length)
    panels = (
        ("stride length [m]", found.length, COLORS[0]),
        ("duty [1]", found.duty, COLORS[2]),
        ("speed [m/s]", found.speed, COLORS[0]),
        ("cost of transport [1]", found.cost_of_transport, COLORS[1]),
    )
    with style():
        figure = new_figure(9.0, 4.4)
        axes = figure.subplots(2, 2, sharex=True).ravel()
        for axis, (label, values, color) in zip(axes, panels):
            axis.plot(found.time, values, color=color, marker="o", ms=3.5)
            axis.set_ylabel(label)
            finite = values[np.isfinite(values)]
            top = float(np.percentile(finite, 95)) if len(finite) else 1.0
            axis.set_ylim(min(0.0, 1.1 * float(finite.min(initial=0.0))), 1.35 * top if top > 0 else None)
        axes[1].set_ylim(0.0, 1.0)
        right = axes[2].secondary_yaxis(
            "right",
            functions=(
                lambda v: np.sign(v) * v * v / (_gravity(rec) * h),
                lambda f: np.sign(f) * np.sqrt(np.abs(f) * _gravity(rec) * h),
            ),
        )
        right.set_ylabel("Froude number [1]", color=GREY)
        right.tick_params(colors=GREY)
        for axis in axes[2:]:
            axis.set_xlabel("touchdown [s]")
        figure.suptitle(f"{rec.robot.name}: strides of {foot}", fontsize=11, x=0.01, ha="left")
        return figure


def _leg_length(rec: Recording, given: float | None) -> float:
    if given is None:
        return float(rec.trunk_position[:, 2].mean())
    return positive_number(given, "leg_length of a Froude number")


def _gravity(rec: Recording) -> float:
    return float(strength(rec.meta.get("gravity", GRAVITY)))
