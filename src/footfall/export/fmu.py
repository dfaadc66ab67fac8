"""Export of a robot, with or without its controller, as an FMI 3.0 unit for co-simulation (``.fmu``).

The file always contains the model's C sources and build description, and the binary for this machine if a C compiler is
found. The FMI functions are in ``fmi3.c``. A unit's internal step is the controller's period. It starts where the
simulation starts; a fall does not stop it: that decision is left to the importing tool, which sees the state.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy import ndarray

from footfall import __version__, compiling
from footfall._io.whole_file import whole_file
from footfall.control.interface import Command, JointCommand
from footfall.errors import FootfallError
from footfall.export.subjects import check_traceable
from footfall.robot.model.description import Robot
from footfall.sim.commanding import command_at
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, physics, rollout_tick
from nptrace.codegen.c_emitter import identifier
from nptrace.codegen.c_source import CFunction
from nptrace.frontend import tree
from nptrace.ir.program import Program
from nptrace.passes.reductions import reassociated

_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=c99", "-O2", "-ffp-contract=off")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # timestamp of every file in the archive: equal units have equal bytes
_UNITS = {
    "m": {"m": 1},
    "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1},
    "rad/s": {"rad": 1, "s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "N.m/rad": {"kg": 1, "m": 2, "s": -2, "rad": -1},
    "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
}
_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Variable:
    """A number that the importing tool sees."""

    name: str
    unit: str
    start: float
    place: int  # index among the flat inputs, or in the flat state


@dataclass(frozen=True, kw_only=True)
class Unit:
    """The contents of a ``.fmu``."""

    name: str  # also the name of its binary
    program: Program  # (state, inputs) to the next state
    state: ndarray
    inputs: list[Variable]
    outputs: list[Variable]
    period: float  # [s]
    description: str


def write_fmu(simulation: Simulation, folder: str | Path, name: str = "", controlled: bool = True) -> tuple[Path, bool]:
    """Write a simulation as a Functional Mock-up Unit (FMI 3.0).

    Args:
        simulation: The simulation; it is not advanced.
        folder: Where to write it.
        name: Name of the model; the robot's unless given.
        controlled: Include the controller: inputs are the user's command and a push on the base. Otherwise inputs are
            the joint commands and the push.

    Returns:
        Path of the ``.fmu``, and whether it contains a binary.
    """
    unit = _with_controller(simulation, name) if controlled else _without(simulation, name)
    sources = _sources(unit)
    texts = {f"sources/{file}": text for file, text in sources.items()}
    token = "{" + hashlib.sha256("".join(sources.values()).encode()).hexdigest()[:32] + "}"
    texts["sources/model.h"] = texts["sources/model.h"].replace("@token@", token)
    texts["modelDescription.xml"] = _model_description(unit, token)
    texts["sources/buildDescription.xml"] = _build_description(unit, sources)
    data = {path: text.encode() for path, text in texts.items()}
    binary = _binary(unit, {path: text for path, text in texts.items() if path.endswith((".c", ".h"))})
    data.update(binary)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{unit.name}.fmu"
    with whole_file(path) as passing, zipfile.ZipFile(passing, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in sorted(data.items()):
            entry = zipfile.ZipInfo(file, _EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return path, bool(binary)


# -- what is in it -----------------------------------------------------------------------------------------------------
def _with_controller(simulation: Simulation, name: str) -> Unit:
    check_traceable(simulation)
    inputs = Inputs(command_at(simulation.command, 0.0), np.zeros(6))
    program = compiling.program(rollout_tick, simulation.model, simulation.state, inputs)
    units = dict(zip((f.name for f in dataclasses.fields(Command)), ("m/s", "m/s", "rad/s", "m", "rad", "rad")))
    commands = [(f"command.{key}", unit, float(getattr(simulation.command, key))) for key, unit in units.items()]
    name = name or simulation.model.acting.name
    words = f"{simulation.robot.name} under {simulation.model.acting.name}"
    return _unit(simulation, name, program, simulation.state, [*commands, *_push()], words)


def _without(simulation: Simulation, name: str) -> Unit:
    model, state = simulation.model.physics, dataclasses.replace(simulation.state, memory=())
    standing = simulation.q[simulation.robot.nq - simulation.robot.nj :]
    command = JointCommand(standing).broadcast(simulation.robot.nj)
    program = compiling.program(physics, model, state, command, np.zeros(6))
    units = dict(zip(("position", "velocity", "kp", "kd", "torque"), ("rad", "rad/s", "N.m/rad", "N.m.s/rad", "N.m")))
    commands = [
        (f"command.{key}.{joint}", unit, float(start))
        for key, unit in units.items()
        for joint, start in zip(simulation.robot.joint_names, getattr(command, key))
    ]
    return _unit(simulation, name or "step", program, state, [*commands, *_push()], f"{simulation.robot.name} alone")


def _push() -> list[tuple[str, str, float]]:
    """Return a wrench on the base at its origin, world axes."""
    return [(f"push.{what}.{axis}", unit, 0.0) for what, unit in (("moment", "N.m"), ("force", "N")) for axis in _AXES]


def _unit(
    simulation: Simulation,
    name: str,
    program: Program,
    state: RunState,
    inputs: list[tuple[str, str, float]],
    description: str,
) -> Unit:
    """Return the program as in native code, with equal order of sums, so that both agree up to the last digit."""
    leaves = tree.flatten(state)[0]
    flat = np.concatenate([np.ravel(np.asarray(leaf, dtype=float)) for leaf in leaves])
    ends = np.cumsum([np.size(leaf) for leaf in leaves])
    begins = {label: int(end) - np.size(leaf) for label, leaf, end in zip(tree.labels(state), leaves, ends)}
    seen = [(n, unit, begins[label] + k) for label, k, n, unit in _outputs(simulation.robot)]
    return Unit(
        name=identifier(f"{simulation.robot.name}_{name}"),
        program=reassociated(program),
        state=flat,
        inputs=[Variable(n, unit, start, k) for k, (n, unit, start) in enumerate(inputs)],
        outputs=[Variable(n, unit, float(flat[place]), place) for n, unit, place in seen],
        period=simulation.model.period,
        description=description,
    )


def _outputs(robot: Robot) -> list[tuple[str, int, str, str]]:
    """Return (array of the state, index in it, name, unit) of the visible variables."""
    out, joints = [], robot.joint_names
    if robot.floating:
        out += [("q", k, f"base.position.{axis}", "m") for k, axis in enumerate(_AXES)]
        out += [("q", 3 + k, f"base.quaternion.{part}", "") for k, part in enumerate("wxyz")]
        out += [("v", k, f"base.angular_velocity.{axis}", "rad/s") for k, axis in enumerate(_AXES)]
        out += [("v", 3 + k, f"base.velocity.{axis}", "m/s") for k, axis in enumerate(_AXES)]
    first_q, first_v = robot.nq - robot.nj, robot.nv - robot.nj
    out += [("q", first_q + k, f"joint.position.{joint}", "rad") for k, joint in enumerate(joints)]
    out += [("v", first_v + k, f"joint.velocity.{joint}", "rad/s") for k, joint in enumerate(joints)]
    out += [("motor", k, f"motor.torque.{joint}", "N.m") for k, joint in enumerate(joints)]
    out += [
        ("forces", 3 * k + j, f"foot.force.{foot.name}.{axis}", "N")
        for k, foot in enumerate(robot.feet)
        for j, axis in enumerate(_AXES)
    ]
    return out


# -- files -------------------------------------------------------------------------------------------------------------
def _sources(unit: Unit) -> dict[str, str]:
    """Return C files by name; the token of ``model.h`` is filled in later, since it depends on them."""
    ins = [("state", (len(unit.state),)), ("inputs", (len(unit.inputs),))]
    outs = [("after", (len(unit.state),))]
    name = f"{unit.name}_tick"
    tick = CFunction(program=unit.program, name=name, ins=ins, outs=outs, dtype=np.dtype(np.float64))
    work = tick.work
    passed = "state, inputs, after, work" if work else "state, inputs, after"
    numbers = ",\n    ".join(repr(float(x)) for x in unit.state)
    starts, places = (
        ", ".join(x) for x in ([repr(v.start) for v in unit.inputs], [str(v.place) for v in unit.outputs])
    )
    model = f"""#ifndef MODEL_H
#define MODEL_H

#include "{name}.h"

#define MODEL_TOKEN "@token@"
#define MODEL_PERIOD {unit.period!r}
#define MODEL_STATES {len(unit.state)}
#define MODEL_INPUTS {len(unit.inputs)}
#define MODEL_OUTPUTS {len(unit.outputs)}
#define MODEL_WORK {max(1, work)}
#define MODEL_TICK(state, inputs, after, work) {name}({passed})

extern const double model_start_state[MODEL_STATES];
extern const double model_start_inputs[MODEL_INPUTS];
extern const unsigned model_outputs[MODEL_OUTPUTS]; /* where each lies in the state */

#endif
"""
    values = f"""#include "model.h"

const double model_start_state[MODEL_STATES] = {{
    {numbers}
}};
const double model_start_inputs[MODEL_INPUTS] = {{{starts}}};
const unsigned model_outputs[MODEL_OUTPUTS] = {{{places}}};
"""
    return {
        f"{name}.c": tick.source(),
        f"{name}.h": tick.header(),
        "fmi3.c": files("footfall.export").joinpath("fmi3.c").read_text(),
        "model.c": values,
        "model.h": model,
    }


def _model_description(unit: Unit, token: str) -> str:
    used = [u for u in _UNITS if any(v.unit == u for v in (*unit.inputs, *unit.outputs))]
    units = []
    for name in used:
        powers = " ".join(f'{base}="{power}"' for base, power in _UNITS[name].items())
        units.append(f"    <Unit name={quoteattr(name)}><BaseUnit {powers}/></Unit>")
    lines = ['    <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>']
    for reference, variable in enumerate(unit.inputs, 1):
        lines.append(_variable(variable, reference, f'causality="input" start="{variable.start!r}"'))
    first = 1 + len(unit.inputs)
    for reference, variable in enumerate(unit.outputs, first):
        lines.append(_variable(variable, reference, 'causality="output" initial="calculated"'))
    references = range(first, first + len(unit.outputs))
    structure = [f'    <{kind} valueReference="{r}"/>' for kind in ("Output", "InitialUnknown") for r in references]
    text = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(unit.name)} instantiationToken="{token}"',
        f'    description={quoteattr(unit.description)} generationTool="footfall {__version__}">',
        f'  <CoSimulation modelIdentifier="{unit.name}" canHandleVariableCommunicationStepSize="true"',
        '      canGetAndSetFMUState="true" canSerializeFMUState="true"',
        f'      fixedInternalStepSize="{unit.period!r}"/>',
        "  <UnitDefinitions>",
        *units,
        "  </UnitDefinitions>",
        '  <LogCategories><Category name="logStatusError" description="what went wrong"/></LogCategories>',
        f'  <DefaultExperiment startTime="0" stopTime="10" stepSize="{unit.period!r}"/>',
        "  <ModelVariables>",
        *lines,
        "  </ModelVariables>",
        "  <ModelStructure>",
        *structure,
        "  </ModelStructure>",
        "</fmiModelDescription>",
        "",
    ]
    return "\n".join(text)


def _variable(variable: Variable, reference: int, words: str) -> str:
    unit = f" unit={quoteattr(variable.unit)}" if variable.unit else ""
    return f'    <Float64 name={quoteattr(variable.name)} valueReference="{reference}" {words}{unit}/>'


def _build_description(unit: Unit, sources: dict[str, str]) -> str:
    names = [f'      <SourceFile name="{name}"/>' for name in sources if name.endswith(".c")]
    text = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<fmiBuildDescription fmiVersion="3.0">',
        f'  <BuildConfiguration modelIdentifier="{unit.name}">',
        '    <SourceFileSet language="C99">',
        *names,
        "    </SourceFileSet>",
        '    <Library name="m" external="true" description="the C library\'s mathematics"/>',
        "  </BuildConfiguration>",
        "</fmiBuildDescription>",
        "",
    ]
    return "\n".join(text)


# -- the binary --------------------------------------------------------------------------------------------------------
def compiler() -> str | None:
    """Return the C compiler of this machine: that of CC, or one with a usual name."""
    for name in filter(None, (os.environ.get("CC"), *_COMPILERS)):
        if (found := shutil.which(name)) is not None:
            return found
    return None


def _binary(unit: Unit, texts: dict[str, str]) -> dict[str, bytes]:
    """Return the shared library by its path in the archive; nothing without a compiler."""
    command, (folder, suffix) = compiler(), _platform()
    if command is None or not folder:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        for path, text in texts.items():
            Path(temporary, Path(path).name).write_text(text)
        built = Path(temporary, unit.name + suffix)
        position = () if suffix == ".dll" else ("-fPIC", "-fvisibility=hidden")
        names = sorted(Path(path).name for path in texts if path.endswith(".c"))
        flags = (*_FLAGS, *os.environ.get("CFLAGS", "").split())
        call: list[str] = [command, *flags, *position, "-shared", *names, "-lm", "-o", built.name]
        done = subprocess.run(call, cwd=temporary, capture_output=True, text=True)
        if done.returncode:
            raise FootfallError(
                f"{command} cannot build {unit.name}: {(done.stderr.splitlines() or ['no message'])[0]}"
            )
        return {f"binaries/{folder}/{built.name}": built.read_bytes()}


def _platform() -> tuple[str, str]:
    """Return (platform tuple of FMI 3.0, suffix of a shared library) of this machine; empty if it has none."""
    machine = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}.get(
        platform.machine().lower(), ""
    )
    system = {"Linux": ("linux", ".so"), "Darwin": ("darwin", ".dylib"), "Windows": ("windows", ".dll")}.get(
        platform.system()
    )
    return (f"{machine}-{system[0]}", system[1]) if machine and system else ("", "")
