"""Study files: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footfall as ff
from footfall import sweep
from footfall.cli.main import run as command
from footfall.errors import InputError
from footfall.sweep import parse_study
from footfall.sweep.axes import METHODS, samples
from footfall.sweep.item import check_names
from footfall.sweep.parameters import planned, unit_of

HERE = Path(__file__).parent
RUN = '[run]\nrobot = "mini_cheetah"\nduration = 0.1\n'


def parse(text: str):
    return parse_study(text, HERE)


def test_a_grid_is_every_combination_and_samples_are_one_more_dimension():
    study = parse(
        "[grid]\nspeed = [0.1, 0.2]\ntrunk.mass = { from = 3, to = 5, count = 3 }\n"
        "[samples]\ncount = 4\nfriction = { uniform = [0.4, 1.0] }"
    )
    assert study.dims == {"speed": 2, "trunk_mass": 3, "sample": 4}
    items = study.items()
    assert [item.index for item in items] == list(np.ndindex(2, 3, 4))
    assert len({item.digest for item in items}) == 24
    assert items[5].parameters["trunk.mass"] == 4.0
    assert items[5].parameters["friction"] == items[1].parameters["friction"]


def test_dots_and_quotes_mean_the_same():
    bare, quoted = parse("[grid]\ntrunk.mass = [3.0, 4.0]"), parse('[grid]\n"trunk.mass" = [3.0, 4.0]')
    assert [item.digest for item in bare.items()] == [item.digest for item in quoted.items()]


def test_an_item_keeps_its_name_when_the_study_grows_around_it():
    small, large = parse("[grid]\nk = [1, 2]"), parse("[grid]\nk = [1, 2, 3]")
    assert {i.digest for i in small.items()} < {i.digest for i in large.items()}


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(METHODS), st.integers(1, 40), st.integers(0, 2**31), st.floats(1e-3, 10), st.floats(1e-3, 10))
def test_samples_stay_within_their_distributions_and_repeat_by_seed(method, count, seed, low, width):
    table = {
        "count": count,
        "method": method,
        "a": {"uniform": [low, low + width]},
        "b": {"log_uniform": [low, low + width]},
        "c": {"normal": [low, width]},
        "d": {"integer": [-2, 3]},
        "e": {"choice": ["x", "y"]},
    }
    drawn = samples(table, "[samples]")
    rows = drawn.drawn(seed)
    assert rows == drawn.drawn(seed)
    assert len(rows) == count
    for row in rows:
        assert all(low <= row[key] <= (low + width) * (1 + 1e-12) for key in "ab")
        assert np.isfinite(row["c"])
        assert row["d"] in range(-2, 4)
        assert row["e"] in ("x", "y")


def test_a_latin_hypercube_has_one_sample_in_every_slice():
    drawn = samples({"count": 50, "a": {"uniform": [0.0, 50.0]}, "b": {"uniform": [0.0, 50.0]}}, "[samples]")
    for key in "ab":
        assert sorted(int(row[key]) for row in drawn.drawn(7)) == list(range(50))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[gird]\nspeed = [1]", "unknown key of the study 'gird' (did you mean 'grid'?)"),
        ("[run]\nrobot = 'mini_cheetah'", "nothing varies in the study"),
        ("[grid]\nspeed = []", "speed in [grid] has no values"),
        ("[grid]\nspeed = 0.3", "speed in [grid] must be a list"),
        ("[grid]\nspeed = [0.1, 0.1]", "speed in [grid] has the value 0.1 twice"),
        ("[grid]\nspeed = [0.1, nan]", "speed in [grid] must be finite, got nan"),
        ("[grid]\nspeed = [0.1, 'fast']", "speed in [grid] mixes number and text"),
        ("[grid]\nspeed = { from = 0, to = 1, cuont = 3 }", "(did you mean 'count'?)"),
        ("[grid]\nspeed = { from = 0, to = 1 }", "speed in [grid] needs count"),
        ("[grid]\nspeed = { from = 0, to = 1, count = 0 }", "count of speed in [grid] must be at least 1, got 0"),
        ("[grid]\nspeed = { from = 0, to = 1, count = 2.5 }", "must be a whole number, got 2.5"),
        ("[grid]\nspeed = { from = nan, to = 1, count = 2 }", "from of speed in [grid] must be finite"),
        ("[grid]\nspeed = { from = 0, to = 1, count = 2, spacing = 'log' }", "must be positive, got 0, 1"),
        ("[grid]\nspeed = { from = 1, to = 1, count = 2 }", "which are all the same"),
        ("[samples]\nfriction = { uniform = [0.4, 1] }", "[samples] needs count"),
        ("[samples]\ncount = 0\nfriction = { uniform = [0.4, 1] }", "count in [samples] must be at least 1"),
        ("[samples]\ncount = 3", "[samples] has no distributions: add a parameter"),
        ("[samples]\ncount = 3\nmethod = 'sobel'\nkp = { normal = [1, 2] }", "(did you mean 'sobol'?)"),
        ("[samples]\ncount = 3\nkp = { uniforme = [1, 2] }", "(did you mean 'uniform'?)"),
        ("[samples]\ncount = 3\nkp = { uniform = [1, inf] }", "must be finite, got inf"),
        (
            "[samples]\ncount = 3\nkp = { uniform = [2, 1] }",
            "uniform of kp in [samples] must have low < high, got 2 to 1",
        ),
        ("[samples]\ncount = 3\nkp = { log_uniform = [0, 1] }", "needs positive numbers"),
        ("[samples]\ncount = 3\nkp = { normal = [1, 0] }", "positive deviation"),
        ("[samples]\ncount = 3\nkp = 4.0", "kp in [samples] must be drawn from one distribution"),
        ("[run]\nkp = 3.0\n[grid]\nkp = [1.0]", "kp is given twice"),
        ("[grid]\na.b = [1]\na_b = [2]", "two dimensions of the study would be called 'a_b'"),
        (
            "[grid]\na = { from = 0, to = 1, count = 3000 }\nb = { from = 0, to = 1, count = 3000 }",
            "has 9000000 items, more than 20000: add  limit = 9000000",
        ),
        ("limit = 2\n[grid]\na = [1, 2, 3]", "has 3 items, more than 2"),
        ("seed = -1\n[grid]\na = [1]", "seed of the study must be at least 0"),
        ("function = 'nowhere'\n[grid]\na = [1]", '"module:name"'),
        ("name = '../up'\n[grid]\na = [1]", "name of the study must be letters"),
        ("run = 3\n[grid]\na = [1]", "run of the study must be a table"),
        ("plot = 'x'\n[grid]\na = [1]", "plot of the study must be a list"),
        ("[grid\n", "is not TOML"),
    ],
)
def test_a_bad_study_is_one_sentence(text, words):
    with pytest.raises(InputError) as error:
        parse(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{RUN}[grid]\nspead = [0.1]", "unknown parameter 'spead' (did you mean 'speed'?)"),
        (f"{RUN}[grid]\ntrunk.mas = [4.0]", "unknown parameter 'trunk.mas' (did you mean 'trunk.mass'?)"),
        (f"{RUN}[grid]\ncontact.stifness = [1.0]", "contact.stiffness"),
        (f"{RUN}[grid]\ncontroller.cuopling = [1.0]", "did you mean 'controller.coupling'"),
        (f"{RUN}[grid]\ngait.dutty = [0.5]", "did you mean 'duty'"),
        (f"{RUN}[grid]\ngait = ['trot', 'trott']", "did you mean 'trot'"),
        (f"{RUN}[grid]\nspeed = ['fast']", "speed must be a finite number, got 'fast'"),
        (f"{RUN}[grid]\ntrunk.mass = ['heavy']", "'trunk.mass' must be a number"),
        (f"{RUN}[grid]\npush.force = [[0, 1, 0]]", "push.start is missing"),
        (f"{RUN}[grid]\n'*_nose.mass' = [1.0]", "looks like '*_nose.mass'"),
        ("[grid]\nspeed = [0.1]", "needs a robot"),
        ("[grid]\nrobot = ['mini_cheetah', 'mini_chetah']", "did you mean 'mini_cheetah'"),
        ("function = 'sweep_items:tracd'\n[grid]\nk = [1]", "did you mean 'traced'"),
        ("function = 'no_such_module:f'\n[grid]\nk = [1]", "cannot import the module"),
        ("function = 'sweep_items:picky'\n[grid]\nkk = [1]", "unknown parameter of sweep_items:picky 'kk'"),
        ("function = 'sweep_items:traced'\n[grid]\nk = [1]", "needs the parameter 'folder'"),
    ],
)
def test_a_parameter_that_nothing_takes_is_refused_before_any_work(text, words):
    with pytest.raises(InputError) as error:
        check_names(parse(text))
    assert words in str(error.value)


def test_any_parameter_reaches_its_part_of_the_run():
    given = {
        "robot": "mini_cheetah",
        "gait": "trot",
        "kp": 50.0,
        "gait.duty": 0.6,
        "controller.coupling": 5.0,
        "contact.stiffness": 9e6,
        "ground.friction": 0.6,
        "joints.backlash": 0.01,
        "gravity.z": -3.7,
        "trunk.mass": 4.0,
        "trunk.com.x": 0.01,
        "*_knee.damping": 0.2,
        "push.start": 0.1,
        "push.duration": 0.2,
        "push.force.y": 12.0,
    }
    run = planned(given, HERE)
    sim = run.simulation
    world = sim.model.world
    assert (sim.controller.kp, sim.controller.coupling, sim.controller.gait.duty) == (50.0, 5.0, 0.6)
    assert (world.contact.stiffness, world.ground.friction, world.joints.backlash) == (9e6, 0.6, 0.01)
    assert world.gravity == (0.0, 0.0, -3.7)
    assert sim.robot.link("trunk").mass == 4.0
    assert sim.robot.link("trunk").com[0] == 0.01
    assert all(sim.robot.joint(f"{leg}_knee").damping == 0.2 for leg in ("LF", "RF", "LH", "RH"))
    (push,) = sim.pushes
    assert (push.start, push.duration, push.force) == (0.1, 0.2, (0.0, 12.0, 0.0))
    wrapped = planned({"robot": "mini_cheetah", "controller": "gravity", "controller.coupling": 6.0}, HERE)
    assert wrapped.simulation.controller.inner.coupling == 6.0
    walking = planned({"robot": "mini_cheetah", "controller": "balance", "gait.period": 0.4}, HERE)
    assert walking.simulation.controller.gait.period == 0.4


def test_units_are_known_by_name():
    assert [unit_of(n) for n in ("trunk.mass", "push.force.y", "*_knee.damping", "speed", "friction")] == [
        "kg",
        "N",
        "N m s/rad",
        "m/s",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "cannot read the study"), (b"\xff\xfe", "is not TOML"), (b"[grid]\nspeed = []", "has no values")],
)
def test_the_command_refuses_with_one_line_and_makes_nothing(tmp_path, capsys, text, words):
    file = tmp_path / "study.toml"
    if text is not None:
        file.write_bytes(text)
    assert command(["sweep", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "axis",
    [
        {"push.start": 0.02, "push.duration": 0.05, "push.force.y": 7.0},
        {"contact.damping": 7e3},
        {"joints.backlash": 2e-3},
        {"controller.kp": 37.0},
        {"gravity.z": -9.0},
    ],
    ids=["push", "contact", "joints", "controller", "gravity"],
)
@pytest.mark.parametrize("controller", ["pd", "gravity"])
def test_an_estimate_keeps_its_sensors_whatever_part_of_the_run_a_study_varies(controller, axis):
    run = {"robot": "mini_cheetah", "estimate": True, "seed": 4, "controller": controller}
    plain, varied = planned(run, HERE), planned({**run, **axis}, HERE)
    assert plain.simulation.sensors is not None
    assert repr(varied.simulation.sensors) == repr(plain.simulation.sensors)
    assert isinstance(varied.simulation.controller, ff.control.Estimated)
    assert varied.simulation.run(0.1).time[-1] == pytest.approx(0.1)


def test_a_study_of_pushes_on_an_estimate_is_done_and_the_pushes_matter(tmp_path):
    study = parse_study(
        '[run]\nrobot = "mini_cheetah"\ncontroller = "hold"\nestimate = true\nduration = 0.3\n'
        'push.start = 0.05\npush.duration = 0.1\n[grid]\n"push.force.x" = [0.0, 30.0]\n',
        tmp_path,
    )
    outcome = sweep.run(study, tmp_path / "out", workers=1)
    assert (outcome.done, outcome.failed) == (2, 0)
    table = outcome.load()
    assert abs(float(table["distance"][1] - table["distance"][0])) > 2e-3
