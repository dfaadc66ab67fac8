"""Steps and stairs: level treads along x, joined by vertical risers."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, known
from footfall.contact.ground import Ground, checked_friction, drawn_heights, one_size
from footfall.errors import InputError
from footfall.hints import GROUND, names_arguments
from nptrace import lookup
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjsGeom, MjSpec

_TINY = 1e-9  # [m]
NARROWEST = 0.04  # [m] of treads that are free parameters
_TREADS, _STAIRS = 20, 6  # steps of a flight, and of each flight of stairs
_WIDE, _THICK = 50.0, 0.5  # half sizes of boxes in MuJoCo [m]


class Treads(Ground):
    """Level treads along x: true distances from treads, risers and edges, given ``level(i)`` of tread i.

    A foot in the corner of a tread and a riser would touch both, but has only one contact: the corner is filled with a
    quarter circle of radius ``fillet`` [m], or of the riser's height if that is less.
    """

    tread: float
    start: float
    friction: float
    fillet: float

    @abstractmethod
    def level(self, i: Scalar) -> Scalar:
        """Return the height of tread i [m]."""

    def _tread_at(self, x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """Return (tread number at a position, fraction of it behind, its depth [m], difference to the next number)."""
        u = (x - self.start) / self.tread
        i = np.floor(u)
        return i, u - i, self.tread, 1.0

    _reach: ClassVar[int] = 1  # treads on either side that a sphere may touch

    def for_radius(self, radius: float) -> Ground:
        """Return treads that consider as many neighbours on either side as a sphere of this radius reaches."""
        if not known(radius):
            raise InputError(
                f"the radius of a foot cannot be a free parameter on {type(self).__name__}, which looks as many treads"
                " far as the foot reaches: use one batch for each radius"
            )
        reach = self._treads_within(radius)
        if reach == 1:
            return self
        wide = copy.copy(self)
        object.__setattr__(wide, "_reach", reach)
        return wide

    def _treads_within(self, radius: float) -> int:
        """Return the most treads that lie within a radius on one side; free treads count as the narrowest allowed."""
        return max(1, int(np.ceil(radius / (self.tread if known(self.tread) else NARROWEST))))

    def _depth(self, i: Scalar) -> Scalar:
        """Return the depth of tread i [m]."""
        return self.tread

    def _nearest(self, p_W: Float[ndarray, "3"]) -> tuple[Operand, Operand, Operand]:
        """Return (distance, x and z of the outward direction), of any length.

        Treads on both sides count, so that a sphere as wide as a tread meets each riser in time.
        """
        i, s, tread, one = self._tread_at(p_W[0])
        here = self.level(i)
        nearest: tuple[Operand, Operand, Operand] | None = None
        for way, aside in ((1.0, tread * s), (-1.0, tread * (1.0 - s))):
            for k in range(1, self._reach + 1):
                neighbour = i - way * k * one
                distance, out_x, out_z = self._beside(p_W[2], here, self.level(neighbour), aside)
                found = (distance, way * out_x, out_z)
                if nearest is None:
                    nearest = found
                else:
                    first = nearest[0] <= distance
                    nearest = (
                        np.where(first, nearest[0], distance),
                        np.where(first, nearest[1], found[1]),
                        np.where(first, nearest[2], out_z),
                    )
                if k < self._reach:
                    aside = aside + self._depth(neighbour)
        assert nearest is not None
        return nearest

    def _beside(self, z: Scalar, here: Scalar, there: Scalar, aside: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return (distance, outward direction away from the neighbour, and up) of a tread and a neighbour ``aside``
        away.
        """
        above = z - here
        aside = np.maximum(aside, _TINY)
        over = np.maximum(z - there, 0.0)
        beside = np.sqrt(aside * aside + over * over)  # from the riser or edge of the higher neighbour
        radius = np.minimum(np.maximum(there - here, 0.0), self.fillet)
        level = there <= here
        in_a, in_b = np.maximum(radius - above, 0.0), np.where(level, 0.0, np.maximum(radius - beside, 0.0))
        tread_first = level | (above <= beside)
        least = np.where(tread_first, above, beside)
        distance = np.maximum(radius, least) - np.sqrt(in_a * in_a + in_b * in_b + _TINY * _TINY)
        cornered = (in_a > 0.0) & (in_b > 0.0)
        w_a = np.where(cornered, in_a, np.where(tread_first, 1.0, 0.0))
        w_b = np.where(cornered, in_b, np.where(tread_first, 0.0, 1.0)) / beside
        return distance, w_b * aside, w_a + w_b * over

    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        return self._nearest(p_W)[0]

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        """Return R_WC: y along the risers, the normal last."""
        _, out_x, out_z = self._nearest(p_W)
        length = np.sqrt(out_x * out_x + out_z * out_z)
        n_x, n_z = out_x / length, out_z / length
        return np.array([[n_z, 0.0, n_x], [0.0, 1.0, 0.0], [-n_x, 0.0, n_z]])

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.friction

    def height(self, x: Scalar) -> Scalar:
        """Return the height of the tread at a position [m]."""
        return self.level(self._tread_at(x)[0])


@names_arguments("argument of Steps", GROUND)
@dataclass(frozen=True, eq=False)
class Steps(Treads):
    """Level treads along x joined by vertical risers.

    Heights ``levels`` [m], each ``tread`` [m] deep from ``start`` [m] on.

    The first level lies before ``start`` and the last continues to infinity. The distance is exact, to the nearest
    tread, riser or edge; see ``Treads``.
    """

    levels: Float[ndarray, "n"]
    tread: float = 0.4
    start: float = 0.6
    friction: float = 0.8
    fillet: float = 0.03

    kind = "steps"
    spellings = ("steps:H", "stairs:H")
    examples = ("steps:0.04", "stairs:0.05")
    free = ("levels", "start", "friction")

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
        """Return ``count`` steps up along +x (down for a negative rise)."""
        return Steps(checked_number(rise, "rise of steps", -1.0, 1.0) * np.arange(count + 1), tread, start, friction)

    @staticmethod
    def stairs(
        rise: float,
        tread: float = 0.4,
        count: int = _STAIRS,
        landing: int = 3,
        start: float = 0.6,
        friction: float = 0.8,
    ) -> Steps:
        """Return ``count`` steps up, a landing of ``landing`` treads, and as many steps down."""
        up = checked_number(rise, "rise of stairs", -1.0, 1.0) * np.arange(count + 1)
        return Steps(np.concatenate([up, np.full(landing - 1, up[-1]), up[-2::-1]]), tread, start, friction)

    def level(self, i: Scalar) -> Scalar:
        """Return height of tread i [m]."""
        return lookup(self.levels, i + 1.0)

    def distances(self, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n"]:
        return np.asarray(self.distance(points.T))

    def heights_at(self, x: ndarray, y: ndarray) -> ndarray:
        return drawn_heights(np.broadcast_to(np.asarray(self.height(x)), np.broadcast(x, y).shape))

    def risers(self, low: float, high: float) -> ndarray:
        edges = self.start + self.tread * np.flatnonzero(np.diff(self.levels))
        return edges[(edges > low) & (edges < high)]

    @classmethod
    def from_name(cls, name: str, seed: int, friction: float) -> Steps | None:
        kind = name.partition(":")[0]
        if kind not in ("steps", "stairs"):
            return None
        rise = one_size(name, f"a rise in metres, as in {kind}:0.05")
        if not 0 < abs(rise) <= 0.5:
            raise InputError(f"{kind} must have a rise of at most 0.5 m and not zero, got {rise}")
        return (cls.flight if kind == "steps" else cls.stairs)(rise, friction=friction)

    def to_mujoco(self, mj: ModuleType, spec: MjSpec, geom: MjsGeom) -> None:
        """Add a box for every tread. MuJoCo has no fillets: its feet may touch a tread and a riser at once."""
        levels, edges = self.levels, self.start + self.tread * np.arange(len(self.levels))
        starts, ends = np.append(edges[0] - 2.0 * _WIDE, edges[:-1]), np.append(edges[:-1], edges[-1] + 2.0 * _WIDE)
        bottom = float(levels.min()) - _THICK
        for k, (start, end, level) in enumerate(zip(starts, ends, levels)):
            box = (
                geom if k == 0 else spec.worldbody.add_geom(geom.classname, name=f"tread{k}", contype=0, conaffinity=1)
            )
            box.type = mj.mjtGeom.mjGEOM_BOX
            box.pos = [0.5 * (start + end), 0.0, 0.5 * (level + bottom)]
            box.size = [0.5 * (end - start), _WIDE, 0.5 * (level - bottom)]


__all__ = ["NARROWEST", "Steps", "Treads"]
