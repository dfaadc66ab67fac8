"""A recording as a 3-D replay in one HTML page that plays without a server or a network.

Several recordings play side by side, such as footfall's run and MuJoCo's. The camera follows the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from footfall.contact.ground import Ground
from footfall.draw.ground_surface import height_under
from footfall.draw.solids import size_of
from footfall.errors import InputError
from footfall.kinematics.forward import center_of_mass
from footfall.recording.recording import Recording
from footfall.spatial.gravity import GRAVITY
from footfall.view.server import Server
from footfall.view.stage import Stage, draw_ground, light
from nptrace._types import Foreign

FRAMES = 20.0  # per second
LONGEST = 20.0  # longest duration shown [s]
_PATH = 400  # points of a path
_LENS = math.radians(50.0)  # vertical field of view: a wider one distorts a nearby robot


@dataclass(frozen=True)
class ReplayPage:
    """Recordings to be shown together, by the label above each robot."""

    caption: str
    recordings: Mapping[str, Recording]

    @property
    def ground(self) -> Ground | None:
        """Return the ground of the first recording that has one."""
        return next((found for rec in self.recordings.values() if (found := rec.ground) is not None), None)

    def _repr_html_(self) -> str:
        """Return the page for a notebook."""
        return embedded(replay_page(self), self.caption)


def replay_page(replay: ReplayPage, frames: float = FRAMES) -> str:
    """Return the replay as the text of a standalone HTML page."""
    recordings = dict(replay.recordings)
    for name, rec in recordings.items():
        if not len(rec):
            raise InputError(f"the recording '{name}' has no rows to show")
    server = Server(closed=True)
    try:
        scene = server.viser.scene
        light(scene)
        size = max(size_of(rec.robot) for rec in recordings.values())
        look_from(server.viser.initial_camera, size, len(recordings))
        world = scene.add_frame("/world", show_axes=False)
        ground = replay.ground
        places = [rec.q[:, :2] for rec in recordings.values() if rec.robot.floating]
        draw_ground(scene, ground, np.concatenate(places) if places else None)
        aside = [1.1 * size * (0.5 * (len(recordings) - 1) - k) for k in range(len(recordings))]
        many = len(recordings) > 1
        stages = [
            Stage(
                scene,
                rec.robot,
                f"/world/robot{k}",
                (0.0, aside[k], 0.0),
                name if many else None,
                gravity=rec.meta.get("gravity", GRAVITY),
                objects=rec.objects,
            )
            for k, (name, rec) in enumerate(recordings.items())
        ]
        return _played(server, world, stages, list(recordings.values()), frames, ground)
    finally:
        server.stop()


def look_from(camera: Foreign, size: float, robots: int = 1) -> None:
    """Set the initial view from the front, and from the right of a single robot, at a distance that fills the page."""
    far = (2.6 + 0.5 * (robots - 1)) * size
    # several stand side by side: seen from the front they do not hide each other
    x, y, z = (0.51, -0.76, 0.41) if robots == 1 else (0.83, -0.38, 0.41)
    camera.position = (x * far, y * far, z * far + 0.2 * size)
    camera.look_at = (0.0, 0.0, 0.2 * size)
    camera.fov = _LENS
    if hasattr(camera, "up"):  # the camera of an open page has another attribute for it, which is already set
        camera.up = (0.0, 0.0, 1.0)


def _played(
    server: Server,
    world: Foreign,
    stages: list[Stage],
    recordings: list[Recording],
    frames: float,
    ground: Ground | None,
) -> str:
    """Yield every frame; a robot whose run ended early stays in place."""
    start = min(float(rec.time[0]) for rec in recordings)
    end = min(max(float(rec.time[-1]) for rec in recordings), start + LONGEST)
    for stage, rec in zip(stages, recordings):
        rows = np.flatnonzero(rec.time <= end)[:: max(1, len(rec) // _PATH)]
        stage.draw_path(np.array([center_of_mass(rec.robot, rec.q[row]) for row in rows]))
    serializer = server.viser.get_scene_serializer()
    for t in np.arange(start, end + 0.5 / frames, 1.0 / frames):
        for stage, rec in zip(stages, recordings):
            row = min(int(np.searchsorted(rec.time, t)), len(rec) - 1)
            force = rec.force[row] if "force" in rec else None
            stage.show(rec.q[row], force, follow_path=False, objects=rec.object_poses(row))
        first, row = recordings[0], min(int(np.searchsorted(recordings[0].time, t)), len(recordings[0]) - 1)
        if first.robot.floating:
            world.position = (-first.q[row, 0], -first.q[row, 1], -height_under(ground, first.q[row, :2]))
        serializer.insert_sleep(1.0 / frames)
    return serializer.as_html()


def embedded(page: str, caption: str, height: int = 520) -> str:
    """Return a page inside another, in one file: the text of an iframe."""
    text = page.replace("&", "&amp;").replace('"', "&quot;")
    title = caption.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    look = f"width:100%;height:{height}px;border:1px solid #e1e5ea;border-radius:6px"
    return f'<iframe title="{title}" loading="lazy" style="{look}" srcdoc="{text}"></iframe>'
