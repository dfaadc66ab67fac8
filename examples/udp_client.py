"""Make ``footfall serve dynakat`` stand and walk over UDP, with Python's standard library alone."""

import contextlib
import json
import math
import socket
import struct
import sys
import time
import zlib

SECONDS, DOMAIN = (float(word) for word in (*sys.argv[1:], *("10", "0")[len(sys.argv) - 1 :]))
link = socket.socket(type=socket.SOCK_DGRAM)
link.connect(("127.0.0.1", 47800 + int(DOMAIN)))
link.settimeout(1.0)


def send(kind: int, layout: int = 0, payload: bytes = b"") -> None:
    data = struct.pack("<4sHHIIII", b"FFR1", 1, kind, len(payload), layout, 0, 0) + payload
    link.send(data + struct.pack("<I", zlib.crc32(data)))


robot = {}
while not robot:  # the server may still be starting
    with contextlib.suppress(OSError):
        send(1)  # hello
        robot = json.loads(link.recv(65536)[24:-4])  # the first answer is the description
    time.sleep(0.1)
names, n, start, count = [joint["name"] for joint in robot["joints"]], len(robot["joints"]), time.monotonic(), 0
while (t := time.monotonic() - start) < SECONDS:
    count, target = count + 1, [joint["stand"] for joint in robot["joints"]]
    for k, name in enumerate(names if t > 1.0 else []):  # a trot: diagonal legs swing in turn, twice a second
        phase = 4.0 * math.pi * (t - 1.0) + (0.0 if name[:2] in ("LF", "RH") else math.pi)
        swing, lift = 0.15 * math.cos(phase), 0.5 * max(0.0, math.sin(phase))
        target[k] += {"hip": swing, "knee": -lift, "ankle": lift - swing}.get(name[3:], 0.0)
    rows = [*target, *[0.0] * n, *[robot["kp"]] * n, *[robot["kd"]] * n, *[0.0] * n]
    send(4, robot["layout"], struct.pack(f"<Q{5 * n}d", count, *rows))
    state = struct.unpack_from(f"<Qd{n}d", link.recv(65536), 24)  # 500 a second: they pace this loop
send(5)  # bye
print(f"{count} commands in {SECONDS:g} s; {names[0]} at {state[2]:.3f}")
