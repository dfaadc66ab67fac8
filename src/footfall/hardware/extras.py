"""What comes with an extra: one sentence where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

from footfall.errors import MissingExtraError


def need(package: str, extra: str, purpose: str) -> None:
    """Refuse, in one sentence, what cannot be done without a package."""
    if find_spec(package) is None:
        raise MissingExtraError(purpose, extra, package)


def need_dds() -> None:
    need("cyclonedds", "dds", "a robot's own interface")


__all__ = ["need", "need_dds"]
