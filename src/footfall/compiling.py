"""``ff.compile`` and its siblings: a function of a robot and arrays, bound to one robot, traced and compiled.

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
        """Return the digest of the constant, without numbers of a ground that are inputs: no trace branches on them."""
        grounds = {p: np.zeros(np.shape(self.constant.parameter(p))) for p in self.free if p.startswith("ground.")}
        return str((self.constant.with_parameters(grounds) if grounds else self.constant).digest)

    def example(self, name: str, shape: tuple[int, ...]) -> PyTree:
        """Generic numbers; of a robot's q, a quaternion of unit length."""
        q = super().example(name, shape)
        constant = self.constant
        if isinstance(constant, Robot) and name == "q" and shape == (constant.nq,) and constant.floating:
            q[3:7] /= np.sqrt(q[3:7] @ q[3:7])
        return q

    def shape_unknown(self, name: str) -> str:
        if self.constant is None and name == "robot":
            return f"{self.__name__} takes a robot, which follows it: ff.compile({self.__name__}, robot)"
        return super().shape_unknown(name)


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
    """The function as machine code, with the same signature less the robot.

    >>> fd = ff.compile(ff.dynamics.forward_dynamics, robot)
    >>> a = fd(q, v, tau)

    target: ``native`` (one robot), ``batch`` (every argument with a leading robot axis), or ``interpret``.
    free: parameters that stay inputs: ``free=["trunk.mass"]``, then ``fd(q, v, tau, {"trunk.mass": 4.0})``.
    verify: replay the trace against NumPy; None does so for functions that are not footfall's own.
    vectorize: legs that are alike share vector instructions; the numbers are the same either way.
    given: keyword arguments of the function; arrays become inputs (their shape counts), anything else is a constant.
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


def jacobian(
    function: Function, robot: Given = None, *examples: PyTree, wrt: Given, free: Sequence[str] = (), **options: Any
) -> Jacobian | WrittenJacobian:
    """Exact derivatives by the arguments named in ``wrt``: arrays of shape result.shape + argument.shape.

    ``wrt="parameters"`` differentiates by the free parameters. Options: target (native, interpret), dtype, lanes (so
    many directions at a time), cache, at_zero (``wrt`` are deviations, zero where the derivative is taken), and keyword
    arguments of the function as in ``compile``.
    """
    settings, given = _split_options(options, "at_zero")
    bound = Bound(function, robot, examples, free, given)
    key = bound.key() if settings.get("cache", True) else None
    return nptrace.jacobian(bound, *bound.examples, wrt=wrt, names=bound.names, key=key, **settings)


def gradient(
    function: Function, robot: Given = None, *examples: PyTree, wrt: Given, free: Sequence[str] = (), **options: Any
) -> Compiled:
    """The gradient of a function that returns one number, by reverse mode.

    settled=True: a contact step moves as the solution that it settled on. That is not quite exact where a foot was
    found to slide another way than it did, and several times faster over many steps.
    """
    settings, given = _split_options(options, "settled")
    bound = Bound(function, robot, examples, free, given)
    return nptrace.gradient(bound, *bound.examples, wrt=wrt, names=bound.names, **settings)


def program(
    function: Function, robot: Foreign = None, *examples: PyTree, free: Sequence[str] = (), **given: Any
) -> Program:
    """The traced program: ``print(ff.program(f, robot))`` lists it, ``.size`` counts its operations."""
    bound = Bound(function, robot, examples, free, given)
    return nptrace.program_of(bound, *bound.examples, names=bound.names)


def _split_options(options: dict[str, Given], *more: str) -> tuple[dict[str, Given], dict[str, Given]]:
    known = ("target", "dtype", "lanes", "cache", *more)
    return {k: v for k, v in options.items() if k in known}, {k: v for k, v in options.items() if k not in known}
