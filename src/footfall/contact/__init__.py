"""Grounds and contact models."""

from footfall.contact import terrain
from footfall.contact.bodies import body_spheres
from footfall.contact.boxes import Box, Boxes
from footfall.contact.complementarity import Complementarity
from footfall.contact.compliant import Compliant
from footfall.contact.force_law import ForceLaw
from footfall.contact.free_bodies import FreeBall, FreeBody, FreeBox
from footfall.contact.ground import Ground, Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.model import ContactModel, named
from footfall.contact.patches import Patches
from footfall.contact.planning import Planning
from footfall.contact.points import ContactPoint, Sphere, contact_points, knees, spheres_of, trunk_corners
from footfall.contact.stance import Stance
from footfall.contact.steps import Steps
from footfall.contact.stick_slip import StickSlip

__all__ = [
    "Box",
    "Boxes",
    "Complementarity",
    "Compliant",
    "ContactModel",
    "ContactPoint",
    "ForceLaw",
    "FreeBall",
    "FreeBody",
    "FreeBox",
    "Ground",
    "Heightfield",
    "Patches",
    "Plane",
    "Planning",
    "Sphere",
    "Stance",
    "Steps",
    "StickSlip",
    "body_spheres",
    "contact_points",
    "knees",
    "named",
    "spheres_of",
    "terrain",
    "trunk_corners",
]


def __dir__() -> list[str]:
    return sorted(__all__)
