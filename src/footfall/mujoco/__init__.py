"""The bridge to MuJoCo: models and grounds made from ours, runs in MuJoCo, and its layout of q and v."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.mujoco.model import MuJoCo

__all__, __getattr__, __dir__ = lazy_exports("footfall.mujoco", {"model": "MuJoCo"})
