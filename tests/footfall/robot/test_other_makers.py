"""What robots of other makers have that ours lack: other facings, odd legs, wheels with limits, impossible inertias."""

import inspect
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import footfall as ff
from footfall.control.posture import standing_joints
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError, ModelError
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.leg_geometry import has_closed_form, leg_geometry
from footfall.kinematics.leg_inverse import branches, leg_inverse
from footfall.plugins import entry_points
from footfall.robot.files.draft import FACINGS
from footfall.robot.files.guard import ModelWarning
from footfall.robot.files.urdf_mjcf import load_model
from footfall.robot.model.placement import standing_pose
from footfall.robot.model.shapes import box_inertia, capsule_inertia
from footfall.spatial.rotation import about_axis

LEGS = {"LF": (1, 1), "RF": (1, -1), "LH": (-1, 1), "RH": (-1, -1)}
AXES = {"R": "1 0 0", "P": "0 1 0"}
THIGH, SHANK = 0.2, 0.18


def quadruped(
    kind="RPP",
    facing="x",
    names=None,
    trunk=(0.05, 0.12, 0.14),
    thigh=(0.004, 0.004, 0.001),
    limits="",
    lean=0.0,
    more="",
):
    """A URDF. ``facing``: the axis along which its front legs are; ``names`` of its legs; ``limits`` of its knees."""
    turn = -FACINGS[facing]  # about z
    R = about_axis(np.array([0.0, 0.0, 1.0]), turn)
    tensor = R @ np.diag(trunk) @ R.T
    pairs = [(a, b) for a in range(3) for b in range(a, 3)]
    moments = " ".join(f'i{"xyz"[a]}{"xyz"[b]}="{float(tensor[a, b])}"' for a, b in pairs)
    parts = [
        f'<link name="trunk"><inertial><mass value="6"/><inertia {moments}/></inertial>'
        f'<collision><origin rpy="0 0 {turn!r}"/><geometry><box size="0.5 0.2 0.1"/></geometry></collision></link>'
    ]
    for leg, (x, y) in LEGS.items():
        name = leg if names is None else names[leg]
        place = (R @ [0.2 * x, 0.1 * y, 0.0]).tolist()
        at = f'xyz="{place[0]!r} {place[1]!r} 0" rpy="0 0 {turn!r}"'
        parent, last = "trunk", len(kind) - 1
        ends = {kind.rindex("P"): SHANK}
        for k, letter in enumerate(kind):
            link = f"{name}_{k}"
            axis = f"{lean!r} 1 0" if letter == "P" and k == last else AXES[letter]
            bounds = limits if k == last and limits else '<limit lower="-3" upper="3" effort="20" velocity="30"/>'
            parts.append(
                f'<joint name="{link}_joint" type="revolute"><origin {at}/><parent link="{parent}"/>'
                f'<child link="{link}"/><axis xyz="{axis}"/>{bounds}</joint>'
            )
            a, b, c = thigh
            parts.append(
                f'<link name="{link}"><inertial><origin xyz="0 0 -0.05"/><mass value="0.5"/>'
                f'<inertia ixx="{a}" ixy="0" ixz="0" iyy="{b}" iyz="0" izz="{c}"/></inertial>'
                f'<collision><origin xyz="0 0 -0.1"/><geometry><capsule radius="0.01" length="0.2"/></geometry>'
                "</collision></link>"
            )
            parent, at = link, f'xyz="0 {0.02 * y} {-THIGH}"' if k == last - 1 else 'xyz="0 0 0"'
        parts.append(
            f'<joint name="{name}_end" type="fixed"><origin xyz="0 0 {-ends[last]}"/><parent link="{parent}"/>'
            f'<child link="{name}_foot"/></joint>'
            f'<link name="{name}_foot"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>'
        )
    return f'<robot name="made">{"".join(parts)}{more}</robot>'


def said_of(path, **options):
    """(the robot, what was said of it)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = ff.load(path, **options)
    return robot, "; ".join(str(w.message) for w in caught if issubclass(w.category, ModelWarning))


# -- facing ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("facing", FACINGS)
def test_robot_that_faces_another_axis_is_turned_and_is_then_the_same_robot(model_file, facing):
    straight, silence = said_of(model_file(quadruped()))
    robot, said = said_of(model_file(quadruped(facing=facing), "turned.urdf"))
    assert silence == ""
    assert said == ("" if facing == "x" else f"turned.urdf: it faces {facing} by the names of its legs, and is rotated"
                    " to face x (forward='x' if it does not)")  # fmt: skip
    assert robot.foot_names == straight.foot_names
    assert robot.poses["stand"].joints == pytest.approx(straight.poses["stand"].joints, abs=1e-12)
    q, _ = straight.state("stand")
    np.testing.assert_allclose(foot_positions(robot, q), foot_positions(straight, q), atol=1e-12)
    np.testing.assert_allclose(mass_matrix(robot, q), mass_matrix(straight, q), atol=1e-12)


def test_facing_can_be_given_where_names_do_not_tell(model_file):
    names = dict(zip(LEGS, ("one", "two", "three", "four")))
    path = model_file(quadruped(facing="-y", names=names))
    robot, _ = said_of(path, forward="-y")
    assert robot.foot_names == tuple(LEGS)
    assert {foot.link for foot in robot.feet if foot.name == "LF"} == {"one_foot"}
    as_it_is, said = said_of(model_file(quadruped(facing="-y"), "n.urdf"), forward="x")
    assert "faces" not in said
    assert foot_positions(as_it_is, as_it_is.state()[0])[0, 1] < 0  # the left front leg is where the file has it
    with pytest.raises(InputError, match="one of x, -x, y, -y, not 'up'"):
        ff.load(path, forward="up")


def test_names_that_contradict_where_left_is_turn_nothing(model_file):
    mirrored = dict(zip(LEGS, ("RF", "LF", "RH", "LH")))
    backwards = quadruped(facing="-x", names=mirrored)
    _, said = said_of(model_file(backwards))
    assert "faces" not in said


# -- legs --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["PRP", "RPP"])
def test_every_solution_of_a_leg_puts_its_foot_there_and_its_own_joints_are_among_them(model_file, kind):
    robot, _ = said_of(model_file(quadruped(kind)))
    rng = np.random.default_rng(3)
    for _ in range(50):
        joints = rng.uniform(-1.2, 1.2, robot.nj)
        q = robot.state(joints, height=0.0)[0]
        for foot, place in zip(robot.foot_names, foot_positions(robot, q)):
            leg, nearest = leg_geometry(robot, foot), np.inf
            assert leg.kind == kind
            for solution in branches(robot, foot, place):
                there = q.copy()
                there[[7 + j for j in leg.joints]] = solution.joints
                assert solution.reachable
                assert foot_positions(robot, there)[robot.foot_index(foot)] == pytest.approx(place, abs=1e-9)
                off = (there - q)[7:]
                nearest = min(nearest, np.abs(off - 2 * np.pi * np.round(off / (2 * np.pi))).max())
            if np.abs(joints[list(leg.joints)][kind.index("R")]) < 1.0 and kind == "RPP":
                assert nearest < 1e-6


def test_pitch_roll_pitch_legs_stand_and_trot(model_file):
    robot, said = said_of(model_file(quadruped("PRP")))
    assert said == ""
    q, _ = robot.state("stand")
    feet = foot_positions(robot, q)
    assert np.ptp(feet[:, 2]) < 1e-9
    controller = ff.control.JointPD.tuned(robot, "trot")
    sim = ff.Simulation(robot, controller)
    rec = sim.run(3.0)
    assert sim.stopped is None
    gait = controller.gait
    assert rec.q[-1, 0] - rec.q[1500, 0] > 0.7 * 1.5 * gait.stride / (gait.duty * gait.period)


def test_out_of_reach_of_a_pitch_roll_pitch_leg_is_said(model_file):
    robot, _ = said_of(model_file(quadruped("PRP")))
    for place in ([0.0, 0.0, -1.0], [0.0, 0.5, -0.2], [0.0, 0.0, -0.001]):
        assert not leg_inverse(robot, "LF", np.array(place), frame="hip").reachable


@pytest.mark.parametrize("lean", [1e-4, 1e-2])
def test_legs_of_pitch_joints_stand_though_an_axis_is_a_little_askew(model_file, lean):
    robot, _ = said_of(model_file(quadruped("PP", lean=lean)))
    assert has_closed_form(robot, "LF")
    assert "stand" in robot.poses
    for height in (0.2, 0.3):
        q = robot.state(standing_joints(robot, height), height=0.0)[0]
        assert foot_positions(robot, q)[:, 2] == pytest.approx(0.02 - height, abs=2 * lean * SHANK)
    sim = ff.Simulation(robot, ff.control.JointPD.tuned(robot, "trot"))
    sim.run(1.0)
    assert sim.stopped is None


def test_reason_why_a_robot_cannot_stand_or_walk_is_given(model_file):
    odd, said = said_of(model_file(quadruped("RRP")))
    assert "it has no standing pose: leg LF of robot 'made' has the joint axes RRP" in said
    with pytest.raises(InputError, match="leg LF of robot 'made' has the joint axes RRP"):
        ff.control.JointPD.tuned(odd, "trot")
    short = '<limit lower="-0.05" upper="0.05" effort="20" velocity="30"/>'
    stiff, said = said_of(model_file(quadruped(limits=short), "stiff.urdf"))
    assert "it has no standing pose: leg LF of robot 'made' cannot stand" in said
    with pytest.raises(InputError, match="lacks"):
        ff.control.JointPD.tuned(stiff, "trot")
    other = load_model(model_file(quadruped(), "m.urdf"), feet={"a": "LF_foot", "b": "RF_foot"})
    with pytest.raises(InputError, match="the feet of robot 'made' are: a, b"):
        ff.gait.scaled(other)
    with pytest.raises(InputError, match="has the feet a, b"):
        ff.Simulation(other, ff.control.Locomotion()).run(0.01)


# -- wheels ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("turns", "free"), [(160000.0, True), (25.0, True), (3.0, False)])
def test_limits_of_some_tens_of_turns_are_none(model_file, turns, free):
    most = turns * np.pi
    limits = f'<limit lower="{-most}" upper="{most}" effort="20" velocity="30"/>'
    robot, _ = said_of(model_file(quadruped(limits=limits)))
    assert np.isinf(robot.joint("LF_2_joint").upper) == free
    assert np.isinf(robot.joint("LF_2_joint").lower) == free
    assert np.isfinite(robot.joint("LF_1_joint").upper)


def test_wheels_with_huge_limits_are_wheels(model_file):
    limits = '<limit lower="-999999" upper="999999" effort="20" velocity="30"/>'
    text = quadruped("RPPP", limits=limits)
    wheel = '<origin rpy="1.5707963267948966 0 0"/><geometry><cylinder radius="0.07" length="0.03"/></geometry>'
    for leg in LEGS:  # the last link of every leg turns a wheel about its own joint
        start = text.index(f'<link name="{leg}_3">')
        at = text.index("<collision>", start)
        text = text[:at] + f"<collision>{wheel}</collision>" + text[text.index("</collision>", at) + 12 :]
        at = text.index(f'<joint name="{leg}_end"')
        text = text[:at] + text[text.index("</link>", at) + 7 :]
    robot, said = said_of(model_file(text))
    assert "its wheels are locked" in said
    assert "a wheel of radius 0.07 m" in said
    assert robot.nj == 12
    assert [foot.radius for foot in robot.feet] == [0.07] * 4
    rolling, _ = said_of(model_file(text, "rolling.urdf"), lock_wheels=False)
    assert rolling.nj == 16


# -- inertias ----------------------------------------------------------------------------------------------------------
HUGE, BROKEN = (100.0, 100.0, 100.0), (0.004, 0.004, 0.02)


def test_sound_inertias_are_neither_named_nor_changed(model_file):
    path = model_file(quadruped())
    robot, said = said_of(path)
    repaired, also = said_of(path, repair_inertia=True)
    assert said == also == ""
    for one, other in zip(robot.links, repaired.links):
        assert np.array_equal(one.inertia, other.inertia)


def test_impossible_inertia_is_named_in_one_warning_and_repaired_on_request_alone(model_file):
    path = model_file(quadruped(trunk=HUGE))
    robot, said = said_of(path)
    assert "the inertia of link 'trunk' is impossible: a radius of gyration of 4.08 m on a link of 0.2" in said
    assert "repair_inertia=True (--repair-inertia)" in said
    assert np.linalg.eigvalsh(robot.links[0].inertia).max() == pytest.approx(HUGE[0])
    repaired, said = said_of(path, repair_inertia=True)
    assert "the inertia of link 'trunk' was impossible and is replaced by that of its shape" in said
    np.testing.assert_allclose(repaired.links[0].inertia, box_inertia(6.0, (0.5, 0.2, 0.1)), atol=1e-12)
    assert repaired.links[0].mass == robot.links[0].mass
    assert repaired.provenance_of("trunk.inertia").status == "chosen"
    sim = ff.Simulation(repaired, ff.control.JointPD.tuned(repaired, "trot"))
    rec = sim.run(2.0)
    assert sim.stopped is None
    assert rec.q[-1, 0] > 0.2


def test_broken_triangle_inequality_is_refused_with_all_its_links_and_a_way_on(model_file):
    path = model_file(quadruped(thigh=BROKEN))
    with pytest.raises(
        ModelError, match=r"inertia of link 'LF_0' is not realisable.*\(in all: links .* and 6 more\); repair"
    ):
        ff.load(path)
    robot, said = said_of(path, repair_inertia=True)
    assert "is replaced" in said
    link = next(link for link in robot.links if link.name == "RH_2")
    np.testing.assert_allclose(link.inertia, capsule_inertia(0.5, 0.01, 0.2), atol=1e-12)


@pytest.mark.parametrize("trunk", [(-0.1, 0.1, 0.1), (0.0, 0.0, 0.0)])
def test_inertia_that_is_not_positive_is_repaired_too(model_file, trunk):
    path = model_file(quadruped(trunk=trunk))
    with pytest.raises(ModelError, match="not positive"):
        ff.load(path)
    robot, _ = said_of(path, repair_inertia=True)
    np.testing.assert_allclose(robot.links[0].inertia, box_inertia(6.0, (0.5, 0.2, 0.1)), atol=1e-12)


def test_trunks_inertia_in_a_small_link_of_its_own_is_not_impossible(model_file):
    """Unitree's and others' files put it there."""
    own = '<link name="INERTIA"><inertial><mass value="6"/>'
    own += '<inertia ixx="0.05" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
    own += '<visual><geometry><box size="0.001 0.001 0.001"/></geometry></visual></link><joint name="w" type="fixed">'
    own += '<parent link="trunk"/><child link="INERTIA"/></joint>'
    text = quadruped(more=own)
    bare = text[: text.index("<inertial>")] + text[text.index("</inertial>") + 11 :]
    assert said_of(model_file(bare))[1] == ""


def test_broken_inertia_of_an_mjcf_is_repaired(model_file):
    pytest.importorskip("mujoco")
    body = '<body name="trunk"><freejoint/><inertial pos="0 0 0" mass="6" diaginertia="0.01 0.01 0.1"/>'
    text = f'<mujoco><worldbody>{body}<geom type="box" size="0.25 0.1 0.05"/></body></worldbody></mujoco>'
    path = model_file(text, "m.xml")
    with pytest.raises(ModelError, match=r"MuJoCo refuses it.*repair_inertia=True"):
        load_model(path, feet=[])
    with pytest.warns(ModelWarning, match="link 'trunk' was impossible and is replaced"):
        robot = load_model(path, feet=[], repair_inertia=True)
    np.testing.assert_allclose(robot.links[0].inertia, box_inertia(6.0, (0.5, 0.2, 0.1)), atol=1e-9)


# -- roots, sites, templates -------------------------------------------------------------------------------------------
_ROUND = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>'
BALL = f'<link name="ball"><inertial><mass value="1"/>{_ROUND}</inertial></link>'


def test_root_of_the_robot_can_be_named_in_a_urdf(model_file):
    path = model_file(quadruped(more=BALL))
    with pytest.raises(ModelError, match=r"2 roots, trunk, ball.*root=NAME \(--root NAME\)"):
        ff.load(path)
    robot, _ = said_of(path, root="trunk")
    assert robot.mass == pytest.approx(12.0)
    assert "ball" not in {link.name for link in robot.links}
    with pytest.raises(InputError, match="unknown root 'bal'"):
        ff.load(path, root="bal")


def test_root_of_the_robot_can_be_named_in_an_mjcf(model_file):
    pytest.importorskip("mujoco")
    bodies = "".join(
        f'<body name="{name}" pos="{k} 0 0"><freejoint/><geom size="0.{k}"/></body>'
        for k, name in ((1, "torso"), (2, "ball"))
    )
    path = model_file(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", "m.xml")
    with pytest.raises(ModelError, match=r"2 roots, torso, ball: choose one with root=NAME"):
        load_model(path, feet=[])
    robots = [load_model(path, feet=[], root=name) for name in ("torso", "ball")]
    assert [[link.name for link in robot.links] for robot in robots] == [["torso"], ["ball"]]
    assert robots[1].mass == pytest.approx(8 * robots[0].mass)
    assert robots[1].floating
    with pytest.raises(InputError, match="unknown root 'legs'"):
        load_model(path, feet=[], root="legs")


def test_sites_keep_their_type_and_size(model_file):
    pytest.importorskip("mujoco")
    text = """<mujoco><default><default class="rf"><site type="capsule" size=".005 .1"/></default></default><worldbody>
      <body name="trunk"><freejoint/><geom type="box" size=".2 .1 .05"/>
      <site name="a" class="rf" fromto="0 0 0 .1 0 0"/></body></worldbody></mujoco>"""
    assert said_of(model_file(text, "m.xml"), feet=[])[0].mass == pytest.approx(8.0)


@pytest.mark.parametrize("declared", ["", ' xmlns:xacro="http://www.ros.org/wiki/xacro"'])
def test_xacro_file_says_how_to_expand_it(model_file, declared):
    text = f'<robot name="r"{declared}><xacro:include filename="$(find pkg)/x.xacro"/></robot>'
    with pytest.raises(ModelError, match=r"xacro m.urdf.xacro -o robot.urdf"):
        ff.load(model_file(text, "m.urdf.xacro"))


def test_commands_take_the_options_of_model_files(model_file):
    path = model_file(quadruped(facing="-y", trunk=HUGE, names=dict(zip(LEGS, "abcd")), more=BALL))
    options = ["--forward-axis", "-y", "--repair-inertia", "--root", "trunk"]
    command = [sys.executable, "-m", "footfall", "simulate", str(path), *options, "--duration", "0.02", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["robot"] == "made"
    for name in ("view", "export", "train", "serve", "drive", "identify", "policy", "verify", "compare"):
        parameters = inspect.signature(entry_points("footfall.commands")[name].load().command).parameters
        assert {"forward_axis", "repair_inertia", "root"} <= set(parameters), name


def test_robot_whose_stand_is_nearly_straight_walks_on_bent_legs(model_file):
    robot, _ = said_of(model_file(quadruped()))
    assert ff.gait.scaled(robot).gait.hip_height is None  # in its stand
    straight = robot.replace(poses={"stand": standing_pose(robot, standing_joints(robot.replace(poses={}), 0.37))})
    height = ff.gait.scaled(straight).gait.hip_height
    assert height == pytest.approx(0.72 * (np.hypot(THIGH, 0.0) + SHANK) + 0.02)
    sim = ff.Simulation(straight, ff.control.JointPD.tuned(straight, "trot"))
    rec = sim.run(2.0)
    assert sim.stopped is None
    assert rec.q[-1, 0] > 0.2
