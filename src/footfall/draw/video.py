"""Recordings as pictures, GIFs and MP4 videos: the robot with its shadow, ground, contact forces and path.

    rec.save_video("trot.mp4")
    rec.picture(2.5)               # one moment, as a Pillow image

Everything is painted by ``painter``, at several pictures a second on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall._io.whole_file import whole_file
from footfall.checks import whole_number
from footfall.contact.ground import Plane
from footfall.draw.free_bodies import object_poses, object_solids
from footfall.draw.ground_surface import lines_along_x
from footfall.draw.painter import HORIZON, LAMP, Painter, pillow, subdivided
from footfall.draw.solids import look_of, size_of
from footfall.errors import InputError, MissingExtraError, unknown
from footfall.gait.stability import polygon_margin, support_polygon
from footfall.kinematics.forward import body_poses, center_of_mass
from footfall.spatial.gravity import GRAVITY, force_scale
from nptrace.array_types import Float

if TYPE_CHECKING:
    from PIL.Image import Image

    from footfall.recording.recording import Recording

KINDS = (".gif", ".mp4")
FORCE, INSIDE, OUTSIDE, PATH = (190, 8, 28), (16, 150, 90), (230, 140, 0), (120, 60, 200)
EYE = np.array([1.15, -1.75, 0.75])  # position of the camera relative to the robot, in robot sizes
_TRIANGLES, _AROUND = 12_000, 14
_TILES = (np.array([236.0, 239.0, 243.0]), np.array([224.0, 229.0, 235.0]))
_SEEN = 9.0  # distance at which the ground fades, in robot sizes
_TRAIL = 2.0  # [s]
_MOST_PICTURES = 100_000  # most frames in a video: an hour at 25 per second
_FURTHEST, _STRONGEST = 1e6, 1e12  # limits [m] and [rad], [N]: nothing beyond can be painted

Progress = Callable[[str, int, int], None]


class Film:
    """Rendered frames of a recording, all of one size; the camera moves with the robot."""

    def __init__(self, rec: Recording, width: int = 640, height: int = 360) -> None:
        if not len(rec):
            raise InputError("the recording has no rows to show")
        for value, what in ((width, "width"), (height, "height")):
            whole_number(value, f"the {what} of a picture", 32, 4096)
        _check_rows(rec)
        self.rec, self.robot, self.ground = rec, rec.robot, rec.ground or Plane()
        self.painter = Painter(int(width), int(height))
        self.scale = size_of(self.robot)
        look = look_of(self.robot, _TRIANGLES, _AROUND)
        self.meshes = self.robot.model_file is not None
        self.bodies = []
        for solids in (*look.bodies, *map(object_solids, rec.objects)):
            parts = [(*subdivided(s.vertices, s.faces, 0.16 * self.scale), s.color) for s in solids]
            self.bodies.append(_joined(parts))
        self.paths, self.centers = self._paths(), dict[int, ndarray]()

    def show(self, rec: Recording) -> None:
        """Switch to another recording of the same robot and ground, such as one that grows."""
        if not len(rec):
            raise InputError("the recording has no rows to show")
        _check_rows(rec)
        self.rec = rec
        self.paths, self.centers = self._paths(), dict[int, ndarray]()

    def picture(self, time: float) -> Image:
        """Return the robot at a time [s]."""
        rec, painter = self.rec, self.painter
        row = min(int(np.searchsorted(rec.time, time)), len(rec) - 1)
        q = rec.q[row]
        at = self.paths[row]
        painter.look(at + EYE * self.scale * self._distance(), at)
        self._ground(at)
        poses = [*body_poses(self.robot, q), *object_poses(rec.object_poses(row))]
        points = [vertices @ X.R.T + X.p for (vertices, _, _), X in zip(self.bodies, poses)]
        offsets = np.cumsum([0, *(len(p) for p in points)])
        faces = np.concatenate([body[1] + start for body, start in zip(self.bodies, offsets)])
        colors = np.concatenate([body[2] for body in self.bodies])
        everything = np.concatenate(points)
        painter.shadow(self._fallen(everything), faces[_lit(everything, faces)])
        feet = [poses[b].point(p) for b, p in zip(self.robot.tree.feet, self.robot.tree.foot_positions)]
        radii = np.array([[0.0, 0.0, foot.radius] for foot in self.robot.feet])
        bottoms = np.array(feet).reshape(-1, 3) - radii.reshape(-1, 3)
        force = rec.force[row] if "force" in rec else None
        if force is not None:
            self._support(bottoms[np.linalg.norm(force, axis=1) > 0], center_of_mass(self.robot, q))
        self._trail(row)
        painter.solid(everything, faces, colors, both_sides=self.meshes)
        for start, pull in zip(bottoms, force if force is not None else ()):
            length = pull / force_scale(self.robot.mass, rec.meta.get("gravity", GRAVITY)) * self.scale
            if np.linalg.norm(length) > 0.03 * self.scale:
                painter.arrow(start, start + length, FORCE, max(2.0, painter.height / 150))
        self._words(row)
        return painter.picture()

    # -- parts of a picture --------------------------------------------------------------------------------------------
    def _distance(self) -> float:
        """Return the distance of the camera, larger for a narrow picture."""
        return max(1.0, 1.5 * self.painter.height / self.painter.width)

    def _paths(self) -> Float[ndarray, "T 3"]:
        """Return the path of the camera's target: the trunk, smoothed."""
        rec = self.rec
        if not self.robot.floating:
            return np.tile([0.0, 0.0, 0.1 * self.scale], (len(rec), 1))
        span = max(rec.duration / max(len(rec) - 1, 1), 1e-6)
        width = min(max(1, round(0.6 / span)), len(rec))
        kernel = np.hanning(width + 2)[1:-1]
        kernel /= kernel.sum()
        start, end = width // 2, width - 1 - width // 2
        padded = np.pad(rec.q[:, :3], ((start, end), (0, 0)), mode="edge")
        smooth = np.stack([np.convolve(padded[:, k], kernel, "valid") for k in range(3)], axis=1)
        return smooth - [0.0, 0.0, 0.14 * self.scale]

    def _ground(self, at: Float[ndarray, "3"]) -> None:
        """Paint tiles that fade into the sky."""
        far, tile = _SEEN * self.scale, 0.5 * max(0.25, round(self.scale, 1))
        fine = 1 if self.ground.flat else 4
        reach = far if fine == 1 else 0.6 * far
        xs = lines_along_x(self.ground, at[0] - reach, at[0] + 0.35 * reach, tile / fine)
        ys = np.arange(np.floor((at[1] - 0.35 * reach) / tile) * fine, np.ceil((at[1] + reach) / tile) * fine + 1)
        ys = ys * (tile / fine)
        x, y = np.meshgrid(xs, ys, indexing="ij")
        points = np.stack([x, y, self.ground.heights_at(x, y)], axis=-1)
        n = len(ys)
        corner = (np.arange(len(xs) - 1)[:, None] * n + np.arange(n - 1)[None, :]).ravel()
        quads = np.stack([corner, corner + n, corner + n + 1, corner + 1], axis=1)
        flat = points.reshape(-1, 3)
        a, b, _, d = flat[quads].transpose(1, 0, 2)
        normal = np.cross(b - a, d - a)
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-15)[:, None]
        middle = flat[quads].mean(axis=1)
        dark = (np.floor(middle[:, 0] / tile) + np.floor(middle[:, 1] / tile)) % 2 > 0.5
        colors = np.where(dark[:, None], *_TILES[::-1])
        colors = colors * (1.0 + 0.55 * (normal @ LAMP - LAMP[2]))[:, None]
        fade = np.clip((np.hypot(*(middle[:, :2] - at[:2]).T) / reach - 0.35) / 0.6, 0.0, 1.0)[:, None]
        self.painter.polygons(flat, quads, colors + (HORIZON - colors) * fade)
        for edge in self.ground.risers(at[0] - 0.4 * reach, xs[-1]):
            line = np.array([[edge, y, 0.0] for y in (max(ys[0], at[1] - 0.4 * reach), at[1] + 0.4 * reach)])
            line[:, 2] = self.ground.heights_at(np.array([edge - 1e-5, edge + 1e-5]), line[:, 1]).max()
            self.painter.line(line, (158, 168, 180), max(1.0, self.painter.height / 360))

    def _fallen(self, points: Float[ndarray, "n 3"]) -> Float[ndarray, "n 3"]:
        """Return points projected onto the ground along the light."""
        z = self.ground.heights_at(points[:, 0], points[:, 1])
        along = (points[:, 2] - z) / LAMP[2] * 0.5
        x, y = points[:, 0] - along * LAMP[0], points[:, 1] - along * LAMP[1]
        return np.stack([x, y, self.ground.heights_at(x, y)], axis=1)

    def _support(self, down: Float[ndarray, "n 3"], center: Float[ndarray, "3"]) -> None:
        """Paint the support polygon, green while the centre of mass is above it."""
        corners = support_polygon(down)
        if len(corners) < 2:
            return
        color = INSIDE if polygon_margin(corners, center[:2]) >= 0 else OUTSIDE
        ring = np.column_stack([corners, self.ground.heights_at(corners[:, 0], corners[:, 1]) + 0.002])
        if len(ring) > 2:
            self.painter.patch(ring, color, 0.22)
        self.painter.line(np.vstack([ring, ring[:1]]), color, max(1.5, self.painter.height / 240))

    def _trail(self, row: int) -> None:
        rec = self.rec
        if not rec.robot.floating:
            return
        first = int(np.searchsorted(rec.time, rec.time[row] - _TRAIL))
        every = max(1, round(_TRAIL / 40 * (len(rec) - 1) / max(rec.duration, 1e-9)))
        # so that the next picture uses the same rows
        rows = np.append(np.arange(-(-first // every) * every, row, every), row)
        if len(rows) > 1:
            for missing in set(rows.tolist()) - self.centers.keys():
                self.centers[missing] = center_of_mass(self.robot, rec.q[missing])
            self.painter.line(
                np.array([self.centers[r] for r in rows.tolist()]), PATH, max(1.5, self.painter.height / 240)
            )

    def _words(self, row: int) -> None:
        rec, painter = self.rec, self.painter
        size = max(9.0, painter.height / 26)
        words = f"{self.robot.name}   {rec.time[row]:.2f} s"
        if self.robot.floating and row > 0:
            first = int(np.searchsorted(rec.time, rec.time[row] - 0.5))
            if rec.time[row] - rec.time[first] > 0.2:
                gone = np.hypot(*(rec.q[row, :2] - rec.q[first, :2])) / (rec.time[row] - rec.time[first])
                words += f"   {gone:.2f} m/s"
        painter.text((0.8 * size, painter.height - 0.8 * size), words, size)


def _check_rows(rec: Recording) -> None:
    """Raise for rows that cannot be drawn."""
    for name, most in (("q", _FURTHEST), ("force", _STRONGEST)):
        if name in rec and not (np.abs(rec[name]) <= most).all():
            row = int(np.flatnonzero(~(np.abs(rec[name]) <= most).reshape(len(rec), -1).all(axis=1))[0])
            raise InputError(f"'{name}' is not finite or beyond {most:g} at {rec.time[row]:g} s: it cannot be shown")
    if rec.robot.floating and (np.linalg.norm(rec.q[:, 3:7], axis=1) < 1e-6).any():
        raise InputError("the recording holds a quaternion of length 0: it cannot be shown")


def picture(rec: Recording, time: float | None = None, width: int = 640, height: int = 360) -> Image:
    """Render one moment of a recording.

    Args:
        rec: The recording.
        time: Time [s]; the middle of the recording unless given.
        width: Width [pixels].
        height: Height [pixels].

    Returns:
        A Pillow image.
    """
    film = Film(rec, width, height)
    moment = 0.5 * float(rec.time[0] + rec.time[-1]) if time is None else float(time)
    if not np.isfinite(moment) or not rec.time[0] - 1e-9 <= moment <= rec.time[-1] + 1e-9:
        raise InputError(f"the recording covers {rec.time[0]:g} to {rec.time[-1]:g} s, not {time} s")
    return film.picture(moment)


def save_video(
    rec: Recording,
    path: Path,
    fps: float = 25.0,
    width: int = 640,
    height: int | None = None,
    start: float | None = None,
    end: float | None = None,
    pace: float = 1.0,
    progress: Progress | None = None,
) -> Path:
    """Render a recording as ``.gif`` or ``.mp4``.

    Args:
        rec: The recording.
        path: File to write; it is written completely or not at all.
        fps: Frames per second.
        width: Width [pixels].
        height: Height [pixels]; 9/16 of the width unless given.
        start: Start time [s].
        end: End time [s].
        pace: Playback speed; below 1 is slow motion.
        progress: Called with the fraction done and a text.

    Returns:
        The path.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise unknown("kind of video", path.suffix or str(path), KINDS, "choose a name that ends in")
    if not 1.0 <= fps <= 120.0 or not np.isfinite(fps):
        raise InputError(f"a video has 1 to 120 frames per second, got {fps}")
    if not 0.01 <= pace <= 100.0:
        raise InputError(f"the pace of a video must lie between 0.01 and 100, got {pace}")
    write = _ffmpeg() if kind == ".mp4" else None
    if not len(rec):
        raise InputError("the recording has no rows to show")
    part = rec.between(start, end) if start is not None or end is not None else rec
    tall = round(width * 9 / 16) if height is None else height
    if kind == ".mp4":  # the codec halves colours
        width, tall = width // 2 * 2, tall // 2 * 2
    film = Film(part, width, tall)
    if part.duration * fps / pace > _MOST_PICTURES:
        raise InputError(
            f"a video of {part.duration:g} s would have more than {_MOST_PICTURES} pictures: show a part of it"
            " (start, end), or take a lower fps or a higher pace"
        )
    times = np.arange(float(part.time[0]), float(part.time[-1]) + 1e-9, pace / fps)

    def pictures() -> Iterator[Image]:
        for k, time in enumerate(times):
            yield film.picture(float(time))
            if progress is not None:
                progress("pictures", k + 1, len(times))

    try:
        with whole_file(path) as passing:
            if write is not None:
                _mp4(write, pictures(), passing, (width, tall), fps)
            else:
                _gif(pictures(), passing, fps)
    except OSError as error:
        raise InputError(f"cannot write the video {path}: {error.strerror or error}") from None
    return path


def _gif(pictures: Iterator[Image], path: Path, fps: float) -> None:
    """Write a GIF with one palette for all frames, so that still regions cost nothing and do not flicker."""
    pil = pillow()
    first = next(pictures)
    palette = first.quantize(128, method=pil.Image.Quantize.MEDIANCUT, dither=pil.Image.Dither.NONE)
    rest = (p.quantize(palette=palette, dither=pil.Image.Dither.NONE) for p in pictures)
    with path.open("wb") as file:
        palette.save(
            file,
            format="GIF",
            save_all=True,
            append_images=rest,
            duration=max(20, round(1000 / fps)),
            loop=0,
            optimize=False,
        )


def _mp4(
    write: Callable[..., Generator[None, object, None]],
    pictures: Iterator[Image],
    path: Path,
    size: tuple[int, int],
    fps: float,
) -> None:
    sink = write(str(path), size, fps=fps, codec="libx264", macro_block_size=2, quality=7, output_params=["-f", "mp4"])
    try:
        sink.send(None)
        for picture in pictures:
            sink.send(np.ascontiguousarray(np.asarray(picture)))
    finally:
        sink.close()


def _ffmpeg() -> Callable[..., Generator[None, object, None]]:
    try:
        from imageio_ffmpeg import write_frames
    except ImportError:
        raise MissingExtraError("an MP4 video", "video", "imageio-ffmpeg") from None
    return write_frames


def _lit(points: ndarray, faces: ndarray) -> ndarray:
    """Return triangles that face the light: the others cast an identical shadow."""
    a, b, c = points[faces].transpose(1, 0, 2)
    return np.cross(b - a, c - a) @ LAMP > 0.0


def _joined(parts: Sequence[tuple[ndarray, ndarray, Sequence[float]]]) -> tuple[ndarray, ndarray, ndarray]:
    """Return vertices, triangles and colours of a body, merged."""
    if not parts:
        return np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3))
    offsets = np.cumsum([0, *(len(vertices) for vertices, _, _ in parts)])
    faces = np.concatenate([faces + at for (_, faces, _), at in zip(parts, offsets)])
    colors = np.concatenate([np.tile(np.array(color, float), (len(faces), 1)) for _, faces, color in parts])
    return np.concatenate([vertices for vertices, _, _ in parts]), faces, colors


__all__ = ["KINDS", "Film", "picture", "save_video"]
