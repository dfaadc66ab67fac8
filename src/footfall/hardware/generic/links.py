"""Transports of packets: UDP, on loopback unless another address is given, or a pair of DDS topics."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from abc import ABC, abstractmethod
from typing import Any

from footfall.errors import FootfallError, InputError, reason
from footfall.hardware.generic.packet import MOST_BYTES

PORT = 47800  # port of domain 0; that of domain n is n higher
_MOST_TAKEN = 64  # packets taken at once
_LOCAL = ("lo", "localhost", "127.0.0.1")


class LinkError(FootfallError):
    """Packets cannot be transmitted."""


class PacketLink(ABC):
    """Send and receive packets; ``sender`` is the address for an answer."""

    words: str

    @abstractmethod
    def take(self) -> list[tuple[bytes, Any]]:
        """Return the received packets, each with its sender."""

    @abstractmethod
    def send(self, data: bytes, to: Any = None) -> None:
        """Send a packet, from a robot to a client or from a client to the robot."""

    @abstractmethod
    def close(self) -> None: ...


class UdpLink(PacketLink):
    """UDP: the robot is bound to a port that the client knows."""

    def __init__(self, robot_side: bool, domain: int = 0, interface: str = "lo") -> None:
        host, port = _address(interface), _port(domain)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.robot: tuple[str, int] | None = None if robot_side else (host, port)
        try:
            if robot_side:
                self.socket.bind((host, port))
            else:
                self.socket.connect((host, port))  # and hears nobody else
        except OSError as error:
            self.socket.close()
            raise LinkError(f"UDP port {port} of {host} cannot be used: {reason(error)}") from None
        local = ipaddress.ip_address(host).is_loopback
        self.words = f"UDP {host}:{port}" + (" (this machine only)" if local else " (the network: others can reach it)")

    def take(self) -> list[tuple[bytes, Any]]:
        found: list[tuple[bytes, Any]] = []
        for _ in range(_MOST_TAKEN):
            try:
                found.append(self.socket.recvfrom(MOST_BYTES + 1))
            except BlockingIOError:
                break
            except OSError:  # error for a packet that nobody received: the other side is not there yet
                continue
        return found

    def send(self, data: bytes, to: Any = None) -> None:
        with contextlib.suppress(OSError):  # a client that has left receives nothing
            if self.robot is not None:
                self.socket.send(data)
            else:
                self.socket.sendto(data, to)

    def close(self) -> None:
        self.socket.close()


class DdsLink(PacketLink):
    """Two topics of byte sequences; every packet reaches all."""

    def __init__(self, robot_side: bool, domain: int = 0, interface: str = "lo") -> None:
        from footfall.hardware.dds.definitions import declared
        from footfall.hardware.dds.domain import Participant

        kind = declared({"Packet": "uint8[] data"}, "footfall/")["Packet"]
        self.participant, self._kind = Participant(domain, interface), kind
        mine, other = ("robot", "client") if robot_side else ("client", "robot")
        self._out = self.participant.writer(f"rt/footfall/{mine}", kind)
        self._in = self.participant.reader(f"rt/footfall/{other}", kind, depth=16)
        self.words = self.participant.words

    def take(self) -> list[tuple[bytes, Any]]:
        return [(bytes(message.data), str(self._in.sender(message))) for message in self._in.take()]

    def send(self, data: bytes, to: Any = None) -> None:
        self._out.write(self._kind(data=data))

    def close(self) -> None:
        self.participant.close()


def _address(interface: str) -> str:
    if interface in _LOCAL:
        return "127.0.0.1"
    try:
        return str(ipaddress.IPv4Address(interface))
    except ValueError:
        raise InputError(
            f"over UDP a robot has an IPv4 address, such as 192.168.1.20, or lo for this machine, not {interface!r}"
        ) from None


def _port(domain: int) -> int:
    if isinstance(domain, bool) or not isinstance(domain, int) or not 0 <= domain <= 230:
        raise InputError(f"a domain is a whole number from 0 to 230, got {domain!r}")
    return PORT + domain


__all__ = ["PORT", "DdsLink", "LinkError", "PacketLink", "UdpLink"]
