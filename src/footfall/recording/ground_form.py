"""A ground as plain JSON and back, small enough for the head of a recording: enough to draw it, or run on it, again.

Planes and steps are kept as they are, rough ground by its seed, any other heightfield to a hundredth of a millimetre.
A ground of a user's own class is written in its code alone, and has no form.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import zlib

import numpy as np
from numpy import ndarray

from footfall.contact.boxes import Box, Boxes
from footfall.contact.ground import Ground, Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.model import ContactModel
from footfall.contact.terrain import Patches, Steps
from footfall.errors import FootfallError, InputError
from footfall.nests import Json

GRAIN = 1e-5  # [m] of stored heights
_MOST = 4_000_000  # nodes
_HOLE = np.iinfo(np.int32).min


def ground_form(ground: Ground | None) -> dict[str, Json] | None:
    """The form of a ground; None if it has none."""
    match ground:
        case Plane():
            return {"kind": "plane"} | _fields(ground)
        case Steps():
            return {"kind": "steps"} | _fields(ground)
        case Heightfield():
            if _is_rough(ground):
                return {"kind": "rough", **(ground.recipe or {}), "friction": ground.friction}
            return {"kind": "heightfield"} | _fields(ground) | {"heights": _packed(ground.heights)}
        case Boxes():
            inner = ground_form(ground.ground)
            boxes = [_fields(box) for box in ground.boxes]
            return {"kind": "boxes", "ground": inner, "boxes": boxes} | _fields(ground) if inner is not None else None
        case Patches():
            inner = ground_form(ground.ground)
            return {"kind": "patches"} | _fields(ground) | {"ground": inner} if inner is not None else None
    return None


def ground_of(form: Json) -> Ground:
    """The ground of a form. Nobody vouches for a file: what is no form is refused."""
    if not isinstance(form, dict):
        raise InputError("the ground is no JSON object")
    fields: dict[str, Json] = dict(form)
    kind = fields.pop("kind", None)
    try:
        match kind:
            case "plane":
                return Plane(**fields)
            case "steps":
                return Steps(**fields)
            case "rough":
                fields["size"] = tuple(fields["size"])
                return Heightfield.rough(**fields)
            case "heightfield":
                return Heightfield(**{**fields, "heights": _unpacked(fields.get("heights"))})
            case "boxes":
                boxes = [Box(**box) for box in fields["boxes"]]
                return Boxes(**{**fields, "ground": ground_of(fields.get("ground")), "boxes": boxes})
            case "patches":
                return Patches(**{**fields, "ground": ground_of(fields.get("ground"))})
    except (FootfallError, KeyError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"the ground of kind '{kind}' cannot be understood: {error}") from None
    raise InputError(f"the ground is of the unknown kind {str(kind)[:40]!r}")


def contact_settings(model: ContactModel | None) -> dict[str, float | bool | str | int]:
    """The numbers and words that a contact model was made with."""
    if not dataclasses.is_dataclass(model):
        return {}
    named = {f.name: vars(model).get(f.name) for f in dataclasses.fields(model)}
    return {
        key: value
        for key, value in named.items()
        if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
    }


def _fields(ground: Plane | Steps | Heightfield | Boxes | Patches | Box) -> dict[str, Json]:
    plain = {f.name: getattr(ground, f.name) for f in dataclasses.fields(ground)}
    return {
        key: value.tolist() if isinstance(value, ndarray) else value
        for key, value in plain.items()
        if isinstance(value, (ndarray, bool, int, float)) and key != "heights"
    }


def _is_rough(ground: Heightfield) -> bool:
    """Whether the seed still gives these heights: a copy of a ground may have others."""
    if ground.recipe is None:
        return False
    again = Heightfield.rough(**ground.recipe)
    return again.heights.shape == np.shape(ground.heights) and bool((again.heights == ground.heights).all())


def _packed(heights: ndarray) -> dict[str, Json]:
    """Heights in grains, as differences along both axes, which are small numbers, deflated."""
    hole = np.isnan(heights)
    grains = np.where(hole, 0, np.rint(np.where(hole, 0.0, heights) / GRAIN)).astype(np.int64)
    if np.abs(grains).max(initial=0) >= 2**30:
        raise InputError("heights of a ground must lie within 10 km")
    if hole.any():  # differences do not go over holes
        small = np.where(hole, _HOLE, grains).astype("<i4")
    else:
        small = np.diff(np.diff(grains, axis=0, prepend=0), axis=1, prepend=0).astype("<i4")
    data = base64.b64encode(zlib.compress(small.tobytes(), 6)).decode("ascii")
    return {"shape": list(heights.shape), "holes": bool(hole.any()), "data": data}


def _unpacked(form: Json) -> ndarray:
    rows, columns = (int(n) for n in form["shape"])
    if not (0 < rows <= _MOST and 0 < columns <= _MOST and rows * columns <= _MOST):
        raise InputError(f"{rows} x {columns} nodes are too many")
    inflate = zlib.decompressobj()
    try:
        data = inflate.decompress(base64.b64decode(form["data"], validate=True), 4 * rows * columns + 1)
    except zlib.error as error:
        raise InputError(f"its heights are damaged: {error}") from None
    if len(data) != 4 * rows * columns:
        raise InputError("its heights are cut short or too long")
    small = np.frombuffer(data, "<i4").reshape(rows, columns).astype(np.int64)
    if form.get("holes"):
        return np.where(small == _HOLE, np.nan, small * GRAIN)
    return np.cumsum(np.cumsum(small, axis=1), axis=0) * GRAIN


__all__ = ["GRAIN", "contact_settings", "ground_form", "ground_of"]
