"""Requests and websocket frames made by hand, as no browser makes them."""

from __future__ import annotations

import base64
import os
import socket
import struct

from waiting import PATIENCE

from footfall.view.stage import viser


def ask(server, path="/", upgrade=False, **headers):
    """(status line, headers and start of the body, socket) of a hand-made request; it knows the token."""
    lines = {"Host": f"127.0.0.1:{server.port}", "Cookie": f"{server.cookie}={server.token}"}
    if upgrade:
        key = base64.b64encode(os.urandom(16)).decode()
        lines |= {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key}
        lines |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": f"viser-v{viser().__version__}"}
        lines |= {"Origin": f"http://127.0.0.1:{server.port}"}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    text = f"GET {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None) + "\r\n"
    link = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    link.sendall(text.encode("utf-8", "surrogateescape"))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += link.recv(4096)
    return answer.split(b"\r\n")[0].decode(), answer.decode("latin-1"), link


def status(server, *args, **headers):
    line, _, link = ask(server, *args, **headers)
    link.close()
    return int(line.split()[1])


def frame(payload, opcode=2):
    """A masked frame of a client."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + struct.pack(">H", len(payload))
    return bytes([0x80 | opcode]) + size + b"\0\0\0\0" + payload
