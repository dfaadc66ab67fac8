"""footfall: model, simulate and control quadruped robots.

Every algorithm is plain NumPy that reads like its paper; called with symbols it is traced, and the trace is
differentiated and compiled. This page is the public API; names load when they are first used.

    import footfall as ff

    robot = ff.load("mini_cheetah")                       # or "go2.urdf", "spot.xml"
    gait = ff.gait.trot(period=0.5, stride=0.1, height=0.05)
    sim = ff.Simulation(robot, controller=ff.control.JointPD(gait=gait, kp=40, kd=1))
    rec = sim.run(10.0)
    rec.plot("trunk")

    M = ff.dynamics.mass_matrix(robot, q)                 # plain NumPy, the reference
    fd = ff.compile(ff.dynamics.forward_dynamics, robot)  # the same function as machine code
"""

from importlib import import_module
from typing import TYPE_CHECKING

from footfall.errors import FootfallError, InputError, MissingExtraError, ModelError, TraceError
from nptrace import packages

__version__ = "0.1.0"

packages.register(__name__, __path__[0])

if TYPE_CHECKING:
    from footfall import (
        analysis,
        contact,
        control,
        conversions,
        debug,
        draw,
        dynamics,
        export,
        gait,
        hardware,
        kinematics,
        learn,
        mujoco,
        recording,
        robot,
        sensing,
        sim,
        spatial,
        sweep,
    )
    from footfall.analysis.margin_search import margins
    from footfall.compiling import compile, gradient, jacobian, program
    from footfall.contact.free_bodies import FreeBall, FreeBox
    from footfall.control.interface import Command, JointCommand, Sensed, controller
    from footfall.loading import load
    from footfall.mujoco.comparing import compare
    from footfall.recording.recording import Recording
    from footfall.robot.model.description import Actuator, Foot, Joint, Link, Robot, Rotor
    from footfall.sim.batch import Batch
    from footfall.sim.block import Block
    from footfall.sim.gpu import GpuBatch
    from footfall.sim.linearization import linearize
    from footfall.sim.pushes import Push
    from footfall.sim.simulation import Simulation
    from footfall.view.passive import viewer
    from footfall.view.show import show
    from nptrace._types import Named

_MODULES = (
    "analysis",
    "contact",
    "control",
    "conversions",
    "debug",
    "draw",
    "dynamics",
    "export",
    "gait",
    "hardware",
    "kinematics",
    "learn",
    "mujoco",
    "recording",
    "robot",
    "sensing",
    "sim",
    "spatial",
    "sweep",
)
_NAMES = {
    "load": "footfall.loading",
    **dict.fromkeys(("Robot", "Link", "Joint", "Foot", "Actuator", "Rotor"), "footfall.robot.model.description"),
    "compile": "footfall.compiling",
    "jacobian": "footfall.compiling",
    "gradient": "footfall.compiling",
    "program": "footfall.compiling",
    "controller": "footfall.control.interface",
    "JointCommand": "footfall.control.interface",
    "Sensed": "footfall.control.interface",
    "Command": "footfall.control.interface",
    "Simulation": "footfall.sim.simulation",
    "Push": "footfall.sim.pushes",
    "Block": "footfall.sim.block",
    "FreeBall": "footfall.contact.free_bodies",
    "FreeBox": "footfall.contact.free_bodies",
    "Recording": "footfall.recording.recording",
    "linearize": "footfall.sim.linearization",
    "margins": "footfall.analysis.margin_search",
    "Batch": "footfall.sim.batch",
    "GpuBatch": "footfall.sim.gpu",
    "compare": "footfall.mujoco.comparing",
    "show": "footfall.view.show",
    "viewer": "footfall.view.passive",
}

__all__ = [
    "Actuator",
    "Batch",
    "Block",
    "Command",
    "Foot",
    "FootfallError",
    "FreeBall",
    "FreeBox",
    "GpuBatch",
    "InputError",
    "Joint",
    "JointCommand",
    "Link",
    "MissingExtraError",
    "ModelError",
    "Push",
    "Recording",
    "Robot",
    "Rotor",
    "Sensed",
    "Simulation",
    "TraceError",
    "analysis",
    "compare",
    "compile",
    "contact",
    "control",
    "controller",
    "conversions",
    "debug",
    "draw",
    "dynamics",
    "export",
    "gait",
    "gradient",
    "hardware",
    "jacobian",
    "kinematics",
    "learn",
    "linearize",
    "load",
    "margins",
    "mujoco",
    "program",
    "recording",
    "robot",
    "sensing",
    "show",
    "sim",
    "spatial",
    "sweep",
    "viewer",
]


def __getattr__(name: str) -> "Named":
    if name in _MODULES:
        return import_module(f"footfall.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if name.startswith("__"):
        raise AttributeError(name)
    hints = import_module("footfall.hints")
    raise hints.missing("footfall", name, __all__, hints.FRONT)


def __dir__() -> list[str]:
    return sorted(__all__)
