"""A ground of ours in a MuJoCo model: a tilted plane, an hfield asset, a box for every tread."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from footfall.contact.ground import Ground, Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.terrain import Steps
from footfall.errors import InputError
from footfall.spatial import quaternion

if TYPE_CHECKING:
    from mujoco import MjsGeom, MjSpec

_WIDE, _THICK = 50.0, 0.5  # of boxes, half sizes [m]


def place_ground(mj: ModuleType, spec: MjSpec, ground: Ground) -> None:
    """Turn the geom ``ground`` of a model into a ground; treads beyond the first are further geoms beside it.

    MuJoCo's heightfield is made of triangles between the nodes; a smooth one of ours is sampled at its nodes. MuJoCo
    has no fillets: its feet may touch a tread and a riser at once. Each ground has one friction there.
    """
    geom = next(geom for geom in spec.geoms if geom.name == "ground")
    if isinstance(ground, Plane):
        geom.pos, geom.quat = ground.point, quaternion.from_rotation(ground.axes)
    elif isinstance(ground, Heightfield):
        _place_heightfield(mj, spec, geom, ground)
    elif isinstance(ground, Steps):
        _place_steps(mj, spec, geom, ground)
    else:
        raise InputError(
            f"MuJoCo is given a plane, a heightfield or steps of one friction; the ground is a {type(ground).__name__}"
        )


def _place_heightfield(mj: ModuleType, spec: MjSpec, geom: MjsGeom, ground: Heightfield) -> None:
    heights = ground.sampled()
    if not np.isfinite(heights).all():
        raise InputError("MuJoCo has no holes in a heightfield: this one has heights that are NaN")
    low, high = float(heights.min()), float(heights.max())
    span = max(high - low, 1e-6)
    half = 0.5 * ground.spacing * (np.array(heights.shape) - 1.0)
    asset = spec.add_hfield(name="terrain", nrow=heights.shape[1], ncol=heights.shape[0])
    asset.size = [half[0], half[1], span, _THICK]
    asset.userdata = ((heights.T - low) / span).ravel()  # row after row along y, x within a row
    geom.type, geom.hfieldname = mj.mjtGeom.mjGEOM_HFIELD, "terrain"
    geom.pos = [*(ground.corner + half), low]


def _place_steps(mj: ModuleType, spec: MjSpec, geom: MjsGeom, ground: Steps) -> None:
    levels, edges = ground.levels, ground.start + ground.tread * np.arange(len(ground.levels))
    starts, ends = np.append(edges[0] - 2.0 * _WIDE, edges[:-1]), np.append(edges[:-1], edges[-1] + 2.0 * _WIDE)
    bottom = float(levels.min()) - _THICK
    for k, (start, end, level) in enumerate(zip(starts, ends, levels)):
        box = geom if k == 0 else spec.worldbody.add_geom(geom.classname, name=f"tread{k}", contype=0, conaffinity=1)
        box.type = mj.mjtGeom.mjGEOM_BOX
        box.pos = [0.5 * (start + end), 0.0, 0.5 * (level + bottom)]
        box.size = [0.5 * (end - start), _WIDE, 0.5 * (level - bottom)]
