"""The tossed cube in footfall and in MuJoCo: a free body with eight corners, all tosses of all candidates in one batch.

Corners are small spheres, as the real ones are rounded; friction, stiffness, damping, restitution, the ground's height
and the radius of the corners are fitted to 50 tosses by CMA-ES, for every model with the same cost and the same number
of candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy import ndarray

from footfall.analysis.search import Range, minimise
from footfall.contact.complementarity import Complementarity
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.contact.model import ContactModel
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.mujoco.model import library
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot, Link
from footfall.sim.batch import Batch
from footfall.sim.cores import cores
from footfall_lab.reality.tosses import CORNERS, HALF, INERTIA, MASS, RATE, TossErrors, Tosses
from nptrace._types import Foreign, Given, PyTree
from nptrace.array_types import Float

SUBSTEPS = 7  # per row: a step of 0.97 ms, close to the default
FRICTION = Range("friction", 0.03, 1.0, 0.18, log=True)
HEIGHT = Range("height", -0.003, 0.003, 0.0)
RADIUS = Range("radius", 1e-4, 4e-3, 1.5e-3, log=True)
Progress = Callable[[str, int, int], None]


def cube() -> Robot:
    """Return the cube as a robot without joints, its corners as feet; ``corners`` sets their positions and radii."""
    link = Link(name="cube", mass=MASS, inertia=INERTIA * np.eye(3), box=(2 * HALF,) * 3)
    radius = RADIUS.start
    feet = [
        Foot(name=f"corner{k}", link="cube", position=(HALF - radius) * sign, radius=radius)
        for k, sign in enumerate(CORNERS)
    ]
    return Robot(name="cube", links=[link], feet=feet)


@dataclass(frozen=True)
class Nobody:
    """A controller for a cube without drives; a tick is a row of the recording."""

    rate: float = RATE

    def start(self, robot: Robot) -> dict[str, ndarray]:
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: object
    ) -> tuple[JointCommand, PyTree]:
        return JointCommand(), memory


@dataclass(frozen=True)
class ContactCandidate:
    """One of our contact models and its fitted parameters: ``ranges`` in addition to those of every model."""

    key: str
    title: str
    contact: ContactModel
    ranges: tuple[Range, ...] = ()
    paths: tuple[str, ...] = ()  # parameter paths of the ranges

    @property
    def all_ranges(self) -> tuple[Range, ...]:
        return (FRICTION, HEIGHT, RADIUS, *self.ranges)

    def rollouts(self, tosses: Tosses, values: Float[ndarray, "c k"]) -> tuple[ndarray, ndarray]:
        """Return (positions, quaternions) of every toss with every candidate, candidates first."""
        count = len(values) * len(tosses)
        batch = _batch(self, count)
        own = dict(zip((r.name for r in self.all_ranges), np.repeat(values, len(tosses), axis=0).T))
        batch.set({"ground.friction": own["friction"]})
        batch.set({"ground.point": own["height"][:, None] * np.array([0.0, 0.0, 1.0])})
        for k, sign in enumerate(CORNERS):
            batch.set({f"corner{k}.radius": own["radius"]})
            batch.set({f"corner{k}.position": (HALF - own["radius"])[:, None] * sign})
        batch.set({path: own[r.name] for path, r in zip(self.paths, self.ranges)})
        batch.reset()
        q, v = (np.tile(x, (len(values), 1)) for x in (tosses.q, tosses.v))
        batch.set_state(q, v)
        rows = batch.record(range(count), tosses.rows - 1)
        whole = np.concatenate([q[:, None], rows.q], axis=1)
        return whole[..., :3], whole[..., 3:7]


@lru_cache(maxsize=4)
def _batch(model: ContactCandidate, count: int) -> Batch:
    """Return a cached batch, so that machine code is reused between generations."""
    corners = [f"corner{k}.{what}" for k in range(len(CORNERS)) for what in ("radius", "position")]
    start = (np.array([0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]), np.zeros(6))
    return Batch(
        cube(),
        count,
        Nobody(),
        contact=model.contact,
        ground=Plane(0.2),
        dt=1.0 / (RATE * SUBSTEPS),
        start=start,
        free=["ground.friction", "ground.point", *corners, *model.paths],
        stop_on_fall=False,
    )


HERTZ = (Range("stiffness", 1e6, 1e12, 1e8, log=True), Range("damping", 1.0, 1e4, 100.0, log=True))
SPRING = (Range("stiffness", 1e3, 1e7, 1e5, log=True), Range("damping", 1.0, 1e4, 100.0, log=True))
OF_SPRINGS = ("contact.stiffness", "contact.damping")
BOUNCE = (Range("restitution", 0.0, 0.8, 0.12),)
CANDIDATES = (
    ContactCandidate("compliant", "Compliant, depth to the 2.2", Compliant(), HERTZ, OF_SPRINGS),
    ContactCandidate(
        "spring", "Compliant, linear spring", Compliant(stiffness=1e5, exponent=1.0, damping=100.0), SPRING, OF_SPRINGS
    ),
    ContactCandidate(
        "complementarity",
        "Complementarity",
        Complementarity(restitution=0.12, tolerance=1e-6),
        BOUNCE,
        ("contact.restitution",),
    ),
)


@dataclass(frozen=True)
class Rival:
    """MuJoCo with the same corners, start and step, fitted in the same way, with solref as stiffness and damping."""

    key: str = "mujoco"
    title: str = "MuJoCo, elliptic cone"
    ranges: tuple[Range, ...] = (
        Range("stiffness", 1e3, 1e7, 1e5, log=True),
        Range("damping", 1.0, 1e4, 300.0, log=True),
    )

    @property
    def all_ranges(self) -> tuple[Range, ...]:
        return (FRICTION, HEIGHT, RADIUS, *self.ranges)

    def rollouts(self, tosses: Tosses, values: Float[ndarray, "c k"]) -> tuple[ndarray, ndarray]:
        """Return (positions, quaternions) of every toss with every candidate, candidates first."""
        from mujoco import rollout

        mj = library()
        models = [self.model(dict(zip((r.name for r in self.all_ranges), row))) for row in values]
        size = mj.mj_stateSize(models[0], mj.mjtState.mjSTATE_FULLPHYSICS)
        states = np.zeros((len(tosses), size))
        states[:, 1:8] = tosses.q
        w, x, y, z = tosses.q[:, 3:].T
        R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
        states[:, 8:11], states[:, 11:14] = np.einsum("ijn,nj->ni", R, tosses.v[:, 3:]), tosses.v[:, :3]
        data = [mj.MjData(models[0]) for _ in range(min(cores(), len(tosses)))]
        whole = np.zeros((len(models), len(tosses), tosses.rows, size))
        whole[:, :, 0] = states
        order = np.argsort(tosses.length)
        for some in np.array_split(order, max(1, len(order) // 60)):  # of similar length: a few are four times as long
            rows = int(tosses.length[some].max()) - 1
            for k, model in enumerate(models):
                found, _ = rollout.rollout(
                    model, data, states[some], np.zeros((1, SUBSTEPS * rows, 0)), nstep=SUBSTEPS * rows
                )
                whole[k, some, 1 : rows + 1] = found[:, SUBSTEPS - 1 :: SUBSTEPS]
                whole[k, some, rows + 1 :] = found[:, -1:]
        flat = whole.reshape(-1, tosses.rows, size)
        return flat[..., 1:4], flat[..., 4:8]

    def model(self, values: dict[str, float]) -> Foreign:
        mj = library()
        spec = mj.MjSpec()
        spec.option.timestep, spec.option.cone = 1.0 / (RATE * SUBSTEPS), mj.mjtCone.mjCONE_ELLIPTIC
        spec.option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
        touch: dict[str, Given] = {
            "friction": [values["friction"], 0.0, 0.0],
            "condim": 3,
            "solref": [-values["stiffness"], -values["damping"]],
        }
        spec.worldbody.add_geom(type=mj.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], pos=[0.0, 0.0, values["height"]], **touch)
        body = spec.worldbody.add_body(name="cube", pos=[0.0, 0.0, 0.5])
        body.add_freejoint(align=mj.mjtAlignFree.mjALIGNFREE_FALSE)
        body.explicitinertial, body.mass, body.inertia = True, MASS, [INERTIA] * 3
        body.ipos, body.iquat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
        radius = values["radius"]
        for sign in CORNERS:
            body.add_geom(type=mj.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], pos=(HALF - radius) * sign, **touch)
        return spec.compile()


def fit(
    model: ContactCandidate | Rival,
    tosses: Tosses,
    *,
    generations: int = 40,
    population: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[dict[str, float], float]:
    """Return (values, cost [m]) with which a model fits some tosses best."""

    def cost(values: Float[ndarray, "c k"]) -> Float[ndarray, "c"]:
        found = tosses.errors(*model.rollouts(tosses, values))
        return np.mean((found.position + HALF * found.angle).reshape(len(values), -1), axis=1)

    return minimise(
        cost,
        model.all_ranges,
        population=population,
        generations=generations,
        seed=seed,
        progress=progress,
        title=model.title,
    )


def evaluate(model: ContactCandidate | Rival, tosses: Tosses, values: dict[str, float]) -> TossErrors:
    """Return the errors of a model with given values on every toss."""
    return tosses.errors(*model.rollouts(tosses, np.array([[values[r.name] for r in model.all_ranges]])))
