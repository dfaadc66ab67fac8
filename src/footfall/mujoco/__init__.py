"""The bridge to MuJoCo: models, grounds, runs in MuJoCo, and footfall controllers in a MuJoCo loop."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.mujoco.bridge import Bridge, step
    from footfall.mujoco.comparing import Comparison
    from footfall.mujoco.model import MuJoCo

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.mujoco", {"bridge": "Bridge step", "comparing": "Comparison", "model": "MuJoCo"}
)
