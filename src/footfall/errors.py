"""Everything footfall raises on purpose, and what nptrace raises. Every message is one sentence that names the culprit
and the choices.
"""

import struct
import tokenize
import zipfile
import zlib
from importlib.util import find_spec

from nptrace.errors import InputError, TraceError, TraceMismatch, callers_level, finite, unknown
from nptrace.errors import NptraceError as FootfallError

__all__ = [
    "SPOILED", "FootfallError", "InputError", "MissingExtraError", "ModelError", "TraceError", "TraceMismatch",
    "callers_level", "finite", "need_extra", "printable", "reason", "unknown",
]  # fmt: skip


# What parsers make of a spoiled file, ours and those of packages: each is turned into one sentence that names the file.
SPOILED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def reason(error: BaseException) -> str:
    """Return the message of an error; one of the operating system without its number and the file's name."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


class ModelError(FootfallError):
    """A robot description or model file that is not a valid robot."""


class MissingExtraError(FootfallError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str, package: str) -> None:
        super().__init__(f"{purpose} needs {package}: install it with  pip install 'footfall[{extra}]'")
        self.extra = extra


def need_extra(package: str, extra: str, purpose: str) -> None:
    """Raise MissingExtraError unless a package is installed; what is done with it is the ``purpose``."""
    if find_spec(package) is None:
        raise MissingExtraError(purpose, extra, package)


def printable(text: str) -> str:
    """A text without what a terminal would obey: escapes, bells, reversed writing. Lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
