"""A bad link between two DDS domains: ``python relay.py ROBOT_DOMAIN DRIVER_DOMAIN drop|delay|reorder|forge|nan``.

``forge`` adds messages of both kinds that are refused; ``nan`` adds states that are not finite but have a good
checksum, from three seconds after the first command on.

States go one way, commands the other, both with the fault; calls of services pass as they are. Says "relaying" when
it is ready.
"""

from __future__ import annotations

import random
import sys
import time

from footfall.hardware.clock import raise_priority
from footfall.hardware.dds.domain import Participant
from footfall_go2 import messages
from footfall_go2.firmware import SERVICES

DELAY = 0.02  # [s]
SHARE = 0.2


def copied(message):
    copy = type(message).blank()
    copy.values = list(message.values)
    copy.sample_info = message.sample_info
    return copy


def forged_state(message, fault):
    """A state that nobody sent: a changed one, or with a good checksum nonsense."""
    message.set("motor_state.q", [float("nan") if fault == "nan" else 9.0] * 12)
    if fault == "nan":
        message.set("crc", [message.checksum()])
    return message


def forged(message, rng):
    """A command that nobody sent: a changed one, or with a good checksum nonsense."""
    kind = rng.randrange(3)
    if kind == 0:
        message.set("motor_cmd.tau", [30.0] * 12)
        return message
    message.set("motor_cmd.kp", [float("nan") if kind == 1 else 1e6] * 12)
    message.set("crc", [message.checksum()])
    return message


def spoiled(message, fault, now, rng, is_command, commanded):
    """[(when to send, message)] of one that has come; ``commanded``: when the first command did."""
    chance = rng.random() < SHARE
    if fault == "drop":
        return [] if chance else [(now, message)]
    if fault == "delay":
        return [(now + DELAY, message)]
    if fault == "reorder":
        return [(now + 0.006 * chance, message)]
    if chance and is_command and fault == "forge":
        return [(now, message), (now, forged(copied(message), rng))]
    if chance and not is_command and (fault == "forge" or now > commanded + 3.0):
        first, second = (0.0, 0.0005) if fault == "forge" else (0.0005, 0.0)  # whoever reads seldom sees the last one
        return [(now + first, forged_state(copied(message), fault)), (now + second, message)]
    return [(now, message)]


def main(robot_domain: int, driver_domain: int, fault: str) -> None:
    robot, driver, rng = Participant(robot_domain), Participant(driver_domain), random.Random(4)
    ways = [
        (robot.reader("rt/lowstate", messages.LowState), driver.writer("rt/lowstate", messages.LowState), False),
        (driver.reader("rt/lowcmd", messages.LowCmd, depth=8), robot.writer("rt/lowcmd", messages.LowCmd), True),
    ]
    calls = []
    for name in SERVICES:
        request, answer = f"rt/api/{name}/request", f"rt/api/{name}/response"
        calls.append((driver.reader(request, messages.Request, 16), robot.writer(request, messages.Request)))
        calls.append((robot.reader(answer, messages.Response, 16), driver.writer(answer, messages.Response)))
    waiting: list[tuple[float, int, object, object]] = []
    print("relaying", flush=True)
    raise_priority()
    count, commanded = 0, float("inf")
    while True:
        now = time.monotonic()
        for source, sink, is_command in ways:
            for message in source.take():
                commanded = min(commanded, now) if is_command else commanded
                for when, item in spoiled(message, fault, now, rng, is_command, commanded):
                    count += 1
                    waiting.append((when, count, sink, item))
        for _, _, sink, item in sorted((w for w in waiting if w[0] <= now), key=lambda w: w[:2]):
            sink.writer.write(item, item.sample_info.source_timestamp)  # type: ignore[attr-defined]
        waiting = [w for w in waiting if w[0] > now]
        for source, sink in calls:
            for message in source.take():
                sink.write(message)
        time.sleep(0.0005)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
