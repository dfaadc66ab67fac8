"""Landings of feet in a recording: how fast feet meet the ground, and how long the contact takes to stop them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.recording.recording import Recording

ALOFT = 0.02  # [s] without contact before a landing
FASTEST_REST = 0.02  # [m/s]: at a slower descent a foot is placed and does not land
STOPPED = 0.1  # fraction of the landing speed below which a foot has stopped
LONGEST = 0.1  # [s] within which it must stop


@dataclass(frozen=True, kw_only=True)
class Landings:
    """Medians over the landings of a recording.

    count: number of landings.
    speed: downward speed in the last row before contact [m/s].
    stop_time: time from that row until the foot moves at a tenth of it or less, in whole rows [s].
    """

    count: int
    speed: float
    stop_time: float

    @staticmethod
    def of(rec: Recording) -> Landings | None:
        """Return the landings of all feet, or None if no foot lands."""
        if len(rec) < 3 or not rec.robot.nf:
            return None
        row = float(np.median(np.diff(rec.time)))
        before, longest = max(1, round(ALOFT / row)), max(2, round(LONGEST / row))
        descent = -rec.foot_velocities[:, :, 2]
        found = []
        for foot in range(rec.robot.nf):
            contact = rec.contact[:, foot]
            begins = np.flatnonzero(contact[1:] & ~contact[:-1]) + 1
            for k in begins:
                speed = descent[k - 1, foot]
                if k < before or contact[k - before : k].any() or speed < FASTEST_REST:
                    continue
                slow = np.flatnonzero(descent[k : k + longest, foot] <= STOPPED * speed)
                if len(slow):
                    found.append((speed, (slow[0] + 1) * row))
        if not found:
            return None
        speed, stop = np.median(np.array(found), axis=0)
        return Landings(count=len(found), speed=float(speed), stop_time=float(stop))


__all__ = ["Landings"]
