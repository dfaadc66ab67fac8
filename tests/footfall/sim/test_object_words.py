"""Free bodies in words: what a run file says of them is what a command line does."""

import numpy as np
import pytest

import footfall as ff
from footfall.errors import InputError
from footfall.sim.object_words import in_words, parse_objects
from footfall.sim.runfile import options_of, plan, read_run_file

RUN = """robot = "mini_cheetah"
controller = "hold"
duration = 0.2

[[objects]]
kind = "ball"
radius = 0.1
mass = 0.4
position = [0.0, 1.0, 0.1]
velocity = [1, 0, 0]
omega = [0, 10, 0]
hollow = true
name = "football"

[[objects]]
kind = "box"
size = [0.3, 0.3, 0.2]
mass = 1.0
position = [1.5, 0.0, 0.1]
yaw = 0.25
friction = 0.4
"""


def test_tables_of_a_run_file_and_words_make_the_same_bodies(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(RUN)
    ball, box = parse_objects(read_run_file(file)["objects"])
    assert (ball.name, ball.radius, ball.mass, ball.hollow) == ("football", 0.1, 0.4, True)
    said = parse_objects(
        "ball radius=0.1 mass=0.4 position=0,1,0.1 velocity=1,0,0 omega=0,10,0 hollow=yes name=football;"
        "box size=0.3,0.3,0.2 mass=1 position=1.5,0,0.1 yaw=0.25 friction=0.4"
    )
    for one, other in zip((ball, box), said):
        np.testing.assert_array_equal(one.start, other.start)
        assert (one.mass, one.friction, one.name) == (other.mass, other.friction, other.name)
    np.testing.assert_array_equal(box.size, [0.3, 0.3, 0.2])


@pytest.mark.slow
def test_a_run_file_with_objects_runs(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(RUN[: RUN.rindex("[[objects]]")])
    options = options_of(read_run_file(file))
    run = plan(ff.load("mini_cheetah"), options)
    rec = run.simulation.run(options.duration)
    assert rec["object_pose"].shape == (200, 1, 7)
    assert run.simulation.object("football").position == pytest.approx([0.2, 1.0, 0.1], abs=1e-3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cube size=1,1,1 mass=1 position=0,0,1", "unknown kind of object 'cube'"),
        ("box size=1,1 mass=1 position=0,0,1", "size of an object must be three numbers"),
        ("box size=1,1,1 mass=heavy position=0,0,1", "mass of an object must be a number"),
        ("box mass=1 position=0,0,1", "size is missing"),
        ("ball radius=1 mass=1 position=0,0,1 colour=red", "unknown parameter of a ball 'colour'"),
        ("ball radius=1 radius=2 mass=1 position=0,0,1", "radius=VALUE twice"),
        ("ball radius=-1 mass=1 position=0,0,1", "radius of a FreeBall"),
        ("ball radius=1 mass=1 position=0,0,1 hollow=maybe", "yes or no"),
    ],
)
def test_words_that_make_no_body_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        parse_objects(text)


@pytest.mark.parametrize("tables", [[], {}, [3], [{"size": [1, 1, 1]}], [{"kind": "box", "name": "a; b"}]])
def test_tables_that_are_none_are_refused(tables):
    with pytest.raises(InputError, match="object"):
        in_words(tables)
