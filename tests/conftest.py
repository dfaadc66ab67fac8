"""Shared fixtures: every library robot, every backend, real third-party models.

A law is written once, ``test_...(robot, call)``, and runs on every robot of the library and every backend:
``call(function, robot, *arrays)`` evaluates a plain-NumPy function of footfall the way the backend does.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import pkgutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from made_up_trot import made_up_trot, written_in_chunks
from third_party_models import THIRD_PARTY, third_party_path, walker

import footfall
import footfall_go2
import footfall_lab
import nptrace
import nptrace as trace
from footfall import compiling
from footfall.dynamics.random_states import States, random_states
from footfall.errors import MissingExtraError
from footfall.recording import Recording
from footfall.robot import Robot, library
from nptrace.runtime import machine

Call = Callable[..., Any]
sys.path.append(str(Path(__file__).parents[1] / "studies"))  # they are scripts beside the package

# A plain run tries the same examples every time, whatever the machine and however fast it is; ``make test-all`` draws
# new ones. A pace is no property of what is tested: there are no deadlines, and slow draws are no failure.
_PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeated", derandomize=True, database=None, **_PATIENT)
settings.register_profile("random", derandomize=False, **_PATIENT)
settings.load_profile("repeated")


def pytest_configure(config: pytest.Config) -> None:
    """Runs alike everywhere: Ctrl-C means what it does also where the whole run was started with it ignored (in the
    background, by nohup), and all modules are loaded at once, since examples are drawn from constants in them too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    only_deals = config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput")
    if settings.get_current_profile_name() == "repeated" and not only_deals:
        for package in (nptrace, footfall, footfall_go2, footfall_lab):
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                with contextlib.suppress(ImportError, MissingExtraError):  # of an extra that is not installed
                    importlib.import_module(module.name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases that ``long_cases.txt`` lists are slow: of a law with many cases the plain run keeps the first."""
    listed = set((Path(__file__).parent / "long_cases.txt").read_text().splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Ten thousand tests and all modules are there to stay: no collection of garbage need look through them again.

    Collections are rare besides, since programs are made of millions of tuples and no cycles.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def numpy_call(function: Callable[..., Any], robot: Robot, *arrays: np.ndarray) -> Any:
    """The reference: the function as it stands."""
    return function(robot, *arrays)


def traced_call(target: str) -> Call:
    """The function traced and compiled for one target, once for each robot and shape of its arguments.

    It is traced in every process: no key names it. Machine code of an equal program is taken from disk.
    LLVM takes most of the time, and a law is tried on a few states: it does not optimise here. That changes no number
    (``tests/nptrace/test_llvm.py``); simulations and all other tests run optimised code.
    """
    compiled: dict[Any, Call] = {}
    quickly = dataclasses.replace(machine.host(), level=0)

    def call(function: Callable[..., Any], robot: Robot, *arrays: np.ndarray) -> Any:
        key = (function, robot.digest, tuple(array.shape for array in arrays))
        if key not in compiled:
            bound = compiling.Bound(function, robot, arrays, (), {})
            compiled[key] = trace.compile(
                bound,
                *bound.examples,
                target=target,
                verify=not bound.is_library,
                names=bound.names,
                host=quickly,
            )
        if target == "batch":
            return compiled[key](*(np.stack([array, array]) for array in arrays))[1]
        return compiled[key](*arrays)

    return call


BACKENDS: dict[str, Call] = {
    "numpy": numpy_call,
    "interpret": traced_call("interpret"),
    "native": traced_call("native"),
    "batch": traced_call("batch"),
}


@pytest.fixture(params=BACKENDS, scope="session")
def call(request: pytest.FixtureRequest) -> Call:
    """``call(function, robot, *arrays)`` on each backend in turn."""
    return BACKENDS[request.param]


@pytest.fixture(params=library.names(), scope="session")
def robot(request: pytest.FixtureRequest) -> Robot:
    """Every robot of the library."""
    return library.load(request.param)


@pytest.fixture
def states(robot: Robot) -> States:
    """A few random states of the robot."""
    return random_states(robot, 5, seed=7)


@pytest.fixture(scope="session")
def third_party_file() -> Callable[[str], Path]:
    """``third_party_file("go2")``: the path of a real robot's URDF."""
    return third_party_path


@pytest.fixture(params=THIRD_PARTY, scope="session")
def third_party(request: pytest.FixtureRequest) -> Robot:
    """Real robots of other makers, imported from URDF."""
    return walker(request.param)


@pytest.fixture(scope="module")
def rec() -> Recording:
    """A recording that no simulation had to make."""
    return made_up_trot(0.5)


@pytest.fixture
def saved(rec: Recording, tmp_path: Path) -> Path:
    """The same on disk: 501 rows in chunks of 64."""
    return written_in_chunks(tmp_path / "run.mcap", rec)
