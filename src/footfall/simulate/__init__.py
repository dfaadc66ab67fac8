"""A robot, its controller and the ground, stepped and recorded."""

from typing import TYPE_CHECKING

from footfall.rooms import room

if TYPE_CHECKING:
    from footfall.simulate.actuators import JointModel
    from footfall.simulate.belts import Belt
    from footfall.simulate.block import Block
    from footfall.simulate.commanding import Schedule
    from footfall.simulate.hybrid import HybridRun, hybrid_run
    from footfall.simulate.integrators import INTEGRATORS
    from footfall.simulate.linear_loop import LinearisedLoop, linearize_loop
    from footfall.simulate.linear_step import Linearised, LinearStep, linearize
    from footfall.simulate.pushes import Push
    from footfall.simulate.robot_and_objects import whole_state
    from footfall.simulate.rollout_cost import RolloutCost, rollout
    from footfall.simulate.runfile import RunOptions, plan, read_run_file
    from footfall.simulate.self_collision import SelfCollision
    from footfall.simulate.simulation import Simulation
    from footfall.simulate.standing import standing_start
    from footfall.simulate.standing_lqr import lqr_stand
    from footfall.simulate.stop import Stop
    from footfall.simulate.together import run_together
    from footfall.simulate.world import World

__all__, __getattr__, __dir__ = room(
    "footfall.simulate",
    {
        "actuators": "JointModel",
        "belts": "Belt",
        "block": "Block",
        "commanding": "Schedule",
        "hybrid": "HybridRun hybrid_run",
        "integrators": "INTEGRATORS",
        "linear_loop": "LinearisedLoop linearize_loop",
        "linear_step": "LinearStep Linearised linearize",
        "pushes": "Push",
        "rollout_cost": "RolloutCost rollout",
        "runfile": "RunOptions plan read_run_file",
        "self_collision": "SelfCollision",
        "simulation": "Simulation",
        "standing": "standing_start",
        "standing_lqr": "lqr_stand",
        "stop": "Stop",
        "robot_and_objects": "whole_state",
        "together": "run_together",
        "world": "World",
    },
)
