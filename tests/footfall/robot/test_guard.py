"""Model files that nobody vouches for: refused with one sentence, quickly, whatever they hold."""

import json
import subprocess
import sys
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_samples import mutated, small_mjcf, small_urdf
from waiting import within

from footfall.errors import FootfallError, ModelError
from footfall.robot.files.guard import Package
from footfall.robot.files.urdf_mjcf import ModelWarning, load_model

ENTITIES = '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "aaaa">]><robot name="&a;"><link name="l"/></robot>'
LAUGHS = (
    '<!DOCTYPE robot [<!ENTITY a0 "lol">'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    + ']><robot name="r"><link name="&a11;"/></robot>'
)
EXTERNAL = '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r"><link name="&x;"/></robot>'
CHAIN = "".join(
    f'<link name="l{i}"/><joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
    for i in range(150)
)


FIXTURE_AND_PACE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.fixture(scope="module", autouse=True)
def _imported(tmp_path_factory):
    """What readers need is imported before anything is timed."""
    file = tmp_path_factory.mktemp("first") / "m.xml"
    file.write_text(small_mjcf())
    quietly(file)


def urdf_with(old: str, new: str) -> str:
    text = small_urdf()
    assert old in text
    return text.replace(old, new, 1)


def quietly(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_model(path)


def refused(model_file, text, *words, name="model.urdf"):
    """Loading takes under two seconds of this process and raises one line with all the words."""
    path = model_file(text, name)
    with within(2.0), pytest.raises(FootfallError) as caught:
        quietly(path)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("text", [ENTITIES, LAUGHS, EXTERNAL], ids=["entity", "laughs", "external"])
def test_document_types_and_entities_are_refused(model_file, text):
    refused(model_file, text, "entities are not allowed")


def test_a_file_over_ten_megabytes_is_refused(model_file):
    refused(model_file, f"<robot name='r'><!--{'x' * 10_000_001}--></robot>", "larger than 10 MB")


def test_elements_nested_over_a_hundred_deep_are_refused(model_file):
    refused(model_file, f"<robot name='r'>{'<a>' * 200}{'</a>' * 200}</robot>", "nested more than 100 deep")
    refused(model_file, "<robot>" * 1_000_000, "nested more than 100 deep")


def test_bodies_nested_over_a_hundred_deep_are_refused(model_file):
    text = f"<mujoco><worldbody>{'<body>' * 99}{'</body>' * 99}</worldbody></mujoco>"
    refused(model_file, text, "nested more than 100 deep", name="m.xml")


def test_over_a_thousand_links_are_refused(model_file):
    links = "".join(f'<link name="l{i}"/>' for i in range(1001))
    refused(model_file, f"<robot name='r'>{links}</robot>", "1000 links")
    bodies = "".join(f'<body name="b{i}"/>' for i in range(1001))
    refused(model_file, f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", "1000 <body> elements", name="m.xml")


def test_very_many_elements_are_refused(model_file):
    refused(model_file, f"<robot name='r'>{'<a/>' * 2_000_000}</robot>", "more than 20000 elements")


@pytest.mark.parametrize(
    "inside",
    [
        '<body><geom size="1"/>{}</body>'.format('<geom size="1"/>' * 9000),
        "<body>{}</body>".format('<joint type="slide"/>' * 15000),
    ],
)
def test_crowded_mjcf_files_are_refused_quickly(model_file, inside):
    pytest.importorskip("mujoco")
    refused(model_file, f"<mujoco><worldbody>{inside}</worldbody></mujoco>", "more than", name="m.xml")


def test_a_file_that_names_very_many_files_is_refused(model_file):
    meshes = "".join(f'<visual><geometry><mesh filename="{i}.stl"/></geometry></visual>' for i in range(5001))
    refused(model_file, urdf_with("</link>", f"{meshes}</link>"), "more than 5000 files")


def test_a_chain_of_over_a_hundred_joints_is_refused(model_file):
    refused(model_file, f"<robot name='r'>{CHAIN}<link name='l150'/></robot>", "chain of over 100 joints")


def test_a_thousand_moving_links_load_in_two_seconds(model_file):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    parts = [f'<link name="l0">{inertial}</link>']
    for i in range(1, 1000):
        parent = 0 if i % 90 == 1 else i - 1
        parts.append(
            f'<link name="l{i}">{inertial}</link><joint name="j{i}" type="continuous">'
            f'<parent link="l{parent}"/><child link="l{i}"/></joint>'
        )
    path = model_file(f"<robot name='r'>{''.join(parts)}</robot>")
    with within(2.0), pytest.warns(ModelWarning, match="no feet were found"):
        robot = load_model(path)
    assert robot.nj == 999


LOADER = """
import json, sys, warnings
from footfall.robot.files.urdf_mjcf import load_model
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
for line in sys.stdin:
    opened.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = load_model(json.loads(line))
    found = {"opened": [*opened], "mass": robot.mass}
    print(json.dumps(found | {"warnings": [[w.category.__name__, str(w.message)] for w in caught]}), flush=True)
"""


@pytest.fixture(scope="module")
def loaded_elsewhere():
    """Load a model in a process that notes every file it opens: a hook for that stays in a process, and slows it."""
    with subprocess.Popen(
        [sys.executable, "-c", LOADER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def load(path):
            process.stdin.write(json.dumps(str(path)) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield load
        process.stdin.close()


def with_foot_mesh(reference):
    """A robot whose foot's shape is a mesh, which is read where it may be."""
    text = small_urdf()
    assert '<sphere radius="0.02"/>' in text
    return text.replace('<sphere radius="0.02"/>', f'<mesh filename="{reference}"/>')


@pytest.mark.parametrize(
    "reference",
    [
        "{}/secret.stl",
        "file://{}/secret.stl",
        "file:{}/secret.stl",
        "FILE://{}/secret.stl",
        "~/x.stl",
        "C:\\x.stl",
        "\\\\host\\x.stl",
        "../../secret.stl",
        "..\\..\\secret.stl",
        "meshes/../../../secret.stl",
        "package://robot_description/../secret.stl",
        "package://elsewhere/a/../../secret.stl",
        "package:///etc/passwd",
        "package://{}/secret.stl",
        "package://secrets/secret.stl",
        "package:/secrets/secret.stl",
        "package://linked/secret.stl",
        "linked/secret.stl",
        "linked.stl",
    ],
)
def test_mesh_outside_the_package_is_left_out_with_a_warning_and_never_opened(tmp_path, reference, loaded_elsewhere):
    """The model lies in a folder below one that holds a secret, whatever that folder is called."""
    home = tmp_path / "secrets"
    folder = home / "robot_description" / "urdf"
    folder.mkdir(parents=True)
    secret = home / "secret.stl"
    secret.write_bytes(b"\0" * 84)
    (folder / "linked").symlink_to(home)
    (folder / "linked.stl").symlink_to(secret)
    path = folder / "model.urdf"
    path.write_text(with_foot_mesh(reference.replace("{}", str(home))))
    named = "package://secrets" in reference or "package:/secrets" in reference or "package:///" in reference
    found = loaded_elsewhere(path)
    [(category, message)] = found["warnings"]
    assert category == "ModelWarning"
    assert "left out" in message
    assert ("was not found" in message) <= named
    assert found["mass"] == pytest.approx(12.0)
    assert str(path) in found["opened"]
    assert str(secret) not in found["opened"]


def test_package_of_another_name_far_above_is_one_only_with_its_description(tmp_path):
    folder = tmp_path / "data" / "robots" / "go" / "urdf"
    folder.mkdir(parents=True)
    (tmp_path / "data" / "x.stl").write_bytes(b"")
    path = folder / "m.urdf"
    path.write_text(small_urdf())
    assert Package(path).find("package://data/x.stl") is None
    (tmp_path / "data" / "package.xml").write_text("<package><name>data</name></package>")
    assert Package(path).find("package://data/x.stl") == tmp_path / "data" / "x.stl"


def test_climbing_texture_paths_are_left_out(model_file):
    text = urdf_with(
        '<robot name="small">', '<robot name="small"><material><texture filename="../../../t.png"/></material>'
    )
    with pytest.warns(ModelWarning, match="leads out of the package"):
        load_model(model_file(text))


def test_a_mesh_beside_the_model_folder_is_inside_the_package(model_file):
    path = model_file(urdf_with('<box size="0.4 0.2 0.1"/>', '<mesh filename="../meshes/x.stl"/>'))
    (path.parent.parent / "meshes").mkdir()
    (path.parent.parent / "meshes" / "x.stl").write_text("solid x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(path)


def test_a_package_description_widens_the_package(model_file, tmp_path):
    (tmp_path / "package.xml").write_text("<package><name>nice</name></package>")
    (tmp_path / "x.stl").write_text("solid x")
    for reference in ("../../x.stl", "package://nice/x.stl"):
        path = model_file(urdf_with('<box size="0.4 0.2 0.1"/>', f'<mesh filename="{reference}"/>'))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load_model(path)


@pytest.mark.parametrize("reference", ["package://elsewhere/x.stl", "gone.stl", "http://localhost/x.stl"])
def test_meshes_that_are_not_there_are_left_out_with_one_warning(model_file, reference):
    path = model_file(urdf_with('<box size="0.4 0.2 0.1"/>', f'<mesh filename="{reference}"/>'))
    with pytest.warns(ModelWarning) as caught:
        robot = load_model(path)
    assert len(caught) == 1
    assert reference in str(caught[0].message)
    assert robot.mass == pytest.approx(12.0)


BAD_URDF = {
    "no number": ('<mass value="6"/>', '<mass value="six"/>', ["mass of link 'trunk'", "'six'"]),
    "nan": ('xyz="0.01 0 0.02"', 'xyz="nan 0 0.02"', ["trunk", "not finite"]),
    "infinite": ('<mass value="6"/>', '<mass value="1e999"/>', ["mass of link 'trunk'", "not finite"]),
    "nan size": ('<box size="0.4 0.2 0.1"/>', '<box size="0.4 nan 0.1"/>', ["box size", "trunk"]),
    "negative mass": ('<mass value="6"/>', '<mass value="-6"/>', ["mass of link 'trunk' must be positive"]),
    "no mass": ('<mass value="6"/>', '<mass value="0"/>', ["mass of link 'trunk' must be positive"]),
    "not realisable": ('izz="0.14"', 'izz="1.4"', ["inertia of link 'trunk' is not realisable"]),
    "not positive": ('ixx="0.05"', 'ixx="-0.05"', ["inertia of link 'trunk' is not positive"]),
    "two numbers": ('xyz="0.01 0 0.02"', 'xyz="0.01 0"', ["trunk", "must be 3 numbers"]),
    "underscore": ('<mass value="6"/>', '<mass value="1_0"/>', ["not a number"]),
    "twice a link": ('name="FR_calf"', 'name="FR_thigh"', ["two links are named 'FR_thigh'"]),
    "twice a joint": ('name="FR_knee_joint"', 'name="FR_hip_joint"', ["two joints are named 'FR_hip_joint'"]),
    "unknown parent": ('<parent link="trunk"/>', '<parent link="trunc"/>', ["'FR_hip_joint'", "unknown link 'trunc'"]),
    "unknown child": ('<child link="FR_calf"/>', '<child link="x"/>', ["'FR_knee_joint'", "unknown link 'x'"]),
    "two parents": ('<child link="FR_calf"/>', '<child link="FL_calf"/>', ["child of two joints"]),
    "loop": ('<parent link="trunk"/>', '<parent link="FR_foot"/>', ["link 'FR_thigh' is part of a loop"]),
    "two roots": ("</robot>", '<link name="spare"/></robot>', ["2 roots, trunk, spare"]),
    "planar": ('type="revolute"', 'type="planar"', ["'FR_hip_joint'", "'planar'", "revolute, continuous"]),
    "floating": ('type="revolute"', 'type="floating"', ["'FR_hip_joint'", "'floating'"]),
    "mimic": ('<axis xyz="0 1 0"/>', '<mimic joint="FR_hop_joint"/>', ["'FR_knee_joint' mimics 'FR_hop_joint'"]),
    "no axis": ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', ["axis of joint 'FR_knee_joint' has no direction"]),
    "reversed": ('lower="-1" upper="2"', 'lower="2" upper="-1"', ["limits of joint 'FR_hip_joint' are reversed"]),
    "negative effort": ('effort="20"', 'effort="-20"', ["'FR_hip_joint'", "negative"]),
    "negative damping": ('damping="0.1"', 'damping="-0.1"', ["damping of joint 'FR_hip_joint'"]),
    "no name": ('<link name="FR_calf">', "<link>", ["a link has no name"]),
    "two inertias": ("<inertial>", "<inertial><mass value='1'/>", ["link 'trunk' has 2 <mass> elements"]),
    "xacro": ("</robot>", "<xacro:include/></robot>", ["xacro"]),
    "not XML": ("</robot>", "<robot>", ["not well-formed"]),
    "another root": ('<robot name="small">', "<sdf><robot>", ["not well-formed"]),
}


@pytest.mark.parametrize("case", BAD_URDF)
def test_a_bad_urdf_is_refused_by_one_sentence_that_names_the_element(model_file, case):
    old, new, words = BAD_URDF[case]
    refused(model_file, urdf_with(old, new), *words)


def test_other_files_are_refused(model_file, tmp_path):
    refused(model_file, "<sdf/>", "'sdf'", "'robot' (URDF) or 'mujoco' (MJCF)")
    refused(model_file, "", "not well-formed")
    refused(model_file, "<robot name='r'/>", "no links")
    refused(model_file, bytes(range(256)), "XML")
    for path in (tmp_path, tmp_path / "none.urdf", "x" * 5000, "a\0b"):
        with pytest.raises(ModelError):
            load_model(path)


BAD_MJCF = {
    "nan": ('pos="0 0 -0.1"', 'pos="nan 0 -0.1"', ["'pos' of <inertial> in body 'FL_thigh'", "not finite"]),
    "infinite": ('mass="6"', 'mass="inf"', ["'mass' of <geom> in body 'trunk'", "not finite"]),
    "negative mass": ('mass="1"', 'mass="-1"', ["mass of <inertial> in body 'FL_thigh' must be positive"]),
    "not realisable": ("0.004 0.004 0.001 1e-4", "0.004 0.004 0.1 1e-4", ["FL_thigh", "A + B >= C"]),
    "count": ('size="0.02"', 'size="1 2 3 4"', ["'size' of geom 'FL'", "1 to 3 numbers"]),
    "twice": ('name="FR_calf"', 'name="FL_calf"', ["repeated name 'FL_calf'"]),
    "ball": ('name="FL_knee" axis="0 1 0"', 'name="FL_knee" type="ball"', ["FL_knee"]),
    "unknown class": ('class="abad"/>', 'class="abd"/>', ["unknown default class name 'abd'"]),
    "key": ('qpos="0 0 0.35', 'qpos="0.35', ["key 'home' has 17 numbers", "19 are"]),
    "replicate": ("<freejoint/>", "<freejoint/><replicate count='1000000000'/>", ["<replicate>", "trunk"]),
    "composite": ("<freejoint/>", "<freejoint/><composite count='9 9 9'/>", ["<composite>", "trunk"]),
    "equality": ("<sensor>", '<equality><joint joint1="FL_hip" joint2="FL_nee"/></equality><sensor>', ["FL_nee"]),
    "two roots": (
        "<actuator>",
        "<worldbody><body name='b'><freejoint/><geom size='1'/></body></worldbody><actuator>",
        ["2 roots, trunk, b"],
    ),
    "mesh mass": (
        '<inertial pos="0 0 -0.1" mass="1" fullinertia="0.004 0.004 0.001 1e-4 0 0"/>',
        "",
        ["body 'FL_thigh'", "from a mesh"],
    ),
    "climbing include": ("<sensor>", '<include file="../../../x.xml"/><sensor>', ["include", "leads out"]),
    "absolute include": ("<sensor>", '<include file="/etc/passwd"/><sensor>', ["include", "absolute"]),
    "include gone": ("<sensor>", '<include file="x.xml"/><sensor>', ["included file 'x.xml' was not found"]),
    "include itself": ("<sensor>", '<include file="m.xml"/><sensor>', ["'m.xml' comes twice"]),
    "memory": ("<sensor>", '<size memory="1000G"/><worldbody><body><freejoint/></body></worldbody><sensor>', ["mass"]),
}


@pytest.mark.parametrize("case", BAD_MJCF)
def test_a_bad_mjcf_is_refused_by_one_sentence_that_names_the_element(model_file, case):
    pytest.importorskip("mujoco")
    old, new, words = BAD_MJCF[case]
    text = small_mjcf()
    assert old in text
    refused(model_file, text.replace(old, new, 1), *words, name="m.xml")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('file="thigh.stl"', 'file="/thigh.stl"'),
        ('meshdir="meshes"', 'meshdir="../../.."'),
        ('meshdir="meshes"', 'meshdir="/tmp"'),
        ('builtin="flat"', 'file="../../../t.png"'),
    ],
)
def test_files_outside_the_package_are_left_out_of_an_mjcf(model_file, old, new):
    pytest.importorskip("mujoco")
    text = small_mjcf()
    assert old in text
    with pytest.warns(
        ModelWarning, match=r"is left out.*: it (is an absolute path|leads out of the package)"
    ) as caught:
        load_model(model_file(text.replace(old, new, 1), "m.xml"))
    assert len(caught) == 1


# -- files spoiled at random ------------------------------------------------------------------------------------------
def survives(path):
    """A model loads, or is refused on purpose, within two seconds of this process."""
    message, mass = "", 1.0
    with within(2.0):
        try:
            mass = quietly(path).mass
        except FootfallError as error:
            message = str(error)
    assert "\n" not in message
    assert mass > 0


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_mutated_files_load_or_are_refused(model_file, kind):
    if kind == "mjcf":
        pytest.importorskip("mujoco")
    text = small_urdf() if kind == "urdf" else small_mjcf()
    for seed in range(600):
        survives(model_file(mutated(text, seed)))


def test_a_mutated_third_party_file_loads_or_is_refused(model_file, third_party):
    text = third_party("hyq").read_text()
    for seed in range(200):
        survives(model_file(mutated(text, seed)))


@settings(max_examples=200, deadline=None, suppress_health_check=FIXTURE_AND_PACE)
@given(data=st.binary(max_size=300), at=st.floats(0, 1), robot=st.sampled_from(["urdf", "mjcf"]))
def test_any_bytes_in_a_file_load_or_are_refused(model_file, data, at, robot):
    text = (small_urdf() if robot == "urdf" else small_mjcf()).encode()
    place = int(at * len(text))
    survives(model_file(text[:place] + data + text[place:]))
    survives(model_file(data))


@settings(max_examples=200, deadline=None, suppress_health_check=FIXTURE_AND_PACE)
@given(value=st.floats() | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_any_value_of_an_attribute_loads_or_is_refused(model_file, value):
    quoted = str(value).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    for old in ('value="6"', 'ixx="0.05"', 'rpy="0.1 0.2 0.3"', 'name="FR_calf"', 'radius="0.02"', 'upper="2"'):
        key = old.split("=")[0]
        survives(model_file(urdf_with(old, f'{key}="{quoted}"')))
