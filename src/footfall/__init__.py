"""footfall: model, simulate and control quadruped robots.

Every algorithm is plain NumPy that reads like its paper; called with symbols it is traced, and the trace is
differentiated and compiled. This page is the public API; names load when they are first used.

    import footfall as ff

    robot = ff.load("mini_cheetah")                       # or "go2.urdf", "spot.xml"
    gait = ff.gait.trot(period=0.5, stride=0.1, height=0.05)
    sim = ff.Simulation(robot, controller=ff.control.JointPD(gait, kp=40, kd=1))
    rec = sim.run(10.0)
    rec.plot("trunk")

    M = ff.dynamics.mass_matrix(robot, q)                 # plain NumPy, the reference
    fd = ff.compile(ff.dynamics.forward_dynamics, robot)  # the same function as machine code
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from footfall.errors import FootfallError, InputError, MissingExtraError, ModelError, TraceError

__version__ = "0.1.0"

if TYPE_CHECKING:
    from footfall import compare, contact, control, dynamics, gait, kinematics, numeric, robot, simulate, spatial, sweep
    from footfall.batch.batch import Batch
    from footfall.batch.gpu import GpuBatch
    from footfall.compiling import compile, gradient, jacobian, program
    from footfall.control.interface import Command, JointCommand, Sensed, controller
    from footfall.loading import load
    from footfall.robot.description import Actuator, Foot, Joint, Link, Robot, Rotor
    from footfall.simulate.linearize import linearize
    from footfall.simulate.margins import margins
    from footfall.simulate.recording import Recording
    from footfall.simulate.simulation import Push, Simulation
    from footfall.view.show import show

_MODULES = (
    "compare", "contact", "control", "dynamics", "gait", "kinematics", "learn", "numeric", "robot", "simulate",
    "spatial", "sweep", "trace",
)  # fmt: skip
_NAMES = {
    "load": "footfall.loading",
    "Robot": "footfall.robot.description", "Link": "footfall.robot.description", "Joint": "footfall.robot.description",
    "Foot": "footfall.robot.description", "Actuator": "footfall.robot.description",
    "Rotor": "footfall.robot.description",
    "compile": "footfall.compiling", "jacobian": "footfall.compiling", "gradient": "footfall.compiling",
    "program": "footfall.compiling",
    "controller": "footfall.control.interface", "JointCommand": "footfall.control.interface",
    "Sensed": "footfall.control.interface", "Command": "footfall.control.interface",
    "Simulation": "footfall.simulate.simulation", "Push": "footfall.simulate.simulation",
    "Recording": "footfall.simulate.recording", "linearize": "footfall.simulate.linearize",
    "margins": "footfall.simulate.margins",
    "Batch": "footfall.batch.batch", "GpuBatch": "footfall.batch.gpu", "show": "footfall.view.show",
}  # fmt: skip

__all__ = [
    "Actuator", "Batch", "Command", "Foot", "FootfallError", "GpuBatch", "InputError", "Joint", "JointCommand",
    "Link", "MissingExtraError", "ModelError", "Push", "Recording", "Robot", "Rotor", "Sensed", "Simulation",
    "TraceError", "compare", "compile", "contact", "control", "controller", "dynamics", "gait", "gradient",
    "jacobian", "kinematics", "learn", "linearize", "load", "margins", "numeric", "program", "robot", "show",
    "simulate", "spatial", "sweep", "trace",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"footfall.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'footfall' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
