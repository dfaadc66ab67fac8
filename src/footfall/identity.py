"""A digest of a description: equal numbers give equal digests in every process. It names compiled code and recordings.

Only footfall's own classes have one: what a user's class does is written in its code, which its numbers do not tell.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np

from nptrace import ownership
from nptrace._types import Foreign


def digest_of(thing: object) -> str | None:
    """The digest of a pytree of footfall's dataclasses, arrays, numbers and names; None if something else is inside."""
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
    if issubclass(type(x), (float, np.floating)):  # a traced number passes for one with isinstance, and has no digits
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
