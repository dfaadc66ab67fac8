"""The error figures of section 7 of de Paula et al. 2024 for one pair of runs."""

from __future__ import annotations

from dataclasses import dataclass

from footfall.compare import metrics
from footfall.experiments.claims import MARGIN
from footfall.recording.recording import Recording

PRINTED = {"x": 63.0, "y": 17.0, "z": 4.6, "yaw": 1.5, "pitch": 1.3, "roll": 2.7, "force": 5.65}
MEDIANS = {"x": 74.0, "y": 28.0, "z": 5.9, "force": 7.5}  # of 200 random sets, explicit, measured before this code was
HEADER = (
    "set", "reading", "x [mm]", "y [mm]", "z [mm]", "yaw [deg]", "pitch [deg]", "roll [deg]", "force [N]",
    "contact agrees", "peak [N]", "speed [m/s]", "within",
)  # fmt: skip


@dataclass(frozen=True)
class Errors:
    """The figures of section 7 for one pair of runs: mm, deg (yaw, pitch, roll), N; and what goes with them."""

    x: float
    y: float
    z: float
    yaw: float
    pitch: float
    roll: float
    force: float
    agreement: float
    peak: float  # 99.9th percentile of the left fore foot's vertical force [N]
    speed: float  # [m/s]

    @property
    def figures(self) -> tuple[float, ...]:
        return tuple(getattr(self, key) for key in PRINTED)

    @property
    def within(self) -> bool:
        """Whether every error is at most the printed one plus a quarter."""
        return all(ours <= MARGIN * printed for ours, printed in zip(self.figures, PRINTED.values()))

    def row(self, choice: str, label: str) -> tuple[str, ...]:
        """The cells under HEADER."""
        e = self
        errors = f"{e.x:.0f} {e.y:.1f} {e.z:.2f} {e.yaw:.2f} {e.pitch:.2f} {e.roll:.2f} {e.force:.2f}".split()
        rest = (f"{e.agreement:.3f}", f"{e.peak:.0f}", f"{e.speed:.3f}", "yes" if e.within else "no")
        return choice, label, *errors, *rest


def errors_between(ours: Recording, theirs: Recording) -> Errors:
    """Compare two runs as the paper does: left fore foot, ZYX Euler angles."""
    x, y, z = (1e3 * metrics.position_mae(ours, theirs)).tolist()
    yaw, pitch, roll = metrics.euler_mae_deg(ours, theirs).tolist()
    return Errors(
        x, y, z, yaw, pitch, roll, metrics.force_mae(ours, theirs, "LF"), metrics.contact_agreement(ours, theirs, "LF"),
        metrics.peak_force(ours, "LF", 99.9), ours.mean_speed(1.0),
    )  # fmt: skip
