"""The options of one run, shared by ``simulate`` and ``compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.commands import completing
from footfall.nests import Given

if TYPE_CHECKING:
    from footfall.simulate.runfile import Planned

SubjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT|RUN.toml",
        autocompletion=completing.robots,
        help="A library name, a URDF or MJCF file, or a run file with options.",
    ),
]
GaitOption = Annotated[
    str | None,
    typer.Option("--gait", autocompletion=completing.gaits, help="trot, walk, pace, bound, ... (trot unless given)."),
]
ConstantsOption = Annotated[
    str | None,
    typer.Option(
        "--constants",
        help="Set of known-good gait constants; A to E for mini_cheetah's trot; A, with stance contact C.",
    ),
]
SpeedOption = Annotated[float | None, typer.Option("--speed", help="Forward speed asked for [m/s]; sets the stride.")]
SidewaysOption = Annotated[float | None, typer.Option("--sideways", help="Speed to the left [m/s].")]
TurnOption = Annotated[float | None, typer.Option("--turn", help="Turn rate to the left [rad/s].")]
ScheduleOption = Annotated[
    str | None,
    typer.Option("--schedule", help="Commands in time: '0: forward=0.3; 4: forward=0.3, turn=0.5' [s, m/s, rad/s]."),
]
PushOption = Annotated[
    str | None,
    typer.Option("--push", help="'start, duration, x, y, z' [s, N], and a link if not the trunk; several apart by ;"),
]
ObjectsOption = Annotated[
    str | None,
    typer.Option(
        "--objects", help="Boxes and balls beside the robot: 'ball radius=0.1 mass=0.4 position=1,0,0.1'; apart by ;"
    ),
]
ControllerOption = Annotated[
    str | None,
    typer.Option(
        "--controller",
        autocompletion=completing.controllers,
        help="hold, pd, gravity, computed_torque, impedance, screw, balance, mpc, whole_body, nmpc, learned, lqr, plan,"
        " wheels, or a policy's file (.npz, .onnx).",
    ),
]
OscillatorOption = Annotated[
    str | None,
    typer.Option(
        "--oscillator",
        autocompletion=completing.oscillators,
        help="What paces a gait of pd, gravity, computed_torque, impedance, screw: kuramoto (default), hopf, rulkov.",
    ),
]
TouchdownOption = Annotated[
    bool | None, typer.Option("--touchdown", help="A foot that lands early begins its stance at once.")
]
ReflexesOption = Annotated[
    str | None,
    typer.Option("--reflexes", help="all, none or names (slip,stumble): pd has none unless given, mpc all."),
]
ThenOption = Annotated[
    str | None, typer.Option("--then", help="Another gait to change to while walking, and when: trot:4 (seconds).")
]
InverseOption = Annotated[
    str | None,
    typer.Option("--inverse", help="Kinematics of pd and plan: closed (default), fabrik or resolved_rate."),
]
PlanOption = Annotated[
    str | None,
    typer.Option("--plan", help="Of --controller plan: walk (default), trot, postures, yaw, or 'trot; 4: postures'."),
]
NmpcContactOption = Annotated[
    str | None,
    typer.Option("--nmpc-contact", help="Of --controller nmpc: scheduled by the gait (default), or implicit: found."),
]
KpOption = Annotated[float | None, typer.Option("--kp", help="Joint stiffness [N m/rad].")]
KdOption = Annotated[float | None, typer.Option("--kd", help="Joint damping [N m s/rad].")]
ContactOption = Annotated[
    str | None,
    typer.Option("--contact", autocompletion=completing.contacts, help="Contact model; compliant unless given."),
]
GroundOption = Annotated[
    str | None,
    typer.Option(
        "--ground",
        autocompletion=completing.grounds,
        help="plane, slope:D (degrees, uphill along +x), steps:H, stairs:H, rough:H (metres), FILE.png:H:L, a"
        " heightfield L metres long with white at H, or FILE.npy:L, one of heights; plane unless given.",
    ),
]
FrictionOption = Annotated[float | None, typer.Option("--friction", help="Of the ground; 0.8 unless given.")]
DropOption = Annotated[float | None, typer.Option("--drop", help="Height of the feet at the start [m].")]
DurationOption = Annotated[float | None, typer.Option("--duration", help="Simulated time [s]; 10 unless given.")]
DtOption = Annotated[float | None, typer.Option("--dt", help="Physics step [s]; 1e-3 unless given.")]
IntegratorOption = Annotated[
    str | None, typer.Option("--integrator", help="linearly_implicit (default), semi_implicit_euler, heun or rk4.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of whatever is random; 0 unless given.")]
EstimateOption = Annotated[
    bool | None,
    typer.Option("--estimate", help="The controller sees an estimate from noisy sensors instead of the truth."),
]
MotorsOption = Annotated[
    Path | None,
    typer.Option("--motors", help="Motors and joints as 'footfall identify motors' found them (.json)."),
]
OutOption = Annotated[Path | None, typer.Option("--out", help="Recording to write (.mcap).")]


def planned(subject: str, given: dict[str, Given]) -> Planned:
    """The simulation of a robot or a run file; options on the command line win over those in the file."""
    from footfall.commands.common import load_robot
    from footfall.simulate.runfile import load_options, options_of, plan, read_run_file

    asked = {key: value for key, value in given.items() if value is not None}
    for key in ("out", "motors"):
        if key in asked:
            asked[key] = str(asked[key])
    inside = read_run_file(subject) if subject.endswith(".toml") else {"robot": subject}
    options = options_of({**inside, **asked})
    return plan(load_robot(options.robot, **load_options(options)), options)
