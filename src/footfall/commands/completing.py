"""What the shell offers after a tab: names of robots, gaits, controllers and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def _offer(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def starting_with(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return starting_with


def _robots() -> Iterable[str]:
    from footfall.robot import library

    return (*library.names(), *library.machines())


def _gaits() -> Iterable[str]:
    from footfall.gait.pattern import names

    return names()


def _controllers() -> Iterable[str]:
    from footfall.control.named import NAMES

    return NAMES


def _oscillators() -> Iterable[str]:
    from footfall.gait.networks import NAMES

    return NAMES


def _contacts() -> Iterable[str]:
    from footfall.contact.model import MODELS

    return MODELS


def _experiments() -> Iterable[str]:
    from footfall.experiments import names

    return (*names(), "all")


def _benches() -> Iterable[str]:
    from footfall.bench import NAMES

    return (*NAMES, "all")


robots, gaits, controllers, contacts = _offer(_robots), _offer(_gaits), _offer(_controllers), _offer(_contacts)
experiments, benches = _offer(_experiments), _offer(_benches)
oscillators = _offer(_oscillators)
grounds = _offer(lambda: ("plane", "slope:5", "steps:0.03", "stairs:0.05", "rough:0.04"))
