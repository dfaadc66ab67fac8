"""Cached code belongs to the function that runs: a copied name, a patched helper or an edited file never shares it."""

import functools
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
import nptrace
from footfall import compiling
from footfall.contact.compliant import Compliant
from footfall.contact.stick_slip import StickSlip
from footfall.control.joint import joint_pd
from nptrace import ownership, packages, source_facts
from nptrace.runtime.cache import Cache

gravity_file = importlib.import_module("footfall.dynamics.gravity_terms")
program_file = importlib.import_module("nptrace.ir.program")
tick_file = importlib.import_module("footfall.sim.tick")
SOURCES = Path(ff.__file__).parents[1]


@pytest.fixture(scope="module")
def robot():
    return ff.load("mini_cheetah")


@pytest.fixture(scope="module")
def q(robot):
    return ff.control.standing_state(robot)[0]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NPTRACE_CACHE", str(tmp_path / "cache"))
    return Cache()


def doubled(robot, q):
    return 2.0 * ff.dynamics.gravity_terms(robot, q)


def in_another_process(code, *arguments):
    """The numbers that a fresh interpreter prints."""
    start = (
        "import sys, numpy as np, footfall as ff\nr = ff.load('mini_cheetah')\nq = ff.control.standing_state(r)[0]\n"
    )
    done = subprocess.run([sys.executable, "-c", start + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


@pytest.mark.parametrize("keep_wrapped", [True, False])
def test_a_function_that_borrows_a_library_functions_name_runs_its_own_code(keep_wrapped, robot, q, cache):
    ff.compile(ff.dynamics.gravity_terms, robot)(q)  # what its name would find
    mine = functools.wraps(ff.dynamics.gravity_terms)(lambda robot, q: doubled(robot, q))
    if not keep_wrapped:
        del mine.__wrapped__
    np.testing.assert_allclose(ff.compile(mine, robot)(q), doubled(robot, q), rtol=1e-12, atol=1e-9)
    expected = 2.0 * ff.jacobian(ff.dynamics.gravity_terms, robot, wrt="q")(q)
    np.testing.assert_allclose(ff.jacobian(mine, robot, wrt="q")(q), expected, rtol=1e-12, atol=1e-9)


def test_what_borrows_a_name_leaves_nothing_for_the_library_function_of_another_process(robot, q, cache):
    mine = functools.wraps(ff.dynamics.gravity_terms)(lambda robot, q: doubled(robot, q))
    ff.compile(mine, robot)(q)
    ff.jacobian(mine, robot, wrt="q")(q)
    code = "print(ff.compile(ff.dynamics.gravity_terms, r)(q)[5], ff.dynamics.gravity_terms(r, q)[5])"
    compiled, numpy = in_another_process(code)
    assert compiled == pytest.approx(numpy, rel=1e-12)
    slope, exact = in_another_process(
        "J = ff.jacobian(ff.dynamics.gravity_terms, r, wrt='q'); e = 1e-6 * np.eye(len(q))[8]\n"
        "f = ff.dynamics.gravity_terms\nprint(J(q)[8, 8], (f(r, q + e) - f(r, q - e))[8] / 2e-6)"
    )
    assert slope == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("warm", [True, False])
def test_a_replaced_helper_is_run_and_leaves_nothing_in_the_cache(warm, robot, q, cache, monkeypatch):
    if warm:
        ff.compile(ff.dynamics.gravity_terms, robot)(q)
    original = gravity_file.joint_space_forces
    monkeypatch.setattr(gravity_file, "joint_space_forces", lambda *a, **k: 5.0 * np.asarray(original(*a, **k)))
    changed = ff.dynamics.gravity_terms(robot, q)
    np.testing.assert_allclose(ff.compile(ff.dynamics.gravity_terms, robot)(q), changed, rtol=1e-12, atol=1e-9)
    monkeypatch.undo()
    assert in_another_process("print(ff.compile(ff.dynamics.gravity_terms, r)(q)[5])")[0] == pytest.approx(
        ff.dynamics.gravity_terms(robot, q)[5], rel=1e-12
    )


@pytest.mark.parametrize("warm", [True, False])
def test_a_method_replaced_on_a_class_is_run_and_leaves_nothing_in_the_cache(warm, robot, cache, monkeypatch):
    code = "s = ff.Simulation(r); print(s.run(0.1).trunk_position[-1, 2])"
    height = ff.Simulation(robot).run(0.1).trunk_position[-1, 2] if warm else None
    original = Compliant.normal
    monkeypatch.setattr(Compliant, "normal", lambda *a, **k: tuple(0.5 * x for x in original(*a, **k)))
    simulation = ff.Simulation(robot)
    softer = simulation.run(0.1).trunk_position[-1, 2]
    assert softer == pytest.approx(
        ff.Simulation(robot, compile_controller=False).run(0.1).trunk_position[-1, 2], abs=1e-12
    )
    monkeypatch.undo()
    fresh = in_another_process(code)[0]
    assert fresh != softer
    assert height is None or fresh == pytest.approx(height, abs=1e-15)


def test_replaced_things_are_found_by_name(monkeypatch):
    def found(owner, name, value):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value, raising=False)
            return ownership.modified(modules)

    modules = ownership.reached([tick_file.__name__, Compliant.__module__, joint_pd.__name__])
    assert ownership.modified(modules) is None
    assert found(Compliant, "normal", lambda *a: None) == "footfall.contact.compliant.Compliant.normal"
    assert found(Compliant, "__add__", lambda *a: None) == "footfall.contact.compliant.Compliant.__add__"
    assert found(StickSlip, "__doc__", "other words") is None  # which change nothing
    assert found(tick_file, "tick", lambda *a: None) == "footfall.sim.tick.tick"
    assert found(tick_file, "abs", lambda *a: None) == "footfall.sim.tick.abs"
    assert found(tick_file.tick, "__code__", doubled.__code__) == "footfall.sim.tick.tick"
    keywords = {"fuse": False, "names": None}
    assert found(program_file.build, "__kwdefaults__", keywords) == "nptrace.ir.program.build.__defaults__"
    assert found(np, "tanh", np.sinh) == "numpy.tanh"
    numbers = {f"{m}.{name}": text for m in modules for name, text in ownership._facts(m).values.items()}
    constants = [name for name, text in numbers.items() if text.replace(".", "").isdigit() and name.count("_") > 0]
    tried = 0
    for path in constants:
        module, _, name = path.rpartition(".")
        if module in sys.modules and "__defaults__" not in path:
            assert found(sys.modules[module], name, -17.25) == path
            tried += 1
    assert tried > 50
    assert ownership.modified(modules) is None


def test_a_library_that_ran_much_is_not_taken_for_a_changed_one(robot, tmp_path):
    code = (
        "from nptrace import ownership\n"
        "ff.Simulation(r, ff.control.Locomotion()).run(0.01).save(sys.argv[1])\n"
        "ff.Recording.load(sys.argv[1])\n"
        "own = [name for name in list(sys.modules) if name.partition('.')[0] in ('footfall', 'nptrace')]\n"
        "changed = ownership.modified(own)\nassert changed is None, changed\nprint(len(own))"
    )
    assert in_another_process(code, str(tmp_path / "run.mcap"))[0] > 300


def test_no_module_of_ours_is_taken_for_a_changed_one():
    """Enumerations, protocols and whatever else a module may hold are read from its file as they are in memory."""
    code = (
        "import contextlib, importlib, pkgutil\nfrom nptrace import ownership\n"
        "for package in ('nptrace', 'footfall', 'footfall_go2', 'footfall_lab'):\n"
        "    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + '.'):\n"
        "        with contextlib.suppress(ImportError, ff.MissingExtraError):\n"
        "            importlib.import_module(found.name)\n"
        "own = [name for name in sys.modules if name.startswith(('nptrace', 'footfall'))]\n"
        "changed = [name for name in own if ownership.modified([name]) is not None]\n"
        "assert not changed, [ownership.modified([name]) for name in changed]\nprint(len(own))"
    )
    assert in_another_process(code)[0] > 500


def test_what_was_found_once_is_not_looked_for_again_until_a_file_changes(copy, monkeypatch):
    before = ownership.reached([tick_file.__name__])
    with monkeypatch.context() as patch:
        patch.setattr(ownership, "_reach", None)
        assert ownership.reached([tick_file.__name__]) == before
    file = copy / "footfall" / "sim" / "tick.py"
    file.write_text(file.read_text() + "\nimport footfall.sweep.plot\n")
    assert set(ownership.reached([tick_file.__name__])) - set(before) >= {"footfall.sweep.plot"}


def test_facts_that_processes_find_at_the_same_time_are_all_kept(cache, copy, monkeypatch):
    for name in ("tick", "step"):  # each began with an empty folder
        source_facts._kept.cache_clear()
        source_facts._read.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(source_facts, "_kept", functools.cache(dict))
            patch.setattr(source_facts, "_on_disk", 0)
            source_facts.read(f"footfall.sim.{name}", str(copy / "footfall" / "sim" / f"{name}.py"))
            source_facts.keep()
    source_facts._read.cache_clear()
    source_facts._kept.cache_clear()
    assert len(source_facts._kept()) == 2


# -- the key ----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def locomotion(robot):
    return ff.Simulation(robot, ff.control.Locomotion())


@pytest.fixture(scope="module")
def entered(locomotion, tmp_path_factory):
    """The library's files whose code runs while a step under whole-body control is traced."""
    files = set()

    is_tracing = nptrace.is_tracing  # a million calls: the package finds its names anew for each

    def note(frame, event, argument):
        if frame.f_code.co_filename not in files and is_tracing():
            files.add(frame.f_code.co_filename)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPTRACE_CACHE", str(tmp_path_factory.mktemp("empty")))
        simulation = ff.Simulation(locomotion.robot, ff.control.Locomotion())
        sys.settrace(note)  # one event a call of Python; a profile would have four
        try:
            simulation.advance(2)
        finally:
            sys.settrace(None)
    return {Path(file).relative_to(SOURCES) for file in files if packages.in_folder(file)}


@pytest.fixture
def copy(tmp_path):
    """A copy of the sources, registered in place of the installed ones."""
    installed = dict(packages.folders)
    for name, folder in installed.items():
        shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
        packages.register(name, tmp_path / name)
    yield tmp_path
    for name, folder in installed.items():
        packages.register(name, folder)


def test_a_library_file_that_changes_under_a_process_is_named(tmp_path):
    """Its controllers are then verified as a user's, whose attributes must not change: that is not what is wrong."""
    for name, folder in packages.folders.items():
        shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import pathlib, sys, footfall as ff, footfall.control.interface as changed\n"
        "file = pathlib.Path(changed.__file__)\nfile.write_text('\\n\\n' + file.read_text())\n"
        "ff.Simulation(ff.load('mini_cheetah'), ff.control.Locomotion()).run(0.002)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Locomotion runs in Python" in done.stderr
    assert "footfall.control.interface." in done.stderr
    assert "is no longer what its file contains" in done.stderr
    assert "hidden state" not in done.stderr


def test_a_constant_changed_in_any_file_that_a_trace_enters_changes_the_key(locomotion, entered, copy):
    modules = {compiling.__name__, tick_file.__name__} | ownership.modules_of(locomotion.model)
    before = ownership.digest(ownership.reached(modules))
    missed = []
    for file in sorted(entered):
        text = (copy / file).read_text()
        (copy / file).write_text(text + "\n_ADDED = 1\n")
        if ownership.digest(ownership.reached(modules)) == before:
            missed.append(str(file))
        (copy / file).write_text(text)
    assert len(entered) > 80
    assert not missed
    assert ownership.digest(ownership.reached(modules)) == before


def test_a_file_that_no_step_reaches_does_not_change_the_key(locomotion, copy):
    modules = {compiling.__name__, tick_file.__name__} | ownership.modules_of(locomotion.model)
    before = ownership.digest(ownership.reached(modules))
    for file in ("view/gamepad.py", "learn/ppo.py", "sweep/plot.py", "cli/simulate.py"):
        file = copy / "footfall" / file
        file.write_text(file.read_text() + "\n# a comment\n")
    assert ownership.digest(ownership.reached(modules)) == before
