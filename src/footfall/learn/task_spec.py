"""The description of a task in a TOML file: terms with weights and parameters, ranges, terrain, start, drive.

The tasks that come with footfall are the files in ``task_files``, to be copied and changed. ``task_spec`` reads and
checks a file; ``task.TermTask`` creates the task of a robot from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

from footfall.checks import finite_number, is_number, positive_number, whole_number
from footfall.contact.terrain import named
from footfall.control.learned.policy import OBSERVATIONS
from footfall.errors import InputError, reason, unknown
from footfall.gait.pattern import PATTERNS
from footfall.learn.ppo import Settings
from footfall.learn.randomise import RANGES, Randomisation, Range, checked_range
from footfall.learn.terms import CRITIC, ON_COURSES, REWARDS, TERMINATIONS, Function, Term, checked_parameters
from footfall.plugins import named_object, names_code
from footfall.spatial.gravity import STANDARD
from nptrace._types import Given

FOLDER = Path(__file__).parent / "task_files"
COMMANDS = ("forward", "sideways", "turn")
PLANE, COURSE, STAND, ANY_POSE = "plane", "course", "stand", "any_pose"
STARTS = (STAND, ANY_POSE)
CONTACTS = ("default", "yielding", "planning")
CONTACT_DT = {"default": 2e-3, "yielding": 2e-3, "planning": 5e-3}  # [s], physics steps for each contact model
# per kilogram of the robot [m/s] for an impulse, as a fraction of its mass for a load, of its weight for a force
PER_MASS = {"push_per_mass": "push", "payload_per_mass": "payload", "force_per_weight": "force"}
_MAX_BYTES = 1 << 20
_DRIVE = ("rate", "reach", "history", "gait", "period", "scale_period", "duty", "kp", "kd", "scan")
_SECTIONS = (
    "name", "scale", "seconds", "score", "physics", "drive", "terrain", "start", "commands", "observations", "rewards",
    "terminations", "randomise", "training",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A checked task description, for any robot.

    scale: whether lengths, speeds, times and impulses are given for a robot of the Mini Cheetah's size, and scale with
    the robot; otherwise they are absolute. score: the term that curves and exams show as ``score``, between 0 and 1.
    """

    name: str
    scale: bool = True
    seconds: float = 20.0  # duration of an episode
    score: str = "gait_timing"
    dt: float = 2e-3  # physics step [s]
    collisions: str = ""  # parts that touch the ground besides the feet
    contact: str = "default"
    drive: Mapping[str, Given] = field(default_factory=dict)
    terrain: str = PLANE
    own_terrain: Callable[..., Given] | None = None
    start: str = STAND
    any_pose: float = 0.5  # fraction of the episodes that start in any pose, for that start
    commands: Mapping[str, Range] = field(default_factory=dict)
    draw: str = ""
    own_draw: Callable[..., Given] | None = None  # commands from three uniform draws
    policy: tuple[str, ...] = ()  # observations; the default ones if empty
    critic: tuple[Term, ...] = ()  # the critic's inputs besides them
    rewards: Mapping[str, Term] = field(default_factory=dict)
    terminations: tuple[Term, ...] = ()
    randomise: Mapping[str, Given] = field(default_factory=dict)
    training: Mapping[str, Given] = field(default_factory=dict)  # settings of PPO

    @property
    def weights(self) -> dict[str, float]:
        return {key: term.weight for key, term in self.rewards.items()}

    @property
    def kind(self) -> str:
        """Return the built-in task with this start, terrain and observations: it defines how policies are evaluated."""
        if self.start == ANY_POSE:
            return "recover"
        if self.terrain == COURSE:
            return "rough" if "heights" in self.policy else "rough_blind"
        return "walk"


@cache
def shipped(name: str) -> TaskSpec:
    """Return a task that comes with footfall."""
    return task_spec(FOLDER / f"{name}.toml")


def shipped_names() -> tuple[str, ...]:
    """Return the names of the tasks that come with footfall as files."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def example(name: str) -> str:
    """Return the annotated TOML of a task that comes with footfall."""
    if name not in shipped_names():
        raise unknown("task", name, shipped_names())
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def read_toml(path: str | Path) -> dict[str, Given]:
    """Return the content of a TOML file, or raise in one sentence."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read the task {path}: {reason(error)}") from None
    if len(data) > _MAX_BYTES:
        raise InputError(f"the task {path} is larger than {_MAX_BYTES >> 20} MiB")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the task {path} is not TOML: {error}") from None


def code_names(words: Mapping[str, Given]) -> tuple[str, ...]:
    """Return the names ``module:name`` of user-defined terms in a file, each once; nothing is imported."""
    found: dict[str, None] = {}

    def look(name: Given) -> None:
        if isinstance(name, str) and names_code(name):
            found[name] = None

    for section in ("rewards", "terminations"):
        entries = words.get(section)
        for key, entry in entries.items() if isinstance(entries, Mapping) else ():
            look(entry.get("term", key) if isinstance(entry, Mapping) else key)
    for section, key in (("terrain", "type"), ("commands", "draw")):
        entry = words.get(section)
        look(entry.get(key) if isinstance(entry, Mapping) else None)
    observations = words.get("observations")
    for names in observations.values() if isinstance(observations, Mapping) else ():
        for name in names if isinstance(names, list) else ():
            look(name)
    return tuple(found)


def task_spec(path: str | Path, *, allow_code: bool = False) -> TaskSpec:
    """Return the task that a TOML file describes, or raise in one sentence that names the key.

    allow_code: terms ``module:name`` are imported; modules beside the file are found.
    """
    return _Reader(Path(path), read_toml(path), allow_code).spec()


class _Reader:
    """Read one file; ``where`` is its name in messages."""

    def __init__(self, path: Path, words: dict[str, Given], allow_code: bool) -> None:
        self.path, self.words, self.allow_code, self.where = path, words, allow_code, f"the task {path.name}"

    def spec(self) -> TaskSpec:
        for key in self.words:
            if key not in _SECTIONS:
                raise unknown(f"key of {self.where}", key, _SECTIONS)
        physics = self.table("physics", ("dt", "collisions", "contact"))
        terrain, start = self.table("terrain", ("type",)), self.table("start", ("type", "any_pose"))
        commands, observations = self.table("commands", (*COMMANDS, "draw")), self.observations()
        ground, pose = self.text(terrain, "type", PLANE, "terrain"), self.text(start, "type", STAND, "start")
        if pose not in STARTS:
            raise unknown(f"type of the start in {self.where}", pose, STARTS)
        if pose == ANY_POSE and ground != PLANE:
            raise InputError(f"{self.where} starts in any pose, which is possible only on a plane, not on {ground!r}")
        own_terrain = self.terrain(ground)
        part = self.number(start, "any_pose", 0.5, "any_pose of the start")
        if not 0.0 <= part <= 1.0:
            raise InputError(f"any_pose of the start in {self.where} must lie in [0, 1], got {part:g}")
        contact = self.text(physics, "contact", "default", "contact")
        if contact not in CONTACTS:
            raise unknown(f"contact in {self.where}", contact, CONTACTS)
        rewards = self.rewards()
        score = self.text(self.words, "score", "gait_timing", "score")
        if score not in rewards and score not in REWARDS:
            raise unknown(f"score of {self.where}", score, [*rewards, *REWARDS])
        terminations = tuple(
            self.term(key, entry, TERMINATIONS, "termination") for key, entry in self.entries("terminations")
        )
        used = [term.name for term in (*rewards.values(), *terminations, *observations["critic"])]
        if ground != COURSE and (lost := next((name for name in used if name in ON_COURSES), None)):
            raise InputError(
                f'the term {lost!r} of {self.where} works only on a course: it needs  type = "course"  in [terrain]'
            )
        draw = self.text(commands, "draw", "", "draw of the commands")
        seconds = positive_number(self.words.get("seconds", 20.0), f"seconds of {self.where}")
        return TaskSpec(
            name=self.text(self.words, "name", self.path.stem, "name"),
            scale=self.truth(self.words, "scale", True),
            seconds=seconds,
            score=score,
            dt=positive_number(physics.get("dt", 2e-3), f"dt of {self.where}"),
            collisions=self.text(physics, "collisions", "", "collisions"),
            contact=contact,
            drive=self.drive(),
            terrain=ground,
            own_terrain=own_terrain,
            start=pose,
            any_pose=part,
            commands={
                key: checked_range(commands.get(key, 0.0), f"the command {key} of {self.where}") for key in COMMANDS
            },
            draw=draw,
            own_draw=self.code(draw, "draw of the commands") if draw else None,
            policy=observations["policy"],
            critic=observations["critic"],
            rewards=rewards,
            terminations=terminations,
            randomise=self.randomise(),
            training=self.training(),
        )

    # -- sections ------------------------------------------------------------------------------------------------------
    def table(self, name: str, known: tuple[str, ...] | None = None) -> dict[str, Given]:
        found = self.words.get(name, {})
        if not isinstance(found, dict):
            raise InputError(f"[{name}] of {self.where} must be a table, got {found!r}")
        for key in found if known is not None else ():
            if key not in (known or ()):
                raise unknown(f"key of [{name}] in {self.where}", key, known or ())
        return found

    def entries(self, name: str) -> list[tuple[str, dict[str, Given]]]:
        found = self.table(name)
        for key, entry in found.items():
            if not isinstance(entry, dict):
                raise InputError(f"[{name}.{key}] of {self.where} must be a table, as {key} = {{ }}, got {entry!r}")
        return list(found.items())

    def rewards(self) -> dict[str, Term]:
        found: dict[str, Term] = {}
        for key, entry in self.entries("rewards"):
            if "weight" not in entry:
                raise InputError(f"the reward '{key}' of {self.where} has no weight")
            weight = entry["weight"]
            if isinstance(weight, bool) or not is_number(weight):
                raise InputError(f"the weight of the reward '{key}' of {self.where} must be a number, got {weight!r}")
            rest = {name: value for name, value in entry.items() if name != "weight"}
            found[key] = self.term(key, rest, REWARDS, "reward", float(weight))
        if not found:
            raise InputError(f"{self.where} has no rewards: name at least one, of {', '.join(REWARDS)}")
        return found

    def term(
        self, key: str, entry: Mapping[str, Given], table: Mapping[str, Function], what: str, weight: float = 0.0
    ) -> Term:
        """Return a term: its function is given by ``term``, or by its key."""
        name = entry.get("term", key)
        given = {k: value for k, value in entry.items() if k != "term"}
        described = f"the {what} '{key}' of {self.where}"
        if not isinstance(name, str):
            raise InputError(f"term of {described} must be a name, got {name!r}")
        own = self.code(name, described) if names_code(name) else None
        if own is None and name not in table:
            raise unknown(f"term of {described}", name, table, "choose your own module:name, or one of")
        function = own or table[name]
        return Term(name, checked_parameters(function, given, described), weight, own)

    def code(self, name: str, what: str) -> Function:
        if not names_code(name):
            raise InputError(f"{what} of {self.where} must be a module:name, got {name!r}")
        if not self.allow_code:
            raise InputError(
                f"{name!r} in {self.where} is code, which would run with your rights: if you trust it, add"
                "  --allow-code  (allow_code=True in Python)"
            )
        found: Function = named_object(name, self.path.resolve().parent)
        return found

    def observations(self) -> dict[str, tuple[Given, ...]]:
        found = self.table("observations", ("policy", "critic"))
        for key, names in found.items():
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise InputError(f"{key} of [observations] in {self.where} must be a list of names, got {names!r}")
            if len(set(names)) < len(names):
                raise InputError(f"{key} of [observations] in {self.where} names an observation twice")
        policy = found.get("policy", [])
        for name in policy:
            if names_code(name):
                raise InputError(
                    f"{name!r} in {self.where} cannot be a policy's observation, which a robot must measure without"
                    f" your code: give it to the critic, or choose {', '.join(OBSERVATIONS)}"
                )
            if name not in OBSERVATIONS:
                raise unknown(f"observation of the policy in {self.where}", name, OBSERVATIONS)
        if policy and "command" not in policy:
            raise InputError(f"the policy of {self.where} must observe its command")
        critic = [self.term(name, {}, CRITIC, "observation") for name in found.get("critic", [])]
        return {"policy": tuple(policy), "critic": tuple(critic)}

    def drive(self) -> dict[str, Given]:
        found = self.table("drive", _DRIVE)
        checked: dict[str, Given] = {}
        for key, value in found.items():
            what = f"{key} of the drive in {self.where}"
            if key == "gait":
                if value not in PATTERNS:
                    raise unknown(what, value, PATTERNS)
                checked[key] = value
            elif key == "scale_period":
                checked[key] = self.truth(found, key, True)
            elif key == "history":
                checked[key] = whole_number(value, what, 1)
            elif key == "scan":
                checked[key] = self.points(value, what)
            else:
                if isinstance(value, bool):
                    raise InputError(f"{what} must be a number, got {value!r}")
                checked[key] = positive_number(value, what)
        return checked

    def points(self, value: Given, what: str) -> tuple[tuple[float, float], ...]:
        pairs: list[Given] = value if isinstance(value, list) else [()]
        if not all(isinstance(p, list) and len(p) == 2 and all(map(is_number, p)) for p in pairs):
            raise InputError(f"{what} must be a list of points [forward, left] in metres, got {value!r}")
        return tuple((float(x), float(y)) for x, y in pairs)

    def terrain(self, name: str) -> Callable[..., Given] | None:
        """Check the name of a ground; return a user-defined one."""
        if names_code(name):
            return self.code(name, "type of the terrain")
        if name not in (PLANE, COURSE):
            try:
                named(name)
            except InputError as error:
                raise InputError(f"type of the terrain in {self.where} is {COURSE}, or a ground: {error}") from None
        return None

    def randomise(self) -> dict[str, Given]:
        found, known = self.table("randomise"), [f.name for f in fields(Randomisation)]
        checked: dict[str, Given] = {}
        for key, value in found.items():
            what = f"{key} of [randomise] in {self.where}"
            if key not in (*known, *PER_MASS):
                raise unknown(f"key of [randomise] in {self.where}", key, [*known, *PER_MASS])
            if key in (*RANGES, *PER_MASS):
                checked[key] = checked_range(value, what)
            elif key == "factors":
                if not isinstance(value, dict):
                    raise InputError(f"{what} must be ranges by a parameter's path, got {value!r}")
                checked[key] = {path: checked_range(limits, f"{path} of {what}") for path, limits in value.items()}
            else:
                checked[key] = finite_number(value, what)
        for key, plain in PER_MASS.items():
            if key in checked and plain in checked:
                raise InputError(f"[randomise] in {self.where} has both {plain} and {key}: remove one")
        return checked

    def training(self) -> dict[str, Given]:
        known = {f.name: f.default for f in fields(Settings)}
        found = self.table("training", tuple(known))
        checked: dict[str, Given] = {}
        for key, value in found.items():
            what = f"{key} of [training] in {self.where}"
            if key == "hidden":
                if not isinstance(value, list) or not value:
                    raise InputError(f"{what} must be the sizes of the hidden layers, as [64, 64], got {value!r}")
                checked[key] = tuple(whole_number(size, what, 1, 4096) for size in value)
            elif isinstance(known[key], str):
                checked[key] = self.text(found, key, "", what)
            elif isinstance(known[key], int):
                checked[key] = whole_number(value, what, 1)
            else:
                checked[key] = finite_number(value, what)
        Settings(**checked)
        return checked

    # -- values --------------------------------------------------------------------------------------------------------
    def text(self, table: Mapping[str, Given], key: str, default: str, what: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise InputError(f"{what} of {self.where} must be a string, got {value!r}")
        return value

    def truth(self, table: Mapping[str, Given], key: str, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            raise InputError(f"{key} of {self.where} must be true or false, got {value!r}")
        return value

    def number(self, table: Mapping[str, Given], key: str, default: float, what: str) -> float:
        value = table.get(key, default)
        if isinstance(value, bool) or not is_number(value):
            raise InputError(f"{what} in {self.where} must be a number, got {value!r}")
        return float(value)


def default_randomisation(spec: TaskSpec, mass: float, impulse: float, length: float) -> Randomisation:
    """Return the ranges for a robot with a mass [kg], whose pushes scale by ``impulse`` and whose lengths by another
    factor.
    """
    given = dict(spec.randomise)
    for key, plain in PER_MASS.items():
        if key in given:
            low, high = given.pop(key)
            most = mass * STANDARD if key == "force_per_weight" else mass
            given[plain] = (low * most, high * most)
        elif plain == "push":
            low, high = given.get(plain, Randomisation().push)
            given[plain] = (low * impulse, high * impulse)
    if "softness" in given:
        low, high = given["softness"]
        given["softness"] = (low * length, high * length)
    return Randomisation(**given)


__all__ = ["TaskSpec", "example", "shipped", "shipped_names", "task_spec"]
