"""Reflexes and responses of a walking robot (the DynaKat paper), one file each, every one with its switch.

A reflex is an immediate action in an emergency; a response changes the gait because the ground or the task did. All
are plain NumPy inside the compiled plan. Switches are data, so one compiled plan serves every choice of them, and what
acts at this tick is kept in ``ReflexMemory.acting``, from which a controller writes its log.
"""

from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.reflexes.switches import NAMES, Reflexes

__all__ = ["NAMES", "ReflexMemory", "Reflexes"]
