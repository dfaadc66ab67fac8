"""A picture of triangles in space, painted from far to near on a plain image, without a GPU, browser or window.

Shading is from one light and the sky. The picture is painted at twice its size and scaled down, which smooths edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.errors import MissingExtraError
from nptrace.array_types import Float

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

SKY, HORIZON = np.array([226.0, 234.0, 243.0]), np.array([250.0, 251.0, 253.0])
LAMP = np.array([0.35, -0.45, 0.82]) / np.linalg.norm([0.35, -0.45, 0.82])
_FINE = 2  # painted pixels per pixel of the picture, along both axes
_NEAR = 0.05  # [m]


def pillow() -> ModuleType:
    """Return the package that fills polygons, if it is installed."""
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFilter
        import PIL.ImageFont
    except ImportError:
        raise MissingExtraError("a picture or a video", "video", "pillow") from None
    return PIL


class Painter:
    """Paints pictures of a given size. ``look`` starts a picture from a viewpoint; the other methods paint, far objects
    first.
    """

    empty: Image  # the sky

    def __init__(self, width: int, height: int, view: float = 34.0) -> None:
        self.pil = pillow()
        self.width, self.height = width, height
        self.size = (_FINE * width, _FINE * height)
        self.focus = 0.5 * self.size[1] / np.tan(np.radians(view) / 2)  # view: from bottom to top [deg]
        self._horizon: int | None = None  # the sky, already painted
        self.look(np.array([2.0, -3.0, 1.5]), np.zeros(3))

    def look(self, eye: Float[ndarray, "3"], at: Float[ndarray, "3"]) -> None:
        """Begin a picture seen from ``eye`` towards ``at`` [m]."""
        forward = (at - eye) / np.linalg.norm(at - eye)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        self.eye, self.R = eye, np.stack([right, np.cross(forward, right), forward])  # x right, y down, z ahead
        row = round(0.5 * self.size[1] + self.focus * forward[2] / max(float(np.hypot(*forward[:2])), 1e-6))
        self.image = self._sky(row).copy()
        self.draw = self.pil.ImageDraw.Draw(self.image, "RGBA")

    def _sky(self, horizon: int) -> Image:
        """Return the sky: paler towards the horizon, and plain below it."""
        if horizon != self._horizon:
            ramp = np.clip(
                (np.arange(self.size[1]) + 0.6 * self.size[1]) / max(horizon + 0.6 * self.size[1], 1.0), 0, 1
            )
            rows = (SKY + (HORIZON - SKY) * ramp[:, None, None] ** 3).astype(np.uint8)
            filled = np.ascontiguousarray(np.broadcast_to(rows, (self.size[1], self.size[0], 3)))
            self._horizon, self.empty = horizon, self.pil.Image.fromarray(filled)
        return self.empty

    def flat(self, points: Float[ndarray, "n 3"]) -> tuple[Float[ndarray, "n 2"], Float[ndarray, "n"]]:
        """Return (positions on the image, distance in front of the eye [m])."""
        seen = (points - self.eye) @ self.R.T
        ahead = np.maximum(seen[:, 2], _NEAR)
        positions = seen[:, :2] * (self.focus / ahead)[:, None] + 0.5 * np.array(self.size)
        return np.clip(positions, -20_000, 20_000), seen[:, 2]

    # -- what is painted -----------------------------------------------------------------------------------------------
    def polygons(self, points: Float[ndarray, "n 3"], corners: ndarray, colors: Float[ndarray, "m 3"]) -> None:
        """Paint polygons with equal numbers of corners, farthest first; those that reach behind the eye are omitted."""
        positions, ahead = self.flat(points)
        order = np.argsort(-ahead[corners].mean(axis=1))
        order = order[self._seen(positions, ahead, corners[order])]
        rows = positions[corners[order]].reshape(len(order), 2 * corners.shape[1]).tolist()
        fill = self.draw.polygon
        for row, (r, g, b) in zip(rows, np.clip(colors[order], 0, 255).astype(int).tolist()):
            fill(row, fill=(r, g, b))

    def _seen(self, positions: ndarray, ahead: ndarray, corners: ndarray) -> ndarray:
        """Return which polygons lie in front of the eye and within the picture."""
        x, y = positions[corners].transpose(2, 0, 1)
        w, h = self.size
        inside = (x.max(axis=1) >= 0) & (x.min(axis=1) <= w) & (y.max(axis=1) >= 0) & (y.min(axis=1) <= h)
        return inside & (ahead[corners] > _NEAR).all(axis=1)

    def solid(
        self, points: Float[ndarray, "n 3"], faces: ndarray, colors: Float[ndarray, "m 3"], both_sides: bool = False
    ) -> None:
        """Paint lit triangles; back faces are culled, or flipped if both sides are visible."""
        a, b, c = points[faces].transpose(1, 0, 2)
        normal = np.cross(b - a, c - a)
        length = np.maximum(np.linalg.norm(normal, axis=1), 1e-15)
        normal /= length[:, None]
        towards = self.eye - (a + b + c) / 3.0
        towards /= np.linalg.norm(towards, axis=1)[:, None]
        facing = (normal * towards).sum(axis=1)
        if both_sides:
            normal *= np.where(facing < 0.0, -1.0, 1.0)[:, None]
        front = (facing > 0.0) | both_sides
        points_at, normal, towards = faces[front], normal[front], towards[front]
        half = LAMP + towards
        half /= np.linalg.norm(half, axis=1)[:, None]
        lit = np.maximum(normal @ LAMP, 0.0)
        shine = np.maximum((normal * half).sum(axis=1), 0.0) ** 24
        bright = 0.56 + 0.16 * normal[:, 2] + 0.48 * lit
        self.polygons(points, points_at, colors[front] * bright[:, None] + 52.0 * shine[:, None])

    def shadow(self, points: Float[ndarray, "n 3"], faces: ndarray, dark: float = 0.30) -> None:
        """Paint triangles that lie on the ground as one soft shadow, at coarse resolution."""
        positions, ahead = self.flat(points)
        faces = faces[self._seen(positions, ahead, faces)]
        mask = self.pil.Image.new("L", (self.width, self.height), 0)
        fill = self.pil.ImageDraw.Draw(mask).polygon
        for row in (positions[faces] / _FINE).reshape(len(faces), 6).tolist():
            fill(row, fill=255)
        mask = mask.filter(self.pil.ImageFilter.BoxBlur(2)).point(lambda value: int(dark * value))
        self.image.paste((30, 38, 52), (0, 0), mask.resize(self.size, self.pil.Image.Resampling.BILINEAR))
        self.draw = self.pil.ImageDraw.Draw(self.image, "RGBA")

    def patch(self, points: Float[ndarray, "n 3"], color: Sequence[int], opacity: float) -> None:
        """Paint one filled, translucent polygon."""
        positions, ahead = self.flat(points)
        if (ahead > _NEAR).all():
            self.draw.polygon(positions.ravel().tolist(), fill=(*color, int(255 * opacity)))

    def line(self, points: Float[ndarray, "n 3"], color: Sequence[int], thick: float) -> None:
        """Paint a line through points, with its width in pixels of the picture."""
        positions, ahead = self.flat(points)
        if len(points) > 1 and (ahead > _NEAR).all():
            self.draw.line(positions.ravel().tolist(), fill=tuple(color), width=round(thick * _FINE), joint="curve")

    def arrow(self, start: Float[ndarray, "3"], end: Float[ndarray, "3"], color: Sequence[int], thick: float) -> None:
        """Paint an arrow with a flat head."""
        (a, b), ahead = self.flat(np.stack([start, end]))
        along = b - a
        length = float(np.linalg.norm(along))
        if length < 3.0 * _FINE or not (ahead > _NEAR).all():
            return
        along /= length
        head = min(4.5 * thick * _FINE, 0.6 * length)
        neck, aside = b - head * along, 0.42 * head * np.array([-along[1], along[0]])
        self.draw.line(
            [*a.tolist(), *(neck + 0.5 * head * along).tolist()], fill=tuple(color), width=round(thick * _FINE)
        )
        self.draw.polygon([*b.tolist(), *(neck + aside).tolist(), *(neck - aside).tolist()], fill=tuple(color))

    def text(self, position: tuple[float, float], words: str, size: float, color: Sequence[int] = (44, 53, 63)) -> None:
        """Paint text with its lower left corner at a point of the picture [pixels]."""
        font = _font(self.pil, round(size * _FINE))
        at = (position[0] * _FINE, position[1] * _FINE)
        self.draw.text(at, words, fill=tuple(color), font=font, anchor="ls")

    def picture(self) -> Image:
        """Return the finished picture."""
        return self.image.reduce(_FINE)


_fonts: dict[int, FreeTypeFont] = {}


def _font(pil: ModuleType, size: int) -> FreeTypeFont:
    if size not in _fonts:
        from matplotlib import font_manager

        _fonts[size] = pil.ImageFont.truetype(font_manager.findfont("DejaVu Sans"), size)
    return _fonts[size]


def subdivided(vertices: ndarray, faces: ndarray, longest: float) -> tuple[ndarray, ndarray]:
    """Return triangles with sides of at most about ``longest``: sorted by their centres, large ones would hide
    others.
    """
    done: list[ndarray] = []
    triangles = vertices[faces]
    for _ in range(6):
        sides = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        large = sides.max(axis=1) > longest
        done.append(triangles[~large])
        if not large.any():
            break
        triangles = _halved(triangles[large], sides[large])
    else:
        done.append(triangles)
    small = np.concatenate(done)
    return small.reshape(-1, 3), np.arange(3 * len(small)).reshape(-1, 3)


def _halved(triangles: ndarray, sides: ndarray) -> ndarray:
    """Return every triangle as two, cut at the middle of its longest side."""
    turn = (sides.argmax(axis=1)[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(triangles, turn[:, :, None], axis=1).transpose(1, 0, 2)
    middle = (a + b) / 2.0
    return np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])


__all__ = ["HORIZON", "LAMP", "Painter", "pillow", "subdivided"]
