"""One participant in a DDS domain, on the loopback interface unless another one is given.

Loopback has no multicast: participants find each other by unicast to the ports of the first few participants of this
machine, and announce themselves often, so that a later client is discovered at once rather than after 30 s.
"""

from __future__ import annotations

import re

from cyclonedds.core import DDSException
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from footfall.errors import FootfallError, InputError
from nptrace._types import Foreign

LOOPBACK = "lo"
ANNOUNCE = "0.2s"  # interval between announcements of a participant
_MOST_TAKEN = 64  # messages taken at once
_domains: dict[int, tuple[str, Domain]] = {}  # a process configures a domain only once

_LASTING = (  # a later participant is still announced to
    "<InitialLocatorPruneDelay>inf</InitialLocatorPruneDelay><DiscoveredLocatorPruneDelay>inf</DiscoveredLocatorPruneDelay>"
)
_LOCAL = "<AllowMulticast>false</AllowMulticast>"
_PEERS = '<ParticipantIndex>auto</ParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers>'


class DdsError(FootfallError):
    """A DDS domain that cannot be joined."""


class Participant:
    """Readers and writers by topic name and type."""

    def __init__(self, domain: int = 0, interface: str = LOOPBACK) -> None:
        if isinstance(domain, bool) or not isinstance(domain, int) or not 0 <= domain <= 230:
            raise InputError(f"a DDS domain is a whole number from 0 to 230, got {domain!r}")
        if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,15}", interface):
            raise InputError(f"the name of a network interface has at most 15 letters or digits, got {interface!r}")
        self.domain, self.interface = domain, interface
        try:
            _configure(domain, interface)
            self.participant = DomainParticipant(domain)
        except DDSException as error:
            raise DdsError(f"cannot join DDS domain {domain} on the interface '{interface}': {error.msg}") from None

    @property
    def words(self) -> str:
        """Return a description of its address."""
        return f"DDS domain {self.domain}, interface '{self.interface}'" + (
            " (this machine only)" if self.interface == LOOPBACK else " (the network: others can reach it)"
        )

    def writer(self, topic: str, kind: type) -> Writer:
        return Writer(DataWriter(self.participant, Topic(self.participant, topic, kind)))

    def reader(self, topic: str, kind: type, depth: int = 1, others: bool = False) -> Reader:
        """Create a reader. depth: how many messages wait for a slow reader; older ones are lost. others: ignore
        messages of this participant.
        """
        reliable = (
            Policy.Reliability.Reliable(duration(milliseconds=100)) if depth > 1 else Policy.Reliability.BestEffort
        )
        own = [Policy.IgnoreLocal.Participant] if others else []
        qos = Qos(Policy.History.KeepLast(depth), reliable, *own)
        return Reader(DataReader(self.participant, Topic(self.participant, topic, kind), qos))

    def close(self) -> None:
        del self.participant


class Writer:
    """Send messages; ``heard`` is whether there is a reader."""

    def __init__(self, writer: DataWriter[Foreign]) -> None:
        self.writer = writer

    def write(self, message: Foreign) -> None:
        try:
            self.writer.write(message)
        except DDSException as error:
            raise DdsError(f"a message could not be sent: {error.msg}") from None

    def reaches(self, participant: Foreign) -> bool:
        """Return whether a reader of that participant has been discovered."""
        found = (self.writer.get_matched_subscription_data(h) for h in self.writer.get_matched_subscriptions())
        return any(endpoint is not None and endpoint.participant_key == participant for endpoint in found)

    @property
    def heard(self) -> bool:
        return bool(self.writer.get_matched_subscriptions())


class Reader:
    """Take received messages; count those that are not valid messages of the type."""

    def __init__(self, reader: DataReader[Foreign]) -> None:
        self.reader, self.malformed = reader, 0

    def sender(self, message: Foreign) -> object:
        """Return the participant that sent a message; None if it has left."""
        endpoint = self.reader.get_matched_publication_data(message.sample_info.publication_handle)
        return None if endpoint is None else endpoint.participant_key

    @property
    def matched(self) -> bool:
        """Return whether there is a writer."""
        return bool(self.reader.get_matched_publications())

    def take(self) -> list[Foreign]:
        found = []
        try:
            taken = self.reader.take(_MOST_TAKEN)
        except DDSException as error:
            raise DdsError(f"messages could not be read: {error.msg}") from None
        except Exception:  # invalid bytes from another program
            self.malformed += 1
            return []
        for message in taken:
            if getattr(message, "values", ()) is None:
                self.malformed += 1
            elif message.sample_info.valid_data:
                found.append(message)
        return found


def _configure(domain: int, interface: str) -> None:
    if domain in _domains:
        if _domains[domain][0] != interface:
            raise InputError(
                f"this process has joined DDS domain {domain} on '{_domains[domain][0]}': it cannot join it again on"
                f" '{interface}'"
            )
        return
    local = interface == LOOPBACK
    text = (
        f'<CycloneDDS><Domain Id="{domain}"><General><Interfaces><NetworkInterface name="{interface}"/></Interfaces>'
        f"{_LOCAL if local else ''}</General><Discovery><SPDPInterval>{ANNOUNCE}</SPDPInterval>"
        f"{_LASTING}{_PEERS if local else ''}</Discovery></Domain></CycloneDDS>"
    )
    _domains[domain] = (interface, Domain(domain, text))


__all__ = ["LOOPBACK", "DdsError", "Participant", "Reader", "Writer"]
