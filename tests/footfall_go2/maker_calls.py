"""Calls of the maker's high-level client, as its example makes them: ``python maker_calls.py SDK walk|start``.

For the interpreter that has the SDK's own packages, which has no footfall. Prints one JSON object.
"""

import json
import math
import sys
import time
import types

sys.path.insert(0, sys.argv[1])
try:
    import cv2  # noqa: F401
except ImportError:  # the SDK imports it for the camera
    sys.modules["cv2"] = types.ModuleType("cv2")
from unitree_sdk2py.comm.motion_switcher.motion_switcher_client import MotionSwitcherClient
from unitree_sdk2py.core.channel import ChannelFactoryInitialize, ChannelSubscriber
from unitree_sdk2py.go2.sport.sport_client import SportClient
from unitree_sdk2py.idl.unitree_go.msg.dds_ import LowState_, SportModeState_
from unitree_sdk2py.utils.crc import CRC

began = time.time()
ChannelFactoryInitialize(0, "lo")
crc, seen, wrong, states = CRC(), {}, [], []


def take(state):
    states.append(time.time())
    if len(states) % 10 == 0 and crc.Crc(state) != state.crc:
        wrong.append(state)


low = ChannelSubscriber("rt/lowstate", LowState_)
low.Init(take, 10)
if sys.argv[2] == "start":
    switcher = MotionSwitcherClient()
    switcher.SetTimeout(5.0)
    switcher.Init()
    code, mode = switcher.CheckMode()
    while not states:
        time.sleep(0.01)
    print(json.dumps({"code": code, "mode": mode, "state": states[0] - began, "answer": time.time() - began}))
    sys.exit()
high = ChannelSubscriber("rt/sportmodestate", SportModeState_)


def look(state):
    w, x, y, z = state.imu_state.quaternion
    yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    yaw += 2.0 * math.pi * round((seen.get("yaw", yaw) - yaw) / (2.0 * math.pi))
    seen.update(place=list(state.position), time=state.stamp.sec + 1e-9 * state.stamp.nanosec, yaw=yaw)


high.Init(look, 10)
client = SportClient()
client.SetTimeout(10.0)
client.Init()
found = {"up": client.StandUp()}
time.sleep(2.5)
found["standing"] = seen["place"][2]
for key, asked in (("forward", (0.3, 0, 0)), ("lateral", (0, 0.3, 0)), ("turn", (0, 0, 0.5))):
    end, first = time.time() + 4.5, None
    while time.time() < end:
        client.Move(*asked)
        time.sleep(0.2)
        if first is None and time.time() > end - 3.0:
            first = dict(seen)
    span = seen["time"] - first["time"]
    heading = 0.5 * (first["yaw"] + seen["yaw"])  # speeds along and across the robot, and its turn
    x, y = [(b - a) / span for a, b in zip(first["place"], seen["place"])][:2]
    along, across = math.cos(heading), math.sin(heading)
    found[key] = [along * x + across * y, along * y - across * x, (seen["yaw"] - first["yaw"]) / span]
    client.StopMove()
    time.sleep(1.0)
found["stop"] = client.StopMove()
before = list(seen["place"])
time.sleep(0.5)
found["stopped"] = max(abs(b - a) for a, b in zip(before, seen["place"]))
found["flips"] = [client.LeftFlip(), client.BackFlip(), client.HandStand(True), client.FrontJump()]
found["euler"] = client.Euler(0.1, 0.0, 0.0)
found["level"] = client.SpeedLevel(1)
found["balance"] = client.BalanceStand()
found["damp"] = client.Damp()
time.sleep(1.5)
found["damped"] = seen["place"][2]
found["recovery"] = client.RecoveryStand()
time.sleep(2.5)
found["recovered"] = seen["place"][2]
found["down"] = client.StandDown()
time.sleep(2.0)
found.update(lying=seen["place"][2], states=len(states), wrong=len(wrong))
print(json.dumps(found))
