"""The errors that footfall and nptrace raise; every message is one sentence that names the culprit and the choices."""

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


# Errors that parsers, ours and those of packages, raise on a corrupt file: each becomes one sentence that names the
# file.
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
    """Return the message of an error, without errno and file name for an operating-system error."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


class ModelError(FootfallError):
    """A robot description or model file that is not a valid robot."""


class MissingExtraError(FootfallError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str, package: str) -> None:
        super().__init__(f"{purpose} needs {package}: install it with  pip install 'footfall[{extra}]'")
        self.extra = extra


def need_extra(package: str, extra: str, purpose: str) -> None:
    """Raise MissingExtraError unless a package is installed; ``purpose`` says what needs it."""
    if find_spec(package) is None:
        raise MissingExtraError(purpose, extra, package)


def printable(text: str) -> str:
    """Return a text without terminal control characters (escapes, bells, bidirectional marks); lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
