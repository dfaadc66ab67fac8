"""Errors of an estimate over a run: attitude, velocity, drift, contacts, and whether the filter is consistent.

An estimator without a compass or a map measures position and heading from where it started, so the truth is measured
from there too. Roll, pitch, velocity and the height over the feet are observable and have errors; position, heading and
the height over the start drift: a tilt of 0.1 deg that an accelerometer's bias hides is 17 mm in 10 m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions
from footfall.recording.recording import Recording
from footfall.sensing.estimation.estimated import History
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z, to_euler
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class EstimationErrors:
    """Estimated minus true states over time, in the estimator's world axes."""

    time: Float[ndarray, "t"]
    turn: Float[ndarray, "t 3"]  # rotation vector: roll and pitch (about level axes), yaw [rad]
    velocity: Float[ndarray, "t 3"]  # [m/s]
    position: Float[ndarray, "t 3"]  # drift since the start [m]
    deviation: Float[ndarray, "t 9"]  # estimated standard deviations of (rotation, velocity, position)
    nees: Float[ndarray, "t"]  # normalised squared error of (roll, pitch, velocity): 5 if the filter is consistent
    nis: Float[ndarray, "t"]  # normalised squared innovation, mean over stance feet: 3 if it is consistent
    height: Float[ndarray, "s"]  # error of the base's height over the stance feet, at some of the times [m]
    contact_agreement: float  # fraction of ticks and feet with the correct contact
    distance: float  # walked: length of the path over ground [m]

    def figures(self) -> dict[str, float]:
        """Return root mean square errors of observable quantities, and the final drift of unobservable ones."""
        drift = float(np.hypot(*self.position[-1, :2]))
        return {
            "roll_pitch_rms_deg": float(np.degrees(_rms(self.turn[:, :2]))),
            "velocity_rms": _rms(self.velocity),
            "height_rms": _rms(self.height[:, None]),
            "height_drift": float(abs(self.position[-1, 2])),
            "horizontal_drift": drift,
            "drift_of_distance": drift / max(self.distance, 1e-9),
            "height_drift_of_distance": float(abs(self.position[-1, 2])) / max(self.distance, 1e-9),
            "yaw_drift_deg": float(np.degrees(abs(self.turn[-1, 2]))),
            "contact_agreement": self.contact_agreement,
            "nees": float(np.mean(self.nees)) / 5.0,
            "nis": float(np.nanmean(self.nis)) / 3.0 if np.isfinite(self.nis).any() else 0.0,
        }


def estimation_errors(recording: Recording, history: History, after: float = 0.0) -> EstimationErrors:
    """Compare the estimated states of a run with the recorded ones.

    Args:
        recording: The recording.
        history: History of an ``Estimated`` controller: ``controller.history()``.
        after: Start of the evaluated interval [s].

    Returns:
        Errors over time; ``figures()`` has root mean squares.
    """
    rows = np.searchsorted(recording.time, history.time - 1e-6)
    inside = np.minimum(rows, max(len(recording) - 1, 0))
    both = (
        np.flatnonzero((rows < len(recording)) & (np.abs(recording.time[inside] - history.time) < 1e-6))
        if len(recording)
        else np.zeros(0, dtype=int)
    )
    if not len(both):
        raise InputError("the recording and the estimate have no time in common")
    rows = rows[both]
    q, v = recording.q[rows], recording.v[rows]
    R = np.array([to_rotation(quat) for quat in q[:, 3:7]])
    R_hat = np.array([to_rotation(quat) for quat in history.q[both, 3:7]])
    heading = about_z(to_euler(R[0])[0] - to_euler(R_hat[0])[0])  # from the estimator's world to the true one
    R = heading.T @ R
    E = R_hat @ np.swapaxes(R, 1, 2)
    turn = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
    velocity = np.einsum("tij,tj->ti", R_hat, history.v[both, 3:6]) - np.einsum("tij,tj->ti", R, v[:, 3:6])
    moved = (q[:, :3] - q[0, :3]) @ heading
    position = history.q[both, :3] - history.q[both[0], :3] - moved
    P = history.P[both]
    level = np.array([0, 1, 3, 4, 5])
    error = np.concatenate([turn, velocity, position], axis=1)
    observable = error[:, level]
    inverse = np.linalg.inv(P[:, level][:, :, level])
    nees = np.einsum("ti,tij,tj->t", observable, inverse, observable)
    stands = history.contact[both] > 0.5
    counts = stands.sum(axis=1)
    nis = np.where(counts > 0, np.sum(np.where(stands, history.nis[both], 0.0), axis=1) / np.maximum(counts, 1), np.nan)
    steps = np.diff(recording.q[:, :2], axis=0)
    keep = history.time[both] >= after
    if not keep.any():
        raise InputError(f"the run ended before {after:g} s")
    return EstimationErrors(
        time=history.time[both][keep],
        turn=turn[keep],
        velocity=velocity[keep],
        position=position[keep],
        deviation=np.sqrt(np.diagonal(P, axis1=1, axis2=2))[keep],
        nees=nees[keep],
        nis=nis[keep],
        height=_over_feet(recording, history, rows[keep], both[keep]),
        contact_agreement=float(np.mean((stands == recording.contact[rows])[keep])),
        distance=float(np.sum(np.hypot(*steps.T))),
    )


def _over_feet(recording: Recording, history: History, rows: ndarray, both: ndarray) -> Float[ndarray, "s"]:
    """Return the error of the height over the stance feet, at three hundred times or fewer."""
    robot, found = recording.robot, []
    for row, k in list(zip(rows, both))[:: max(1, len(rows) // 300)]:
        stands = recording.contact[row]
        if stands.any():
            heights = [q[2] - foot_positions(robot, q)[stands, 2].mean() for q in (history.q[k], recording.q[row])]
            found.append(heights[0] - heights[1])
    return np.array(found) if found else np.zeros(1)


def _rms(x: ndarray) -> float:
    """Return the root mean square of the lengths of vectors, one per row."""
    return float(np.sqrt(np.mean(np.sum(np.square(x), axis=1))))


__all__ = ["EstimationErrors", "estimation_errors"]
