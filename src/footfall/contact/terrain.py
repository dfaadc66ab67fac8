"""The built-in grounds, by name on the command line and by kind in a file.

contact.terrain.named("rough:0.04", seed=3, friction=0.7)
"""

from __future__ import annotations

from footfall.contact.boxes import Boxes
from footfall.contact.ground import Ground, Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.patches import Patches
from footfall.contact.steps import Steps
from footfall.errors import FootfallError, InputError, unknown
from nptrace._types import Json

KINDS: tuple[type[Ground], ...] = (Plane, Steps, Heightfield, Boxes, Patches)
GROUNDS = tuple(spelling for kind in KINDS for spelling in kind.spellings)
EXAMPLES = tuple(example for kind in KINDS for example in kind.examples)


def named(name: str, seed: int = 0, friction: float = 0.8) -> Ground:
    """Return a ground by its name on the command line.

    ``plane``; ``slope:D`` rises by D degrees along +x; ``steps:H`` goes up by H metres every 0.4 m; ``stairs:H`` goes
    up, along and down again; ``rough:H`` is random with H metres between its lowest and highest point, level around the
    start; ``FILE.png:H:L`` and ``FILE.npy:L`` are heightfields (white at H metres, L metres long).

    Args:
        seed: Seed of random grounds.
        friction: Coefficient of sliding friction.
    """
    if not isinstance(name, str):
        raise InputError(f"the name of a ground is a string such as 'rough:0.04', got {name!r}")
    for kind in KINDS:
        if (ground := kind.from_name(name, seed, friction)) is not None:
            return ground
    raise unknown("ground", name, GROUNDS)


def from_json(form: Json) -> Ground:
    """Return the ground of ``Ground.to_json``. Files are untrusted: anything else raises."""
    if not isinstance(form, dict):
        raise InputError("the ground is not a JSON object")
    fields: dict[str, Json] = dict(form)
    name = fields.pop("kind", None)
    made = next((kind for kind in KINDS if name is not None and kind.kind == name), None)
    if made is None:
        raise InputError(f"unknown kind of ground {str(name)[:40]!r}")
    try:
        return made.from_json(fields)
    except (FootfallError, KeyError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"the ground of kind '{name}' cannot be read: {error}") from None


__all__ = ["EXAMPLES", "GROUNDS", "KINDS", "Heightfield", "Patches", "Steps", "from_json", "named"]


def __dir__() -> list[str]:
    return sorted(__all__)
