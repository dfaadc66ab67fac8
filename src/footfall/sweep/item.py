"""One item of a study, wherever it runs: from parameters to columns, or to an error in one sentence."""

from __future__ import annotations

import contextlib
import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from footfall.analysis.run_summary import UNITS as RUN_UNITS
from footfall.analysis.run_summary import summary
from footfall.errors import FootfallError, InputError, unknown
from footfall.plugins import named_object
from footfall.recording.recording import Recording
from footfall.sim.runfile import PlannedRun
from footfall.sim.shared_programs import run_batched
from footfall.sweep.parameters import planned
from footfall.sweep.shared import Numbers, share
from footfall.sweep.study import OURS, SIMULATE, Study
from nptrace._types import Given

DONE, FAILED = "done", "failed"
# in a run's summary, but dependent on the machine
_INPUTS = ("robot", "gait", "controller", "contact", "ground", "recording")


def evaluate(
    function: str, folder: str, parameters: Mapping[str, Given], numbers: Numbers | None = None
) -> dict[str, Given]:
    """Return ``status`` (done or failed), ``result`` (columns), ``message`` of a failure, and ``seconds`` taken.

    numbers: numbers that vary in the study (``Study.numbers``); simulations that differ only in these share machine
    code.

    Never raises: errors are recorded and the other items continue.
    """
    began = time.perf_counter()
    result: dict[str, Given] = {}
    message = None
    try:
        if function == SIMULATE:
            result, message = _simulated(parameters, Path(folder), numbers or {})
        else:
            result = _columns(_called(named_function(function, Path(folder)), parameters), function)
    except FootfallError as error:
        message = str(error)
    except Exception as error:  # any error of a user's function belongs to its item
        message = f"{type(error).__name__}: {error}"
    return _answer(result, message, time.perf_counter() - began)


def evaluate_together(
    function: str, folder: str, parameters: Sequence[Mapping[str, Given]], numbers: Numbers
) -> list[dict[str, Given]]:
    """Return the results of several items; simulations that share machine code run at once, the others one by one."""
    found: dict[int, dict[str, Given]] = {}
    if function == SIMULATE and len(parameters) > 1:
        try:
            found = _simulated_together(parameters, Path(folder), numbers)
        except Exception:  # an error of one among many: run separately, each reports its own
            found = {}
    return [found[k] if k in found else evaluate(function, folder, each, numbers) for k, each in enumerate(parameters)]


def _simulated_together(
    parameters: Sequence[Mapping[str, Given]], folder: Path, numbers: Numbers
) -> dict[int, dict[str, Given]]:
    """Return results by index, for those that can run on lanes."""
    began, runs = time.perf_counter(), dict[int, PlannedRun]()
    for k, each in enumerate(parameters):
        with contextlib.suppress(FootfallError):  # reported when it is evaluated
            run = planned(each, folder)
            if share(run.simulation, each, folder, numbers, lanes=True):
                runs[k] = run
    if len(runs) < 2:
        return {}
    simulations = [run.simulation for run in runs.values()]
    recordings = run_batched(simulations, [run.options.duration for run in runs.values()])
    results = [_summarised(run, rec) for run, rec in zip(runs.values(), recordings)]
    seconds = (time.perf_counter() - began) / len(runs)
    return {k: _answer(*result, seconds) for k, result in zip(runs, results)}


def _answer(result: dict[str, Given], message: str | None, seconds: float) -> dict[str, Given]:
    status = DONE if message is None else FAILED
    message = None if message is None else " ".join(message.split())
    return {"status": status, "result": result, "message": message, "seconds": seconds}


def _simulated(parameters: Mapping[str, Given], folder: Path, numbers: Numbers) -> tuple[dict[str, Given], str | None]:
    run = planned(parameters, folder)
    share(run.simulation, parameters, folder, numbers)
    return _summarised(run, run.simulation.run(run.options.duration))


def _summarised(run: PlannedRun, rec: Recording) -> tuple[dict[str, Given], str | None]:
    """Return (the run's summary, why it counts as failed). A fall is a result, a diverged run is a failure."""
    found = {key: value for key, value in summary(run, rec).items() if key not in _INPUTS}
    stop = run.simulation.stopped
    failed = stop is not None and stop.kind in ("diverged", "error")
    return _columns(found, SIMULATE), stop.message if failed and stop is not None else None


# -- user-defined functions --------------------------------------------------------------------------------------------
def named_function(name: str, folder: Path) -> Callable[..., Given]:
    """Return the function named ``module:name``; modules beside the study are found too, unless it is footfall's."""
    found: Callable[..., Given] = named_object(name, folder, beside=name not in OURS)
    return found


def _called(function: Callable[..., Given], parameters: Mapping[str, Given]) -> Given:
    return function(**parameters)


def _columns(found: Given, function: str) -> dict[str, Given]:
    """Return the result of a function as plain columns."""
    if not isinstance(found, Mapping):
        found = {function.partition(":")[2]: found}
    return {str(key): _plain(value, str(key)) for key, value in found.items()}


def _plain(value: Given, column: str) -> Given:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return _plain(value.item(), column)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v, column) for v in value]
    raise InputError(f"column '{column}' must hold numbers, strings or lists of them, got {type(value).__name__}")


# -- before anything runs ----------------------------------------------------------------------------------------------
def check_names(study: Study) -> None:
    """Raise for a study with unused parameters: the first item, with every text value, must be runnable."""
    first = study.items()[0].parameters
    if study.function != SIMULATE:
        _check_signature(named_function(study.function, study.folder), first, study.function)
        return
    _check_run(first, study.folder, "the first item")
    for axis in study.axes:
        for value in axis.values[1:]:
            if isinstance(value, str):
                _check_run({**first, axis.name: value}, study.folder, f"{axis.name} = {value!r}")


def _check_run(parameters: Mapping[str, Given], folder: Path, what: str) -> None:
    try:
        planned(parameters, folder)
    except FootfallError as error:
        raise InputError(f"{what} of the study cannot run: {error}") from error


def _check_signature(function: Callable[..., Given], parameters: Mapping[str, Given], name: str) -> None:
    try:
        known = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return  # a builtin, which reports unknown arguments itself
    takes = [p.name for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if not any(p.kind is p.VAR_KEYWORD for p in known):
        for key in parameters:
            if key not in takes:
                raise unknown(f"parameter of {name}", key, takes, "it takes")
    needed = [p.name for p in known if p.default is p.empty and p.name in takes and p.name not in parameters]
    if needed:
        raise InputError(f"{name} needs the parameter '{needed[0]}', which the study does not give")


def result_units(study: Study) -> dict[str, str]:
    """Return the units of the columns: those of a run, or those in a function's attribute ``units``."""
    if study.function == SIMULATE:
        return dict(RUN_UNITS)
    units = getattr(named_function(study.function, study.folder), "units", {})
    return {str(k): str(v) for k, v in units.items()} if isinstance(units, Mapping) else {}
