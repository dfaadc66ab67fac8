"""Every bench runs on a small budget and says all it promises; counts of operations are what they must be."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from third_party_models import third_party_path

from footfall.cli.main import run
from footfall.errors import InputError
from footfall_lab import bench
from footfall_lab.bench import horizon_peer, simulated_second, subject, targets, timing
from footfall_lab.bench.report import BenchReport, merged
from nptrace.ir.program import Program
from nptrace.passes import reductions, slp

RATIOS = {
    "dynamics": {
        "pinocchio_aba_over_native_forward_dynamics",
        "mujoco_forward_over_native_forward_dynamics",
    },
    "step": {
        "mujoco_over_native_explicit",
        "mujoco_over_native_implicit",
        "mujoco_over_native_as_used",
        "mujoco_rollout_over_batch_f64",
        "mujoco_rollout_over_batch_f32",
        "mujoco_rollout_over_batch_implicit_f64",
        "mujoco_rollout_over_batch_implicit_f32",
    },
    "batch": {
        "mujoco_rollout_over_batch_f64",
        "mujoco_rollout_over_batch_f32",
        "mujoco_rollout_over_batch_implicit_f64",
        "mujoco_rollout_over_batch_implicit_f32",
        "mujoco_rollout_over_batch_f64_as_used",
        "mujoco_rollout_over_batch_f32_as_used",
        "threads_scaling",
        "cost_of_100000_over_1000_f64",
        "cost_of_100000_over_1000_f32",
    },
    "simulated_second": {"mujoco_over_ours"},
    "formalisms": {f"adak2021_over_native_{quantity}" for quantity in "MCGJ"},
    "control": {*horizon_peer.RATIOS},
    "derivatives": {"pinocchio_aba_derivatives_over_ours", *horizon_peer.RATIOS},
    "screws": {
        f"{other}_over_screw_{problem}_{topology}_{form}"
        for problem, best in (("inverse", "RNEA"), ("forward", "CRBA"))
        for other in (best, "lagrange")
        for topology in ("stand", "walk", "trot", "flight")
        for form in ("native", "numpy")
    },
    "sampling": {
        "mujoco_defaults_over_ours_same_step",
        "mujoco_fastest_over_ours_same_step",
        "mujoco_fastest_over_ours_largest_steps",
    },
}
COUNTED = {
    "formalisms": {f"lagrange_{quantity}" for quantity in "MCGJ"},
    "control": set(),
    "sampling": set(),
    "derivatives": {"jacobian_of_forward_dynamics", "jacobian_of_step"},
    "screws": {
        f"{problem}_{topology}_{name}"
        for problem, names in (
            ("inverse", ("screw", "RNEA", "CRBA", "Lagrange")),
            ("forward", ("screw", "CRBA", "Lagrange")),
        )
        for topology in ("stand", "walk", "trot", "flight")
        for name in names
    }
    | {"forward_flight_ABA"},
}
# steps take centrifugal forces at the rates in their middle: 3 724 and 5 796 before, when tumbling robots gained energy
MOST_OPERATIONS = {"forward_dynamics": 2765, "explicit": 3909, "implicit": 6169}


QUICK = ("dynamics", "step", "batch")  # the others compile for half a minute


@pytest.fixture(
    scope="module",
    params=[
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in bench.NAMES if name != "gpu"
    ],
)
def report(request: pytest.FixtureRequest) -> BenchReport:
    return bench.run(request.param, seconds=0.05)


def test_a_bench_says_all_it_promises(report: BenchReport) -> None:
    said = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert said["bench"] == report.bench
    assert said["ratios"].keys() == RATIOS[report.bench]
    assert said["operations"].keys() == COUNTED.get(report.bench, {*MOST_OPERATIONS})
    assert {"cpu", "cores", "lanes"} <= said["machine"].keys()
    assert "interleaved" in said["method"] or report.bench == "control"
    assert all(row.keys() == {"name", "ns", "per"} for row in said["rows"])
    names = [row["name"] for row in said["rows"]]
    assert len(names) == len(set(names))


def test_times_and_ratios_are_finite_and_positive(report: BenchReport) -> None:
    measured = {key: ratio for key, ratio in report.ratios.items() if ratio is not None}
    assert report.ratios.keys() - measured.keys() <= {*horizon_peer.RATIOS}  # they may be missing
    numbers = [*(row.ns for row in report.rows), *measured.values()]
    assert all(math.isfinite(x) and x > 0 for x in numbers)


def test_machine_code_beats_numpy_and_the_peers(report: BenchReport) -> None:
    """By far less than it must, so that a busy machine cannot fail it."""
    if report.bench == "dynamics":
        assert report.row("numpy forward_dynamics").ns > 50 * report.row("native forward_dynamics").ns
    if report.bench == "step":  # twenty times real time at 1 kHz
        assert report.row("python_step").ns < 1e6 / 20
        assert report.row("python_step_compiled").ns - report.row("ticks_compiled").ns < 20e3
    alone = ("threads", "cost", "crocoddyl", "mim_solvers")  # a whole iteration is compared with less margin
    against_peers = [ratio for key, ratio in report.ratios.items() if not key.startswith(alone)]
    assert min(against_peers, default=2.0) > 1.5


def test_a_robot_costs_about_the_same_in_any_company(report: BenchReport) -> None:
    """A quarter more is what it may; twice is what a busy machine cannot make of it."""
    costs = [ratio for key, ratio in report.ratios.items() if key.startswith("cost")]
    assert len(costs) == (2 if report.bench == "batch" else 0)
    assert all(0.3 < cost < 2.0 for cost in costs)


def test_every_target_is_measured_by_some_bench() -> None:
    found = dict.fromkeys(set().union(*RATIOS.values()) | MOST_OPERATIONS.keys() | {targets.IMPORT}, 1.0)
    for function in ("forward_dynamics", "explicit step", "implicit step", "closed loop"):
        found |= {targets.start_row(kind, function): 1.0 for kind in (targets.FRESH, targets.CACHED)}
    found |= {f"lagrange {quantity} native": 1.0 for quantity in "MCGJ"} | {"screw stance native": 1.0}
    found |= {"forward_dynamics_derivative": 1.0, "step_derivative": 1.0, "nmpc_iteration": 1.0}
    found |= {"whole_body_tick": 1.0, "mpc_solve": 1.0, "steps_per_second": 1.0}
    found |= dict.fromkeys(("closed_loop", "closed_loop_batch_f64", "closed_loop_batch_f32", "closed_loop_nmpc"), 1.0)
    assert len(targets.checked(found, 512)) == len(targets.TARGETS)


def test_operations_stay_within_their_bounds() -> None:
    counts = subject.operations()
    assert counts.keys() == MOST_OPERATIONS.keys()
    for name, most in MOST_OPERATIONS.items():
        assert 0 < counts[name] <= most


def test_any_robot_can_be_timed(capsys: pytest.CaptureFixture[str]) -> None:
    file = third_party_path("anymal_c")
    assert run(["bench", "step", "--robot", str(file), "--seconds", "0.05", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["robot"] == "anymal"
    assert said["ratios"].keys() == RATIOS["step"] - {"mujoco_over_native_as_used"}
    assert said["operations"].keys() == MOST_OPERATIONS.keys()
    assert said["targets"] == []  # they are the Mini Cheetah's
    names = {row["name"] for row in said["rows"]}
    model = subject.robot(str(file))
    for scheme, implicit in subject.SCHEMES.items():
        assert {f"native {scheme}", f"native {scheme}, legs one after another"} <= names
        code = subject.program(implicit, model)
        assert said["operations"][scheme] == code.live_operations
        assert _in_lanes(code).size < 0.5 * _one_after_another(code).size


def _one_after_another(code: Program) -> Program:
    return reductions.reassociated(code)


def _in_lanes(code: Program) -> Program:
    packed = slp.vectorised(_one_after_another(code))
    assert packed is not None
    return packed


def test_the_mini_cheetah_by_name_is_the_subject() -> None:
    assert subject.operations(subject.robot("mini_cheetah")) == subject.operations()
    assert subject.gains(subject.robot()) == (subject.KP, subject.KD)


def test_a_robot_that_cannot_be_timed_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "dynamics", "--robot", "mini_cheetah"]) == 2
    assert "bench dynamics takes no --robot" in capsys.readouterr().err
    assert run(["bench", "step", "--robot", "mini_cheeta"]) == 2
    assert "mini_cheetah" in capsys.readouterr().err


def test_narrow_vectors_halve_what_a_batch_must_reach() -> None:
    found = {"mujoco_rollout_over_batch_f64": 40.0, "mujoco_over_native_explicit": 9.0}
    assert [met for _, _, met in targets.checked(found, 512)] == [False, False]
    assert [met for _, _, met in targets.checked(found, 256)] == [False, True]


def test_the_least_of_all_rounds_counts_and_the_empty_call_is_subtracted() -> None:
    calls = {"full": 0, "empty": 0}

    def busy(name: str, loops: int) -> timing.Task:
        def work(count: int) -> None:
            calls[name] += 1
            for _ in range(count * loops):
                pass

        less = "empty" if name == "full" else None
        return timing.Task(name=name, run=work, per="turn", less=less, hidden=less is None, empty=lambda: None)

    (row,) = timing.interleaved([busy("empty", 10), busy("full", 2000)], 0.02, lambda *_: None)
    assert row.name == "full"
    assert row.ns > 0
    assert min(calls.values()) >= timing.ROUNDS


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system cannot pin a thread to a core")
def test_pinning_is_undone() -> None:
    before = os.sched_getaffinity(0)
    with timing.pinned() as core:
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before


def test_a_lucky_step_does_not_count_where_all_shorter_ones_must_hold() -> None:
    errors = {10: 0.1e-3, 20: 2e-3, 40: 0.3e-3, 80: 0.1e-3, 1000: 0.0}

    def trunk(motion: str, steps: int) -> np.ndarray:
        return np.array([errors[steps], 0.0, 0.0])

    longest = simulated_second.longest_step
    assert longest(trunk, 1000, (10, 20, 40, 80)) == simulated_second.Found(10, 0.1e-3)
    assert longest(trunk, 1000, (10, 20, 40, 80), all_shorter=True) == simulated_second.Found(40, 0.3e-3)
    assert longest(trunk, 1000, (20,)) is None


def test_an_unknown_bench_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "speed"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert all(name in said.err for name in (*bench.NAMES, "all"))
    with pytest.raises(InputError, match="seconds"):
        bench.run("step", seconds=0.0)


def test_the_command_prints_a_table_or_one_json_object(
    report: BenchReport, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "run", lambda name, seconds, progress, robot: report)
    assert run(["bench", report.bench, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == report.to_json()
    assert run(["bench", report.bench]) == 0
    said = capsys.readouterr().out
    assert "what to reach" in said
    assert all("".join(note.split()) in "".join(said.split()) for note in report.notes)  # wherever lines are broken


def test_bench_gpu_says_in_one_line_what_is_missing_and_bench_all_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from footfall_lab.bench import gpu

    if gpu.unavailable() is None:
        pytest.skip("this machine has a GPU")
    assert run(["bench", "gpu"]) == 2
    said = capsys.readouterr()
    assert "bench gpu cannot run here" in said.err
    assert said.err.count("\n") == 1
    monkeypatch.setattr(bench, "NAMES", ("gpu",))
    assert "bench gpu was skipped" in bench.run("all", 0.1).notes[0]


def test_a_rate_must_be_large_and_a_cost_small() -> None:
    checked = targets.checked(
        {"steps_per_second": 5e9, "cost_of_100000_over_1000_f32": 1.3, "mujoco_over_ours": None}, 512
    )
    assert [(target.key, met) for target, _, met in checked] == [
        ("cost_of_100000_over_1000_f32", False),
        ("steps_per_second", True),
    ]


def test_all_benches_make_one_report(report: BenchReport) -> None:
    both = merged([report, report])
    assert both.to_json()["bench"] == "all"
    assert both.ratios == report.ratios
    assert len(both.rows) == 2 * len(report.rows)
