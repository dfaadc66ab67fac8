"""``footfall drive``: control a robot through Go2's interface, or the generic one."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from footfall.cli.serve import ProtocolOption
from footfall.cli.signals import RealtimeOption, until_signal
from footfall.errors import InputError
from nptrace._types import Json

if TYPE_CHECKING:
    from footfall.control.interface import Command, Controller
    from footfall.hardware.drive import Driver
    from footfall.hardware.logbook import Logbook
    from footfall.hardware.protocol import RobotConnection
    from footfall.robot.model.description import Robot

NAME = "drive"
EXAMPLES = examples(
    "footfall drive go2 --controller whole_body --forward 0.3 --duration 20",
    "footfall drive mini_cheetah --controller learned --domain 1",
    "footfall drive dynakat --protocol generic --forward 0.1",
)
_RATE = 500.0  # [Hz] of the robot's states
_FAILED = 1
_LATE = 0.05  # fraction of late ticks beyond which the computer is reported as too slow


@with_model_options
def command(
    robot: RobotArgument = "go2",
    controller: Annotated[
        str, typer.Option("--controller", help="whole_body, mpc, balance, learned, sampling, or a policy file.")
    ] = "whole_body",
    forward: Annotated[float, typer.Option("--forward", help="Forward speed [m/s].")] = 0.0,
    sideways: Annotated[float, typer.Option("--sideways", help="Speed to the left [m/s].")] = 0.0,
    turn: Annotated[float, typer.Option("--turn", help="Yaw rate to the left [rad/s].")] = 0.0,
    duration: Annotated[float, typer.Option("--duration", help="Duration of the walk [s].")] = 10.0,
    protocol: ProtocolOption = None,
    domain: Annotated[int, typer.Option("--domain", help="DDS domain; over UDP it is added to the port.")] = 0,
    interface: Annotated[
        str,
        typer.Option(
            "--interface", help="Network interface, over UDP an address (default: loopback, this machine only)."
        ),
    ] = "lo",
    foot_load: Annotated[
        bool, typer.Option("--foot-load", help="Use the foot sensors, if they measure newtons.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Recording to write (.mcap).")] = None,
    realtime: RealtimeOption = False,
    as_json: JsonOption = False,
) -> int:
    """Control a robot through Go2's DDS interface, or through the generic protocol.

    Runs preflight checks, stands up, walks and sits down. Any key is the emergency stop, which damps the joints; Ctrl-C
    sits the robot down. This has never driven a real robot: it is tested against 'footfall serve' only.
    """
    from footfall.hardware.protocol import protocol_of

    wanted = _wanted(forward, sideways, turn, duration)
    if out is not None and (out.suffix != ".mcap" or not out.parent.is_dir()):
        raise InputError(f"a recording must be an .mcap file in an existing folder, got '{out}'")
    model = _ready(load_robot(robot))
    spoken = protocol_of(model, protocol)  # before any slow preparation
    pilot = _pilot(controller, model)
    connection = spoken.connect(model, domain, interface, foot_load)
    say = note if as_json else tell
    say(f"driving {model.name} by {controller} on {connection.words}; any key stops it")
    try:
        connection.wait_for_state()
        connection.release(say=say)
        return _drive(connection, pilot, wanted, duration, out, realtime, as_json, say)
    finally:
        connection.close()


def _drive(
    connection: RobotConnection,
    pilot: Controller,
    wanted: Command,
    duration: float,
    out: Path | None,
    realtime: bool,
    as_json: bool,
    say: Callable[[str], None],
) -> int:
    from footfall.cli.signals import any_key
    from footfall.hardware.clock import RealTime, raise_priority
    from footfall.hardware.drive import Driver
    from footfall.hardware.limits import SafetyLimits
    from footfall.hardware.preflight import preflight

    if realtime:
        note(raise_priority())
    limits, clock = SafetyLimits(connection.robot), connection.clock
    assert isinstance(clock, RealTime)
    clock.restart()
    checks = preflight(connection, pilot, limits)
    for check in checks:
        say(f"preflight: {check.name}: {check.words}{'' if check.holds else ' - FAILED'}")
    listed = [{"name": check.name, "holds": check.holds, "words": check.words} for check in checks]
    if not all(check.holds for check in checks):
        if as_json:
            print_json({"ok": False, "preflight": listed})
        return _FAILED
    gc.collect()
    gc.freeze()  # existing objects are kept: no tick waits for the garbage collector to scan them again
    with _logbook(out, connection) as logbook, until_signal() as ended, any_key() as key:
        driver = Driver(
            connection=connection,
            controller=pilot,
            wanted=lambda t: wanted,
            duration=duration,
            stop=lambda: "damp" if key.is_set() else "end" if ended() else "",
            on_row=logbook.add if logbook else lambda row: None,
            say=say,
            limits=limits,
        )
        clock.restart()
        connection.read()
        driver.run()
    failed = logbook.failed if logbook else ""
    _tell(driver, listed, connection, out, failed, as_json)
    return _FAILED if driver.reason or failed else 0


def _tell(
    driver: Driver, checks: Json, connection: RobotConnection, out: Path | None, failed: str, as_json: bool
) -> None:
    report = driver.report()
    if failed:
        note(f"the recording failed: {failed}")
    if as_json:
        print_json(
            {
                "ok": not driver.reason,
                **report,
                "states": dict(connection.counts),
                "preflight": checks,
                "recording": str(out) if out is not None and not failed else None,
            }
        )
        return
    clock = report["clock"]
    tell(
        f"{report['seconds']:.1f} s, {clock['ticks']} ticks: {clock['late']} more than {1e3 * clock['limit']:g} ms late"
        f" and {clock['skipped']} skipped, {100 * clock['late_share']:.2f} % of those due; jitter "
        + ", ".join(f"{key} {1e3 * value:.2f} ms" for key, value in clock["jitter"].items())
    )
    if clock["late_share"] > _LATE:
        tell(f"this computer was too slow for {_RATE:g} Hz, or busy: end other programs, or try --realtime")
    tell(f"damped: {driver.reason}" if driver.reason else "sat down")


@contextlib.contextmanager
def _logbook(out: Path | None, connection: RobotConnection) -> Iterator[Logbook | None]:
    if out is None:
        yield None
        return
    from footfall.hardware.logbook import Logbook
    from footfall.recording.recording_writer import RecordingWriter

    meta = {"robot": connection.robot.name, "driven": connection.words, "rate": _RATE}
    logbook = Logbook(RecordingWriter(out, connection.robot, meta))
    try:
        yield logbook
    finally:
        logbook.close()


def _wanted(forward: float, sideways: float, turn: float, duration: float) -> Command:
    from footfall.checks import checked_number
    from footfall.control.interface import Command, check_command

    wanted = Command(forward=forward, sideways=sideways, turn=turn)
    check_command(wanted)
    checked_number(duration, "--duration", 0.0, 3600.0)
    return wanted


def _ready(robot: Robot) -> Robot:
    from footfall.control.posture import with_stand

    return with_stand(robot)


def _pilot(name: str, robot: Robot) -> Controller:
    """Return a controller by name or file, behind an estimator if it needs the velocity of the base."""
    from footfall import compiling
    from footfall.control.learned.policy import SUFFIXES, Policy
    from footfall.control.named import COMMAND_CONTROLLERS, LEARNED, SAMPLING, learned, on_command
    from footfall.sensing.estimation.estimated import Estimated

    if name in COMMAND_CONTROLLERS:
        estimated = Estimated(on_command(name, rate=_RATE))
        estimated.prepare(robot, compiling.compile)
        return estimated
    if name == LEARNED:
        return learned(robot.name)
    if name == SAMPLING:
        from footfall.sim.sampling import Sampling
        from footfall.sim.sampling_tasks import Walk

        # a plan takes longer than a tick: it is computed in parallel
        estimated = Estimated(Sampling(Walk(robot=robot), rate=_RATE, background=True))
        estimated.prepare(robot, compiling.compile)
        return estimated
    if Path(name).suffix in SUFFIXES:
        policy = Policy.load(name)
        policy.start(robot)  # raises for a robot with other joints before anything moves
        if isinstance(policy, Policy) or "linear_velocity" not in policy.interface.terms:
            return policy
        estimated = Estimated(policy)  # no sensor measures the velocity of the base
        estimated.prepare(robot, compiling.compile)
        return estimated
    known = ", ".join((*COMMAND_CONTROLLERS, LEARNED, SAMPLING))
    raise InputError(f"the controller must be {known} or a policy file ({', '.join(SUFFIXES)}), not {name!r}")
