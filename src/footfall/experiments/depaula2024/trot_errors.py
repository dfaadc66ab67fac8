"""The error figures of section 7 of de Paula et al. 2024 for one pair of runs."""

from __future__ import annotations

from dataclasses import dataclass

from footfall.compare import metrics
from footfall.experiments.registered import registration
from footfall.recording.recording import Recording

IDS = {
    "x": "trunk_position_mae_x", "y": "trunk_position_mae_y", "z": "trunk_position_mae_z", "yaw": "trunk_euler_mae_z",
    "pitch": "trunk_euler_mae_y", "roll": "trunk_euler_mae_x", "force": "normal_force_mae",
}  # fmt: skip
PRINTED = {key: float(registration().entry("depaula2024", id).printed or 0.0) for key, id in IDS.items()}
MEDIANS = {"x": 74.0, "y": 28.0, "z": 5.9, "force": 7.5}  # of 200 random sets, explicit, measured before this code was
HEADER = (
    "set", "reading", "robot and friction", "x [mm]", "y [mm]", "z [mm]", "yaw [deg]", "pitch [deg]", "roll [deg]",
    "force [N]", "contact agrees", "peak [N]", "speed [m/s]", "within",
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
    def within(self) -> int:
        """How many of the seven errors are within the bound, either way."""
        bound = registration().bounds["error"]
        return sum(bound.met(printed, ours) for ours, printed in zip(self.figures, PRINTED.values()))

    def row(self, choice: str, label: str, form: str) -> tuple[str, ...]:
        """The cells under HEADER."""
        e = self
        errors = f"{e.x:.0f} {e.y:.1f} {e.z:.2f} {e.yaw:.2f} {e.pitch:.2f} {e.roll:.2f} {e.force:.2f}".split()
        rest = (f"{e.agreement:.3f}", f"{e.peak:.0f}", f"{e.speed:.3f}", f"{e.within} of 7")
        return choice, label, form, *errors, *rest


def errors_between(ours: Recording, theirs: Recording) -> Errors:
    """Compare two runs as the paper does: left fore foot, ZYX Euler angles."""
    x, y, z = (1e3 * metrics.position_mae(ours, theirs)).tolist()
    yaw, pitch, roll = metrics.euler_mae_deg(ours, theirs).tolist()
    return Errors(
        x, y, z, yaw, pitch, roll, metrics.force_mae(ours, theirs, "LF"), metrics.contact_agreement(ours, theirs, "LF"),
        metrics.peak_force(ours, "LF", 99.9), ours.mean_speed(1.0),
    )  # fmt: skip
