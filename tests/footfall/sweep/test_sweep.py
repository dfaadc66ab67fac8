"""Whole studies: tables with named dimensions, plots, journals that survive, clusters that do not answer."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall import sweep
from footfall.analysis.run_summary import summary
from footfall.cli.main import run as command
from footfall.errors import FootfallError, InputError
from footfall.sim.runfile import options_of, plan
from footfall.sweep import plot
from footfall.sweep.item import evaluate
from footfall.sweep.journal import Journal

HERE = Path(__file__).parent


def study_of_traces(folder: Path, grid: str) -> sweep.Study:
    folder.mkdir(exist_ok=True)
    return sweep.parse_study(
        f'name = "traces"\nfunction = "sweep_items:traced"\n[run]\nfolder = "{folder}"\n[grid]\n{grid}', HERE
    )


def test_a_study_of_simulations_has_named_dimensions_units_and_the_numbers_of_single_runs(tmp_path, capsys):
    file = tmp_path / "small.toml"
    file.write_text(
        'seed = 3\n[run]\nrobot = "mini_cheetah"\nduration = 0.2\n[grid]\nspeed = [0.2, 0.3]\n'
        "[samples]\ncount = 2\ntrunk.mass = { uniform = [3.0, 4.0] }\n"
    )
    assert command(["sweep", str(file), "--out", str(tmp_path / "out"), "--workers", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["study"], said["items"], said["done"], said["failed"]) == ("small", 4, 4, 0)
    table = sweep.table.read(Path(said["table"]))
    assert dict(table.sizes) == {
        "speed": 2,
        "sample": 2,
        "mean_velocity_component": 3,
        "averaged_over_component": 2,
    }
    assert table["trunk_mass"].dims == ("sample",)
    assert table["trunk_mass"].attrs["units"] == "kg"
    assert table["mean_speed"].attrs["units"] == "m/s"
    assert table.attrs["study_text"] == file.read_text()
    assert table.attrs["seed"] == 3
    assert Path(said["plot"]).read_bytes().startswith(b"\x89PNG")
    from footfall.loading import load

    mass = float(table["trunk_mass"][1])
    robot = load("mini_cheetah").replace({"trunk.mass": mass})
    run = plan(robot, options_of({"robot": "mini_cheetah", "duration": 0.2, "speed": 0.3, "seed": 3}))
    alone = summary(run, run.simulation.run(0.2))
    here = table.sel(speed=0.3).isel(sample=1)
    # to rounding: items share machine code, in which the mass is an input
    np.testing.assert_allclose(float(here["mean_speed"]), alone["mean_speed"], rtol=1e-12)
    np.testing.assert_allclose(here["mean_velocity"].values, alone["mean_velocity"], rtol=0, atol=1e-13)


def test_results_of_a_function_fill_the_table_and_a_bigger_study_reuses_them(tmp_path):
    small = study_of_traces(tmp_path / "traces", "k = [1, 2]")
    outcome = sweep.run(small, tmp_path / "out", workers=1, allow_code=True)
    table = outcome.load()
    assert table["square"].values.tolist() == [1, 4]
    assert table["square"].attrs["units"] == "m²"
    assert table["pair"].values.tolist() == [[1, -1], [2, -2]]
    assert table["even"].values.tolist() == [False, True]
    large = study_of_traces(tmp_path / "traces", "k = [1, 2, 3]")
    with pytest.raises(InputError, match=r"holds 2 finished items of the study 'traces'.*--resume"):
        sweep.run(large, tmp_path / "out", workers=1, allow_code=True)
    assert sweep.run(large, tmp_path / "out", workers=1, resume=True).load()["square"].values.tolist() == [1, 4, 9]
    assert [(tmp_path / "traces" / f"{k}.log").read_text().count("end") for k in (1, 2, 3)] == [1, 1, 1]
    other = sweep.parse_study('name = "other"\nfunction = "sweep_items:picky"\n[grid]\nk = [1]', HERE)
    with pytest.raises(InputError, match="holds another study, 'traces'"):
        sweep.run(other, tmp_path / "out", resume=True, allow_code=True)
    with Path(tmp_path / "out" / "journal.jsonl").open("ab") as journal:
        import fcntl

        fcntl.flock(journal, fcntl.LOCK_EX)
        with pytest.raises(FootfallError, match="another sweep is running"):
            sweep.run(large, tmp_path / "out", resume=True)


def test_failures_are_recorded_and_tried_again_only_when_asked(tmp_path, capsys):
    file = tmp_path / "study.toml"
    file.write_text('function = "mine:half"\n[grid]\nk = [1, 2, 3]')
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\n"
        "def half(k):\n"
        "    if k == 2 and not (Path(__file__).parent / 'mended').exists():\n"
        "        raise RuntimeError('broken')\n"
        "    return k / 2\n"
    )
    options = ["sweep", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert command([*options, "--json", "--allow-code"]) == 1
    said = capsys.readouterr()
    assert "failed: k = 2: RuntimeError: broken" in said.err
    assert json.loads(said.out)["failures"] == [{"parameters": {"k": 2}, "message": "RuntimeError: broken"}]
    table = sweep.table.read(tmp_path / "out" / "results.nc")
    assert table["item_status"].values.tolist() == ["done", "failed", "done"]
    assert np.isnan(table["half"].values).tolist() == [False, True, False]
    (tmp_path / "mended").touch()
    assert command([*options, "--resume"]) == 1
    assert "broken" in capsys.readouterr().err
    assert command([*options, "--retry-failed"]) == 0
    shown = capsys.readouterr().out
    assert "3 of 3 items done, 0 failed" in shown


def test_a_run_that_diverges_or_cannot_begin_fails_and_one_that_falls_is_a_result():
    run = {"robot": "mini_cheetah", "duration": 0.3}
    struck = {"push.start": 0.1, "push.duration": 0.1, "push.force.x": 1e305}
    answer = evaluate("simulate", ".", {**run, **struck})
    assert answer["status"] == "failed"
    assert "diverged" in answer["message"]
    assert answer["result"]["diverged"] is True
    assert evaluate("simulate", ".", {**run, "friction": -1.0})["status"] == "failed"
    pushed = {"push.start": 0.05, "push.duration": 0.2, "push.force.y": 400.0}
    fell = evaluate("simulate", ".", {**run, "duration": 2.0, **pushed})
    assert fell["status"] == "done"
    assert fell["result"]["fell"] is True
    odd = evaluate("sweep_items:odd_answer", str(HERE), {"k": 1})
    assert "column 'it' must hold numbers" in odd["message"]


@settings(max_examples=40, deadline=None)
@given(cut=st.integers(0, 400), junk=st.binary(max_size=12).filter(lambda b: b"\n" not in b))
def test_a_journal_cut_anywhere_keeps_every_whole_line_and_goes_on(tmp_path_factory, cut, junk):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder, "j", False, {})
    ends = [journal.path.stat().st_size]
    for k in range(3):
        journal.append(f"item{k}", {"k": k}, {"status": "done", "result": {"x": 1.0 / (k + 1)}})
        ends.append(journal.path.stat().st_size)
    journal.close()
    data = journal.path.read_bytes()[: max(cut, 0)] + (junk if cut < ends[-1] else b"")
    journal.path.write_bytes(data)
    whole = sum(end <= cut for end in ends)
    again = Journal(folder, "j", True, {})
    assert list(again.entries) == [f"item{k}" for k in range(max(whole - 1, 0))]
    again.append("new", {}, {"status": "done", "result": {}})
    again.close()
    last = Journal(folder, "j", True, {})
    assert list(last.entries) == [*(f"item{k}" for k in range(max(whole - 1, 0))), "new"]
    assert last.dropped == 0
    last.close()


def test_a_foreign_file_in_the_journals_place_is_left_alone(tmp_path):
    (tmp_path / "journal.jsonl").write_text("dear diary\n")
    with pytest.raises(InputError, match="not the journal of a footfall study"):
        Journal(tmp_path, "j", True, {})
    assert (tmp_path / "journal.jsonl").read_text() == "dear diary\n"


@pytest.mark.parametrize(
    "grid",
    ["k = [1, 2, 3]", "k = [1, 2]\nseconds = [0.0, 0.001]", "k = [1, 2]\nseconds = [0.0, 0.001]\nmode = ['a', 'b']"],
)
def test_one_two_and_more_dimensions_have_a_plot(grid):
    study = sweep.parse_study(f'function = "sweep_items:traced"\n[run]\nfolder = "x"\n[grid]\n{grid}', HERE)
    items = study.items()
    entries = {
        i.digest: {"status": "done", "result": {"square": i.parameters["k"] ** 2}, "seconds": 0.1} for i in items
    }
    entries[items[0].digest] = {"status": "failed", "result": {}, "message": "no"}
    figure = plot.figure(sweep.table.to_xarray(study, items, entries), study)
    panels = [axis for axis in figure.axes if axis.get_xlabel()]
    assert len(panels) == {1: 1, 2: 1, 3: 3}[len(study.dims)]
    wrong = sweep.parse_study(study.text, HERE)
    object.__setattr__(wrong, "plot", ("squar",))
    with pytest.raises(InputError, match="did you mean 'square'"):
        plot.figure(sweep.table.to_xarray(study, items, entries), wrong)


def test_a_cluster_that_is_not_there_is_silent_or_empty_is_one_sentence(tmp_path):
    study = study_of_traces(tmp_path / "traces", "k = [1]")

    def refused(address: str, words: str) -> None:
        with pytest.raises(FootfallError, match=words):
            sweep.run(study, tmp_path / "out", cluster=address, patience=0.5, allow_code=True)

    refused("localhost", "looks like tcp://host:8786")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls and never says a word
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        refused(address, "no Dask scheduler responds")
    refused(address, "no Dask scheduler responds")
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as cluster:
        refused(cluster.scheduler_address, "has no workers")
    assert sweep.run(study, tmp_path / "out", workers=1, allow_code=True).done == 1


def test_no_workers_is_refused(tmp_path):
    with pytest.raises(InputError, match="at least one worker, got 0"):
        sweep.run(study_of_traces(tmp_path / "traces", "k = [1]"), tmp_path / "out", workers=0)


def test_full_disk_is_said_with_the_journals_name(tmp_path):
    resource = pytest.importorskip("resource", reason="no limits of files here")
    journal = Journal(tmp_path, "s", False, {})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size + 10, before[1]))
    try:
        with pytest.raises(FootfallError, match=r"journal\.jsonl: File too large"):
            journal.append("x", {}, {"status": "done", "result": {}})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    journal.close()
    again = Journal(tmp_path, "s", True, {})  # what was not written whole is dropped
    assert (list(again.entries), again.dropped) == ([], 1)
    again.close()
