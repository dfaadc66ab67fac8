"""``footfall serve``: a simulated robot behind the real one's interface."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from footfall.cli.common import (
    JsonOption,
    RobotArgument,
    examples,
    load_robot,
    note,
    print_json,
    tell,
    with_model_options,
)
from footfall.cli.run_options import BrakesOption, MotorsOption, PowerLossOption
from footfall.cli.signals import RealtimeOption, until_signal
from footfall.errors import unknown
from nptrace._types import Given, Json

NAME = "serve"
EXAMPLES = examples(
    "footfall serve go2",
    "footfall serve go2 --domain 1 --start lying",
    "footfall serve go2 --ros2",
    "footfall serve go2 --motors go2_motors.json",
    "footfall serve dynakat",
    "footfall serve my.urdf --protocol generic",
    "footfall serve xiling --brakes 60:0.05 --power-loss 5",
)
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="Protocol: go2, generic (UDP) or generic_dds (default: go2 where it fits the robot, else generic).",
    ),
]


@with_model_options
def command(
    robot: RobotArgument = "go2",
    protocol: ProtocolOption = None,
    domain: Annotated[int, typer.Option("--domain", help="DDS domain; over UDP it is added to the port.")] = 0,
    interface: Annotated[
        str,
        typer.Option(
            "--interface", help="Network interface, over UDP an address (default: loopback, this machine only)."
        ),
    ] = "lo",
    start: Annotated[
        str,
        typer.Option(
            "--start", help="Initial state: standing or lying in sport mode, or released for low-level control."
        ),
    ] = "standing",
    ground: Annotated[str, typer.Option("--ground", help="Ground: plane, slope:D, steps:H or rough:H.")] = "plane",
    motors: MotorsOption = None,
    brakes: BrakesOption = None,
    power_loss: PowerLossOption = None,
    noisy: Annotated[bool, typer.Option("--noisy", help="Add noise and bias to the sensors.")] = False,
    ros2: Annotated[
        bool, typer.Option("--ros2", help="Also publish ROS 2 topics: joint states, IMU, odometry, tf.")
    ] = False,
    duration: Annotated[float | None, typer.Option("--duration", help="Stop after this time [s].")] = None,
    realtime: RealtimeOption = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sensor noise and the ground.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Simulate a robot behind a real one's interface.

    Runs in real time until Ctrl-C. With the protocol go2, programs for that robot work unchanged: the topics are
    rt/lowstate, rt/lowcmd, rt/sportmodestate and rt/wirelesscontroller, the services sport and motion_switcher. The
    generic protocol has packets for any robot, over UDP or DDS: named joints, states, commands with gains.
    """
    from footfall.checks import checked_number
    from footfall.hardware.clock import raise_priority
    from footfall.hardware.protocol import protocol_of

    if duration is not None:
        checked_number(duration, "--duration", 0.0)
    model, carried = load_robot(robot), None
    spoken = protocol_of(model, protocol)
    from footfall.sensing.sensors import Sensors

    if start not in spoken.starts:
        raise unknown("start", start, spoken.starts)
    sensors = Sensors.realistic(seed) if noisy else None
    options: dict[str, Given] = {"ground": ground, "seed": seed}
    if motors is not None:
        from footfall.sim.motors import read_identified

        model, carried, options["joints"] = read_identified(motors, model)
    if brakes is not None or power_loss is not None:
        from footfall.sim.joints import JointModel, with_brakes

        options["joints"] = with_brakes(options.get("joints", JointModel()), brakes, power_loss)
    server = spoken.serve(model, domain, interface, start, ros2, options, sensors, carried)
    say = note if as_json else tell
    say(f"serving {server.robot.name} on {server.words}; Ctrl-C ends it")
    sys.stdout.flush()
    if realtime:
        note(raise_priority())
    assert server.clock is not None
    server.clock.restart()
    end = None if duration is None else time.monotonic() + duration
    try:
        with until_signal() as ended:
            server.run(lambda: ended() or (end is not None and time.monotonic() > end))
    finally:
        server.close()
    _tell(server.report(), as_json)


def _tell(report: dict[str, Json], as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    clock, counts = report["clock"], report["commands"]
    commands = ", ".join(f"{count} {became}" for became, count in sorted(counts.items())) or "none"
    tell(
        f"{report['simulated']:.1f} s simulated; {clock['late']} of {clock['ticks']} ticks more than"
        f" {1e3 * clock['limit']:g} ms late, {clock['skipped']} skipped; commands: {commands}"
    )
