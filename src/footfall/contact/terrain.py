"""Steps and stairs, ground whose friction differs from place to place, and grounds by name.

contact.terrain.named("rough:0.04", seed=3, friction=0.7)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.checks import checked_number
from footfall.contact.ground import Ground, Plane, checked_friction
from footfall.contact.heightfield import FILES, Heightfield
from footfall.errors import InputError, unknown
from footfall.nests import Given, Scalar
from footfall.numeric import lookup

GROUNDS = ("plane", "slope:D", "steps:H", "stairs:H", "rough:H", "FILE.png:H:L", "FILE.npy:L")
_TINY = 1e-9  # [m]
_ROUGHEST = 1.0  # [m]: more is cliffs, on which no foot finds a hold
_TREADS, _STAIRS = 20, 6  # of a flight of steps, and of each flight of stairs


class Treads:
    """What grounds of level treads along x share: distances from treads, risers and edges, by ``level(i)`` of a tread.

    A foot in the corner of a tread and a riser would touch both, and it has one contact: the corner is filled with a
    quarter circle of radius ``fillet`` [m], or of the riser's height if that is less.
    """

    tread: float
    start: float
    friction: float
    fillet: float

    def level(self, i: Scalar) -> Scalar:
        raise NotImplementedError(f"{type(self).__name__} must say how high its treads are")

    def _tread_at(self, x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """(number of the tread at a place, which part of it lies behind, its depth [m], from its number to the next)"""
        u = (x - self.start) / self.tread
        i = np.floor(u)
        return i, u - i, self.tread, 1.0

    def _nearest(self, p_W: Float[ndarray, "3"]) -> tuple[Scalar, Scalar, Scalar]:
        """(distance, x and z of the way out of the ground), of any length."""
        i, s, tread, one = self._tread_at(p_W[0])
        ahead = s > 0.5  # which riser is nearer
        here, there = self.level(i), self.level(i + np.where(ahead, one, -one))
        above = p_W[2] - here
        aside = np.maximum(tread * np.where(ahead, 1.0 - s, s), _TINY)
        over = np.maximum(p_W[2] - there, 0.0)
        beside = np.sqrt(aside * aside + over * over)  # from the higher neighbour's riser or edge
        radius = np.minimum(np.maximum(there - here, 0.0), self.fillet)
        level = there <= here
        in_a, in_b = np.maximum(radius - above, 0.0), np.where(level, 0.0, np.maximum(radius - beside, 0.0))
        tread_first = level | (above <= beside)
        least = np.where(tread_first, above, beside)
        distance = np.maximum(radius, least) - np.sqrt(in_a * in_a + in_b * in_b + _TINY * _TINY)
        cornered = (in_a > 0.0) & (in_b > 0.0)
        w_a = np.where(cornered, in_a, np.where(tread_first, 1.0, 0.0))
        w_b = np.where(cornered, in_b, np.where(tread_first, 0.0, 1.0)) / beside
        return distance, w_b * aside * np.where(ahead, -1.0, 1.0), w_a + w_b * over

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self._nearest(p_W)[0]

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        """R_WC: y along the risers, the normal last."""
        _, out_x, out_z = self._nearest(p_W)
        length = np.sqrt(out_x * out_x + out_z * out_z)
        n_x, n_z = out_x / length, out_z / length
        return np.array([[n_z, 0.0, n_x], [0.0, 1.0, 0.0], [-n_x, 0.0, n_z]])

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.friction

    def height(self, x: Scalar) -> Scalar:
        """Of the tread at a place [m]."""
        return self.level(self._tread_at(x)[0])


@dataclass(frozen=True, eq=False)
class Steps(Treads):
    """Level treads along x joined by vertical risers: ``levels`` [m], each ``tread`` [m] deep from ``start`` [m] on.

    The first level lies before ``start`` and the last goes on for ever. The distance is the true one to the nearest
    tread, riser or edge, see ``Treads``.
    """

    levels: Float[ndarray, "n"]
    tread: float = 0.4
    start: float = 0.6
    friction: float = 0.8
    fillet: float = 0.03

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "friction", checked_friction(self.friction))
        set_(self, "fillet", checked_number(self.fillet, "fillet of steps", 0.0))
        set_(self, "tread", checked_number(self.tread, "tread of steps", 0.0, above=True))
        set_(self, "start", checked_number(self.start, "start of steps", -1e6, 1e6))
        if self.tread < 4.0 * self.fillet:
            raise InputError(f"the tread of steps must be at least four fillets of {self.fillet} m, got {self.tread}")
        try:
            levels = np.array(self.levels, dtype=float)
        except (TypeError, ValueError):
            levels = np.full(1, np.nan)
        if levels.ndim != 1 or not levels.size or not np.isfinite(levels).all():
            raise InputError(f"levels of steps must be a row of finite heights, got {self.levels!r}")
        levels.setflags(write=False)
        set_(self, "levels", levels)

    @staticmethod
    def flight(
        rise: float, tread: float = 0.4, count: int = _TREADS, start: float = 0.6, friction: float = 0.8
    ) -> Steps:
        """``count`` steps up along +x (down for a negative rise)."""
        return Steps(checked_number(rise, "rise of steps", -1.0, 1.0) * np.arange(count + 1), tread, start, friction)

    @staticmethod
    def stairs(
        rise: float, tread: float = 0.4, count: int = _STAIRS, landing: int = 3, start: float = 0.6,
        friction: float = 0.8,
    ) -> Steps:  # fmt: skip
        """``count`` steps up, a landing of so many treads, and the same steps down."""
        up = checked_number(rise, "rise of stairs", -1.0, 1.0) * np.arange(count + 1)
        return Steps(np.concatenate([up, np.full(landing - 1, up[-1]), up[-2::-1]]), tread, start, friction)

    def level(self, i: Scalar) -> Scalar:
        """Height of tread i [m]."""
        return lookup(self.levels, i + 1.0)


@dataclass(frozen=True, eq=False)
class Patches:
    """A ground with another friction in every cell of a grid: ``friction`` of cells ``spacing`` [m] wide, x first.

    Cell (0, 0) begins at ``corner`` (x, y) [m]; beyond the grid that of the nearest cell holds. "ground.friction" may
    be a free parameter: the whole grid.
    """

    ground: Ground
    friction: Float[ndarray, "nx ny"]
    spacing: float = 1.0
    corner: Float[ndarray, "2"] = field(default_factory=lambda: np.zeros(2))

    def __post_init__(self) -> None:
        try:
            friction, corner = np.array(self.friction, dtype=float), np.array(self.corner, dtype=float)
        except (TypeError, ValueError) as error:
            raise InputError("friction of patches must be a grid of numbers, their corner two numbers") from error
        if friction.ndim != 2 or not friction.size:
            raise InputError(f"friction of patches must be a grid of numbers, got shape {friction.shape}")
        wrong = np.argwhere(~(np.isfinite(friction) & (friction >= 0)))
        if len(wrong):
            i, j = wrong[0]
            raise InputError(f"friction of patch ({i}, {j}) must be finite and not negative, got {friction[i, j]}")
        if corner.shape != (2,) or not np.isfinite(corner).all():
            raise InputError(f"the corner of patches must be two finite numbers, got {self.corner!r}")
        spacing = checked_number(self.spacing, "spacing of patches", 0.0, above=True)
        friction.setflags(write=False)
        for key, value in (("friction", friction), ("corner", corner), ("spacing", spacing)):
            object.__setattr__(self, key, value)

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self.ground.distance(p_W)

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        return self.ground.frame(p_W)

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        at = ((p_W[k] - self.corner[k]) / self.spacing for k in range(2))
        return lookup(self.friction, *at)


def distances(ground: Ground, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n"]:
    """Distance of many points, all at once where the ground can."""
    if isinstance(ground, Patches):
        return distances(ground.ground, points)
    if isinstance(ground, Heightfield | Steps):
        return np.asarray(ground.distance(points.T))
    if isinstance(ground, Plane):
        return np.asarray((points - ground.point) @ ground.normal)
    return np.array([ground.distance(p) for p in points])


def named(name: str, seed: int = 0, friction: float = 0.8) -> Ground:
    """A ground by its name on the command line.

    ``plane``; ``slope:D`` rises by D degrees along +x; ``steps:H`` goes up by H metres every 0.4 m; ``stairs:H`` goes
    up, along and down again; ``rough:H`` is random with H metres between its lowest and highest point, level around the
    start; ``FILE.png:H:L`` and ``FILE.npy:L`` are heightfields (white at H metres, L metres long).
    """
    if not isinstance(name, str):
        raise InputError(f"a ground is named by a text such as 'rough:0.04', got {name!r}")
    kind, *sizes = name.split(":")
    if any(kind.lower().endswith(suffix) for suffix in FILES):
        return _from_file(kind, sizes, name, friction)
    if kind == "plane" and not sizes:
        return Plane(friction)
    makers = {
        "slope": "an angle in degrees, as in slope:5",
        "steps": "a rise in metres, as in steps:0.05",
        "stairs": "a rise in metres, as in stairs:0.05",
        "rough": "a height in metres, as in rough:0.04",
    }
    if kind not in makers:
        raise unknown("ground", name, GROUNDS)
    (size,) = _numbers(sizes, 1, f"{kind} needs {makers[kind]}, got {name!r}")
    if kind == "slope":
        return Plane.slope(size, friction)
    if kind == "rough" and not abs(size) <= _ROUGHEST:
        raise InputError(f"rough ground has at most {_ROUGHEST:g} m between its lowest and highest point, got {size:g}")
    if kind == "rough":
        return Heightfield.rough(size, seed, friction)
    if not 0 < abs(size) <= 0.5:
        raise InputError(f"{kind} must rise by at most 0.5 m and not by nothing, got {size}")
    return (Steps.flight if kind == "steps" else Steps.stairs)(size, friction=friction)


def _from_file(path: str, sizes: list[str], name: str, friction: float) -> Heightfield:
    wanted = ["height", "length"] if path.lower().endswith(".png") else ["length"]
    given = _numbers(sizes, None, f"a ground file takes {' and '.join(wanted)} in metres, got {name!r}")
    if len(given) > len(wanted):
        raise InputError(f"a ground file takes {' and '.join(wanted)} in metres, got {name!r}")
    sizes_of: dict[str, Given] = dict(zip(wanted, given))
    return Heightfield.from_file(path, friction=friction, **sizes_of)


def _numbers(texts: list[str], count: int | None, otherwise: str) -> list[float]:
    try:
        found = [float(text) for text in texts]
    except ValueError:
        raise InputError(otherwise) from None
    if (count is not None and len(found) != count) or not np.isfinite(found).all():
        raise InputError(otherwise)
    return found


__all__ = ["GROUNDS", "Heightfield", "Patches", "Steps", "Treads", "distances", "named"]


def __dir__() -> list[str]:
    return sorted(__all__)
