"""Terrain from heights on a grid, bilinear between the nodes or smooth; from an array, an image, or a seed.

A ``smooth`` field takes the nodes as control points of a biquadratic B-spline, with continuous derivatives; bilinear
cells meet in creases. The distance of a point is its height over the surface h times the upward part w of a normal,

    φ = (z - h) w,   w = (1 + |m|²)^(-1/2),   n = ∇φ / |∇φ|,   ∇φ = w (-∇h, 1) + (z - h) ∇w

with continuous slopes m: those of the spline, or of bilinear cells, each blended along its axis from the middle of a
cell to the middle of the next. So φ is continuous, also over a crease, and n is its gradient: a sphere that moves along
the ground is neither lifted by a jump nor pushed along it, and the ground adds no energy.

Over any plane φ is exact; over curved ground it is off by about half the curvature times the square of the offset to
the nearest point, and the normal is the one at the nearest point to the same order (so features should be larger than
the foot). On the surface itself it is exact. Distance and normal are read from the same nine nodes: when traced, equal
lookups merge.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy import ndarray

from footfall.checks import checked_number, whole_number
from footfall.contact.ground import Ground, checked_friction, drawn_heights, numbers_of, one_size, sizes_in
from footfall.errors import InputError, unknown
from footfall.hints import GROUND, names_arguments
from nptrace import lookup, smoothstep
from nptrace._types import Given, Json, Operand, Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjsGeom, MjSpec

FILES = (".png", ".npy")
GRAIN = 1e-5  # [m], resolution of heights in recordings
_LARGEST = 4_000_000  # largest number of nodes
_HOLE = np.iinfo(np.int32).min  # value of a hole in recordings
_ROUGHEST = 1.0  # [m]: higher terrain has cliffs on which no foot finds a hold
_THICK = 0.5  # [m] below the lowest node in MuJoCo


@names_arguments("argument of Heightfield", GROUND)
@dataclass(frozen=True, eq=False)
class Heightfield(Ground):
    """Heights [m] on a grid, ``spacing`` [m] apart, x first; node (0, 0) is at ``corner`` (x, y) [m].

    Beyond its edges the field continues at the height of the edge. NaN marks a hole, over which a robot must not
    move.
    ``heights`` may be a free parameter ("ground.heights"), for terrain that differs from robot to robot.
    """

    heights: Float[ndarray, "nx ny"]
    spacing: float = 0.05
    corner: Float[ndarray, "2"] = field(default_factory=lambda: np.zeros(2))
    friction: float = 0.8
    smooth: bool = False
    # parameters of rough ground, on the ground itself: the arguments of ``rough``
    recipe: ClassVar[dict[str, Given] | None] = None

    kind = "heightfield"
    spellings = ("rough:H", "FILE.png:H:L", "FILE.npy:L")
    examples = ("rough:0.03", "rough:0.06")

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "friction", checked_friction(self.friction))
        set_(self, "spacing", checked_number(self.spacing, "spacing of a heightfield", 0.0, above=True))
        set_(self, "heights", checked_heights(self.heights))
        corner = np.array(self.corner, dtype=float)
        if corner.shape != (2,) or not np.isfinite(corner).all():
            raise InputError(f"the corner of a heightfield must be two finite numbers, got {self.corner!r}")
        set_(self, "corner", corner)

    def __repr__(self) -> str:
        size = " x ".join(f"{self.spacing * (n - 1):g}" for n in self.heights.shape)
        surface = self.sampled() if self.smooth else self.heights  # a spline stays within its nodes
        low, high = np.nanmin(surface), np.nanmax(surface)
        return f"Heightfield({size} m, {low:.3g} to {high:.3g} m high, friction {self.friction:g})"

    # -- the surface -------------------------------------------------------------------------------------------------
    def surface(self, x: Operand, y: Operand) -> tuple[Operand, Operand, Operand]:
        """Return (height [m], slope along x, slope along y) at a point."""
        height, (along_x, along_y), _, _ = self._shape(x, y)
        return height, along_x / self.spacing, along_y / self.spacing

    def _shape(self, x: Scalar, y: Scalar) -> tuple[Operand, ...]:
        """Return height, its slopes, continuous slopes m, and (m_x by x, m_x by y, m_y by x, m_y by y), in node units.

        Uses the nine nodes around the nearest one, first along y, then along x. Lookups clamp, which makes the ground
        beyond the edges level.
        """
        per = 1.0 / self.spacing
        u, v = (position * per + (0.5 - c * per) for position, c in zip((x, y), self.corner))
        i, j = np.floor(u), np.floor(v)
        nodes = [[lookup(self.heights, i + a, j + b) for b in (-1.0, 0.0, 1.0)] for a in (-1.0, 0.0, 1.0)]
        return (_spline if self.smooth else _cells)(nodes, u - i, v - j)

    def _over(self, p_W: Float[ndarray, "3"]) -> tuple[Operand, Operand, Operand]:
        """Return (distance, slopes along x and y of the surface of equal distance through p): see the module
        docstring.
        """
        height, (h_x, h_y), (m_x, m_y), (m_xx, m_xy, m_yx, m_yy) = self._shape(p_W[0], p_W[1])
        per = 1.0 / self.spacing
        w = 1.0 / np.sqrt(1.0 + (per * per) * (m_x * m_x + m_y * m_y))
        distance = (p_W[2] - height) * w
        turn = (per * per) * (distance * w)  # ∇w = -w³ (∇m)ᵀ m
        return (
            distance,
            per * (h_x + turn * (m_x * m_xx + m_y * m_yx)),
            per * (h_y + turn * (m_x * m_xy + m_y * m_yy)),
        )

    # -- a ground ----------------------------------------------------------------------------------------------------
    def distance(self, p_W: Float[ndarray, "3"]) -> float:
        """Return the height over the surface times the normal's upward component: see the module docstring."""
        return self._over(p_W)[0]

    def frame(self, p_W: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
        """Return R_WC: world axes, rotated by the smallest angle that aligns z with the normal.

        Frisvad 2012, "Building an orthonormal basis from a 3D unit vector without normalization".
        """
        _, along_x, along_y = self._over(p_W)
        n_z = 1.0 / np.sqrt(1.0 + along_x * along_x + along_y * along_y)
        n_x, n_y, k = -along_x * n_z, -along_y * n_z, 1.0 / (1.0 + n_z)
        mixed = -n_x * n_y * k
        return np.array([
            [1.0 - n_x * n_x * k, mixed, n_x],
            [mixed, 1.0 - n_y * n_y * k, n_y],
            [-n_x, -n_y, n_z],
        ])  # fmt: skip

    def friction_at(self, p_W: Float[ndarray, "3"]) -> float:
        return self.friction

    def sampled(self) -> Float[ndarray, "nx ny"]:
        """Return the heights of the surface at the nodes [m]: the nodes themselves unless it is smooth."""
        nx, ny = self.heights.shape
        x, y = (self.corner[k] + self.spacing * np.arange(n) for k, n in enumerate((nx, ny)))
        return np.asarray(self.surface(x[:, None], y[None, :])[0])

    def distances(self, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n"]:
        return np.asarray(self.distance(points.T))

    def heights_at(self, x: ndarray, y: ndarray) -> ndarray:
        return drawn_heights(np.asarray(self.surface(x, y)[0]))

    # -- other forms -------------------------------------------------------------------------------------------------
    def to_json(self) -> dict[str, Json]:
        """Return rough ground by its seed, and any other field by its heights, to a hundredth of a millimetre."""
        if self._is_rough():
            return {"kind": self.kind, "recipe": {**(self.recipe or {}), "friction": self.friction}}
        return {"kind": self.kind} | numbers_of(self) | {"heights": _packed(self.heights)}

    @classmethod
    def from_json(cls, fields: dict[str, Json]) -> Heightfield:
        if "recipe" in fields:
            return cls.rough(**{**fields["recipe"], "size": tuple(fields["recipe"]["size"])})
        return cls(**{**fields, "heights": _unpacked(fields.get("heights"))})

    def _is_rough(self) -> bool:
        """Return whether the seed still gives these heights: a copy of a ground may have others."""
        if self.recipe is None:
            return False
        again = Heightfield.rough(**self.recipe)
        return again.heights.shape == np.shape(self.heights) and bool((again.heights == self.heights).all())

    @classmethod
    def from_name(cls, name: str, seed: int, friction: float) -> Heightfield | None:
        kind, *sizes = name.split(":")
        if any(kind.lower().endswith(suffix) for suffix in FILES):
            wanted = ["height", "length"] if kind.lower().endswith(".png") else ["length"]
            otherwise = f"a ground file takes {' and '.join(wanted)} in metres, got {name!r}"
            given = sizes_in(sizes, None, otherwise)
            if len(given) > len(wanted):
                raise InputError(otherwise)
            sizes_of: dict[str, Given] = dict(zip(wanted, given))
            return cls.from_file(kind, friction=friction, **sizes_of)
        if kind != "rough":
            return None
        size = one_size(name, "a height in metres, as in rough:0.04")
        if not abs(size) <= _ROUGHEST:
            raise InputError(
                f"rough ground has at most {_ROUGHEST:g} m between its lowest and highest point, got {size:g}"
            )
        return cls.rough(size, seed, friction)

    def to_mujoco(self, mj: ModuleType, spec: MjSpec, geom: MjsGeom) -> None:
        """Add an hfield of triangles between the nodes, at which a smooth field is sampled."""
        heights = self.sampled()
        if not np.isfinite(heights).all():
            raise InputError("MuJoCo heightfields have no holes: this one has heights that are NaN")
        low, high = float(heights.min()), float(heights.max())
        span = max(high - low, 1e-6)
        half = 0.5 * self.spacing * (np.array(heights.shape) - 1.0)
        asset = spec.add_hfield(name="terrain", nrow=heights.shape[1], ncol=heights.shape[0])
        asset.size = [half[0], half[1], span, _THICK]
        asset.userdata = ((heights.T - low) / span).ravel()  # row by row along y, x within a row
        geom.type, geom.hfieldname = mj.mjtGeom.mjGEOM_HFIELD, "terrain"
        geom.pos = [*(self.corner + half), low]

    # -- making one --------------------------------------------------------------------------------------------------
    @staticmethod
    def centred(heights: Operand, spacing: float = 0.05, friction: float = 0.8, smooth: bool = False) -> Heightfield:
        """Return a field with the origin in its middle."""
        heights = checked_heights(heights)
        spacing = checked_number(spacing, "spacing of a heightfield", 0.0, above=True)
        return Heightfield(heights, spacing, -0.5 * spacing * (np.array(heights.shape) - 1.0), friction, smooth)

    @staticmethod
    def rough(
        height: float,
        seed: int = 0,
        friction: float = 0.8,
        feature: float = 0.3,
        flat: float = 0.5,
        size: tuple[float, float] = (20.0, 10.0),
        spacing: float = 0.05,
    ) -> Heightfield:
        """Smooth random ground of a given ``height`` from its lowest to its highest point [m], level around the start.

        White noise of the seed, filtered to bumps about ``feature`` [m] across; level within ``flat`` [m] of the
        origin, and full by twice that. ``size`` [m] along x and y; a quarter of the length lies behind the start.
        """
        height = checked_number(height, "height of rough ground", 0.0)
        for key, value in (("feature", feature), ("spacing", spacing), ("length", size[0]), ("width", size[1])):
            checked_number(value, f"{key} of rough ground", 0.0, above=True)
        checked_number(flat, "flat start of rough ground", 0.0)
        whole_number(seed, "the seed of rough ground", 0)
        nx, ny = (round(length / spacing) + 1 for length in size)
        if nx * ny > _LARGEST:
            raise InputError(f"rough ground of {nx} x {ny} nodes is too large: at most {_LARGEST} nodes")
        noise = np.random.default_rng(seed).standard_normal((nx, ny))
        sigma = 0.25 * feature  # the width of a bump is about four standard deviations of the Gaussian
        k_x, k_y = np.fft.fftfreq(nx, spacing)[:, None], np.fft.rfftfreq(ny, spacing)[None, :]
        damped = np.fft.rfft2(noise) * np.exp(-2.0 * (np.pi * sigma) ** 2 * (k_x**2 + k_y**2))
        bumps = np.fft.irfft2(damped, s=(nx, ny))
        corner = np.array([-0.25 * size[0], -0.5 * size[1]])
        x, y = corner[0] + spacing * np.arange(nx)[:, None], corner[1] + spacing * np.arange(ny)[None, :]
        if flat > 0:
            bumps = (bumps - bumps.mean()) * smoothstep(np.sqrt(x * x + y * y) / flat - 1.0)
        span = float(np.ptp(bumps))
        if span > 0:
            bumps = bumps * (height / span)
        field_ = Heightfield(bumps, spacing, corner, friction, smooth=True)
        seen = float(np.ptp(field_.sampled()))  # the spline rounds its control points off a little
        if seen > 0:
            field_ = Heightfield(bumps * (height / seen), spacing, corner, friction, smooth=True)
        recipe = {"height": height, "seed": int(seed), "friction": friction, "feature": feature, "flat": flat}
        object.__setattr__(field_, "recipe", {**recipe, "size": tuple(size), "spacing": spacing})
        return field_

    @staticmethod
    def from_file(
        path: str | Path, height: float = 0.1, length: float = 10.0, friction: float = 0.8, smooth: bool = True
    ) -> Heightfield:
        """Read a field from a PNG, black at zero and white at ``height`` [m], or a NumPy file (.npy) of heights [m], x
        first.

        The field is ``length`` [m] long along x with the origin in its middle; an image's right is +x, its top +y.
        """
        file = Path(path)
        if file.suffix.lower() not in FILES:
            raise unknown("kind of ground file", file.suffix or str(file), FILES)
        checked_number(length, "length of a heightfield", 0.0, above=True)
        heights = _image(file, checked_number(height, "height of an image", 0.0)) if _is_image(file) else _array(file)
        return Heightfield.centred(heights, length / (heights.shape[0] - 1), friction, smooth)


def checked_heights(value: Given) -> Given:
    """Return a grid of heights: at least 2 x 2 numbers, finite or NaN; a traced one passes unchanged."""
    if not isinstance(value, (ndarray, list, tuple)) or (isinstance(value, ndarray) and value.dtype == object):
        if value is None or isinstance(value, (str, bytes, int, float)):
            raise InputError(f"heights must be a grid of numbers, got {value!r}")
        return value
    try:
        heights = np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("heights must be a grid of numbers with rows of equal length") from error
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise InputError(f"heights must be a grid of at least 2 x 2 numbers, got shape {heights.shape}")
    if heights.size > _LARGEST:
        raise InputError(f"a heightfield of {heights.size} nodes is too large: at most {_LARGEST}")
    if np.isinf(heights).any():
        i, j = np.argwhere(np.isinf(heights))[0]
        raise InputError(f"height ({i}, {j}) is infinite: a hole is NaN, anything else a finite number")
    if np.isnan(heights).all():
        raise InputError("all heights are NaN: there is no ground to stand on")
    heights.setflags(write=False)
    return heights


def _spline(nodes: list[list[Operand]], s: Operand, t: Operand) -> tuple[Operand, ...]:
    """Evaluate the biquadratic B-spline, as ``Heightfield._shape`` does: m are its own slopes."""
    rows, slopes, curves = zip(*((_blend(row, t), *_bend(row, t)) for row in nodes))
    m_x, m_xx = _bend(rows, s)
    m_y, (m_yx, _) = _blend(slopes, s), _bend(slopes, s)
    return _blend(rows, s), (m_x, m_y), (m_x, m_y), (m_xx, m_yx, m_yx, _blend(curves, s))


def _cells(nodes: list[list[Operand]], s: Operand, t: Operand) -> tuple[Operand, ...]:
    """Evaluate the bilinear cells, as ``Heightfield._shape`` does."""
    rows, inclines, slopes, curves = zip(*((*_line(row, t), *_bend(row, t)) for row in nodes))
    height, h_x = _line(rows, s)
    m_x, m_xx = _bend(rows, s)
    m_y, m_yx = _line(slopes, s)
    return height, (h_x, _line(inclines, s)[0]), (m_x, m_y), (m_xx, _bend(inclines, s)[0], m_yx, _line(curves, s)[0])


# Three nodes in a row; t runs from 0 to 1, half a node before and after the middle one.
def _line(nodes: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
    """Return (value, slope) of straight lines from node to node."""
    slope = np.where(t < 0.5, nodes[1] - nodes[0], nodes[2] - nodes[1])
    return nodes[1] + (t - 0.5) * slope, slope


def _bend(nodes: Sequence[Scalar], t: Scalar) -> tuple[Scalar, Scalar]:
    """Return (slope, curvature) of a quadratic B-spline: from one line's slope to the next one's."""
    fall = nodes[1] - nodes[0]
    curve = nodes[2] - nodes[1] - fall
    return fall + t * curve, curve


def _blend(nodes: Sequence[Scalar], t: Scalar) -> Scalar:
    """Return the value of a quadratic B-spline from half-way between two nodes, with the mean slope between there
    and here.
    """
    fall = nodes[1] - nodes[0]
    return nodes[1] - 0.5 * fall + (0.5 * t) * (fall + _bend(nodes, t)[0])


def _is_image(file: Path) -> bool:
    return file.suffix.lower() == ".png"


def _image(file: Path, height: float) -> ndarray:
    from matplotlib import image

    try:
        with file.open("rb") as opened:
            width, tall = struct.unpack(">16x2I", opened.read(24))
        if width * tall > _LARGEST:  # checked before unpacking
            raise ValueError(f"{width} x {tall} pixels are too many: at most {_LARGEST}")
        pixels = np.asarray(image.imread(file, format="png"), dtype=float)
    except FileNotFoundError:
        raise InputError(f"there is no ground file {file}") from None
    except Exception as error:  # any error that the reader raises on a broken image
        raise InputError(f"{file} is not a PNG image that can be read: {error}") from error
    if pixels.ndim == 3:
        colours = pixels.shape[2] - (pixels.shape[2] in (2, 4))  # without transparency
        pixels = pixels[:, :, :colours].mean(axis=2)
    if pixels.ndim != 2 or min(pixels.shape) < 2:
        raise InputError(f"{file} must be an image of at least 2 x 2 pixels, got {pixels.shape}")
    return height * pixels[::-1].T


def _array(file: Path) -> ndarray:
    try:
        heights = np.load(file, allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"there is no ground file {file}") from None
    except Exception as error:
        raise InputError(f"{file} is not a NumPy file of heights: {error}") from error
    if not isinstance(heights, ndarray) or heights.dtype.kind not in "fiu":
        raise InputError(f"{file} must hold one grid of heights in metres")
    return checked_heights(heights)


def _packed(heights: ndarray) -> dict[str, Json]:
    """Return heights in multiples of the resolution, as differences along both axes (small numbers), compressed."""
    hole = np.isnan(heights)
    grains = np.where(hole, 0, np.rint(np.where(hole, 0.0, heights) / GRAIN)).astype(np.int64)
    if np.abs(grains).max(initial=0) >= 2**30:
        raise InputError("heights of a ground must lie within 10 km")
    if hole.any():  # differences do not extend over holes
        small = np.where(hole, _HOLE, grains).astype("<i4")
    else:
        small = np.diff(np.diff(grains, axis=0, prepend=0), axis=1, prepend=0).astype("<i4")
    data = base64.b64encode(zlib.compress(small.tobytes(), 6)).decode("ascii")
    return {"shape": list(heights.shape), "holes": bool(hole.any()), "data": data}


def _unpacked(form: Json) -> ndarray:
    rows, columns = (int(n) for n in form["shape"])
    if not (0 < rows <= _LARGEST and 0 < columns <= _LARGEST and rows * columns <= _LARGEST):
        raise InputError(f"{rows} x {columns} nodes are too many")
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(base64.b64decode(form["data"], validate=True), 4 * rows * columns + 1)
    except zlib.error as error:
        raise InputError(f"its heights are damaged: {error}") from None
    if len(data) != 4 * rows * columns:
        raise InputError("its heights are truncated or too long")
    small = np.frombuffer(data, "<i4").reshape(rows, columns).astype(np.int64)
    if form.get("holes"):
        return np.where(small == _HOLE, np.nan, small * GRAIN)
    return np.cumsum(np.cumsum(small, axis=1), axis=0) * GRAIN
