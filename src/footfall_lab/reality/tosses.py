"""570 tosses of a real cube (Pfrommer, Halm and Posa 2020; see ``data/NOTICE.md``), and the errors of a simulation.

Lengths in this recording are 2 % short. Cubes in flight fall at 9.61 m/s², and a cube that touches with a face, an edge
or a corner has its centre 2 % lower than its size implies. So lengths are divided by the fraction of g measured in
flight. Velocities are backward differences of positions; the launch of a toss is fitted to all of its rows in flight.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy import ndarray

from footfall.spatial import quaternion
from footfall.spatial.gravity import STANDARD
from nptrace.array_types import Bool, Float, Int

RATE = 148.0  # rows per second
MASS, HALF, INERTIA = 0.37, 0.0524, 8.10e-4  # [kg], [m], [kg m²], from the source
CORNERS = np.array([(x, y, z) for x in (1.0, -1.0) for y in (1.0, -1.0) for z in (1.0, -1.0)])
AFTER = 5  # rows (34 ms) after the first touch at which an impact is evaluated
_CLEAR = 0.004  # [m] above the ground: in flight
_LEAST_FLIGHT = 12  # rows, to measure g


@dataclass(frozen=True, kw_only=True)
class TossErrors:
    """Errors of simulated tosses, one number per toss."""

    position: Float[ndarray, "n"]  # of the centre, mean over the rows [m]
    angle: Float[ndarray, "n"]  # mean over the rows [rad]
    end_position: Float[ndarray, "n"]  # at the last row [m]
    end_angle: Float[ndarray, "n"]  # [rad]
    impact_position: Float[ndarray, "n"]  # 34 ms after the first touch [m]
    impact_angle: Float[ndarray, "n"]  # [rad]

    @property
    def cost(self) -> float:
        """Return the cost of a fit: mean distance of the centre, and of a face's centre by the angle [m]."""
        return float(np.mean(self.position) + HALF * np.mean(self.angle))

    def of(self, which: ndarray) -> TossErrors:
        return TossErrors(**{name: getattr(self, name)[which] for name in self.__dataclass_fields__})


@dataclass(frozen=True, kw_only=True)
class Tosses:
    """Rows of n tosses of up to m rows, the last repeated; ``launch``: the state in the first row, from flight."""

    position: Float[ndarray, "n m 3"]  # [m]
    quat: Float[ndarray, "n m 4"]
    length: Int[ndarray, "n"]
    touch: Int[ndarray, "n"]  # the first row near the ground
    q: Float[ndarray, "n 7"]  # launch
    v: Float[ndarray, "n 6"]  # launch: angular and linear velocity in body axes
    scale: float  # divisor of lengths
    g: Float[ndarray, "k"]  # free fall in every long flight, as recorded [m/s²]

    def __len__(self) -> int:
        return len(self.length)

    @property
    def rows(self) -> int:
        return self.position.shape[1]

    def of(self, which: ndarray) -> Tosses:
        """Return some of the tosses, truncated to the longest of them."""
        rows = int(self.length[which].max())
        return Tosses(
            position=self.position[which, :rows],
            quat=self.quat[which, :rows],
            length=self.length[which],
            touch=self.touch[which],
            q=self.q[which],
            v=self.v[which],
            scale=self.scale,
            g=self.g,
        )

    def errors(self, position: Float[ndarray, "n m 3"], quat: Float[ndarray, "n m 4"]) -> TossErrors:
        """Return the errors of simulated rows, or of several candidates one after another, each with all tosses."""
        n, rows = len(self), np.arange(self.rows)
        fold = (-1, n, self.rows)
        away = np.linalg.norm(position.reshape(*fold, 3) - self.position, axis=-1)
        same = np.abs(np.einsum("cnmi,nmi->cnm", quat.reshape(*fold, 4), self.quat))
        turned = 2.0 * np.arccos(np.minimum(same, 1.0))
        away, turned = (np.where(np.isfinite(x), x, 1.0) for x in (away, turned))  # a diverged run counts as far away
        inside = (rows < self.length[:, None]) / self.length[:, None]
        last, hit = (np.arange(n), self.length - 1), (np.arange(n), np.minimum(self.touch + AFTER, self.length - 1))
        parts = [
            np.sum(away * inside, axis=2),
            np.sum(turned * inside, axis=2),
            away[:, *last],
            turned[:, *last],
            away[:, *hit],
            turned[:, *hit],
        ]
        return TossErrors(**{name: part.reshape(-1) for name, part in zip(TossErrors.__dataclass_fields__, parts)})


def load(train: int = 50, seed: int = 0) -> tuple[Tosses, Bool[ndarray, "n"]]:
    """Return (all tosses, which of them are for fitting); lengths are scaled by the latter only."""
    with np.load(str(files("footfall_lab.reality") / "data" / "cube_tosses.npz")) as archive:
        length = archive["length"]
        rows = {key: archive[key].astype(float) for key in ("position", "quaternion", "angular_velocity")}
    fits = np.zeros(len(length), dtype=bool)
    fits[np.random.default_rng(seed).choice(len(length), train, replace=False)] = True
    ends = np.cumsum(length)
    at = np.minimum((ends - length)[:, None] + np.arange(length.max()), ends[:, None] - 1)
    unit = rows["quaternion"] / np.linalg.norm(rows["quaternion"], axis=1, keepdims=True)  # single precision
    position, quat, spin = rows["position"][at], unit[at], rows["angular_velocity"][at]
    touch = first_touch(position, quat)
    g = free_fall(position[fits], touch[fits])
    scale = float(np.mean(g)) / STANDARD
    position = position / scale
    touch = np.minimum(first_touch(position, quat), length - AFTER - 1)
    launches = [_launch(p, o, w, int(k)) for p, o, w, k in zip(position, quat, spin, touch)]
    q, v = (np.array(column) for column in zip(*launches))
    return Tosses(position=position, quat=quat, length=length, touch=touch, q=q, v=v, scale=scale, g=g), fits


def lowest(position: Float[ndarray, "... 3"], quat: Float[ndarray, "... 4"]) -> ndarray:
    """Return the height of the lowest corner [m]."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    third = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    return position[..., 2] - HALF * np.sum(np.abs(third), axis=-1)


def first_touch(position: ndarray, quat: ndarray) -> Int[ndarray, "n"]:
    """Return the first row in which the cube is near the ground."""
    return np.argmax(lowest(position, quat) < _CLEAR, axis=1)


def free_fall(position: ndarray, touch: ndarray) -> Float[ndarray, "k"]:
    """Return the downward acceleration of every long flight [m/s²]."""
    found = []
    for p, k in zip(position, touch):
        if k > _LEAST_FLIGHT:
            time = np.arange(k - 1) / RATE
            found.append(-2.0 * np.polyfit(time, p[: k - 1, 2], 2)[0])
    return np.array(found)


def _launch(position: ndarray, quat: ndarray, spin: ndarray, touch: int) -> tuple[ndarray, ndarray]:
    """Return (q, v) at the first row, from a parabola through the rows in flight, and the mean spin.

    A body with three equal moments of inertia has constant angular velocity in body axes.
    """
    count = max(touch - 1, 2)
    time = np.arange(count) / RATE
    fall = position[:count] + 0.5 * STANDARD * np.outer(time**2, [0.0, 0.0, 1.0])
    (p, v_W), *_ = np.linalg.lstsq(np.stack([np.ones(count), time], axis=1), fall, rcond=None)
    omega = spin[1:count].mean(axis=0) if count > 2 else spin[1]
    back = np.array([quaternion.rotated(o, -t * omega) for o, t in zip(quat[:count], time)])
    back = back * np.where(back @ back[0] < 0.0, -1.0, 1.0)[:, None]
    start = back.sum(axis=0)
    start = start / np.sqrt(start @ start)
    return np.concatenate([p, start]), np.concatenate([omega, quaternion.to_rotation(start).T @ v_W])
