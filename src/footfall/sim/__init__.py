"""Simulation: a robot, its controller and the ground, stepped and recorded."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.sim.batch import Batch
    from footfall.sim.block import Block
    from footfall.sim.commanding import Schedule
    from footfall.sim.gpu import GpuBatch
    from footfall.sim.hybrid import HybridRun, hybrid_run
    from footfall.sim.joints import Belt, Brake, JointModel
    from footfall.sim.linearization import (
        Linearised,
        LinearisedLoop,
        LinearStep,
        linearize,
        linearize_loop,
        whole_state,
    )
    from footfall.sim.motors import MotorModel, ThroughMotors, overheating
    from footfall.sim.pushes import Push
    from footfall.sim.rollout_cost import RolloutCost, summed_cost
    from footfall.sim.run_options import RunOptions
    from footfall.sim.runfile import plan, read_run_file
    from footfall.sim.self_collision import SelfCollision
    from footfall.sim.servos import ServoModel, ThroughServos
    from footfall.sim.shared_programs import run_batched
    from footfall.sim.simulation import Simulation
    from footfall.sim.standing_lqr import lqr_stand
    from footfall.sim.start import standing_start
    from footfall.sim.step import INTEGRATORS
    from footfall.sim.stopping import Stop
    from footfall.sim.world import World

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.sim",
    {
        "batch": "Batch",
        "block": "Block",
        "commanding": "Schedule",
        "gpu": "GpuBatch",
        "hybrid": "HybridRun hybrid_run",
        "joints": "JointModel Belt Brake",
        "linearization": "LinearisedLoop linearize_loop LinearStep Linearised linearize whole_state",
        "motors": "MotorModel ThroughMotors overheating",
        "pushes": "Push",
        "rollout_cost": "RolloutCost summed_cost",
        "run_options": "RunOptions",
        "runfile": "plan read_run_file",
        "self_collision": "SelfCollision",
        "servos": "ServoModel ThroughServos",
        "shared_programs": "run_batched",
        "simulation": "Simulation",
        "standing_lqr": "lqr_stand",
        "start": "standing_start",
        "step": "INTEGRATORS",
        "stopping": "Stop",
        "world": "World",
    },
)
