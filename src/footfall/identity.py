"""Digests of descriptions, equal in every process for equal numbers; they identify compiled code and recordings.

Only footfall's classes have one: the behaviour of a user-defined class is in its code, not in its numbers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np

from nptrace import ownership
from nptrace._types import Foreign


def digest_of(thing: object) -> str | None:
    """Return the digest of a pytree of footfall's dataclasses, arrays and numbers; None for anything else."""
    try:
        text = json.dumps(_plain(thing))
    except _Foreign:
        return None
    return hashlib.sha256(text.encode()).hexdigest()


class _Foreign(Exception):
    pass


def _plain(x: Foreign) -> object:
    if x is None or isinstance(x, (bool, int, str)):
        return x
    if issubclass(type(x), (float, np.floating)):  # a traced number passes isinstance, but has no digits
        return float(x).hex()
    if isinstance(x, np.ndarray) and x.dtype.kind in "fiub":
        return [list(x.shape), [float(v).hex() for v in x.ravel()]]
    if isinstance(x, (tuple, list)):
        return [_plain(v) for v in x]
    if isinstance(x, dict):
        return [[_plain(k), _plain(v)] for k, v in x.items()]
    kind = type(x)
    if dataclasses.is_dataclass(x) and ownership.is_library(kind):
        skipped = getattr(kind, "NOT_IN_DIGEST", ())
        fields = {f.name: _plain(getattr(x, f.name)) for f in dataclasses.fields(x) if f.name not in skipped}
        return [kind.__module__, kind.__qualname__, fields]
    raise _Foreign
