"""Reflexes and responses of a walking robot (the DynaKat paper), one file and one switch each.

A reflex is an immediate action in an emergency; a response changes the gait when the ground or the task changes. All
are plain NumPy inside the compiled plan. Switches are data, so one compiled plan serves all of their settings. The
reflexes that act at a tick are in ``ReflexMemory.acting``, from which a controller writes its log.
"""

from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.reflexes.switches import NAMES, Reflexes

__all__ = ["NAMES", "ReflexMemory", "Reflexes"]
