"""Names for what a type checker cannot follow: one function is called with numbers, and with symbols when it is traced.

What a loop carries may be any pytree of arrays. Such annotations name what is meant; where an array's shape is known,
``Float[ndarray, "nq"]`` says more.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Scalar: TypeAlias = float | np.ndarray  # a number, or an array of them; a traced number passes for a np.float64

PyTree: TypeAlias = Any  # tuples, lists, dicts and dataclasses of arrays and numbers, or of symbols in their place
Given: TypeAlias = Any  # what a user or a file gave, before it is checked
Json: TypeAlias = Any  # what a JSON file holds, or will
Element: TypeAlias = Any  # one number or truth value of an array, or a symbol in its place
Operand: TypeAlias = Any  # what NumPy's functions take and give: arrays, numbers and lists of them, or symbols
Named: TypeAlias = Any  # what a package shows under a name, loaded on first use
Foreign: TypeAlias = Any  # an object that is not ours, of which only what is used is known


def __getattr__(name: str) -> Any:
    """Return ``Scalar`` where it is used: command lines import these names, and start without NumPy."""
    if name == "Scalar":
        import numpy as np

        return float | np.ndarray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
