"""Model files written to harm: formats in MuJoCo's messages, markup and escapes in names."""

import json
import subprocess
import sys

import pytest

from footfall.errors import ModelError
from footfall.robot.files.urdf_mjcf import load_model
from footfall.robot.model.description import Robot
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from footfall.robot.model.parts import Foot, Joint, Link

LOAD = """
import sys
from footfall.errors import ModelError
from footfall.robot.files.urdf_mjcf import load_model
try:
    load_model(sys.argv[1])
except ModelError as error:
    print(error)
"""
FORMAT = "%s" * 14 + "%n"
PLACES = {
    "geom": '<geom size="1" class="{0}"/>',
    "joint": '<geom size="1"/><body><joint class="{0}"/><geom size="1"/></body>',
    "childclass": '<geom size="1"/><body childclass="{0}"><geom size="1"/></body>',
    "geom of a class that is defined": '<geom size="1" name="{0}" class="good"/>',
}
ACTUATORS = ("motor", "position", "velocity", "general")


def mjcf(body, actuator=""):
    return (
        '<mujoco><default><default class="good"><geom density="500"/></default></default>'
        f"<worldbody><body><freejoint/>{body}</body></worldbody><actuator>{actuator}</actuator></mujoco>"
    )


def said(tmp_path, text):
    """What a process of its own says of a model; it must live to say it."""
    file = tmp_path / "model.xml"
    file.write_text(text)
    done = subprocess.run([sys.executable, "-c", LOAD, str(file)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"the process died: {done.returncode} {done.stderr[-300:]}"
    return done.stdout


@pytest.mark.parametrize("place", PLACES)
def test_a_format_in_a_class_or_a_name_does_not_reach_mujoco(tmp_path, place):
    assert "holds a '%'" in said(tmp_path, mjcf(PLACES[place].format(FORMAT)))


@pytest.mark.parametrize("kind", ACTUATORS)
def test_a_format_in_the_class_of_an_actuator_does_not_reach_mujoco(tmp_path, kind):
    body = '<geom size="1"/><body><joint name="knee"/><geom size="1"/></body>'
    assert "holds a '%'" in said(tmp_path, mjcf(body, f'<{kind} joint="knee" class="{FORMAT}"/>'))


@pytest.mark.parametrize("place", ["geom", "joint", "childclass"])
def test_a_class_that_is_not_defined_is_refused_by_its_name(tmp_path, place):
    file = tmp_path / "model.xml"
    file.write_text(mjcf(PLACES[place].format("god")))
    with pytest.raises(ModelError, match="unknown default class name 'god': defined are good, main"):
        load_model(file)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_defined_classes_are_taken(tmp_path):
    file = tmp_path / "model.xml"
    file.write_text(mjcf(PLACES["geom"].format("good")))
    half = load_model(file).mass
    file.write_text(mjcf(PLACES["geom"].format("main")))
    assert load_model(file).mass == pytest.approx(2 * half)


HOSTILE = [
    '<iframe srcdoc="x">',
    "<b>",
    "a\x1b[31mred",
    "a\nb",
    "a\x07",
    "\u202eevil",
    "a`b",
    'a"b',
    "x" * 201,
    "\udc80",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_with_markup_or_escapes_or_of_any_length_are_refused_for_every_part(name):
    body = Link(name="trunk", mass=1.0, inertia=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    for make in (
        lambda: Robot(name=name, links=[body]),
        lambda: Robot(name="r", links=[Link.massless(name)]),
        lambda: Link(name=name, mass=1.0, inertia=body.inertia),
        lambda: Joint(name=name, kind="fixed", parent="a", child="b"),
        lambda: Foot(name=name, link="trunk", position=[0, 0, 0]),
        lambda: Robot(name="r", links=[body], poses={name: Robot(name="r", links=[body]).poses.get("x")}),
    ):
        with pytest.raises(ModelError, match="name"):
            make()


@pytest.mark.parametrize("name", HOSTILE[:4])
def test_neither_a_file_nor_a_recordings_robot_brings_such_a_name(tmp_path, name):
    good = Robot(name="r", links=[Link(name="trunk", mass=1.0, inertia=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])])
    text = robot_to_json(good)
    assert robot_from_json(text).name == "r"
    data = json.loads(text)
    data["name"] = name
    with pytest.raises(ModelError, match="name"):
        robot_from_json(json.dumps(data))
    file = tmp_path / "model.urdf"
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("\x1b", "\x85")
    escaped = escaped.replace("\n", "&#10;")
    file.write_text(f'<?xml version="1.0" encoding="utf-8"?><robot name="{escaped}"><link name="a"/></robot>')
    with pytest.raises(ModelError, match="name"):
        load_model(file)


@pytest.mark.parametrize("name", ["go2_description", "Barkour (vb)", "robot/base link", "机器狗", "Rösti-3.1 [β]"])
def test_ordinary_names_in_any_script_are_taken(name):
    assert (
        Robot(name=name, links=[Link(name="trunk", mass=1.0, inertia=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])]).name
        == name
    )
