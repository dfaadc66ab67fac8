"""A simulated robot behind Go2's interface, which sends states, follows commands and answers calls in real time.

One thread runs one loop: read messages, call the firmware, advance the robot by one period, publish its sensors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.interface import Command
from footfall.hardware.clock import RealTime
from footfall.hardware.dds.domain import LOOPBACK, Participant
from footfall.hardware.dds.ros2 import Ros2
from footfall.hardware.glide import belly, lying_state
from footfall.hardware.simulated import SimulatedRobot
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.sim.motors import MotorModel
from footfall.spatial.quaternion import to_rotation
from footfall_go2.firmware import SERVICES, Firmware
from footfall_go2.messages import (
    LowCmd,
    LowState,
    Request,
    Response,
    ResponseHeader,
    ResponseStatus,
    SportModeState,
    WirelessController,
)
from footfall_go2.unitree import Wiring, blank_state, fill_imu, remote_bytes, resting_stick
from nptrace._types import Foreign, Given, Json

RATE = 500.0  # [Hz] of the low-level state
_SPORT_EVERY, _REMOTE_EVERY, _ROS_EVERY, _HEIGHT_EVERY = 5, 25, 5, 50  # ticks
_DAMP = 1 << 5 | 1 << 9  # L2 + B on the remote
_WALK = Command(forward=0.3)
_HOLD = 1.0  # [s] for which an answer waits for its reader
_CATCH_UP = 0.05  # [s]; more delay than this is not made up for


@dataclass(kw_only=True)
class Server:
    """``start``: "balance", "down" or "released". ``ros2``: topics with ROS 2 types as well.

    ``clock`` can replace the wall clock in tests.
    """

    robot: Robot
    domain: int = 0
    interface: str = LOOPBACK
    start: str = "balance"
    ros2: bool = False
    options: dict[str, Given] = field(default_factory=dict)  # options of the simulation
    sensors: Given = None
    clock: RealTime | None = None
    motors: MotorModel | None = None  # that execute the commands

    def __post_init__(self) -> None:
        self.wiring = Wiring(self.robot)
        self.participant = Participant(self.domain, self.interface)  # reports its errors before long work
        options = {"touching": belly(self.robot), **self.options}
        self.simulated = SimulatedRobot(self.robot, RATE, self.sensors, motors=self.motors, **options)
        self.robot = self.simulated.robot
        self.firmware = Firmware(self.robot, RATE, compiling.compile, self.simulated.gravity)
        self.firmware.begin(self.start, self.simulated.sensed)
        self._feet = compiling.compile(_feet, self.robot, self.simulated.body.q, self.simulated.body.v, verify=False)
        self._feet(self.simulated.body.q, self.simulated.body.v)
        self._warm_up()
        self._open()

    def _warm_up(self) -> None:
        """Walk for a moment and reset the robot, so that everything that is slow the first time is done."""
        sport = self.firmware.sport
        memory = sport.locomotion.start(self.robot)
        for k in range(20):
            joint_command, memory = sport.locomotion(k / RATE, self.robot, self.simulated.sensed, _WALK, memory)
            self.simulated.write(joint_command)
            self.simulated.advance()
        self.simulated.reset(lying_state(self.robot) if self.start != "balance" else None)
        self.firmware.begin(self.start, self.simulated.sensed)

    def _open(self) -> None:
        writer, reader = self.participant.writer, self.participant.reader
        self._states, self._sport_states = writer("rt/lowstate", LowState), writer("rt/sportmodestate", SportModeState)
        self._commands = reader("rt/lowcmd", LowCmd)
        self._remote_out = writer("rt/wirelesscontroller", WirelessController)
        self._remote_in = reader("rt/wirelesscontroller", WirelessController, others=True)
        self._requests = {name: reader(f"rt/api/{name}/request", Request, depth=16) for name in SERVICES}
        self._answers = {name: writer(f"rt/api/{name}/response", Response) for name in SERVICES}
        self._state, self._sport_state, self._stick = blank_state(), SportModeState.blank(), resting_stick()
        self._remote_heard = False
        self.heights: deque[float] = deque(maxlen=6000)  # trunk heights every tenth of a second, for ten minutes [m]
        self._held: list[tuple[float, str, Foreign, Foreign]] = []  # answers that wait for their reader
        self._ros = Ros2(self.participant, self.robot) if self.ros2 else None
        self.clock = self.clock or RealTime(period=self.simulated.period, patience=_CATCH_UP)

    # -- running -------------------------------------------------------------------------------------------------------
    def run(self, until: Callable[[], bool], on_tick: Callable[[Server], None] = lambda server: None) -> None:
        """Serve until stopped."""
        assert self.clock is not None
        while not until():
            self.tick()
            on_tick(self)
            self.clock.wait()

    def tick(self) -> None:
        """Read messages, advance by one period, publish the sensors."""
        now, robot = self.simulated.time, self.simulated
        self._take_commands(now)
        self._take_requests(now)
        if robot.ticks % _REMOTE_EVERY == 0:
            self._remote(now)
        if self._ros is not None:
            self._drive_by_ros(now)
        robot.write(self.firmware.tick(now, robot.sensed))
        robot.advance()
        self.wiring.fill(self._state, robot.state, remote_bytes(self._stick))
        self._states.write(self._state)
        if robot.ticks % _HEIGHT_EVERY == 0:
            self.heights.append(float(robot.body.q[2]))
        if robot.ticks % _SPORT_EVERY == 0:
            self._say_sport(robot.time)
        if self._ros is not None and robot.ticks % _ROS_EVERY == 0:
            self._ros.publish(robot.time, robot.state, robot.sensed)

    @property
    def words(self) -> str:
        return self.participant.words

    def close(self) -> None:
        self.participant.close()

    def report(self) -> dict[str, Json]:
        """Return counts and times since the start."""
        assert self.clock is not None
        return {
            "simulated": self.simulated.time,
            "clock": self.clock.report(),
            "commands": dict(self.firmware.counts),
            "malformed": self._commands.malformed + sum(r.malformed for r in self._requests.values()),
            "watchdog": self.firmware.watchdog.barked,
            "place": self.simulated.body.q[:3].tolist(),
            "heights": [round(z, 4) for z in self.heights],
        }

    # -- input ---------------------------------------------------------------------------------------------------------
    def _take_commands(self, now: float) -> None:
        for message in self._commands.take():
            damaged = message.checksum() != message.get("crc")[0]
            stamp = message.sample_info.source_timestamp * 1e-9
            self.firmware.command(self.wiring.command(message), now, stamp, damaged)

    def _take_requests(self, now: float) -> None:
        for name, reader in self._requests.items():
            for request in reader.take():
                identity = request.header.identity
                code, data = self.firmware.call(name, identity.api_id, request.parameter, now, self.simulated.sensed)
                if not request.header.policy.noreply:
                    answer = Response(ResponseHeader(identity, ResponseStatus(code)), data, [])
                    self._held.append((now + _HOLD, name, reader.sender(request), answer))
        self._answer(now)

    def _answer(self, now: float) -> None:
        """Send each answer once its reader is discovered: a client may call before that, and would miss it."""
        waiting = []
        for until, name, requested_by, answer in self._held:
            if now < until and not self._answers[name].reaches(requested_by):
                waiting.append((until, name, requested_by, answer))
            else:
                self._answers[name].write(answer)
        self._held = waiting

    def _remote(self, now: float) -> None:
        """Move the robot by the sticks of a remote on the network; without a remote, publish one at rest."""
        for stick in self._remote_in.take():
            self._stick, self._remote_heard = stick, True
        if not self._remote_heard:
            self._remote_out.write(self._stick)
            return
        lx, ly, rx, _, keys = self._stick.values
        sport = self.firmware.sport
        if self.firmware.released or not np.isfinite([lx, ly, rx]).all():
            return
        if keys & _DAMP == _DAMP:
            sport.call(1001, "", now, self.simulated.sensed)
        elif sport.joystick and max(abs(lx), abs(ly), abs(rx)) > 0.05:
            sport.move(now, float(ly), float(-0.6 * lx), float(-1.5 * rx))

    def _drive_by_ros(self, now: float) -> None:
        assert self._ros is not None
        velocity = self._ros.commanded()
        if velocity is not None and not self.firmware.released:
            self.firmware.sport.move(now, *velocity)

    # -- output --------------------------------------------------------------------------------------------------------
    def _say_sport(self, now: float) -> None:
        robot, message, sport = self.simulated, self._sport_state, self.firmware.sport
        q, v = robot.body.q, robot.body.v
        velocity = to_rotation(q[3:7]) @ v[3:6]
        places, speeds = self._feet(q, v)
        fill_imu(message, robot.state)
        message.set("stamp.sec", [int(now)])
        message.set("stamp.nanosec", [int((now % 1.0) * 1e9)])
        message.set("mode", [0 if self.firmware.released else sport.number(now)])
        message.set("gait_type", [sport.gait])
        message.set("position", q[:3].tolist())
        message.set("body_height", [float(q[2])])
        message.set("velocity", velocity.tolist())
        message.set("yaw_speed", [float(v[2])])
        message.set("foot_force", self.wiring.loads(robot.state.foot_load))
        message.set("foot_position_body", places[self.wiring.feet].ravel().tolist())
        message.set("foot_speed_body", speeds[self.wiring.feet].ravel().tolist())
        self._sport_states.write(message)


def _feet(robot: Robot, q: ndarray, v: ndarray) -> tuple[ndarray, ndarray]:
    """Return (positions, velocities) of the feet relative to the base, in base axes."""
    R_WB = to_rotation(q[3:7])
    places = (foot_positions(robot, q) - q[:3]) @ R_WB
    joints = np.concatenate([np.zeros(6), v[6:]])
    speeds = np.stack([J[3:] @ joints for J in feet_jacobian(robot, q)])
    return places, speeds @ R_WB


__all__ = ["RATE", "Server"]
