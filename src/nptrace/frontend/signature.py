"""The signature of a compiled function: names, shapes and pytrees of arguments and results, stored as JSON."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nptrace._types import Given, PyTree
from nptrace.errors import InputError, NptraceError
from nptrace.frontend import tree

Shape = tuple[int, ...]
REAL_KINDS = "fiub"


class Traced(Protocol):
    """Facts about the results of a function, from a trace or a call."""

    @property
    def output_shapes(self) -> Sequence[Shape]: ...

    @property
    def rebuild_output(self) -> Callable[[list], PyTree]: ...


@dataclass(kw_only=True)
class Signature:
    """Arguments by name and results, each a pytree of arrays of fixed shapes (``plain``: one array)."""

    function: str
    names: list[str]
    shapes: list[list[Shape]]
    plain: list[bool]
    output_shapes: list[Shape]
    rebuild: Callable[[list], PyTree]
    examples: list[object] = field(default_factory=list)  # the pytrees, for their structure and constants
    output_spec: dict[str, object] | None = None  # None: this pytree cannot be serialized
    hidden: list[float] = field(default_factory=list)  # further scalar arguments, always with these values

    @property
    def sizes(self) -> list[int]:
        """Return the number of flat inputs of every argument, hidden ones last."""
        return [sum(map(tree.size, shapes)) for shapes in self.shapes] + [1] * len(self.hidden)

    @property
    def advances(self) -> bool:
        """Whether the results can be fed back into the first argument."""
        return bool(self.shapes) and self.output_shapes == self.shapes[0]

    @property
    def rolls(self) -> bool:
        """Whether the results, or the first of a tuple of them, can be fed back into the first argument."""
        return bool(self.shapes) and self.output_shapes[: len(self.shapes[0])] == self.shapes[0]

    def labels(self) -> list[str]:
        """Return a name for every flat input: ``q[3]``, ``M[0,2]``, ``sensed.2[1]`` for the third array of a pytree."""
        out = []
        for name, shapes, plain in zip(self.names, self.shapes, self.plain):
            for k, shape in enumerate(shapes):
                base = name if plain else f"{name}.{k}"
                for at in itertools.product(*map(range, shape)):
                    out.append(f"{base}[{','.join(map(str, at))}]" if at else base)
        return out + [f"hidden{k}" for k in range(len(self.hidden))]

    # -- calls ---------------------------------------------------------------------------------------------------------
    def bind(self, arguments: Sequence, keywords: Mapping[str, object]) -> Sequence:
        """Return the arguments in order, keywords included."""
        for name in keywords:
            if name not in self.names:
                raise InputError(f"{self.function} has no argument {name!r}: it takes {', '.join(self.names)}")
        given = len(arguments)
        rest = [n for n in self.names[given:] if n in keywords]
        if given + len(keywords) != len(self.names) or len(rest) != len(keywords):
            count = f"{given + len(keywords)} were given"
            raise InputError(f"{self.function} takes {len(self.names)} arguments ({', '.join(self.names)}); {count}")
        return [*arguments, *(keywords[n] for n in self.names[given:])]

    def leaves(self, arguments: Sequence) -> list:
        """Return all arrays of the arguments in order; checks the structure of pytrees and the constants in them."""
        out: list = []
        for k, (argument, plain) in enumerate(zip(arguments, self.plain)):
            if plain:
                out.append(argument)
                continue
            try:
                self._readers[k](argument, out)
            except tree.Mismatch:
                found = tree.difference(argument, self.examples[k], self.names[k])
                raise InputError(f"{self.function}: {found}, with which it was compiled") from None
        return out

    @functools.cached_property
    def _readers(self) -> list[Callable[[object, list], None]]:
        return [tree.reader(example) for example in self.examples]

    def where(self, leaf: int) -> str:
        """Return a description of the array at a flat position, for messages."""
        for name, shapes, plain in zip(self.names, self.shapes, self.plain):
            if leaf < len(shapes):
                return f"argument {name!r}" if plain else f"array {leaf} of argument {name!r}"
            leaf -= len(shapes)
        raise IndexError(leaf)

    def real(self, leaf: int, value: object) -> np.ndarray:
        """Return the value as an array of real numbers."""
        try:
            array = np.asarray(value)
        except ValueError as error:  # ragged lists
            raise InputError(f"{self.function}: {self.where(leaf)} is not an array ({error})") from None
        if array.dtype.kind not in REAL_KINDS:
            raise InputError(
                f"{self.function}: {self.where(leaf)} has dtype {array.dtype}; it takes real numbers (float, int, bool)"
            )
        return array

    def wrong_shape(self, leaf: int, got: Shape, batch: bool = False) -> InputError:
        shape = list(itertools.chain(*self.shapes))[leaf]
        wanted = f"{shape}" + (f", or (n, {', '.join(map(str, shape))}) for a batch of n" if batch else "")
        return InputError(f"{self.function}: {self.where(leaf)} has shape {got}; it was compiled for {wanted}")

    # -- storage -------------------------------------------------------------------------------------------------------
    def to_json(self) -> dict[str, object]:
        return {
            "function": self.function,
            "names": self.names,
            "shapes": self.shapes,
            "plain": self.plain,
            "output_shapes": self.output_shapes,
            "examples": [None if plain else tree.describe(x) for plain, x in zip(self.plain, self.examples)],
            "output_spec": self.output_spec,
            "hidden": self.hidden,
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Given]) -> Signature:
        shapes = [[tuple(s) for s in group] for group in form["shapes"]]
        examples = [
            spec and tree.from_spec(spec)([np.zeros(s) for s in group]) for spec, group in zip(form["examples"], shapes)
        ]
        return cls(
            function=form["function"],
            names=list(form["names"]),
            shapes=shapes,
            plain=list(form["plain"]),
            output_shapes=[tuple(s) for s in form["output_shapes"]],
            rebuild=tree.from_spec(form["output_spec"]),
            examples=examples,
            output_spec=form["output_spec"],
            hidden=list(form["hidden"]),
        )


def of(function: Callable, examples: Sequence, traced: Traced, names: Sequence[str] | None = None) -> Signature:
    """Return the signature of a traced function."""
    shapes, plain = argument_shapes(examples)
    outputs = [tuple(s) for s in traced.output_shapes]
    return Signature(
        function=name_of(function),
        names=argument_names(function, len(examples), names),
        shapes=shapes,
        plain=plain,
        output_shapes=outputs,
        rebuild=traced.rebuild_output,
        examples=list(examples),
        output_spec=output_spec(traced.rebuild_output, outputs),
    )


def argument_shapes(examples: Sequence) -> tuple[list[list[Shape]], list[bool]]:
    """Return (shapes of every argument's arrays, whether it is a single array or number)."""
    shapes, plain = [], []
    for example in examples:
        leaves = tree.flatten(example)[0]
        shapes.append([np.shape(x) for x in leaves])
        plain.append(len(leaves) == 1 and leaves[0] is example)
    return shapes, plain


def output_spec(rebuild: Callable[[list], PyTree], shapes: Sequence[Shape]) -> dict[str, object] | None:
    """Return the description of a pytree, or None if it cannot be stored (a class that cannot be imported by name)."""
    try:
        return tree.describe(rebuild([np.zeros(s) for s in shapes]))
    except (NptraceError, TypeError, ValueError):
        return None


def name_of(function: Callable) -> str:
    inner = getattr(function, "func", function)  # functools.partial
    return getattr(inner, "__name__", type(inner).__name__)


def argument_names(function: Callable, count: int, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the first ``count`` positional parameters; ``names`` take precedence."""
    if names is not None:
        if len(names) != count:
            raise InputError(f"names: {len(names)} names for {count} arguments of {name_of(function)}")
        return list(names)
    found = []
    try:
        for p in inspect.signature(function).parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                found.append(p.name)
            elif p.kind is p.VAR_POSITIONAL:
                found += [f"{p.name}{k}" for k in range(count - len(found))]
    except (TypeError, ValueError):
        pass
    return found[:count] + [f"argument{k}" for k in range(len(found[:count]), count)]


def positions(which: object, names: Sequence[str], what: str) -> tuple[int, ...]:
    """Return argument positions from positions, names, or a sequence of both."""
    out = []
    for w in which if isinstance(which, (tuple, list)) else (which,):
        if isinstance(w, str):
            if w not in names:
                raise InputError(f"{what}: no argument {w!r}; there are {', '.join(names)}")
            out.append(list(names).index(w))
        elif not isinstance(w, (int, np.integer)) or not -len(names) <= w < len(names):
            raise InputError(f"{what}: no argument {w!r}; there are {len(names)} ({', '.join(names)})")
        else:
            out.append(int(w) % len(names))
    return tuple(out)
