"""Annotations of arrays with their axes: ``Float[ndarray, "nq"]``, ``Shaped[ndarray, "n 3"]``.

At run time an annotation is ``Annotated[ndarray, Axes]``. It has the syntax of jaxtyping, which is not required:
``compile`` reads shapes from both, and ``tests/shape_checks.py`` has jaxtyping check them at every call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from typing import Annotated as Bool
    from typing import Annotated as Float
    from typing import Annotated as Int
    from typing import Annotated as Integer
    from typing import Annotated as Shaped


@dataclass(frozen=True)
class Axes:
    """The content of an annotation: the kind of numbers, and the axes as sizes or names, separated by spaces."""

    kind: str
    dim_str: str  # named as in jaxtyping


@dataclass(frozen=True)
class _Kind:
    name: str

    def __getitem__(self, said: tuple[object, str]) -> object:
        array, axes = said
        return Annotated[array, Axes(self.name, axes)]


if not TYPE_CHECKING:
    Bool, Float, Int, Integer, Shaped = map(_Kind, ("Bool", "Float", "Int", "Integer", "Shaped"))
