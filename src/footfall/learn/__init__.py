"""Learning to walk: Gymnasium's ``footfall/Walk-v0``, and a PPO in plain NumPy that solves it.

Importing this registers the environment: ``gymnasium.make("footfall/Walk-v0")``; or in one go,
``gymnasium.make("footfall.learn:footfall/Walk-v0")``. The environments need the extra ``learn``; a learned ``Policy``
is a controller like any other and needs nothing.
"""

from importlib import import_module
from importlib.util import find_spec

from footfall.control.learned.policy import Drive, Policy
from nptrace._types import Named

ID = "footfall/Walk-v0"
_NAMES = {
    "WalkEnv": "gym_env",
    "WalkVectorEnv": "gym_env",
    "WalkTask": "walk",
    "Randomisation": "randomise",
    "PPO": "ppo",
    "CustomTask": "custom",
    "load_task": "tasks",
}

__all__ = [
    "ID",
    "PPO",
    "CustomTask",
    "Drive",
    "Policy",
    "Randomisation",
    "WalkEnv",
    "WalkTask",
    "WalkVectorEnv",
    "load_task",
    "register",
]


def register() -> None:
    """Register the environment with Gymnasium, if Gymnasium is installed."""
    if find_spec("gymnasium") is None:
        return
    import gymnasium

    if ID not in gymnasium.registry:
        gymnasium.register(
            ID, entry_point="footfall.learn.gym_env:WalkEnv", vector_entry_point="footfall.learn.gym_env:WalkVectorEnv"
        )


def __getattr__(name: str) -> Named:
    if name in _NAMES:
        return getattr(import_module(f"footfall.learn.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'footfall.learn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


register()
