"""The options of one run, each declared once.

A field of ``RunOptions`` is an option of ``footfall simulate`` (with ``compare=True`` of ``compare`` as well), a key of
run files, a parameter of sweeps, and with ``page=`` a menu of the web page. With ``argument=`` it directly sets an
argument of ``Simulation``; ``runfile.plan`` handles the others. Nothing heavy is imported here: ``--help`` is made from
it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from footfall.errors import InputError, finite


def _robots() -> Iterable[str]:
    from footfall.robot import library

    return library.names()


def _gaits() -> Iterable[str]:
    from footfall.gait.pattern import names

    return names()


def _controllers() -> Iterable[str]:
    from footfall.control.named import NAMES

    return NAMES


def _oscillators() -> Iterable[str]:
    from footfall.gait.oscillators.networks import NAMES

    return NAMES


def _plans() -> Iterable[str]:
    from footfall.gait.named_plans import PLANS

    return PLANS


def _tasks() -> Iterable[str]:
    from footfall.sim.sampling_tasks import TASKS

    return TASKS


def _contacts() -> Iterable[str]:
    from footfall.contact.model import MODELS

    return MODELS


def _grounds() -> Iterable[str]:
    from footfall.contact.terrain import EXAMPLES

    return EXAMPLES


def _pushes(text: str | None) -> Any:
    from footfall.sim.pushes import parse_pushes

    return parse_pushes(text)


def _free_bodies(text: str | None) -> Any:
    from footfall.sim.object_words import parse_objects

    return parse_objects(text)


def _parts() -> Iterable[str]:
    from footfall.contact.bodies import PARTS

    return ("none", "all", *PARTS)


def _self_collisions() -> Iterable[str]:
    from footfall.sim.self_collision import MODES

    return ("none", *MODES)


def _spines() -> Iterable[str]:
    from footfall.robot.model.spine import KINDS

    return ("own", *KINDS)


def _colliding(text: str | None) -> Any:
    return {None: False, "none": False, "all": True}.get(text, text)


def _meeting(text: str | None) -> Any:
    return None if text == "none" else text


def _contact_model(name: str) -> Any:
    from footfall.contact.model import named

    return named(name)


def _option(
    default: Any,
    text: str,
    *,
    argument: str = "",
    read: Callable[[Any], Any] | None = None,
    unit: str = "",
    choices: Callable[[], Iterable[str]] | None = None,
    page: str | None = None,
    compare: bool = False,
    path: bool = False,
    positive: bool = False,
    most: float | None = None,
) -> Any:
    """Return a field of ``RunOptions``.

    Args:
        default: Value unless given; None leaves it to the robot, the gait or the controller.
        text: Help on the command line.
        argument: The argument of ``Simulation`` that it sets; none if ``runfile.plan`` handles it.
        read: Converts the option's value to that argument, such as a text to pushes.
        unit: Unit of a number, for tables of sweeps.
        choices: Completions in the shell and entries on the page; the option may take other values as well.
        page: The page's initial choice; None: not on the page.
        compare: Whether it is an option of ``footfall compare``, too.
        path: Whether it names a file, relative to that of the run or the study.
        positive: Whether it must be above zero.
        most: Its largest magnitude; larger values are mistakes that would cost other numbers their digits.
    """
    return field(
        default=default,
        metadata={
            "help": text,
            "argument": argument,
            "read": read,
            "unit": unit,
            "choices": choices,
            "page": page,
            "compare": compare,
            "path": path,
            "positive": positive,
            "most": most,
        },
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run, as on the command line."""

    robot: str = field(metadata={"choices": _robots, "page": "mini_cheetah"})
    _: KW_ONLY
    gait: str | None = _option(
        None, "Gait: trot (default), walk, pace, bound, ...", choices=_gaits, page="trot", compare=True
    )
    constants: str | None = _option(
        None,
        "Named set of gait constants; A to E for the trot of mini_cheetah (default A, with stance contact C).",
        compare=True,
    )
    speed: float | None = _option(
        None, "Commanded forward speed [m/s]; sets the stride length.", unit="m/s", most=100.0, compare=True
    )
    sideways: float = _option(0.0, "Commanded speed to the left [m/s].", unit="m/s", most=100.0, compare=True)
    turn: float = _option(0.0, "Commanded yaw rate to the left [rad/s].", unit="rad/s", most=100.0, compare=True)
    schedule: str | None = _option(
        None, "Commands over time: '0: forward=0.3; 4: forward=0.3, turn=0.5' [s, m/s, rad/s].", compare=True
    )
    push: str | None = _option(
        None,
        "A push, 'start, duration, x, y, z' [s, N], and a link if not the trunk; separate several by ';'.",
        argument="pushes",
        read=_pushes,
        compare=True,
    )
    controller: str = _option(
        "pd",
        "hold, pd, gravity, computed_torque, impedance, screw, balance, mpc, whole_body, nmpc, sampling, learned,"
        " lqr, plan, wheels, a policy file (.npz, .onnx), or your own controller as module:name.",
        choices=_controllers,
        page="whole_body",
        compare=True,
    )
    oscillator: str | None = _option(
        None,
        "Oscillators that time the gait of pd and similar controllers: kuramoto (default), hopf, rulkov.",
        choices=_oscillators,
        page="kuramoto",
    )
    touchdown: bool = _option(False, "Start the stance of a foot at once if it lands early.")
    reflexes: str | None = _option(
        None, "Reflexes: all, none or names (slip,stumble); default: none for pd, all for mpc and whole_body."
    )
    then: str | None = _option(None, "Change to another gait while walking, at a time: trot:4 [s].")
    inverse: str | None = _option(None, "Inverse kinematics of pd and plan: closed (default), fabrik or resolved_rate.")
    plan: str | None = _option(
        None,
        "With --controller plan: walk (default), trot, postures, yaw, 'trot; 4: postures', or with numbers: 'walk"
        " step=0.15 side=0.05 turn=0.1 height=0.06 time=0.4; postures'.",
        choices=_plans,
        page="walk",
    )
    nmpc_contact: str | None = _option(
        None,
        "With --controller nmpc: contacts are scheduled by the gait (default), or implicit: found by the optimizer.",
    )
    task: str | None = _option(
        None,
        "With --controller sampling: walk (default), climb, get_up, hind_legs, hop, jump, reach, dance.",
        choices=_tasks,
        page="walk",
        compare=True,
    )
    kp: float | None = _option(None, "Joint stiffness [N m/rad].", unit="N m/rad", most=1e9, compare=True)
    kd: float | None = _option(None, "Joint damping [N m s/rad].", unit="N m s/rad", most=1e9, compare=True)
    contact: str = _option(
        "compliant",
        "Contact model: compliant (default), complementarity, stance or planning.",
        argument="contact",
        read=_contact_model,
        choices=_contacts,
        page="compliant",
        compare=True,
    )
    ground: str = _option(
        "plane",
        "plane (default), slope:D (degrees, uphill along +x), steps:H, stairs:H, rough:H (metres), FILE.png:H:L (a"
        " heightfield L metres long, white at height H), or FILE.npy:L (heights in metres).",
        choices=_grounds,
        page="plane",
        compare=True,
    )
    friction: float = _option(0.8, "Friction coefficient of the ground (default 0.8).", most=100.0, compare=True)
    collisions: str | None = _option(
        None,
        "Links that collide with the ground and objects besides the feet: none (default), all, or names separated by"
        " commas: trunk, hips, knees, shanks, links.",
        argument="collisions",
        read=_colliding,
        choices=_parts,
        page="none",
    )
    self_collision: str | None = _option(
        None,
        "When links of the robot collide with each other: none (default), report, stop (end the run) or force (contact"
        " forces push them apart).",
        argument="self_collision",
        read=_meeting,
        choices=_self_collisions,
        page="none",
    )
    spine: str | None = _option(
        None,
        "KIND[:STIFFNESS] of the spine: rigid, passive, lockable, actuated or series_elastic, stiffness in N m/rad,"
        " as in passive:800; own (default) is the robot's.",
        choices=_spines,
        page="own",
    )
    objects: str | None = _option(
        None,
        "Free boxes and balls: 'ball radius=0.1 mass=0.4 position=1,0,0.1'; separate several by ';'.",
        argument="objects",
        read=_free_bodies,
    )
    drop: float = _option(0.0, "Initial height of the feet above the ground [m].", unit="m", most=1000.0, compare=True)
    duration: float = _option(10.0, "Simulated time [s] (default 10).", unit="s", positive=True, compare=True)
    dt: float = _option(
        1e-3, "Time step of the physics [s] (default 1e-3).", argument="dt", unit="s", positive=True, compare=True
    )
    integrator: str = _option(
        "linearly_implicit",
        "Integrator: linearly_implicit (default), semi_implicit_euler, heun or rk4.",
        argument="integrator",
        compare=True,
    )
    seed: int = _option(0, "Seed of all random numbers (default 0).", argument="seed", compare=True)
    estimate: bool = _option(False, "Run the controller on a state estimated from noisy sensors.")
    motors: str | None = _option(None, "Motors and joints identified by 'footfall identify motors' (.json).", path=True)
    brakes: str | None = _option(
        None, "Brakes on the joints, TORQUE[:RELEASE], as in 40:0.05 [N m, s to open]; they close on loss of power."
    )
    power_loss: float | None = _option(
        None, "Time at which the motors lose power [s]; brakes then close.", unit="s", most=1e6
    )
    forward_axis: str | None = _option(
        None,
        "Forward axis of the base in the model file: x, -x, y, -y; default: from the names of the legs.",
        compare=True,
    )
    repair_inertia: bool = _option(
        False, "Replace impossible inertias in the model file by those of the links' shapes.", compare=True
    )
    root: str | None = _option(None, "Root link of the robot, if the model file has several roots.", compare=True)
    out: str | None = _option(None, "Recording to write (.mcap).", path=True, compare=True)

    def __post_init__(self) -> None:
        for key, option in OPTIONS.items():
            object.__setattr__(self, key, _checked(key, str(option.type), getattr(self, key)))
        for key, option in OPTIONS.items():
            if option.metadata.get("positive") and not getattr(self, key) > 0:
                raise InputError(f"{key} must be positive, got {getattr(self, key)}")
        for key, option in OPTIONS.items():
            most = option.metadata.get("most")
            if most is not None and abs(getattr(self, key) or 0.0) > most:
                raise InputError(f"{key} must be at most {most:g}, got {getattr(self, key):g}")
        if self.seed < 0:
            raise InputError(f"seed must not be negative, got {self.seed}")
        if self.out is not None and Path(self.out).suffix != ".mcap":
            raise InputError(f"a recording is an .mcap file, got {self.out!r}; footfall convert makes tables from it")


OPTIONS = {option.name: option for option in dataclasses.fields(RunOptions)}
KEYS = tuple(OPTIONS)
MODEL_KEYS = ("forward_axis", "repair_inertia", "root")  # options for reading a model file


def model_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``load`` for options of a run or a command."""
    names = {"forward_axis": "forward"}
    return {names.get(key, key): given[key] for key in MODEL_KEYS if given.get(key)}


def simulation_arguments(options: RunOptions) -> dict[str, Any]:
    """Return the arguments of ``Simulation`` that options set directly."""
    found = {}
    for key, option in OPTIONS.items():
        if argument := option.metadata.get("argument"):
            read, value = option.metadata["read"], getattr(options, key)
            found[argument] = value if read is None else read(value)
    return found


def keys_with(mark: str) -> tuple[str, ...]:
    """Return the options whose metadata has a mark: "compare", "path", "unit"."""
    return tuple(key for key, option in OPTIONS.items() if option.metadata.get(mark))


def page_choices() -> dict[str, tuple[str, ...]]:
    """Return the entries of the page's menus, by option."""
    return {key: tuple(OPTIONS[key].metadata["choices"]()) for key in keys_with("page")}


def page_options(**chosen: str) -> RunOptions:
    """Return a run with the page's first choices, except for those given."""
    return RunOptions(**{key: OPTIONS[key].metadata["page"] for key in keys_with("page")} | chosen)


def _checked(name: str, kind: str, value: object) -> Any:
    """Return a value of the option's type: integers are accepted as decimal numbers, nothing else is converted."""
    if value is None and "None" in kind:
        return None
    wanted = kind.partition(" |")[0]
    if wanted == "float" and isinstance(value, (int, float)) and not isinstance(value, bool) and finite(value):
        return float(value)
    if wanted == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if wanted == "str" and isinstance(value, str) and value:
        return value
    if wanted == "bool" and isinstance(value, bool):
        return value
    words = {"float": "a finite number", "int": "a whole number", "str": "a string", "bool": "true or false"}[wanted]
    raise InputError(f"{name} must be {words}, got {value!r}")


__all__ = ["KEYS", "OPTIONS", "RunOptions", "keys_with", "page_choices", "page_options", "simulation_arguments"]
