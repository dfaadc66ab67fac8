"""Shapes of arrays, checked at every call: ``Float[ndarray, "nq"]`` in a signature is then a law.

A traced array says that it holds floats, so that one annotation serves numbers and symbols.
``PYTHONPATH=tests pytest -p shape_checks tests/footfall/kinematics`` runs tests so; as a script this file runs every
formalism on some robots, and on the first of them every contact law, every kind of integrator and controllers of every
folder.
"""

import builtins
import dataclasses
import functools
import operator
import sys
import types
import typing
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import jaxtyping
import numpy as np
from beartype import beartype
from jaxtyping import TypeCheckError, install_import_hook

from nptrace.array_types import Axes

PACKAGES = tuple(
    f"footfall.{package}" for package in ("spatial", "kinematics", "dynamics", "contact", "control", "sensing", "sim")
)
_NESTS = (tuple, list, dict, Sequence)


def checked(function: Callable) -> Callable:
    """A function that refuses arrays of another shape; all else in its signature is mypy's."""
    names = _Names(vars(sys.modules[function.__module__]))
    function.__annotations__ = {key: _arrays(hint, names) for key, hint in function.__annotations__.items()}
    return function if set(function.__annotations__.values()) <= {object} else beartype(function)


class _Names(dict):
    """The names of a module; one that is there for type checkers alone may be anything."""

    def __missing__(self, name: str) -> object:
        return vars(builtins).get(name, object)


def _arrays(hint: object, names: _Names) -> object:
    """A hint of which only its arrays are left."""
    if isinstance(hint, str):
        hint = eval(hint, {}, names)
    if hint is None or hint is type(None) or hint is Ellipsis:
        return hint
    if typing.get_origin(hint) is typing.Annotated and isinstance(axes := hint.__metadata__[0], Axes):
        return getattr(jaxtyping, axes.kind)[hint.__origin__, axes.dim_str]
    origin, parts = typing.get_origin(hint), [_arrays(part, names) for part in typing.get_args(hint)]
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, parts)
    return origin[tuple(parts)] if origin in _NESTS and {*parts} - {object, Ellipsis} else object


def install() -> None:
    """Before the packages are imported."""
    install_import_hook(PACKAGES, "shape_checks.checked")


def pytest_load_initial_conftests() -> None:
    install()


def formalisms(robot) -> None:
    """Every formalism and law of dynamics by plain NumPy, and a wrong shape, which must not pass."""
    import footfall as ff
    from footfall.spatial.quaternion import multiply
    from footfall_lab.verify import verify

    if not verify(robot, samples=1, backend="numpy").passed:
        raise SystemExit(f"{robot.name} fails")
    q = ff.dynamics.random_states(robot, 1).q[0]
    multiply(q[3:7], q[3:7])
    try:
        multiply(q[3:7], q[3:6])
    except TypeCheckError:
        return
    raise SystemExit("a wrong shape has passed")


def steps(robot) -> None:
    """Every contact law and integrator, joints behind belts, rough ground, a push on a link and a free body."""
    import footfall as ff
    from footfall.contact.compliant import Compliant
    from footfall.contact.free_bodies import FreeBox
    from footfall.contact.heightfield import Heightfield
    from footfall.control.interface import JointCommand
    from footfall.sim.equations_of_motion import State
    from footfall.sim.joints import Belt, JointModel
    from footfall.sim.objects import named_objects
    from footfall.sim.pushes import mean_wrench, places_of, pushed_points
    from footfall.sim.step import integrate_step
    from footfall.sim.world import World

    pushes = [ff.Push(start=0.0, duration=1.0, force=(1.0, 2.0, 0.0), link=robot.links[1].name)]
    box = named_objects([FreeBox(size=np.full(3, 0.1), mass=1.0, position=np.array([2.0, 0.0, 0.05]))])
    worlds = {
        "linearly_implicit": [
            World(robot=robot, pushed=pushed_points(robot, places_of(pushes))),
            World(
                robot=robot,
                ground=Heightfield.rough(0.02, seed=1, size=(4.0, 4.0)),
                joints=JointModel(belt=Belt(inertia=0.01)),
            ),
            World(robot=robot, contact=ff.contact.Complementarity()),
            World(robot=robot, contact=ff.contact.Stance()),
            World(robot=robot, objects=box),
        ],
        "semi_implicit_euler": [World(robot=robot, contact=Compliant.as_printed())],
        "heun": [World(robot=robot, contact=Compliant(implicit=False))],
    }
    for integrator, those in worlds.items():
        for world in those:
            q, v = robot.state("stand")
            objects = np.stack([body.start for body in world.objects]) if world.objects else ()
            state = State(q, v + 0.01 * np.cos(np.arange(robot.nv)), world.start(q, v), objects)
            push = mean_wrench(pushes if world.pushed else [], 0.0, 1e-3, places_of(pushes) if world.pushed else ())
            command = JointCommand(q[robot.nq - robot.nj :], kp=20.0, kd=0.5).broadcast(robot.nj)
            integrate_step(integrator, world, state, command, push, 1e-4)


def uncompiled(function, constant, *_, target="native", **__):
    """In place of a compiler: the function itself, row by row where many are asked for at once."""
    if target == "native":
        return lambda *arguments: function(constant, *arguments)

    def batch(*arguments):
        found = [function(constant, *(_at(k, x) for x in arguments)) for k in range(len(arguments[0]))]
        if not dataclasses.is_dataclass(found[0]):
            return np.stack(found)
        return SimpleNamespace(**{name: np.stack([vars(x)[name] for x in found]) for name in vars(found[0])})

    return batch


def _at(k, x):
    return dataclasses.replace(x, **{f: y[k] for f, y in vars(x).items()}) if dataclasses.is_dataclass(x) else x[k]


def controllers(robot) -> None:
    """Joint, locomotion, estimation and optimal controllers, for two ticks each."""
    import footfall as ff
    from footfall.compiling import compile
    from footfall.control.sensed import Inertial, Sensed

    q, v = robot.state("stand")
    weight = np.outer(np.ones(robot.nf), [0.0, 0.0, 9.81 * robot.mass / robot.nf])
    sensed = Sensed(q=q, v=v, forces=weight, imu=Inertial(np.array([0.0, 0.0, 9.81]), np.zeros(3)), foot_force=weight)
    control = ff.control
    made = [
        control.JointPD.tuned(robot),
        control.ReflexPD.tuned(robot),
        control.Locomotion(stage="balance"),
        control.Locomotion(stage="mpc", reflexes=False),
        control.Estimated(control.Locomotion()),
        control.Nmpc(knots=3),
    ]
    for controller in made:  # nmpc takes derivatives inside its functions, which only a trace can
        controller.prepare(robot, compile if isinstance(controller, control.Nmpc) else uncompiled)
        memory = controller.start(robot)
        for k in range(2):
            command, memory = controller(k / controller.rate, robot, sensed, ff.Command(forward=0.2), memory)
            command.broadcast(robot.nj)


def main(names: list[str]) -> None:
    install()
    import footfall as ff

    for k, name in enumerate(names):
        robot = ff.load(name)
        formalisms(robot)
        if k == 0:
            steps(robot)
            controllers(robot)


if __name__ == "__main__":
    main(sys.argv[1:])
