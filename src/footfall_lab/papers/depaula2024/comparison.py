"""The quantities that de Paula et al. 2024 compare between two simulators, for one pair of runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.recording import metrics
from footfall.recording.recording import Recording
from footfall_lab.papers.depaula2024.runs import short_contacts
from footfall_lab.papers.registered import setup

FOOT = setup("depaula2024")["foot"]
ERRORS = ("x", "y", "z", "yaw", "pitch", "roll", "force")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Errors [mm, deg, N], correlations, contacts and peaks of our run against MuJoCo's; for the left fore foot."""

    x: float
    y: float
    z: float
    yaw: float
    pitch: float
    roll: float
    force: float
    agreement: float  # fraction of the time in which both contact states agree
    activation: float  # correlation of the binary signals
    spurious: tuple[int, int]  # contacts shorter than 10 ms: ours, MuJoCo's
    peaks: tuple[float, float]  # 99.9th percentile of the vertical force [N]: ours, MuJoCo's
    trunk: tuple[float, ...]  # correlations of x, y, z, yaw, pitch, roll
    vertical: float  # correlation of the vertical force
    speeds: tuple[float, float]  # [m/s] after the start: ours, MuJoCo's

    @property
    def errors(self) -> tuple[float, ...]:
        return tuple(getattr(self, key) for key in ERRORS)

    @property
    def sentences(self) -> dict[str, float]:
        """Return the number by which each sentence is assessed; for spurious contacts, MuJoCo's less ours."""
        return {
            "contact_activation_matches": self.activation,
            "spurious_contacts_are_mujocos": float(self.spurious[1] - self.spurious[0]),
            "higher_peak_forces_than_mujoco": self.peaks[0] / self.peaks[1],
            "fig5": min(self.trunk),
            "fig6": self.vertical,
        }

    @staticmethod
    def of(ours: Recording, theirs: Recording) -> Comparison:
        """Compare two runs of equal length."""
        x, y, z = (1e3 * metrics.position_mae(ours, theirs)).tolist()
        yaw, pitch, roll = metrics.euler_mae_deg(ours, theirs).tolist()
        k = ours.robot.foot_names.index(FOOT)
        signals = [np.hstack([rec.trunk_position, np.unwrap(rec.trunk_euler(), axis=0)]).T for rec in (ours, theirs)]
        return Comparison(
            x=x,
            y=y,
            z=z,
            yaw=yaw,
            pitch=pitch,
            roll=roll,
            force=metrics.force_mae(ours, theirs, FOOT),
            agreement=metrics.contact_agreement(ours, theirs, FOOT),
            activation=alike(1.0 * ours.contact[:, k], 1.0 * theirs.contact[:, k]),
            spurious=(short_contacts(ours, k), short_contacts(theirs, k)),
            peaks=(metrics.peak_force(ours, FOOT, 99.9), metrics.peak_force(theirs, FOOT, 99.9)),
            trunk=tuple(alike(a, b) for a, b in zip(*signals)),
            vertical=alike(ours.force[:, k, 2], theirs.force[:, k, 2]),
            speeds=(ours.mean_speed(1.0), theirs.mean_speed(1.0)),
        )


def alike(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation of two raw signals; None if their lengths differ."""
    return float(np.corrcoef(a, b)[0, 1]) if len(a) == len(b) else float("nan")
