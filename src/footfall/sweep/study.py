"""Study files in TOML: the run, its variations, and the plot.

    seed = 1

    [run]                                   # options of footfall simulate, and any parameter by its path
    robot = "mini_cheetah"
    duration = 5.0

    [grid]                                  # a dimension each
    speed = [0.2, 0.3, 0.4]
    trunk.mass = { from = 3.0, to = 5.0, count = 5 }

    [samples]                               # drawn together along one more dimension
    count = 16
    friction = { uniform = [0.4, 1.0] }

With ``function = "module:name"`` a user-defined function is called with the parameters instead of a simulation. That is
code, which runs with the rights of whoever runs the study: ``sweep.run`` must be given permission.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from footfall._io.toml_file import parse_toml, read_toml_text
from footfall.checks import whole_number
from footfall.errors import InputError, unknown
from footfall.sweep.axes import SPAN, RandomSamples, SweepAxis, axis, flattened, names_of, plain_value, samples
from nptrace._types import Given

KEYS = ("name", "function", "seed", "limit", "plot", "run", "grid", "samples")
LIMIT = 20_000  # largest number of items, unless the study states its own limit ...
MOST_ITEMS = 10_000_000  # ... and an absolute limit: their list alone fills the memory
SAMPLE = "sample"  # name of the dimension of samples
SIMULATE = "simulate"
# footfall's own functions, which need no more permission than a simulation
OURS = ("footfall_lab.papers.adak2021.spine_study:case",)


@dataclass(frozen=True)
class Item:
    """One point of a study: its index along the dimensions, its parameters, and a digest that identifies it."""

    index: tuple[int, ...]
    parameters: Mapping[str, Given]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Study:
    """A checked parameter study; ``sweep.parameters`` checks the names of its parameters."""

    name: str
    text: str
    folder: Path  # folder of the study file: the base of its paths and modules
    function: str
    seed: int
    run: Mapping[str, Given]
    axes: tuple[SweepAxis, ...]
    samples: RandomSamples | None
    plot: tuple[str, ...] = ()

    @property
    def runs_code(self) -> bool:
        """Return whether it calls a user-defined function."""
        return self.function not in (SIMULATE, *OURS)

    @property
    def dims(self) -> dict[str, int]:
        """Return names and lengths of the dimensions, with underscores for dots: ``.sel(trunk_mass=4.0)``."""
        sizes = {dim_name(a.name): len(a.values) for a in self.axes}
        return sizes | ({SAMPLE: self.samples.count} if self.samples else {})

    @property
    def varying(self) -> list[str]:
        """Return every parameter that varies."""
        return names_of(self.axes, self.samples)

    def numbers(self) -> dict[str, list[Given]]:
        """Return two different values of every number, or list of numbers, that varies."""
        rows = self.samples.drawn(self.seed) if self.samples else []
        values = {a.name: a.values for a in self.axes} | {key: [row[key] for row in rows] for key in (rows or [{}])[0]}
        pairs = {name: [x[0], *(v for v in x if v != x[0])][:2] for name, x in values.items()}
        return {name: pair for name, pair in pairs.items() if len(pair) == 2 and not isinstance(pair[0], str | bool)}

    def items(self) -> list[Item]:
        """Yield all points; the last dimension varies fastest."""
        return list(self._items())

    def _items(self) -> Iterator[Item]:
        drawn = self.samples.drawn(self.seed) if self.samples else [{}]
        for positions in itertools.product(*(range(len(a.values)) for a in self.axes)):
            own = {a.name: a.values[k] for a, k in zip(self.axes, positions)}
            for k, sample in enumerate(drawn):
                parameters = {**self.run, **own, **sample}
                index = (*positions, k) if self.samples else positions
                yield Item(index, parameters, digest_of_item(self.function, parameters))


def dim_name(parameter: str) -> str:
    return parameter.replace(".", "_").replace("*", "all")


def digest_of_item(function: str, parameters: Mapping[str, Given]) -> str:
    """Return the digest of parameters, equal for equal ones in any study and order."""
    words = json.dumps([function, dict(parameters)], sort_keys=True, allow_nan=False)
    return hashlib.sha256(words.encode()).hexdigest()[:24]


def read_study(path: str | Path) -> Study:
    """Read a study file; an error names the table and the key.

    Args:
        path: The file.

    Returns:
        The study.
    """
    file = Path(path)
    text = read_toml_text(file, "the study")
    return parse_study(text, file.resolve().parent, file.stem, str(file))


def parse_study(text: str, folder: str | Path, name: str = "study", where: str = "the study") -> Study:
    """Parse a study in TOML.

    Args:
        text: Text of the file.
        folder: Folder to which its paths are relative.
        name: Name of the study.
        where: Name of the text in messages.

    Returns:
        The study.
    """
    found = parse_toml(text, where)
    for key in found:
        if key not in KEYS:
            raise unknown(f"key of {where}", key, KEYS, "a study has")
    tables = {key: found.get(key, {}) for key in ("run", "grid", "samples")}
    for key, table in tables.items():
        if not isinstance(table, Mapping):
            raise InputError(f"{key} of {where} must be a table: [{key}]")
    run = {key: plain_value(value, f"{key} in [run]") for key, value in flattened(tables["run"]).items()}
    flat = flattened(tables["grid"], lambda table: bool(set(table) & set(SPAN)))
    axes = tuple(axis(key, value, "[grid]") for key, value in flat.items())
    drawn = samples(tables["samples"], "[samples]") if "samples" in found else None
    function = _text(found, "function", SIMULATE)
    if function != SIMULATE and (function.count(":") != 1 or not all(function.split(":"))):
        raise InputError(f'function of {where} must name a module and a function, "module:name", got {function!r}')
    plot = found.get("plot", [])
    if not isinstance(plot, list) or not all(isinstance(column, str) for column in plot):
        raise InputError(f"plot of {where} must be a list of columns, got {plot!r}")
    seed = whole_number(found.get("seed", 0), f"seed of {where}", 0)
    own_name = _text(found, "name", name)
    if not own_name.replace("_", "a").replace("-", "a").replace(".", "a").isalnum() or own_name.startswith("."):
        raise InputError(f"name of {where} must be letters, digits, '_', '-' and '.', got {own_name!r}")
    if function == SIMULATE and "seed" in found and "seed" not in (*run, *names_of(axes, drawn)):
        run["seed"] = seed
    study = Study(
        name=own_name,
        text=text,
        folder=Path(folder).resolve(),
        function=function,
        seed=seed,
        run=run,
        axes=axes,
        samples=drawn,
        plot=tuple(plot),
    )
    _check(study, whole_number(found.get("limit", LIMIT), f"limit of {where}", 1), where)
    return study


def _text(found: Mapping[str, Given], key: str, default: str) -> str:
    value = found.get(key, default)
    if not isinstance(value, str) or not value:
        raise InputError(f"{key} of the study must be a string, got {value!r}")
    return value


def _check(study: Study, limit: int, where: str) -> None:
    if not study.axes and study.samples is None:
        raise InputError(f"nothing varies in {where}: it needs a table [grid] or [samples]")
    twice = [name for name in study.varying if name in study.run or study.varying.count(name) > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice in {where}: give it in one of [run], [grid] and [samples]")
    names = [dim_name(name) for name in study.varying] + [SAMPLE] * (study.samples is not None)
    clash = [name for name in names if names.count(name) > 1]
    if clash:
        raise InputError(f"two dimensions of {where} would be called '{clash[0]}'")
    count = math.prod(study.dims.values())
    if count > MOST_ITEMS:
        raise InputError(f"{where} has {count} items: a study has at most {MOST_ITEMS}, whatever its limit")
    if count > limit:
        raise InputError(
            f"{where} has {count} items, more than {limit}: add  limit = {count}  to it if this is intended"
        )
