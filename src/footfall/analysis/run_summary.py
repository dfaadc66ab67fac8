"""The summary of a run in a dozen numbers: the JSON object of ``footfall simulate`` and the columns of studies."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from nptrace._types import Json

if TYPE_CHECKING:
    from footfall.recording.recording import Recording
    from footfall.sim.runfile import PlannedRun

UNITS = {
    "duration": "s",
    "wall_seconds": "s",
    "distance": "m",
    "commanded_speed": "m/s",
    "nominal_speed": "m/s",
    "mean_speed": "m/s",
    "peak_force": "N",
    "peak_force_mean": "N",
    "estimate_velocity_rms": "m/s",
    "estimate_height_rms": "m",
    "estimate_height_drift": "m",
    "estimate_horizontal_drift": "m",
    "plans_per_second": "Hz",
}


def summary(run: PlannedRun, rec: Recording) -> dict[str, Json]:
    """Return the summary of a run as a JSON object; unknown values are null.

    ``commanded_speed`` is null for an open-loop gait or plan without a given speed; ``nominal_speed`` is then the speed
    implied by its strides. Means and the cost of transport exclude the gait's start ramp: ``averaged_over`` has start
    and end [s].

    Args:
        run: The planned run.
        rec: The recording.

    Returns:
        The object.
    """
    from footfall.recording import metrics

    after = steady_after(run.ramp, rec)
    moving = len(rec) > 2 and rec.robot.floating
    return {
        "robot": rec.robot.name,
        "gait": run.gait.name if run.gait else None,
        "controller": run.options.controller,
        "contact": run.options.contact,
        "ground": run.options.ground,
        "duration": float(rec.time[-1]) if len(rec) else 0.0,
        "steps": round(float(rec.time[-1]) / run.options.dt) if len(rec) else 0,
        "wall_seconds": rec.meta["wall_seconds"],
        "distance": rec.distance if moving else 0.0,
        "commanded_speed": run.commanded_speed,
        "nominal_speed": run.nominal_speed,
        "mean_speed": rec.mean_speed(after) if moving else None,
        "mean_velocity": list(rec.mean_velocity(after)) if moving else None,
        "fell": bool(rec.meta["fell"]),
        "diverged": bool(rec.meta["diverged"]),
        "stopped": stopped(rec),
        "averaged_over": [after, float(rec.time[-1])] if moving else None,
        "cost_of_transport": _finite(rec.cost_of_transport(after)) if moving else None,
        "peak_force": _peak(metrics.peak_force, rec),
        "peak_force_mean": _peak(metrics.peak_force_mean, rec),
        "energy_residual": _finite(rec.energy_residual()) if len(rec) else None,
        "recording": run.options.out,
        **(_estimated(run, rec) if run.options.estimate else {}),
        **_planning(run, rec),
    }


def _planning(run: PlannedRun, rec: Recording) -> dict[str, float]:
    """Return plans per second, and processor time of planning over simulated time, for a sampling planner."""
    from footfall.sim.sampling import Sampling

    planner = getattr(run.simulation.controller, "inner", run.simulation.controller)
    if not isinstance(planner, Sampling) or not len(rec):
        return {}
    seconds = float(rec.time[-1])
    return {"plans_per_second": planner.plans / seconds, "processor_share": planner.seconds / seconds}


def stopped(rec: Recording) -> str | None:
    """Return what ended a run (a fall, a divergence, a safe stop) as text, or None."""
    if rec.meta.get("stopped") is not None:
        return str(rec.meta["stopped"])
    ends = [f"{event.message} at {event.time:.3f} s" for event in rec.events if event.message.startswith("safe stop")]
    return ends[0] if ends else None


def _estimated(run: PlannedRun, rec: Recording) -> dict[str, float]:
    """Return the errors of the estimate (``analysis.estimation_errors``); empty for a run without rows."""
    from footfall.analysis.estimation_error import estimation_errors
    from footfall.control.interface import as_controller

    estimates = as_controller(run.simulation.controller).estimates
    if estimates is None or len(rec) < 2 * estimates.keep:
        return {}
    figures = estimation_errors(rec, estimates.history()).figures()
    return {f"estimate_{key}": value for key, value in figures.items()}


def steady_after(ramp: float, rec: Recording) -> float:
    """Return the time at which averaging starts [s]: the end of the start ramp, or half of a shorter run."""
    if not len(rec):
        return 0.0
    return ramp if rec.time[-1] >= 2.0 * ramp else 0.5 * float(rec.time[0] + rec.time[-1])


def _peak(of: Callable[[Recording], float], rec: Recording) -> float | None:
    """Return the largest vertical force on a foot, if the robot has feet."""
    return _finite(of(rec)) if len(rec) and rec.robot.nf else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
