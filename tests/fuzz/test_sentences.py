"""Odd files, names and numbers that strangers found: each gets one sentence, and no work is lost."""

import json
import os

import numpy as np
import pytest

import footfall as ff
from footfall.control.learned.policy import Policy
from footfall.errors import SPOILED, FootfallError, InputError
from footfall.recording.recording import Event, Recording, RecordingError
from footfall.robot import library
from footfall.sim.runfile import read_run_file
from footfall.sim.simulation import Simulation
from footfall.sweep import table
from footfall.sweep.journal import Journal
from footfall.sweep.study import parse_study, read_study

ROBOT = library.load("mini_cheetah")


def rows(count=3, **changed):
    columns = {
        "time": np.arange(count) * 1e-3,
        "q": np.tile(ROBOT.state("stand")[0], (count, 1)),
        "v": np.zeros((count, ROBOT.nv)),
    }
    return {**columns, **changed}


# -- names -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["x" * 5000, "x" * 5000 + ".urdf", "a\0b.urdf", "a\0b"], ids=range(4))
def test_names_that_no_file_can_have(name, tmp_path):
    sim = Simulation(ROBOT)
    readers = [
        ff.load,
        Recording.load,
        read_run_file,
        read_study,
        Policy.load,
        sim.resume,
        Recording.from_netcdf,
        lambda path: Journal(tmp_path / path, "j", False, {}),
        Recording(ROBOT, rows()).save,
        Recording(ROBOT, rows()).to_netcdf,
        sim.checkpoint,
    ]
    for read in readers:
        with pytest.raises(FootfallError) as caught:
            read(name)
        assert len(str(caught.value)) < 3000


@pytest.mark.parametrize(
    "start", [object(), (object(), None), ([1.0], [object()]), {}, [[1.0], [2.0, 3.0]]], ids=range(5)
)
def test_a_start_that_is_none(start):
    with pytest.raises(InputError, match=r"a pose|joint positions"):
        Simulation(ROBOT, start=start)


# -- checkpoints -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("place", "value"), [("tick", 1e300), ("tick", -3.0), ("tick", 0.5), ("tick", np.nan), ("q", np.inf)]
)
def test_a_checkpoint_that_no_run_has_reached(place, value, tmp_path):
    sim = Simulation(ROBOT)
    sim.checkpoint(tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as found:
        arrays = dict(found)
    if place == "tick":
        assert arrays["leaf0"].shape == ()
        arrays["leaf0"] = np.array(value)
    else:
        key = next(k for k, a in arrays.items() if a.shape == (ROBOT.nq,))
        arrays[key] = np.full(ROBOT.nq, value)
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(InputError, match=r"is damaged: its (clock stands at tick|state is not finite)"):
        sim.resume(tmp_path / "c.npz")
    assert sim.run(0.01).time[-1] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("W", np.nan, "not finite"),
        ("seen_mean", np.zeros(3), "of shape"),
        ("steps", [1], "is not a checkpoint"),
        ("seconds", -1.0, "is not a checkpoint"),
        ("curve", [[1.0]], "is not a checkpoint"),
        ("random", [{"bit_generator": "PCG64"}], "is not a checkpoint"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_training_refuses_a_checkpoint_that_it_did_not_write_and_stays_as_it_was(key, value, words, tmp_path):
    from footfall.learn.ppo import Settings
    from footfall.learn.training import CpuTraining

    training = CpuTraining(robots=2, settings=Settings(hidden=(4,), steps=2, epochs=1, rows=4), seed=1)
    training.save(tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as found:
        arrays = dict(found)
    if key == "W":
        arrays["actor0"] = np.full_like(arrays["actor0"], value)
    elif key in arrays:
        arrays[key] = value
    else:
        changed = {**json.loads(arrays["words"].tobytes()), key: value}
        arrays["words"] = np.frombuffer(json.dumps(changed).encode(), np.uint8)
        arrays["actor0"] = arrays["actor0"] + 1.0
    np.savez(tmp_path / "c.npz", **arrays)
    before = training.policy()
    with pytest.raises(InputError, match=words):
        training.resume(tmp_path / "c.npz")
    after = training.policy()
    for one, other in zip(before.weights, after.weights):
        np.testing.assert_array_equal(one[0], other[0])


def test_numbers_too_large_for_a_float_are_junk():
    from footfall.view.driver import clipped
    from footfall.view.gamepad import understood

    assert clipped("forward", 10**400) == 0.0
    with pytest.raises(ValueError, match="no numbers"):
        understood(json.dumps({"axes": [10**400], "buttons": []}))


@pytest.mark.parametrize("text", ["a,b\n1,x\n", "a\n" + "9" * 200_000 + "\n", "a\n1,2\n", "\xff\0"], ids=range(4))
def test_a_curve_that_is_none_is_one_sentence(text, tmp_path):
    from footfall.learn.figures import read_curve

    (tmp_path / "curve.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="is not a learning curve"):
        read_curve(tmp_path / "curve.csv")


# -- studies -----------------------------------------------------------------------------------------------------------
def small_study(folder):
    return parse_study('[run]\nrobot = "mini_cheetah"\n[grid]\nspeed = [0.1, 0.2]', folder)


def test_a_column_with_any_name_has_a_place_in_the_table(tmp_path):
    study = small_study(tmp_path)
    items = study.items()
    result = {
        "speed m/s": 0.5,
        "": 1.0,
        ".": 2.0,
        "a/b/c": [1.0, 2.0],
        "\0": 3.0,
        "speed": 4.0,
        "big": 10**400,
        "text": "null \0 and \ud800",
        "item_status": 1,
        "whole": 2**63,
    }
    entries = {i.digest: {"status": "done", "result": result, "message": "\0", "seconds": 1.0} for i in items}
    made = table.to_xarray(study, items, entries)
    again = table.read(table.write(made, tmp_path / "results.nc"))
    np.testing.assert_array_equal(again["speed m_s"], [0.5, 0.5])
    assert again["speed m_s"].attrs["long_name"] == "speed m/s"
    assert len(again) == len(result) + 3
    assert np.isinf(again["big"]).all()
    np.testing.assert_array_equal(again["speed_result"], [4.0, 4.0])


@pytest.mark.parametrize(
    "entry",
    [
        {"status": ["done"], "result": {}, "message": None, "seconds": 1.0},
        {"status": "perhaps", "result": {}, "message": None, "seconds": 1.0},
        {"status": "done", "result": [1], "message": None, "seconds": 1.0},
        {"status": "done", "result": {}, "message": {}, "seconds": 1.0},
        {"status": "done", "result": {}, "message": None, "seconds": 10**400},
    ],
    ids=range(5),
)
def test_an_odd_line_of_a_journal_is_dropped_and_its_item_done_again(entry, tmp_path):
    study = small_study(tmp_path)
    items = study.items()
    journal = Journal(tmp_path, study.name, False, {})
    journal.append(items[0].digest, {}, {"status": "done", "result": {"x": 1.0}, "message": None, "seconds": 1.0})
    journal.close()
    with journal.path.open("a") as file:
        file.write(json.dumps({"item": items[1].digest, **entry}) + "\n" + "[" * 100_000 + "\n")
    again = Journal(tmp_path, study.name, True, {})
    again.close()
    assert list(again.entries) == [items[0].digest]
    assert again.dropped == 2
    table.to_xarray(study, items, again.entries)


def test_a_journal_in_a_file_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the journal of the study"):
        Journal(tmp_path / "file", "j", False, {})


def test_a_schedule_with_a_number_too_large_for_a_float_is_one_sentence(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(f'robot = "mini_cheetah"\nschedule = [{{ time = 0, forward = {"9" * 400} }}]\n')
    with pytest.raises(InputError, match="finite numbers"):
        read_run_file(path)
    with pytest.raises(InputError, match="forward of a command must be a finite number"):
        Simulation(ROBOT, command=ff.Command(forward=10**400))


# -- recordings --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "changed",
    [
        {"q": np.full((3, ROBOT.nq), np.nan)},
        {"q": np.full((3, ROBOT.nq), 1e300)},
        {"q": np.zeros((3, ROBOT.nq))},
        {"force": np.full((3, ROBOT.nf, 3), 1e300)},
        {"force": np.full((3, ROBOT.nf, 3), np.nan)},
    ],
    ids=["nan", "far", "no turn", "strong", "no force"],
)
def test_rows_that_no_picture_can_show(changed, tmp_path):
    rec = Recording(ROBOT, rows(**changed))
    with pytest.raises(InputError, match="cannot be shown"):
        rec.picture(0.0, width=32, height=32)
    with pytest.raises(InputError, match="cannot be shown"):
        rec.save_video(tmp_path / "x.gif")


def test_a_video_of_a_thousand_years_is_refused(tmp_path):
    rec = Recording(ROBOT, rows(time=np.array([0.0, 1.0, 1e12])))
    with pytest.raises(InputError, match="more than 100000 pictures"):
        rec.save_video(tmp_path / "x.gif", width=64)


def test_a_table_that_hdf5_never_ends_to_read_is_one_sentence(tmp_path, monkeypatch):
    """A few flipped bits make HDF5 go round for ever inside its own code, where no signal is heard."""
    from footfall.recording import tables

    rec = Recording(ROBOT, rows())
    rec.to_netcdf(tmp_path / "x.nc")
    again = Recording.from_netcdf(tmp_path / "x.nc")
    np.testing.assert_array_equal(again.q, rec.q)
    monkeypatch.setattr(tables, "_PROBE", "while True: pass")
    monkeypatch.setattr(tables, "_PATIENCE", 0.5)
    with pytest.raises(RecordingError, match="HDF5 does not finish"):
        Recording.from_netcdf(tmp_path / "x.nc")
    monkeypatch.setattr(tables, "_PROBE", "import os; os.kill(os.getpid(), 11)")
    monkeypatch.setattr(tables, "_PATIENCE", 60.0)
    with pytest.raises(RecordingError, match="HDF5 ends the process"):
        Recording.from_netcdf(tmp_path / "x.nc")


def test_a_run_to_a_file_keeps_no_rows_in_memory(tmp_path):
    """And gives them back from the file, each column when it is asked for."""
    import tracemalloc

    sim = Simulation(ROBOT)
    sim.run(0.5, tmp_path / "first.mcap")
    sim.reset()
    tracemalloc.start()
    try:
        rec = sim.run(10.0, tmp_path / "run.mcap")
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1e6, "bytes that a run of ten seconds leaves behind; it had 16 million"
    assert most < 5e6
    again = Recording.load(tmp_path / "run.mcap")
    os.remove(tmp_path / "run.mcap")
    assert len(rec) == len(again) == 10_000
    assert list(rec.columns) == list(again.columns)
    for name, column in again.columns.items():
        np.testing.assert_array_equal(rec[name], column)
    part = rec.between(2.0, 3.0).between(2.5, 2.75)
    np.testing.assert_array_equal(part.q, again.between(2.5, 2.75).q)
    part.save(tmp_path / "part.mcap")
    np.testing.assert_array_equal(Recording.load(tmp_path / "part.mcap").v, part.v)


def test_a_recording_whose_file_was_written_over_says_so(tmp_path):
    sim = Simulation(ROBOT)
    rec = sim.run(0.3, tmp_path / "run.mcap")
    assert len(rec.time) == 300
    sim.run(0.2, tmp_path / "run.mcap")
    with pytest.raises(RecordingError, match="has been overwritten since its run"):
        _ = rec.q


def test_a_long_culprit_is_shortened():
    with pytest.raises(FootfallError) as caught:
        Recording(ROBOT, rows(), [Event(0.0, "x")]).trunk_euler("z" * 100_000)
    assert len(str(caught.value)) < 2500


def test_what_parsers_raise_is_listed():
    """Each of these came out of a reader in the campaign, or in an attack, as a traceback."""
    import struct
    import tokenize
    import zlib

    for kind in (
        AttributeError,
        EOFError,
        IndexError,
        KeyError,
        MemoryError,
        NotImplementedError,
        OverflowError,
        RecursionError,
        StopIteration,
        SyntaxError,
        TypeError,
        UnicodeDecodeError,
        ZeroDivisionError,
        struct.error,
        tokenize.TokenError,
        zlib.error,
    ):
        assert issubclass(kind, SPOILED)
    assert not issubclass(KeyboardInterrupt, SPOILED)
    assert not issubclass(FootfallError, SPOILED)
