"""The creep of a robot that stands on a slope of 15 degrees, and whether runs repeat bit for bit.

MuJoCo's friction is regularised: a standing robot slides slowly (google-deepmind/mujoco issue 3328 reports 50 to 2 300
um/s). Ours sticks by a viscous model of finite stiffness, or exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.contact.ground import Plane
from footfall.contact.model import named
from footfall.control.joint.joint_pd import Hold
from footfall.control.stand_gains import stand_gains
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.robot import library
from footfall.sim.batch import Batch
from footfall.sim.joints import JointModel
from footfall.sim.simulation import Simulation
from nptrace._types import Given

ROBOT, SLOPE, FRICTION, SETTLE, WATCH = "mini_cheetah", 15.0, 0.8, 6.0, 6.0  # -, [deg], -, [s], [s]
PRINTED = "50 to 2300"
MODELS = ("compliant", "complementarity", "stance")
THEIRS: dict[str, dict[str, Given]] = {
    "MuJoCo, default contact": {"options": {}, "contact": {}},
    "MuJoCo, no-slip of 10": {"options": {"noslip_iterations": 10}, "contact": {}},
    "MuJoCo, impratio 10": {"options": {"impratio": 10}, "contact": {}},
}


@dataclass(frozen=True)
class CreepRow:
    name: str
    drift: float  # [um/s]


def simulation(contact: str) -> Simulation:
    robot = library.load(ROBOT)
    kp, kd = stand_gains(robot)
    slope, ideal = Plane.slope(SLOPE, FRICTION), JointModel.ideal()  # dry friction in joints also creeps
    return Simulation(robot, Hold("stand", kp, kd), contact=named(contact), ground=slope, joints=ideal)


def measure() -> list[CreepRow]:
    """Return the drift of the trunk over six seconds, after six to settle, for every model and for MuJoCo."""
    rows = []
    for model in MODELS:
        rec = simulation(model).run(SETTLE + WATCH)
        rows.append(CreepRow(f"footfall, {model}", _drift(rec.time, rec.q)))
    for name, settings in THEIRS.items():
        sim = simulation("compliant")
        rec = run_mujoco(sim, SETTLE + WATCH, mujoco_model(sim, **settings))
        rows.append(CreepRow(name, _drift(rec.time, rec.q)))
    return rows


def _drift(time: np.ndarray, q: np.ndarray) -> float:
    first = int(np.searchsorted(time, SETTLE))
    return 1e6 * float(np.linalg.norm(q[-1, :3] - q[first, :3]) / (time[-1] - time[first]))


def repeats() -> dict[str, float]:
    """Return the largest difference in the state after two seconds: 0 means identical bit for bit."""
    first, again = simulation("compliant"), simulation("compliant")
    a, b = first.run(2.0).q[-1], again.run(2.0).q[-1]
    robot = first.robot
    lanes = {}
    for count in (1, 37):
        batch = Batch(
            robot,
            count,
            first.controller,
            contact=named("compliant"),
            ground=first.model.world.ground,
            joints=first.joints,
        )
        batch.run(2000)
        lanes[count] = batch.q[-1]
    return {
        "run again": float(np.abs(a - b).max()),
        "in a batch": float(np.abs(a - lanes[1]).max()),
        "alone or among 37": float(np.abs(lanes[1] - lanes[37]).max()),
    }
