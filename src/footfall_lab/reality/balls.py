"""SimBenchmark's bouncing, sliding and rolling tests for bodies on a ground, in footfall and MuJoCo.

Bouncing: 49 balls of 10 kg bounce from 5 m without loss for 20 s; mean square energy error [J²]. Sliding: 10 kg on
level ground pushed obliquely by 150 N, friction 0.4. Rolling: a ball that starts to slide at 3 m/s ends at 5/7 of that.
The last two report squared errors of velocity [m²/s²] against closed forms, at dt 1 ms; SimBenchmark's rolling test has
balls on a box, while bodies here touch only grounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.complementarity import Complementarity
from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.contact.model import ContactModel
from footfall.control.interface import JointCommand
from footfall.mujoco.model import library
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Foot, Link
from footfall.robot.model.shapes import box_inertia
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from footfall.spatial.gravity import STANDARD
from nptrace._types import Given
from nptrace.array_types import Float

BALLS, DROP, TIME = 49, 5.0, 20.0  # [m], [s]
STEPS = (0.01, 0.004, 0.001, 0.0004)  # [s]
PRINTED = {  # bouncing, dt: [J²]
    "RaiSim": {0.01: 186.0, 0.004: 4.765, 0.001: 0.01862, 0.0004: 4.77e-4},
    "ODE": {0.01: 18808.0, 0.004: 2983.0, 0.001: 185.0, 0.0004: 29.63},
    "Bullet": {0.01: 7.41e6, 0.004: 1.20e6, 0.001: 75245.0, 0.0004: 12039.0},
}
FORCE, FRICTION, MASS, SPEED = 150.0, 0.4, 10.0, 3.0  # [N], -, [kg], [m/s]
AT = np.array([0.5, np.sqrt(0.75), 0.0])  # direction of the push
LAWS: dict[str, ContactModel] = {
    "footfall, compliant": Compliant(),
    "footfall, complementarity": Complementarity(),
}


@dataclass(frozen=True)
class BallRow:
    """The results of one engine; bouncing by dt [J²], sliding and rolling [m²/s²]; None if unsupported."""

    name: str
    bouncing: dict[float, float] | None
    sliding: float
    rolling: float


def ball(mass: float, radius: float) -> Robot:
    link = Link(name="ball", mass=mass, inertia=0.4 * mass * radius**2 * np.eye(3))
    return Robot(
        name="ball", links=[link], feet=[Foot(name="surface", link="ball", position=np.zeros(3), radius=radius)]
    )


def box(mass: float = MASS) -> Robot:
    corners = [(x, y, -0.049) for x in (0.5, -0.5) for y in (0.5, -0.5)]
    feet = [Foot(name=f"foot{k}", link="box", position=np.array(p), radius=1e-3) for k, p in enumerate(corners)]
    return Robot(name="box", links=[Link(name="box", mass=mass, inertia=box_inertia(mass, (1.0, 1.0, 0.1)))], feet=feet)


def pushed(world: World, state: State, push: Float[ndarray, "6"], dt: float) -> State:
    return integrate_step("linearly_implicit", world, state, JointCommand().broadcast(0), push, dt)[0]


def _rows(
    robot: Robot, contact: ContactModel, friction: float, start: State, push: ndarray, dt: float, steps: int
) -> ndarray:
    """Return rows of (heights, velocities in world axes), the start first."""
    world = World(robot=robot, ground=Plane(friction), contact=contact, joints=JointModel.ideal())
    begin = State(start.q, start.v, contact.start(world.spheres))
    step = compiling.compile(pushed, world, begin, push, dt)
    _, rows = step.roll(steps - 1, begin, push, dt)
    q, v = np.concatenate([begin.q[None], rows.q]), np.concatenate([begin.v[None], rows.v])
    w, x, y, z = q[:, 3:].T
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
    return np.concatenate([q[:, 2:3], np.einsum("ijn,nj->ni", R, v[:, 3:])], axis=1)


def at(height: float, speed: float = 0.0) -> State:
    return State(np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, speed, 0.0, 0.0]))


def sliding(t: ndarray) -> Float[ndarray, "n 3"]:
    """Return the velocity of the box under push and friction."""
    return np.outer(t, AT) * (FORCE / MASS - FRICTION * STANDARD)


def rolling(t: ndarray) -> Float[ndarray, "n 3"]:
    """Return the velocity of the ball, which friction brakes until it rolls."""
    speed = np.maximum(SPEED - FRICTION * STANDARD * t, 5.0 / 7.0 * SPEED)
    return np.outer(speed, [1.0, 0.0, 0.0])


def _square(found: ndarray, known: ndarray) -> float:
    return float(np.mean(np.sum((found - known) ** 2, axis=1)))


def bounced(heights: ndarray, speeds: ndarray) -> float:
    """Return the energy errors of as many balls as in SimBenchmark, all alike, 10 kg each [J²]."""
    energy = BALLS * MASS * (STANDARD * heights + 0.5 * speeds**2)
    return float(np.mean((energy - BALLS * MASS * STANDARD * DROP) ** 2))


def ours(name: str) -> BallRow:
    """Run the tests with one of our models: only complementarity has a lossless bounce."""
    contact, count, dt = LAWS[name], 1000, 1e-3
    t, push = dt * np.arange(count), np.zeros(6)
    push[3:] = FORCE * AT
    slid = _rows(box(), contact, FRICTION, at(0.05), push, dt, count)
    rolled = _rows(ball(1.0, 0.1), contact, FRICTION, at(0.1, SPEED), np.zeros(6), dt, count)
    energy = None
    if isinstance(contact, Complementarity):
        elastic = Complementarity(restitution=1.0)
        energy = {}
        for step in STEPS:
            rows = _rows(ball(MASS, 0.1), elastic, 0.0, at(DROP), np.zeros(6), step, round(TIME / step))
            energy[step] = bounced(rows[:, 0], rows[:, 3])
    return BallRow(name, energy, _square(slid[:, 1:3], sliding(t)[:, :2]), _square(rolled[:, 1:3], rolling(t)[:, :2]))


def mujocos() -> BallRow:
    """Run the tests in MuJoCo: default contact; bounces with stiff undamped contact, the closest available."""
    mj, dt, count = library(), 1e-3, 1000

    def run(
        geoms: list[dict[str, Given]],
        inertia: ndarray,
        mass: float,
        state: State,
        force: ndarray,
        step: float,
        steps: int,
        touch: dict[str, Given],
    ) -> ndarray:
        spec = mj.MjSpec()
        spec.option.timestep, spec.option.cone = step, mj.mjtCone.mjCONE_ELLIPTIC
        spec.worldbody.add_geom(type=mj.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **touch)
        body = spec.worldbody.add_body(pos=state.q[:3])
        body.add_freejoint()
        body.explicitinertial, body.mass, body.inertia = True, mass, inertia
        body.ipos, body.iquat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
        for geom in geoms:
            body.add_geom(type=mj.mjtGeom.mjGEOM_SPHERE, **geom, **touch)
        model = spec.compile()
        data = mj.MjData(model)
        data.qvel[:3] = state.v[3:]
        data.qfrc_applied[:3] = force
        rows = []
        for _ in range(steps):
            rows.append([data.qpos[2], *data.qvel[:3]])
            mj.mj_step(model, data)
        return np.array(rows)

    t = dt * np.arange(count)
    touch = {"friction": [FRICTION, 0.0, 0.0], "condim": 3}
    corners = [{"size": [1e-3, 0, 0], "pos": [x, y, -0.049]} for x in (0.5, -0.5) for y in (0.5, -0.5)]
    moments = np.diag(box_inertia(MASS, (1.0, 1.0, 0.1)))
    one = [{"size": [0.1, 0, 0], "pos": [0.0, 0.0, 0.0]}]
    slid = run(corners, moments, MASS, at(0.05), FORCE * AT, dt, count, touch)
    rolled = run(one, np.full(3, 0.4 * 0.01), 1.0, at(0.1, SPEED), np.zeros(3), dt, count, touch)
    energy = {}
    for step in STEPS:
        stiff = {
            "friction": [0.0, 0.0, 0.0],
            "condim": 1,
            "solref": [-0.1 / step**2, 0.0],
            "solimp": [0.99] * 2 + [1e-3, 0.5, 2],
        }
        rows = run(one, np.full(3, 0.04 * MASS * 0.1), MASS, at(DROP), np.zeros(3), step, round(TIME / step), stiff)
        energy[step] = bounced(rows[:, 0], rows[:, 3])
    return BallRow(
        "MuJoCo", energy, _square(slid[:, 1:3], sliding(t)[:, :2]), _square(rolled[:, 1:3], rolling(t)[:, :2])
    )


def measure() -> list[BallRow]:
    return [*(ours(name) for name in LAWS), mujocos()]
