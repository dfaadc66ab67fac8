"""``ff.compile`` and related functions: bind a function of a robot and arrays to one robot, trace it and compile it.

The first parameter of the function is the constant: a ``Robot``, or any object with ``parameter``, ``with_parameters``
and ``digest``. Its numbers are folded into the program, except those named in ``free``, which stay inputs. Shapes come
from examples, or from annotations such as ``Float[ndarray, "nq"]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

import nptrace
from footfall.hints import takes
from footfall.robot.model.description import Robot
from nptrace import binding
from nptrace._types import Foreign, Given, PyTree
from nptrace.binding import Function, patience

if TYPE_CHECKING:
    from nptrace.autodiff.differentiate import Jacobian
    from nptrace.autodiff.written_jacobian import WrittenJacobian
    from nptrace.ir.program import Program
    from nptrace.runtime.callables import Function as Compiled
    from nptrace.runtime.compiled import CacheChoice

_STEPS = dict.fromkeys(("rollout_tick", "physics"), "the step of a simulation")


class Bound(binding.Bound):
    """A function bound to a robot, or to a world with a robot and a ground."""

    what, kinds, called = "robot", ", a Robot or the like", "ff.compile"

    def digest(self) -> str:
        """Return the digest of the constant without the ground's numbers that are inputs: no trace branches on them."""
        grounds = {p: np.zeros(np.shape(self.constant.parameter(p))) for p in self.free if p.startswith("ground.")}
        return str((self.constant.with_parameters(grounds) if grounds else self.constant).digest)

    def example(self, name: str, shape: tuple[int, ...]) -> PyTree:
        """Return random example numbers; for a robot's q, with a unit quaternion."""
        q = super().example(name, shape)
        constant = self.constant
        if isinstance(constant, Robot) and name == "q" and shape == (constant.nq,) and constant.floating:
            q[3:7] /= np.sqrt(q[3:7] @ q[3:7])
        return q

    def shape_unknown(self, name: str) -> str:
        if self.constant is None and name == "robot":
            return f"{self.__name__} takes a robot as the next argument: ff.compile({self.__name__}, robot)"
        return super().shape_unknown(name)


@takes({})
def compile(
    function: Function,
    robot: Foreign = None,
    *examples: PyTree,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    free: Sequence[str] = (),
    lanes: int | None = None,
    cache: CacheChoice = True,
    verify: bool | None = None,
    vectorize: bool = True,
    **given: Any,
) -> Compiled:
    """Compile a function of a robot and arrays to machine code.

    >>> fd = ff.compile(ff.dynamics.forward_dynamics, robot)
    >>> a = fd(q, v, tau)

    Args:
        function: A function of a robot and arrays, or of arrays alone.
        robot: Robot that is folded in as a constant; None for a function of arrays alone.
        *examples: Example arguments; footfall's own functions need none.
        target: ``native`` (one robot), ``batch`` (every argument has a leading robot axis), or ``interpret``.
        dtype: Type of all numbers: float64 or float32.
        free: Parameters of the robot that stay inputs: ``free=["trunk.mass"]``, then ``f(q, v, tau, {"trunk.mass":
            4.0})``.
        lanes: Robots per vector register, for ``batch``; the processor's width unless given.
        cache: Keep machine code on disk: True, False, or a folder.
        verify: Compare the trace with NumPy on random inputs; by default for functions that are not footfall's own.
        vectorize: Let equal legs share vector instructions; the results are the same either way.
        **given: Keyword arguments of the function: arrays become inputs, anything else is a constant.

    Returns:
        A callable with the same signature, without the robot.
    """
    bound = Bound(function, robot, examples, free, given)
    verify = not bound.is_library if verify is None else verify
    key = bound.key() if cache else None
    with patience(_STEPS.get(bound.__name__, bound.__name__), key is not None, "footfall"):
        return nptrace.compile(
            bound,
            *bound.examples,
            target=target,
            dtype=dtype,
            lanes=lanes,
            cache=cache,
            verify=verify,
            names=bound.names,
            key=key,
            vectorize=vectorize,
        )


@takes({})
def jacobian(
    function: Function, robot: Given = None, *examples: PyTree, wrt: Given, free: Sequence[str] = (), **options: Any
) -> Jacobian | WrittenJacobian:
    """Compile the exact Jacobian of a function.

    Args:
        function: A function of a robot and arrays, or of arrays alone.
        robot: Robot that is folded in as a constant; None for a function of arrays alone.
        *examples: Example arguments; footfall's own functions need none.
        wrt: Names of the arguments to differentiate by; ``parameters`` for those in ``free``.
        free: Parameters of the robot that stay inputs: ``free=["trunk.mass"]``, then ``f(q, v, tau, {"trunk.mass":
            4.0})``.
        **options: ``target`` (native, interpret), ``dtype``, ``cache`` as for ``compile``; ``lanes``: directions
            evaluated at a time; ``at_zero``: the arguments ``wrt`` are deviations, zero where the derivative is taken;
            and keyword arguments of the function.

    Returns:
        A callable; its arrays have the shape of the result followed by that of the argument.
    """
    settings, given = _split_options(options, "at_zero")
    bound = Bound(function, robot, examples, free, given)
    key = bound.key() if settings.get("cache", True) else None
    return nptrace.jacobian(bound, *bound.examples, wrt=wrt, names=bound.names, key=key, **settings)


@takes({})
def gradient(
    function: Function, robot: Given = None, *examples: PyTree, wrt: Given, free: Sequence[str] = (), **options: Any
) -> Compiled:
    """Compile the gradient of a function that returns one number, by reverse-mode differentiation.

    Args:
        function: A function of a robot and arrays, or of arrays alone.
        robot: Robot that is folded in as a constant; None for a function of arrays alone.
        *examples: Example arguments; footfall's own functions need none.
        wrt: Names of the arguments to differentiate by; ``parameters`` for those in ``free``.
        free: Parameters of the robot that stay inputs: ``free=["trunk.mass"]``, then ``f(q, v, tau, {"trunk.mass":
            4.0})``.
        **options: ``target``, ``dtype``, ``lanes``, ``cache`` as for ``compile``; ``settled=True`` differentiates a
            contact step through its solution only, several times faster over many steps, not exact where a foot was
            found to slide in another direction; and keyword arguments of the function.

    Returns:
        A callable that returns the gradient, shaped like the arguments ``wrt``.
    """
    settings, given = _split_options(options, "settled")
    bound = Bound(function, robot, examples, free, given)
    return nptrace.gradient(bound, *bound.examples, wrt=wrt, names=bound.names, **settings)


def program(
    function: Function, robot: Foreign = None, *examples: PyTree, free: Sequence[str] = (), **given: Any
) -> Program:
    """Return the traced program of a function: ``print(ff.program(f, robot))`` lists it.

    Args:
        function: A function of a robot and arrays, or of arrays alone.
        robot: Robot that is folded in as a constant; None for a function of arrays alone.
        *examples: Example arguments; footfall's own functions need none.
        free: Parameters of the robot that stay inputs: ``free=["trunk.mass"]``, then ``f(q, v, tau, {"trunk.mass":
            4.0})``.
        **given: Keyword arguments of the function.

    Returns:
        The program; ``size`` is its number of operations.
    """
    bound = Bound(function, robot, examples, free, given)
    return nptrace.program_of(bound, *bound.examples, names=bound.names)


def _split_options(options: dict[str, Given], *more: str) -> tuple[dict[str, Given], dict[str, Given]]:
    known = ("target", "dtype", "lanes", "cache", *more)
    return {k: v for k, v in options.items() if k in known}, {k: v for k, v in options.items() if k not in known}
