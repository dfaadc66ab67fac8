"""Free bodies as drawn: boxes with edges, balls with a belt, so that rolling is visible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall.contact.free_bodies import FreeBall, FreeBody, FreeBox
from footfall.draw.solids import ColoredMesh, box, capsule
from footfall.spatial import Transform
from footfall.spatial.quaternion import to_rotation
from nptrace.array_types import Float

BODY, BELT = (188, 148, 92), (120, 88, 52)


def object_solids(body: FreeBody) -> tuple[ColoredMesh, ...]:
    """Return the solids that draw a free body, in its own axes."""
    if isinstance(body, FreeBall):
        ball = capsule(np.zeros(3), np.zeros(3), body.radius, around=24)
        half = 0.12 * body.radius * np.array([0.0, 0.0, 1.0])
        belt = capsule(-half, half, 1.005 * body.radius, around=24, flat=True)
        return ColoredMesh(*ball, BODY), ColoredMesh(*belt, BELT)
    assert isinstance(body, FreeBox)
    return (ColoredMesh(*box(np.zeros(3), body.size), BODY, sharp=True),)


def object_poses(rows: Float[ndarray, "n 7"] | Sequence[ndarray]) -> list[Transform]:
    """Return poses of free bodies from rows of position and quaternion."""
    return [Transform(to_rotation(row[3:7]), row[:3]) for row in rows]
