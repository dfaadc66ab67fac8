"""The description of a policy that travels with it: joints, gains, rate, observations and actions.

The same keys are used in the metadata of an ONNX file (as text; lists with commas) and in a mapping file (TOML), for a
policy trained elsewhere. Names are those of mjlab's and Isaac Lab's exports where they exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from footfall.checks import whole_number
from footfall.control.learned.scan import ScanPoints
from footfall.errors import InputError, finite, unknown
from nptrace._types import Given, Operand, PyTree, Scalar
from nptrace.array_types import Float

# Terms of an observation: the size of each (0: one number per joint; for heights, one per point), and names in other
# libraries.
TERMS: Mapping[str, int] = {
    "angular_velocity": 3,
    "linear_velocity": 3,
    "down": 3,
    "command": 3,
    "joints": 0,
    "rates": 0,
    "action": 0,
    "clock": 2,
    "heights": 0,
}
TERM_ALIASES: Mapping[str, str] = {
    "base_ang_vel": "angular_velocity",
    "imu_ang_vel": "angular_velocity",
    "base_lin_vel": "linear_velocity",
    "imu_lin_vel": "linear_velocity",
    "projected_gravity": "down",
    "gravity": "down",
    "velocity_commands": "command",
    "twist": "command",
    "joint_pos": "joints",
    "joint_pos_rel": "joints",
    "dof_pos": "joints",
    "joint_vel": "rates",
    "joint_vel_rel": "rates",
    "dof_vel": "rates",
    "actions": "action",
    "last_action": "action",
    "phase": "clock",
}
UNITS = {"rad": 1.0, "deg": 180.0 / np.pi}
FRAMES = ("base", "world")
STACKINGS = ("term", "frame")

# one number per joint
_LISTS = ("joint_signs", "default_joint_pos", "joint_stiffness", "joint_damping", "action_scale")
_TERM_LISTS = ("observation_scales", "observation_clip")  # one number per term
_SCAN_POINTS = "scan_points"  # forward and left of the trunk [m], point by point
_NUMBERS = ("rate", "action_clip", "clock_period")
_NAMES = ("joint_names", "observation_names")
_CHOICES = {"joint_unit": tuple(UNITS), "frame": FRAMES, "observation_stacking": STACKINGS}
_FREE = ("robot",)
KEYS = (*_FREE, *_NAMES, *_LISTS, *_TERM_LISTS, *_NUMBERS, *_CHOICES, "observation_history", _SCAN_POINTS)
# default values; the other keys cannot be guessed
DEFAULTS: Mapping[str, Given] = {
    "robot": "",
    "joint_signs": [1.0],
    "joint_unit": "rad",
    "frame": "base",
    "action_clip": None,
    "observation_scales": [1.0],
    "observation_clip": [np.inf],
    "observation_history": 1,
    "observation_stacking": "term",
    "clock_period": None,
    _SCAN_POINTS: [],
}
NEEDED = tuple(key for key in KEYS if key not in DEFAULTS)


@dataclass(frozen=True, eq=False, kw_only=True)
class Interface:
    """The wiring of a policy. Arrays have one number per joint, in the policy's order, sign and unit.

    The joints are controlled to ``default + action_scale * action`` by PD with ``kp``, ``kd``; an observation is
    ``terms`` in order, each clipped and then scaled.
    """

    robot: str
    joints: tuple[str, ...]
    signs: Float[ndarray, "n"]  # signs of the policy's angles relative to the robot's
    default: Float[ndarray, "n"]
    kp: Float[ndarray, "n"]  # [N m/rad]
    kd: Float[ndarray, "n"]  # [N m s/rad]
    action_scale: Float[ndarray, "n"]
    rate: float  # [Hz]
    terms: tuple[str, ...]
    scales: tuple[float, ...]  # scale of each term
    clips: tuple[float, ...]
    unit: str = "rad"
    frame: str = "base"  # axes in which velocities are given
    action_clip: float | None = None
    history: int = 1  # number of observations that it sees, oldest first
    stacking: str = "term"  # history stacked term by term, or frame by frame
    clock_period: float | None = None  # [s]
    scan: ScanPoints = ()  # points at which it observes heights of the ground
    given_keys: frozenset[str] = field(default_factory=frozenset)  # keys that were given, not filled with defaults

    NOT_IN_DIGEST = ("given_keys",)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the size of each term at one time."""
        return tuple(len(self.scan) if term == "heights" else TERMS[term] or len(self.joints) for term in self.terms)

    @property
    def size(self) -> int:
        """Return the size of an observation, including its history."""
        return self.history * sum(self.sizes)

    # -- words -------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Given]:
        """Return the interface as plain values, with the keys used in files."""
        return {
            "robot": self.robot,
            "joint_names": list(self.joints),
            "joint_signs": self.signs.tolist(),
            "joint_unit": self.unit,
            "default_joint_pos": self.default.tolist(),
            "joint_stiffness": self.kp.tolist(),
            "joint_damping": self.kd.tolist(),
            "action_scale": self.action_scale.tolist(),
            "action_clip": self.action_clip,
            "rate": self.rate,
            "observation_names": list(self.terms),
            "observation_scales": list(self.scales),
            "observation_clip": list(self.clips),
            "observation_history": self.history,
            "observation_stacking": self.stacking,
            "frame": self.frame,
            "clock_period": self.clock_period,
            _SCAN_POINTS: [float(x) for position in self.scan for x in position],
        }

    @staticmethod
    def of(values: Mapping[str, Given], where: str) -> Interface:
        """Create an interface from plain values; errors about wrong or missing ones name ``where``."""
        missing = [key for key in NEEDED if key not in values]
        if missing:
            raise InputError(f"{where} lacks {', '.join(missing)}: add it to a mapping file (--mapping)")
        full = {**DEFAULTS, **values}
        joints, terms = full["joint_names"], full["observation_names"]
        lists = {key: _broadcast(full[key], len(joints), f"{key} of {where}", "joint") for key in _LISTS}
        parts = {key: _broadcast(full[key], len(terms), f"{key} of {where}", "part") for key in _TERM_LISTS}
        if "clock" in terms and not full["clock_period"]:
            raise InputError(f"{where} observes a clock but lacks its clock_period")
        scan = _scan_points(full[_SCAN_POINTS], where)
        if ("heights" in terms) != bool(scan):
            raise InputError(f"{where} must give {_SCAN_POINTS} if and only if it observes heights")
        return Interface(
            robot=full["robot"],
            joints=tuple(joints),
            signs=lists["joint_signs"],
            default=lists["default_joint_pos"],
            kp=lists["joint_stiffness"],
            kd=lists["joint_damping"],
            action_scale=lists["action_scale"],
            rate=full["rate"],
            terms=tuple(terms),
            scales=tuple(parts["observation_scales"].tolist()),
            clips=tuple(parts["observation_clip"].tolist()),
            unit=full["joint_unit"],
            frame=full["frame"],
            action_clip=full["action_clip"],
            history=full["observation_history"],
            stacking=full["observation_stacking"],
            clock_period=full["clock_period"],
            scan=scan,
            given_keys=frozenset(values),
        )


def _broadcast(values: Sequence[float], count: int, what: str, each: str) -> ndarray:
    if len(values) not in (1, count):
        raise InputError(f"{what} must be one number, or one per {each} ({count}), got {len(values)}")
    return np.full(count, values[0]) if len(values) == 1 else np.array(values, float)


def _scan_points(numbers: Sequence[float], where: str) -> ScanPoints:
    if len(numbers) % 2:
        raise InputError(f"{_SCAN_POINTS} of {where} must be pairs of numbers, got {len(numbers)}")
    return tuple(zip(map(float, numbers[::2]), map(float, numbers[1::2])))


def check_values(values: Mapping[str, Given], where: str) -> dict[str, Given]:
    """Return checked values of a file by key; raise and name an unknown key or a wrong value."""
    out: dict[str, PyTree] = {}
    for key, value in values.items():
        what = f"{key} of {where}"
        if key in _NAMES:
            out[key] = _names(value, what)
        elif key == _SCAN_POINTS and value == []:
            out[key] = []
        elif key in (*_LISTS, *_TERM_LISTS, _SCAN_POINTS):
            out[key] = _numbers(value, what, infinite=key == "observation_clip")
        elif key in _NUMBERS:
            out[key] = None if value in (None, False) else _numbers(value, what)[0]
        elif key in _CHOICES:
            if value not in _CHOICES[key]:
                raise unknown(key, value, _CHOICES[key])
            out[key] = value
        elif key == "observation_history":
            out[key] = whole_number(value, what, 1, 1000)
        elif key == "robot":
            out[key] = str(value)
        else:
            raise unknown(f"key of {where}", key, KEYS)
    return _check_values(out, where)


def _check_values(out: dict[str, PyTree], where: str) -> dict[str, Given]:
    """Raise for numbers that no policy can have."""
    for key, low in (("joint_stiffness", 0.0), ("joint_damping", 0.0), ("observation_clip", 0.0)):
        if key in out and min(out[key]) < low:
            raise InputError(f"{key} of {where} must not be negative")
    for key in _NUMBERS:
        if out.get(key) is not None and not out[key] > 0:
            raise InputError(f"{key} of {where} must be positive, got {out[key]:g}")
    if any(abs(sign) != 1 for sign in out.get("joint_signs", ())):
        raise InputError(f"joint_signs of {where} must be 1 or -1 each")
    if "observation_names" in out:
        out["observation_names"] = [TERM_ALIASES.get(name, name) for name in out["observation_names"]]
        for name in out["observation_names"]:
            if name not in TERMS:
                raise unknown(f"part of an observation in {where}", name, (*TERMS, *TERM_ALIASES))
    return out


def _names(value: Given, what: str) -> list[str]:
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(x, str) and x for x in value):
        raise InputError(f"{what} must be a list of names, got {value!r}")
    return list(value)


def _numbers(value: Given, what: str, infinite: bool = False) -> list[float]:
    values = value if isinstance(value, (list, tuple)) else [value]
    real = [x for x in values if isinstance(x, (int, float)) and not isinstance(x, bool)]
    fine = [finite(x) or (infinite and x in (np.inf, -np.inf)) for x in real]
    if len(real) != len(values) or not real or not all(fine):
        raise InputError(f"{what} must be a finite number, or a list of them, got {str(value)[:60]!r}")
    return [float(x) for x in real]


# -- text --------------------------------------------------------------------------------------------------------------
def to_text(values: Mapping[str, Given]) -> dict[str, str]:
    """Return values as text for metadata: lists with commas, "none" for nothing."""

    def shown(x: Scalar) -> str:
        return "none" if x is None else x if isinstance(x, str) else repr(x)

    return {k: ",".join(map(shown, v)) if isinstance(v, list) else shown(v) for k, v in values.items()}


def from_text(text: Mapping[str, str], where: str) -> dict[str, Given]:
    """Return values of metadata; other keys are ignored."""
    return check_values({key: _value(key, text[key], f"{key} of {where}") for key in KEYS if key in text}, where)


def _value(key: str, text: str, what: str) -> Operand:
    if key in _NAMES:
        return [name.strip() for name in text.split(",")]
    if key in _CHOICES or key in _FREE:
        return text
    if text == "none":
        return None
    if key == _SCAN_POINTS and not text:
        return []
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        raise InputError(f"{what} must be numbers, got {text[:60]!r}") from None
    return numbers if key in (*_LISTS, *_TERM_LISTS, _SCAN_POINTS) else numbers[0]
