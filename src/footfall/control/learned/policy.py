"""Walking with a learned policy: a small network from sensor readings to joint offsets around standing.

``Drive`` is the interface shared by training and walking: the observations, and the meaning of actions. ``Policy`` is a
network behind it: plain NumPy, traced and compiled with the physics like any other controller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall import __version__
from footfall._io.archive import NoArchive, read_archive
from footfall._io.file_format import check_version, version_in
from footfall.checks import whole_number
from footfall.contact.ground import Ground
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed, check_rate
from footfall.control.joint.joint_pd import check_gain, gains_of
from footfall.control.learned import onnx_file
from footfall.control.learned.interface import DEFAULTS, Interface, check_values, from_text, to_text
from footfall.control.learned.mapping import checked_mapping, interface_of, read_mapping
from footfall.control.learned.network import ACTIVATIONS, Graph, layers_of
from footfall.control.learned.past import append_history
from footfall.control.learned.scan import MAX_HEIGHT, NO_GROUND_MESSAGE, ScanPoints, heights_seen
from footfall.control.learned.travelled import ImportedPolicy
from footfall.draw.notebook import Summarised
from footfall.errors import SPOILED, InputError, unknown
from footfall.gait.pattern import Gait, trot
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, PyTree
from nptrace.array_types import Float

OBSERVATIONS = (
    "angular_velocity", "linear_velocity", "down", "command", "joints", "rates", "action", "clock", "heights",
)  # fmt: skip
USUAL = tuple(name for name in OBSERVATIONS if name not in ("linear_velocity", "heights"))
SUFFIXES = (".npz", ".onnx")
SHIPPED = Path(__file__).parent / "policies"
FORMAT = 1  # version of its files
_MAX_BYTES = 1 << 27  # largest policy file: one for 12 joints has less than a megabyte
_MAX_LAYERS = 32
_MAX_HISTORY = 100  # largest number of observations that a policy sees
_SPINE_STIFFNESS_RATIO = 10.0  # by how much stiffer the joints outside the legs are held
# Bounds of each observation term, so that spaces are bounded: values beyond them are clipped.
MAX_GYRO, MAX_COMMAND, MAX_OFFSET, MAX_RATE = 40.0, 3.0, 3.0, 60.0  # [rad/s], [m/s or rad/s], [rad], [rad/s]
MAX_SPEED = 10.0  # [m/s]


@dataclass(frozen=True, kw_only=True)
class Drive:
    """The connection of a policy to a robot: an action of 1 moves a joint by ``reach`` [rad] from standing, under PD.

    Gains in N m/rad and N m s/rad. The gait defines the clock in the observations and when each foot should be in
    contact.
    """

    gait: Gait = field(default_factory=lambda: trot(period=0.4, duty=0.55))
    kp: float = 40.0
    kd: float = 1.0
    reach: float = 0.5
    rate: float = 50.0  # [Hz]
    history: int = 1  # number of observations that it sees, oldest first
    scan: ScanPoints = ()  # points of its height scan, forward and left of the trunk [m]
    observations: tuple[str, ...] = ()  # observation terms in order, from ``OBSERVATIONS``; empty: the default ones

    def __post_init__(self) -> None:
        check_rate(self.rate)
        whole_number(self.history, "history of a Drive", 1, _MAX_HISTORY)
        object.__setattr__(self, "scan", tuple((float(x), float(y)) for x, y in self.scan))
        object.__setattr__(self, "observations", tuple(self.observations))
        for name in self.observations:
            if name not in OBSERVATIONS:
                raise unknown("observation", name, OBSERVATIONS)
        if self.observations and ("heights" in self.observations) != bool(self.scan):
            raise InputError("a Drive needs a scan (the points of its height scan) if and only if it observes heights")
        for key in ("kp", "kd", "reach"):
            check_gain(getattr(self, key), f"{key} of a Drive", ())

    def command(
        self, robot: Robot, action: Float[ndarray, "nj"], gains: Float[ndarray, "2"] | tuple[float, float] = (1.0, 1.0)
    ) -> JointCommand:
        """Return the joint command for an action; ``gains`` multiply stiffness and damping."""
        position = _stand(robot) + self.reach * np.clip(action, -1.0, 1.0)
        kp, kd = (
            gains_of(robot, self.kp, _SPINE_STIFFNESS_RATIO * self.kp),
            gains_of(robot, self.kd, _SPINE_STIFFNESS_RATIO * self.kd),
        )
        return JointCommand(position=position, kp=gains[0] * kp, kd=gains[1] * kd)

    def observe(
        self,
        robot: Robot,
        t: float,
        sensed: Sensed,
        command: Command,
        action: Float[ndarray, "nj"],
        heights: Float[ndarray, "k"] | tuple[()] = (),
    ) -> Float[ndarray, "no"]:
        """Return the observation at one time, in the order of ``terms``; ``action`` is the previous one."""
        down = -to_rotation(sensed.q[3:7])[2]
        joints, rates = sensed.q[robot.nq - robot.nj :] - _stand(robot), sensed.v[robot.nv - robot.nj :]
        cycles = t / self.gait.period
        angle = 2.0 * np.pi * (cycles - np.floor(cycles))
        values = {
            "angular_velocity": sensed.gyro,
            "linear_velocity": sensed.v[3:6],
            "down": down,
            "command": np.stack([command.forward, command.sideways, command.turn]),
            "joints": joints,
            "rates": rates,
            "action": action,
            "clock": np.stack([np.sin(angle), np.cos(angle)]),
            "heights": np.asarray(heights),
        }
        terms = self.terms(robot)
        return np.concatenate([np.clip(values[name], -limit, limit) for name, (_, limit) in terms.items()])

    def terms(self, robot: Robot) -> dict[str, tuple[int, float]]:
        """Return the observation terms in order: name, size and bound."""
        known = {
            "angular_velocity": (3, MAX_GYRO),  # of the base, in its own axes [rad/s]
            "linear_velocity": (3, MAX_SPEED),  # of the base, in its own axes [m/s]
            "down": (3, 1.0),  # direction of gravity in base axes
            "command": (3, MAX_COMMAND),  # forward, sideways [m/s], turn [rad/s]
            "joints": (robot.nj, MAX_OFFSET),  # from standing [rad]
            "rates": (robot.nj, MAX_RATE),  # [rad/s]
            "action": (robot.nj, 1.0),  # the previous action
            "clock": (2, 1.0),  # sine and cosine of the gait's phase
            "heights": (len(self.scan), MAX_HEIGHT),  # heights of the ground [m]
        }
        usual = (*USUAL, "heights") if self.scan else USUAL
        return {name: known[name] for name in self.observations or usual}

    def term_slice(self, robot: Robot, name: str) -> slice:
        """Return the slice of a term in an observation."""
        at = 0
        for key, (count, _) in self.terms(robot).items():
            if key == name:
                return slice(at, at + count)
            at += count
        raise unknown("part of an observation", name, self.terms(robot))

    def interface(self, robot: Robot) -> Interface:
        """Describe this drive on a robot as an ``Interface``, which can be written to a file."""
        terms, n = self.terms(robot), robot.nj
        kp, kd = (
            gains_of(robot, self.kp, _SPINE_STIFFNESS_RATIO * self.kp),
            gains_of(robot, self.kd, _SPINE_STIFFNESS_RATIO * self.kd),
        )
        return Interface(
            robot=robot.name,
            joints=robot.joint_names,
            signs=np.ones(n),
            default=np.array(_stand(robot)),
            kp=kp,
            kd=kd,
            action_scale=np.full(n, self.reach),
            rate=self.rate,
            terms=tuple(terms),
            scales=(1.0,) * len(terms),
            clips=tuple(most for _, most in terms.values()),
            action_clip=1.0,
            clock_period=self.gait.period,
            history=self.history,
            stacking="term" if self.history == 1 else "frame",
            scan=self.scan,
        )

    def frame_bounds(self, robot: Robot) -> Float[ndarray, "no"]:
        """Return bounds of each number of one observation."""
        return np.concatenate([np.full(count, most) for count, most in self.terms(robot).values()])

    def bounds(self, robot: Robot) -> Float[ndarray, "no"]:
        """Return bounds of each number of an observation, history included."""
        return np.tile(self.frame_bounds(robot), self.history)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Policy(Summarised, Controller):
    """A neural network that controls a robot: action = network((observation - mean) / spread), clipped to [-1, 1]."""

    robot: str  # name of the robot it was learned on
    drive: Drive
    mean: Float[ndarray, "no"]
    spread: Float[ndarray, "no"]
    weights: tuple[tuple[ndarray, ndarray], ...]  # (W, b) of every layer
    activation: str = "tanh"  # between layers
    joints: tuple[str, ...] = ()  # joints of the robot that it was trained on, in order; () if unknown
    task: str = "walk"  # task that it was trained for
    ground: Ground | None = None  # terrain around the robot, if it observes it

    NOT_IN_DIGEST = ("joints", "task")
    info = ControllerInfo(follows_command=True)

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        sizes = " -> ".join(str(n) for n in (len(self.mean), *(len(b) for _, b in self.weights)))
        return f"'{self.robot}'", [("task", self.task), ("network", sizes), ("rate", f"{self.rate:g} Hz")]

    @property
    def rate(self) -> float:
        return self.drive.rate

    @property
    def gait(self) -> Gait:
        """Return the gait clock of its observations."""
        return self.drive.gait

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the initial joint positions [rad]."""
        return _stand(robot)

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return no limits for the components that it observes; nothing is clipped."""
        return dict.fromkeys(("forward", "sideways", "turn"), np.inf)

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return the initial memory: the last action and previous observations."""
        self.check_fits(robot)
        if self.sees_ground and self.ground is None:
            raise InputError(NO_GROUND_MESSAGE)
        return self.first_memory(robot)

    def first_memory(self, robot: Robot) -> dict[str, ndarray]:
        """Return the memory before the first tick without checking the robot or the ground."""
        memory = {"action": np.zeros(robot.nj)}
        if self.drive.history > 1:
            memory |= {"past": np.zeros((self.drive.history, len(self.drive.frame_bounds(robot)))), "seen": np.zeros(1)}
        return memory

    @property
    def sees_ground(self) -> bool:
        return bool(self.drive.scan)

    def over(self, ground: Ground) -> Policy:
        """Return this policy with a known ground."""
        return replace(self, ground=ground)

    def check_fits(self, robot: Robot) -> None:
        """Raise an error if it does not fit a robot."""
        size, seen = len(self.weights[-1][1]), len(self.drive.bounds(robot))
        if size != robot.nj or seen != len(self.mean):
            raise InputError(f"this policy drives '{self.robot}' with {size} joints, not '{robot.name}' ({robot.nj})")
        if self.joints and self.joints != robot.joint_names:
            raise InputError(
                f"this policy drives the joints {', '.join(self.joints)}; robot '{robot.name}' has"
                f" {', '.join(robot.joint_names)}"
            )

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        heights = heights_seen(robot, self.ground, sensed.q, self.drive.scan) if self.sees_ground else ()
        return self.tick(t, robot, sensed, command, memory, heights)

    def tick(
        self,
        t: float,
        robot: Robot,
        sensed: Sensed,
        command: Command,
        memory: dict[str, ndarray],
        heights: Float[ndarray, "k"] | tuple[()] = (),
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        """Run a tick with measured ground heights, for a policy that observes them."""
        drive = self.drive
        now = drive.observe(robot, t, sensed, command, memory["action"], heights)
        after = {}
        if drive.history > 1:
            after = {"past": append_history(memory["past"], memory["seen"][0] > 0.5, now), "seen": np.ones(1)}
            now = after["past"].reshape(-1)
        action = self.action(now)
        return drive.command(robot, action), {"action": action, **after}

    def action(self, observation: PyTree) -> PyTree:
        """Return the action for an observation, or for rows of them."""
        return np.clip(layers_of(self.weights, (observation - self.mean) / self.spread, self.activation)[-1], -1.0, 1.0)

    # -- files -------------------------------------------------------------------------------------------------------
    def save(self, path: str | Path, robot: Robot | None = None) -> None:
        """Save as .npz (plain arrays in single precision) or .onnx (with metadata on its wiring).

        ``robot``: the robot that it controls, whose joints, pose and gains an .onnx file contains; otherwise the
        library robot of its name.
        """
        suffix = Path(path).suffix
        if suffix not in SUFFIXES:
            raise InputError(f"a policy is an {' or '.join(SUFFIXES)} file, got {path}")
        if suffix == ".onnx":
            subject = robot if robot is not None else _of_library(self.robot)
            self.check_fits(subject)
            numbers = (self.mean, self.spread, self.weights, self.activation)
            onnx_file.write_onnx(path, *numbers, clip=1.0, metadata=self.metadata(subject))
            return
        arrays = {f"{name}{k}": x for k, layer in enumerate(self.weights) for name, x in zip("Wb", layer)}
        text = json.dumps(self._words())
        single: dict[str, PyTree] = {
            key: np.asarray(x, np.float32) for key, x in {"mean": self.mean, "spread": self.spread, **arrays}.items()
        }
        np.savez_compressed(path, format=np.array(FORMAT), words=np.frombuffer(text.encode(), np.uint8), **single)

    def _words(self) -> dict[str, Given]:
        words = {"robot": self.robot, "task": self.task, "drive": asdict(self.drive), "activation": self.activation}
        return {**words, "joints": list(self.joints)}

    def metadata(self, robot: Robot) -> dict[str, str]:
        """Return the metadata of an .onnx file: how the network is wired to a robot, and which version wrote it."""
        drive = {
            "drive": json.dumps(asdict(self.drive)),
            "footfall_format": str(FORMAT),
            "written_by": f"footfall {__version__}",
        }
        more = {
            "task": self.task,
            "normalisation": "inside",
            "quaternion_order": "wxyz",
            "axes": "x forward, y left, z up",
        }
        return {**to_text(self.drive.interface(robot).to_dict()), **drive, **more}

    @staticmethod
    def load(
        path: str | Path = "mini_cheetah", mapping: Mapping[str, Given] | str | Path | None = None
    ) -> Policy | ImportedPolicy:
        """Load a policy from an .npz or .onnx file, or one that comes with footfall, by its robot's name.

        An .onnx file from elsewhere becomes an ``ImportedPolicy``, wired according to its metadata; ``mapping``, a
        table or a TOML file (``learned.mapping``), supplies missing keys.
        """
        file = Path(path)
        if not file.suffix:
            known = shipped()
            if str(path) not in known:
                raise unknown("policy", path, known, "footfall comes with")
            file = SHIPPED / f"{path}.npz"
        if file.suffix == ".onnx":
            return _from_onnx(file, mapping)
        if mapping:
            raise InputError(f"a mapping is for a policy in ONNX, not for {file}")
        try:
            arrays = read_archive(file, _MAX_BYTES)
        except OSError as error:
            raise InputError(f"cannot read the policy {file}: {error.strerror or error}") from None
        except NoArchive as error:
            raise InputError(f"{file} is not a policy of footfall: {error}") from None
        if "words" not in arrays:
            raise InputError(f"{file} is not a policy of footfall")
        check_version(file, version_in(arrays), FORMAT)
        try:
            policy = _policy_of_archive(arrays)
        except InputError as error:
            raise InputError(f"{file} is not a policy of footfall: {error}") from None
        except SPOILED:
            raise InputError(f"{file} is not a policy of footfall") from None
        policy.check(file)
        return policy

    def check(self, file: str | Path) -> None:
        """Raise an error for layers that do not fit together, or numbers that are not finite."""
        numbers = [self.mean, self.spread, *(x for layer in self.weights for x in layer)]
        flat = all(x.ndim == 1 for x in (self.mean, self.spread, *(b for _, b in self.weights)))
        sizes = [self.mean.size, *(b.size for _, b in self.weights)]
        fits = [W.shape == (a, b) for (W, _), a, b in zip(self.weights, sizes, sizes[1:])]
        same = self.spread.shape == self.mean.shape
        if not (flat and same and self.weights and all(fits)) or not (self.spread > 0).all():
            raise InputError(f"the layers of the policy {file} do not fit together")
        if not all(np.isfinite(x).all() for x in numbers):
            raise InputError(f"the policy {file} holds numbers that are not finite")


def _policy_of_archive(arrays: dict[str, ndarray]) -> Policy:
    """Return the policy in an archive; anything wrong with it raises an error."""
    words = json.loads(arrays["words"].tobytes())
    count = sum(key.startswith("W") for key in arrays)
    if count > _MAX_LAYERS or not isinstance(words["robot"], str):
        raise ValueError
    weights = tuple((arrays[f"W{k}"].astype(float), arrays[f"b{k}"].astype(float)) for k in range(count))
    drive = {**words["drive"], "gait": Gait(**_tuples(words["drive"]["gait"]))}
    activation = words["activation"]
    if activation not in ACTIVATIONS:
        raise unknown("activation", activation, ACTIVATIONS)
    mean, spread = arrays["mean"].astype(float), arrays["spread"].astype(float)
    joints, task = words["joints"], words["task"]
    if not isinstance(joints, list) or not all(isinstance(name, str) for name in (*joints, task)):
        raise ValueError
    return Policy(
        robot=words["robot"],
        drive=Drive(**drive),
        mean=mean,
        spread=spread,
        weights=weights,
        activation=activation,
        joints=tuple(joints),
        task=task,
    )


def _from_onnx(file: Path, mapping: Mapping[str, Given] | str | Path | None) -> Policy | ImportedPolicy:
    """Return a ``Policy`` if footfall wrote it and its wiring is unchanged, otherwise an ``ImportedPolicy``."""
    if isinstance(mapping, (str, Path)):
        mapping = read_mapping(mapping)
    table = checked_mapping(mapping or {}, "the mapping")
    graph, metadata = onnx_file.read_onnx(file)
    words = from_text(metadata, str(file))
    if not table and "drive" in metadata:
        ours = _own_policy(file, graph, metadata, words)
        if ours is not None:
            return ours
    return ImportedPolicy(graph, interface_of(words, table, str(file)))


def _own_policy(file: Path, graph: Graph, metadata: Mapping[str, str], words: dict[str, Given]) -> Policy | None:
    """Return a policy that ``save`` wrote; None if its metadata no longer match its drive."""
    layers = onnx_file.layers(graph)
    if layers is None:
        return None
    written = metadata.get("footfall_format")
    check_version(file, int(written) if written == str(FORMAT) else written, FORMAT)
    try:
        drive = json.loads(metadata["drive"])
        drive = Drive(**{**drive, "gait": Gait(**_tuples(drive["gait"]))})
        joints, task = tuple(words["joint_names"]), metadata["task"]
        robot = _of_library(words["robot"]) if words["robot"] in library.names() else None
    except SPOILED:
        raise InputError(f"the drive of the policy {file} is damaged") from None
    if robot is None or joints != robot.joint_names:
        return None
    same = check_values(drive.interface(robot).to_dict(), str(file))
    if any(words.get(key, DEFAULTS.get(key)) != value for key, value in same.items()):
        return None
    mean, spread, weights, activation = layers
    policy = Policy(
        robot=words["robot"],
        drive=drive,
        mean=mean,
        spread=spread,
        weights=weights,
        activation=activation,
        joints=joints,
        task=task,
    )
    policy.check(file)
    return policy


def shipped() -> tuple[str, ...]:
    """Return the robots for which footfall includes a learned policy."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.npz")))


def _of_library(name: str) -> Robot:
    if name not in library.names():
        raise InputError(f"robot '{name}' is not in the library: name it, save(path, robot=...)")
    return library.load(name)


def _tuples(words: dict[str, Given]) -> dict[str, Given]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in words.items()}


def _stand(robot: Robot) -> Float[ndarray, "nj"]:
    if "stand" not in robot.poses:
        raise InputError(f"a policy moves joints about the pose 'stand', which robot '{robot.name}' lacks")
    return robot.poses["stand"].joints
