"""Free bodies as plain JSON and back, for the header of a recording: enough to draw them."""

from __future__ import annotations

from collections.abc import Sequence

from footfall.contact.free_bodies import FreeBall, FreeBody, FreeBox
from footfall.errors import FootfallError, InputError
from nptrace._types import Json

_MOST = 1000


def object_forms(objects: Sequence[FreeBody]) -> list[dict[str, Json]]:
    """Return one JSON object per free body, in the order of the column ``object_pose``."""
    return [_form(body) for body in objects]


def _form(body: FreeBody) -> dict[str, Json]:
    start = {"position": body.start[:3].tolist(), "name": body.name, "friction": body.friction}
    if isinstance(body, FreeBall):
        return {"kind": "ball", "radius": body.radius, "mass": body.mass, "hollow": body.hollow, **start}
    assert isinstance(body, FreeBox)
    return {"kind": "box", "size": body.size.tolist(), "mass": body.mass, **start}


def objects_of(forms: Json) -> tuple[FreeBody, ...]:
    """Return the free bodies of untrusted JSON objects."""
    if not isinstance(forms, list) or len(forms) > _MOST or not all(isinstance(form, dict) for form in forms):
        raise InputError("its objects are not a list of JSON objects")
    found: list[FreeBody] = []
    for form in forms:
        fields = dict(form)
        kind = fields.pop("kind", None)
        if kind not in ("ball", "box"):
            raise InputError(f"an object is neither a ball nor a box: {str(kind)[:40]!r}")
        try:
            found.append(FreeBall(**fields) if kind == "ball" else FreeBox(**fields))
        except (TypeError, FootfallError) as error:
            raise InputError(f"an object cannot be read: {error}") from None
    return tuple(found)
