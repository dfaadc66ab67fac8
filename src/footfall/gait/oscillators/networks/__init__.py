"""Networks of oscillators that time the legs: one interface, and each network works with all gait controllers."""

from __future__ import annotations

from collections.abc import Callable

from footfall.errors import InputError, unknown
from footfall.gait.oscillators.networks.hopf import HopfNetwork
from footfall.gait.oscillators.networks.interface import GaitTiming, Network
from footfall.gait.oscillators.networks.kuramoto import KuramotoNetwork
from footfall.gait.oscillators.networks.rulkov import RulkovNetwork
from nptrace._types import Given

NETWORKS: dict[str, Callable[[float], Network]] = {
    "kuramoto": KuramotoNetwork,
    "hopf": HopfNetwork,
    "rulkov": RulkovNetwork,
}
NAMES = tuple(NETWORKS)


def network_of(given: Given, coupling: float) -> Network:
    """Return a network by name with the given coupling [1/s], or a user-defined one unchanged."""
    if isinstance(given, str):
        if given not in NETWORKS:
            raise unknown("oscillator", given, NAMES)
        return NETWORKS[given](coupling)
    if isinstance(given, type) or not isinstance(given, Network):
        raise InputError(
            f"an oscillator is one of {', '.join(NAMES)}, or an object with start, phase, advance and touchdown,"
            f" got {given!r}"
        )
    return given


__all__ = [
    "NAMES",
    "NETWORKS",
    "GaitTiming",
    "HopfNetwork",
    "KuramotoNetwork",
    "Network",
    "RulkovNetwork",
    "network_of",
]
