"""Items that share machine code have the numbers of runs compiled alone; what cannot be shared is compiled apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from footfall.sim.rollouts import NativeBackend, ground_inputs
from footfall.sweep import parse_study, shared
from footfall.sweep.item import evaluate
from footfall.sweep.parameters import planned

HERE = Path(__file__).parent
RUN = {"robot": "mini_cheetah", "duration": 0.3}


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_families", type(shared._families)())
    monkeypatch.setattr(shared, "_changes", {})


def compared(parameters: dict[str, Any], numbers: shared.Numbers, seconds: float) -> Any:
    """The backend that an item shares, after its run was found equal to that of a simulation compiled for itself."""
    run, alone = planned(parameters, HERE).simulation, planned(parameters, HERE).simulation
    assert shared.share(run, parameters, HERE, numbers)
    ours, theirs = run.run(seconds), alone.run(seconds)
    assert alone.backend.free == ground_inputs(alone.model)  # those of every run that takes long to compile
    assert len(ours) == len(theirs)
    for name, column in theirs.columns.items():
        size = max(1.0, float(np.abs(column).max())) if column.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(ours[name], column, rtol=0, atol=1e-9 * size, err_msg=name)
    return run._backend


@pytest.mark.parametrize(
    ("given", "numbers", "free"),
    [
        (
            {},
            {"trunk.mass": [3.0, 4.5], "friction": [0.4, 0.9], "kp": [40.0, 60.0], "gait.duty": [0.5, 0.6]},
            {"trunk.mass", "ground.friction", "controller.kp", "controller.gait.duty"},
        ),
        (
            {"contact": "complementarity"},
            {"trunk.com.x": [0.0, 0.01], "*_knee.damping": [0.1, 0.2]},
            {"trunk.com", "LF_knee.damping", "RF_knee.damping", "LH_knee.damping", "RH_knee.damping"},
        ),
        ({"controller": "balance"}, {"friction": [0.5, 0.9]}, {"ground.friction"}),
    ],
)
def test_free_numbers_act_like_compiled_ones(given: dict[str, Any], numbers: Any, free: set[str]) -> None:
    backends = []
    for k in (1, 0):
        parameters = {**RUN, **given, **{name: pair[k] for name, pair in numbers.items()}}
        backends.append(compared(parameters, numbers, 0.3 if k else 0.05))
    assert set(backends[0].free) == free
    codes = [backend.function for backend in backends]
    assert codes[0] is codes[1]


def test_what_is_no_number_of_the_program_is_compiled_apart_and_the_rest_still_shared() -> None:
    numbers = {"dt": [1e-3, 5e-4], "friction": [0.5, 0.9]}
    backends = []
    for dt, friction in ((1e-3, 0.5), (5e-4, 0.5), (5e-4, 0.9)):
        backends.append(compared({**RUN, "dt": dt, "friction": friction}, numbers, 0.02))
    assert backends[0].function is not backends[1].function
    assert backends[1].function is backends[2].function
    assert backends[1].free == ("ground.friction",)
    run = planned({**RUN, "dt": 5e-4}, HERE).simulation
    assert not shared.share(run, {**RUN, "dt": 5e-4}, HERE, {"dt": [1e-3, 5e-4]})
    assert run._backend is None


def test_a_number_that_decides_what_is_computed_is_compiled_apart() -> None:
    """A walk that does not pace itself remembers no stride: its pace cannot be unknown."""
    numbers = {"controller.speed_feedback": [0.0, 0.5], "kp": [40.0, 50.0]}
    run = planned({**RUN, "kp": 50.0, "controller.speed_feedback": 0.5}, HERE).simulation
    assert not shared.share(run, {**RUN, "kp": 50.0, "controller.speed_feedback": 0.5}, HERE, numbers)
    assert compared({**RUN, "kp": 50.0, "controller.speed_feedback": 0.0}, numbers, 0.02).free == ("controller.kp",)


def test_machine_code_that_is_not_the_readable_code_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a family would compute is compared with plain NumPy before anybody gets it."""
    parameters, numbers = {**RUN, "kp": 50.0}, {"kp": [40.0, 50.0]}
    monkeypatch.setattr(NativeBackend, "like", lambda self, rig: self)  # forgets the numbers of the other run
    run = planned(parameters, HERE).simulation
    assert not shared.share(run, parameters, HERE, numbers)
    assert run._backend is None


def test_a_study_knows_its_numbers_and_bad_ones_still_fail_alone() -> None:
    study = parse_study(
        '[run]\nrobot = "mini_cheetah"\nduration = 0.05\n[grid]\nfriction = [0.5, -1.0, 0.7]\ngait = ["trot", "walk"]\n'
        "estimate = [false, true]\n[samples]\ncount = 3\nkp = { uniform = [40, 50] }\nkd = { choice = [1.0] }",
        HERE,
    )
    numbers = study.numbers()
    assert {name: len(pair) for name, pair in numbers.items()} == {"friction": 2, "kp": 2}
    items = [i for i in study.items() if i.parameters["gait"] == "trot" and not i.parameters["estimate"]]
    answers = [
        evaluate("simulate", str(HERE), i.parameters, {"friction": [0.5, 0.7], "kp": numbers["kp"]}) for i in items
    ]
    assert [a["status"] for a in answers] == ["done"] * 3 + ["failed"] * 3 + ["done"] * 3
    assert all("not negative" in a["message"] for a in answers[3:6])
    (family,) = shared._families.values()
    assert family is not None
