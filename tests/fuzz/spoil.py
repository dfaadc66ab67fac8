"""Ways to spoil what a reader is given, each by a seed: cut, flip, insert, repeat, nest, wrong kinds, huge numbers."""

from __future__ import annotations

import json
import random
import re
from typing import Any

NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1",
    "0",
    "1e-320",
    "1e300",
    "-1e300",
    "1e30",
    "1e12",
    "9" * 400,
    "1e-30",
    "0x10",
    "1_0",
    "NaN",
    "Infinity",
    "-0.0",
    "4294967296",
    "9223372036854775808",
    "1e9",
    "--1",
    "",
    "é",
    "true",
    "null",
)
_NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?")
_LIMIT = 400_000  # bytes that a case may grow to


def spoiled_bytes(data: bytes, luck: random.Random) -> bytes:
    """One to three mishaps of a disk, a link or a vandal."""
    for _ in range(luck.choice((1, 1, 1, 2, 3))):
        at, act = luck.randrange(len(data) + 1), luck.randrange(7)
        length = luck.choice((1, 2, 8, 40, 300))
        if act == 0:
            data = data[:at]
        elif act in (1, 2) and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << luck.randrange(8))]) + data[at + 1 :]
        elif act == 3:
            data = data[:at] + luck.randbytes(length) + data[at:]
        elif act == 4:
            data = data[:at] + data[at + length :]
        elif act == 5:
            data = data[:at] + data[at : at + length] * luck.choice((2, 5, 50)) + data[at + length :]
        else:
            fill = luck.choice((b"\0", b"\xff", b"\x80", b"\x01"))
            data = data[:at] + fill * min(length, len(data) - at) + data[at + length :]
    return data[:_LIMIT]


def spoiled_text(data: bytes, luck: random.Random) -> bytes:
    """Numbers of a text made strange, lines moved, brackets nested; else as ``spoiled_bytes``."""
    act = luck.randrange(6)
    if act in (0, 1, 2):
        found = list(_NUMBER.finditer(data))
        for match in sorted(luck.sample(found, min(len(found), luck.randint(1, 3))), key=lambda m: -m.start()):
            data = data[: match.start()] + luck.choice(NUMBERS).encode() + data[match.end() :]
        return data
    if act == 3:
        lines = data.split(b"\n")
        one, other = luck.randrange(len(lines)), luck.randrange(len(lines))
        lines[one : one + luck.randrange(2)] = lines[other : other + luck.choice((1, 1, 3))]
        return b"\n".join(lines)[:_LIMIT]
    if act == 4:
        at, depth = luck.randrange(len(data) + 1), luck.choice((3, 60, 5000))
        pairs = ((b"[", b"]"), (b"{a=", b"}"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"(", b")"))
        opening, closing = luck.choice(pairs)
        return data[:at] + opening * depth + closing * luck.choice((0, depth)) + data[at:]
    return spoiled_bytes(data, luck)


def spoiled_json(value: Any, luck: random.Random) -> Any:
    """The value with one or two of its parts replaced by something strange."""
    value = json.loads(json.dumps(value))
    for _ in range(luck.choice((1, 1, 2))):
        places = list(_places(value))
        if not places:
            return strange(luck)
        holder, key = luck.choice(places)
        act = luck.randrange(5)
        if act == 0:
            del holder[key]
        elif act == 1:
            source, at = luck.choice(places)
            holder[key] = json.loads(json.dumps(source[at] if at in source or isinstance(source, list) else None))
        elif act == 2 and isinstance(holder, dict):
            holder[luck.choice(("", "x", "name", "a" * 5000, "\0", "🦿"))] = holder.pop(key)
        else:
            holder[key] = strange(luck)
        if len(places) > 20_000:
            break
    return value


def strange(luck: random.Random) -> Any:
    """A value that few expect."""
    nested: Any = 1.0
    for _ in range(luck.choice((1, 3, 200))):
        nested = [nested]
    return luck.choice(
        (
            None,
            True,
            -1,
            0,
            10**30,
            10**400,
            1e300,
            -1e300,
            1e-300,
            1e12,
            2**63,
            "",
            "x" * 3000,
            "nan",
            "\0",
            "\ud800",
            "<b>",
            "../../x",
            [],
            {},
            [1, "a"],
            [[1.0] * 3] * 3,
            [1.0] * 3,
            {"a": {}},
            nested,
            float("nan"),
            float("inf"),
        )
    )


def _places(value: Any) -> Any:
    """(holder, key) of every part of a nest, the first few thousand."""
    waiting, count = [value], 0
    while waiting and count < 5000:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            count += 1
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
