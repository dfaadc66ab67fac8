"""Names for what a type checker cannot follow: one function is called with numbers, and with symbols when it is traced.

The carry of a loop may be any pytree of arrays. These aliases name what is meant; where the shape of an array is known,
``Float[ndarray, "nq"]`` says more.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Scalar: TypeAlias = float | np.ndarray  # a number, or an array of them; a traced number passes for a np.float64

PyTree: TypeAlias = Any  # tuples, lists, dicts and dataclasses of arrays and numbers, or of symbols in their place
Given: TypeAlias = Any  # input of a user or a file, before it is checked
Json: TypeAlias = Any  # a value read from a JSON file, or to be written to one
Operand: TypeAlias = Any  # an argument or result of NumPy's functions: an array, a number, a list of these, or a symbol
Named: TypeAlias = Any  # an attribute of a package, loaded on first use
Foreign: TypeAlias = Any  # an object of another library, without types that we know


def __getattr__(name: str) -> Any:
    """Return ``Scalar``, evaluated on first use: the command line imports this module and must start without NumPy."""
    if name == "Scalar":
        import numpy as np

        return float | np.ndarray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
