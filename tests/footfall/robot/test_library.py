"""The library's robots: sizes, reference values, poses and provenance. Expected numbers were worked out elsewhere."""

import numpy as np
import pytest

from footfall.errors import InputError
from footfall.robot import library
from footfall.robot.model.placement import body_poses, foot_centres, two_link_angles
from footfall.spatial.inertia import Inertia
from footfall.spatial.transform import Transform

LEGS = ("LF", "RF", "LH", "RH")
ALL = ("mini_cheetah", "spined", "xiling", "dynakat", "fivebar")
VARIANTS = [
    ("mini_cheetah", {}),
    ("mini_cheetah", {"rotors": "none"}),
    ("mini_cheetah", {"rotors": "exact", "hip_inertia": "as_published"}),
    ("spined", {}),
    ("spined", {"knees": "front"}),
    ("xiling", {}),
    ("xiling", {"knees": "front"}),
    ("dynakat", {}),
    ("dynakat", {"legs": "identical"}),
]


def composite(robot, q):
    """Inertia of the whole robot about the world's origin, by adding up its bodies."""
    total = Inertia.zero()
    for body, X_WB in zip(robot.tree.bodies, body_poses(robot, q)):
        total = total + body.inertia.to_parent(X_WB)
    return total


def about_com(inertia):
    com = inertia.h / inertia.m
    return com, inertia.to_parent(Transform(np.eye(3), -com)).I


def all_legs(robot, angles):
    return robot.state(np.tile(angles, 4))[0]


def tensor(ixx, iyy, izz, ixy, ixz, iyz):
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


# -- every robot -----------------------------------------------------------------------------------------------------
def test_names_are_those_of_the_papers_robots_and_of_one_with_loops():
    assert library.names() == ALL


@pytest.mark.parametrize(
    ("name", "dof", "mass"),
    [
        ("mini_cheetah", 18, 8.912),
        ("spined", 20, 30.0),
        ("xiling", 18, 41.2),
        ("dynakat", 22, 3.5),
        ("fivebar", 26, 11.36),
    ],
)
def test_degrees_of_freedom_and_total_mass(name, dof, mass):
    robot = library.load(name)
    assert robot.name == name
    assert robot.nv == dof
    assert robot.mass == pytest.approx(mass, abs=1e-12)


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_names_follow_one_scheme(name, variant):
    robot = library.load(name, **variant)
    assert robot.foot_names == LEGS
    assert robot.tree.bodies[0].name == "trunk"
    assert all(joint.child == f"{joint.name}_link" for joint in robot.joints)
    paths = robot.parameter_names()
    assert len(paths) == len(set(paths)), "a link and a joint share a name and a parameter"
    for foot in LEGS:
        on_the_way = [
            robot.tree.joint_names[i - 1] for i in robot.tree.support[robot.tree.feet[robot.foot_index(foot)]]
        ]
        assert [j for j in on_the_way if not j.startswith("spine")] == [
            j for j in robot.joint_names if j.startswith(foot)
        ]


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_number_says_where_it_comes_from(name, variant):
    robot = library.load(name, **variant)
    for path in robot.parameter_names():
        provenance = robot.provenance_of(path)
        assert provenance.status in ("published", "derived", "chosen"), path
        assert len(provenance.source) > 20, path


@pytest.mark.parametrize(
    ("name", "path", "status"),
    [
        ("mini_cheetah", "trunk.mass", "published"),
        ("mini_cheetah", "LF_knee.damping", "published"),
        ("mini_cheetah", "LF_abad_link.inertia", "published"),
        ("mini_cheetah", "RF_abad_link.inertia", "derived"),
        ("mini_cheetah", "LF_hip_link.com", "derived"),
        ("mini_cheetah", "LF_hip_link.inertia", "derived"),
        ("mini_cheetah", "LF_knee.upper", "chosen"),
        ("mini_cheetah", "LF.radius", "chosen"),
        ("spined", "trunk.mass", "chosen"),
        ("spined", "spine_pitch.axis", "derived"),
        ("xiling", "trunk.mass", "chosen"),
        ("dynakat", "LF_knee.origin", "derived"),
        ("dynakat", "LF_hip.origin", "chosen"),
        ("dynakat", "trunk.mass", "chosen"),
    ],
)
def test_unpublished_numbers_are_marked_chosen(name, path, status):
    assert library.load(name).provenance_of(path).status == status


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_poses_stand_on_the_ground_within_the_limits(name, variant):
    robot = library.load(name, **variant)
    for pose in robot.poses:
        q, v = robot.state(pose)
        bottoms = foot_centres(robot, q)[:, 2] - [foot.radius for foot in robot.feet]
        np.testing.assert_allclose(bottoms, 0.0, atol=1e-12)
        assert not v.any()
        for joint_name, angle in zip(robot.joint_names, q[7:]):
            joint = robot.joint(joint_name)
            assert joint.lower <= angle <= joint.upper, joint_name


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_weight_falls_between_the_standing_feet(name, variant):
    robot = library.load(name, **variant)
    q = robot.state("stand")[0]
    com = composite(robot, q).h / robot.mass
    feet = foot_centres(robot, q)
    assert feet[:, 0].min() < com[0] < feet[:, 0].max()
    assert feet[:, 1].min() < com[1] < feet[:, 1].max()


@pytest.mark.parametrize("name", ALL)
def test_mirrored_robots_have_their_weight_in_the_middle(name):
    robot = library.load(name)
    com, inertia = about_com(composite(robot, robot.state("stand")[0]))
    assert abs(com[1]) < 1e-15
    assert abs(inertia[0, 1]) < 1e-15
    assert abs(inertia[1, 2]) < 1e-15


@pytest.mark.parametrize("name", ALL)
def test_frames_are_trunk_aligned_with_coordinate_axes(name):
    robot = library.load(name)
    for joint in robot.joints:
        assert np.array_equal(joint.rotation, np.eye(3))
        assert sorted(np.abs(joint.axis)) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ALL)
def test_every_joint_has_an_actuator_but_those_that_loops_move(name):
    robot = library.load(name)
    assert tuple(a.joint for a in robot.actuators) == tuple(
        j.name for k, j in enumerate(robot.joints) if k not in robot.passive_joints
    )


def test_unknown_robot_lists_the_known_ones():
    with pytest.raises(
        InputError, match=r"unknown robot 'mini_cheeta' \(did you mean 'mini_cheetah'\?\): .*spined, xiling"
    ):
        library.load("mini_cheeta")


def test_unknown_variant_lists_the_known_ones():
    with pytest.raises(InputError, match=r"unknown variant of mini_cheetah 'rotor'.*rotors, hip_inertia"):
        library.load("mini_cheetah", rotor="none")


@pytest.mark.parametrize(
    ("name", "variant", "choices"),
    [
        ("mini_cheetah", {"hip_inertia": "fixed"}, "realisable, as_published"),
        ("spined", {"knees": "left"}, "behind, front"),
        ("xiling", {"knees": "up"}, "behind, front"),
        ("dynakat", {"legs": "same"}, "mirrored, identical"),
    ],
)
def test_unknown_choice_lists_the_known_ones(name, variant, choices):
    with pytest.raises(InputError, match=choices):
        library.load(name, **variant)


# -- Mini Cheetah ----------------------------------------------------------------------------------------------------
STAND = (0.0, -0.8, 1.6)
BENT = (0.1, -0.8, 1.6)

# (hip tensor, rotors count, pose) -> centre of mass, tensor about it (ixx iyy izz ixy ixz iyz)
WHOLE = [
    ("as_published", False, (0, 0, 0), (0, 0, -0.01452254), (0.0812729948, 0.244550619, 0.266519776, 0, -5.02e-05, 0)),
    ("as_published", True, (0, 0, 0), (0, 0, -0.0134470377), (0.086899343, 0.264637007, 0.291218736, 0, -5.02e-05, 0)),
    ("as_published", False, STAND, (-0.00770279793, 0, -0.010117951),
     (0.0682570043, 0.238238514, 0.273223662, 0, -0.00764409279, 0)),
    ("as_published", True, STAND, (-0.00713234835, 0, -0.00936864139),
     (0.0738170266, 0.258294836, 0.297958882, 0, -0.00769172153, 0)),
    ("as_published", True, BENT, (-0.00713234835, 0.000935303479, -0.0093218372),
     (0.0737030849, 0.258264062, 0.297875714, 0.00076789084, -0.00765329496, -0.000831750835)),
    ("realisable", False, STAND, (-0.00770279793, 0, -0.010117951),
     (0.0683089821, 0.238238514, 0.273171684, 0, -0.00764561116, 0)),
    ("realisable", True, (0, 0, 0), (0, 0, -0.0134470377), (0.086899343, 0.264637007, 0.291218736, 0, 1.8e-06, 0)),
    ("realisable", True, STAND, (-0.00713234835, 0, -0.00936864139),
     (0.0738690045, 0.258294836, 0.297906904, 0, -0.0076932399, 0)),
    ("realisable", True, BENT, (-0.00713234835, 0.000935303479, -0.0093218372),
     (0.0737550627, 0.258263544, 0.297824255, 0.000768042424, -0.00765480575, -0.000826587635)),
]  # fmt: skip


@pytest.mark.parametrize(("hip_inertia", "with_rotors", "angles", "com", "moments"), WHOLE)
def test_mini_cheetah_centre_of_mass_and_composite_inertia(hip_inertia, with_rotors, angles, com, moments):
    for rotors in ("armature", "exact") if with_rotors else ("none",):
        robot = library.load("mini_cheetah", rotors=rotors, hip_inertia=hip_inertia)
        found_com, found = about_com(composite(robot, all_legs(robot, angles)))
        np.testing.assert_allclose(found_com, com, atol=2e-11)
        np.testing.assert_allclose(found, tensor(*moments), atol=6e-10)


@pytest.mark.parametrize(("rotors", "mass"), [("none", 8.252), ("armature", 8.912), ("exact", 8.912)])
def test_mini_cheetah_mass_in_each_rotor_mode(rotors, mass):
    assert library.mini_cheetah(rotors).mass == pytest.approx(mass, abs=1e-12)


WELDED = {
    "trunk": (3.52, (0, 0, 0), (0.01203322, 0.0397725, 0.04677072, 0, 0, 0)),
    "LF_abad_link": (0.595, (0, 0.0363697479, 0),
                     (0.000414798655, 0.000623, 0.000477798655, 5.8e-05, 4.5e-07, 9.5e-07)),
    "RH_abad_link": (0.595, (0, -0.0363697479, 0),
                     (0.000414798655, 0.000623, 0.000477798655, -5.8e-05, 4.5e-07, -9.5e-07)),
    "LH_hip_link": (0.689, (0, -0.0147227866, -0.0184034833),
                    (0.00204919988, 0.00218624383, 0.000453956052, 0.000245, -1.3e-05, -1.76950653e-05)),
    "RF_hip_link": (0.689, (0, 0.0147227866, -0.0184034833),
                    (0.00204919988, 0.00218624383, 0.000453956052, -0.000245, -1.3e-05, 1.76950653e-05)),
    "RF_knee_link": (0.064, (0, 0, -0.061), (0.000245, 0.000248, 6e-06, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("rotors", ["armature", "exact"])
@pytest.mark.parametrize("name", WELDED)
def test_mini_cheetah_bodies_with_their_rotors_welded(name, rotors):
    robot = library.mini_cheetah(rotors, "as_published")
    body = next(b for b in robot.tree.bodies if b.name == name)
    mass, com, moments = WELDED[name]
    found_com, found = about_com(body.inertia)
    assert body.inertia.m == pytest.approx(mass, abs=1e-12)
    np.testing.assert_allclose(found_com, com, atol=1e-10)
    np.testing.assert_allclose(found, tensor(*moments), atol=1e-11)


def test_mini_cheetah_rotors_reflect_gear_squared_times_spin_inertia():
    for rotors, expected in (("none", (0, 0, 0)), ("armature", (0.002268, 0.002268, 0.0054840807))):
        bodies = library.mini_cheetah(rotors).tree.bodies
        for i in range(1, 13):
            assert bodies[i].armature == pytest.approx(expected[(i - 1) % 3], abs=1e-12)


def test_mini_cheetah_exact_rotors_ride_on_the_parent():
    tree = library.mini_cheetah("exact").tree
    assert [spin.joint for spin in tree.bodies[0].spins] == [1, 4, 7, 10]
    np.testing.assert_allclose(tree.bodies[0].spins[0].momentum, [3.78e-4, 0, 0], rtol=1e-12)
    (hip_rotor,), (knee_rotor,) = tree.bodies[1].spins, tree.bodies[2].spins
    np.testing.assert_allclose(hip_rotor.momentum, [0, -6 * 63e-6, 0], rtol=1e-12)
    np.testing.assert_allclose(knee_rotor.momentum, [0, -5.8779e-4, 0], rtol=1e-12)
    assert not tree.bodies[3].spins


@pytest.mark.parametrize(
    ("leg", "angles", "tip"),
    [
        ("LF", (0, 0, 0), (0.19, 0.115, -0.404)),
        ("RF", (0, 0, 0), (0.19, -0.115, -0.404)),
        ("LF", STAND, (0.179957015, 0.115, -0.281469511)),
        ("RF", STAND, (0.179957015, -0.115, -0.281469511)),
        ("LF", BENT, (0.179957015, 0.142770338, -0.27347433)),
        ("RF", BENT, (0.179957015, -0.086570212, -0.286652341)),
        ("LH", STAND, (-0.200042985, 0.115, -0.281469511)),
    ],
)
def test_mini_cheetah_tip_is_one_radius_beyond_the_sphere_down_the_shank(leg, angles, tip):
    robot = library.mini_cheetah()
    k = robot.foot_index(leg)
    X_WB = body_poses(robot, all_legs(robot, angles))[robot.tree.feet[k]]
    assert robot.feet[k].radius == 0.015
    np.testing.assert_allclose(X_WB.point(robot.feet[k].position - np.array([0, 0, 0.015])), tip, atol=1e-9)


def test_mini_cheetah_positive_hip_and_knee_swing_the_foot_forward():
    robot = library.mini_cheetah()
    rest = foot_centres(robot, all_legs(robot, (0, 0, 0)))
    for angles in ((0, 0.1, 0), (0, 0, 0.1)):
        assert (foot_centres(robot, all_legs(robot, angles))[:, 0] > rest[:, 0]).all()


def test_mini_cheetah_published_hip_tensor_breaks_the_triangle_inequality():
    a, b, c = np.linalg.eigvalsh(library.mini_cheetah(hip_inertia="as_published").link("LF_hip_link").inertia)
    assert a + b - c == pytest.approx(-96.57e-6, abs=1e-8)
    hip = library.mini_cheetah().link("LF_hip_link")
    assert np.array_equal(hip.inertia, np.diag([0.001983, 0.002103, 0.000408]))
    assert not hip.as_published


def test_mini_cheetah_actuators_and_losses():
    robot = library.mini_cheetah()
    torque, speed, gear = (18.0, 18.0, 27.99), (40.0, 40.0, 25.7234727), (6.0, 6.0, 9.33)
    for i, actuator in enumerate(robot.actuators):
        assert actuator.torque_limit == pytest.approx(torque[i % 3], rel=1e-12)
        assert actuator.speed_limit == pytest.approx(speed[i % 3], rel=1e-8)
        assert actuator.gear == gear[i % 3]
        assert (actuator.torque_constant, actuator.resistance, actuator.voltage) == (0.05, 0.173, 24.0)
    for joint in robot.joints:
        assert (joint.damping, joint.dry_friction, joint.armature) == (0.01, 0.2, 0.0)
    assert [robot.joint(f"LH_{j}").upper for j in ("abad", "hip", "knee")] == [1.5, 3.1, 2.7]


def test_mini_cheetah_stand_height_counts_the_sphere():
    robot = library.mini_cheetah()
    depth = 0.209 * np.cos(0.8) + 0.180 * np.cos(0.8)
    assert robot.poses["stand"].height == pytest.approx(depth + 0.015, abs=1e-12)
    assert robot.poses["fold"].height < 0.1


# -- the robots whose numbers are chosen -----------------------------------------------------------------------------
BOXES = [
    ("xiling", "trunk", 30.0, (0.289, 1.289, 1.45)),
    ("xiling", "LF_abad_link", 0.8, (0.00109333, 0.000853333, 0.00109333)),
    ("xiling", "LF_hip_link", 1.4, (0.0123667, 0.0121333, 0.000606667)),
    ("xiling", "RH_knee_link", 0.6, (0.005165, 0.005165, 9.0e-05)),
    ("spined", "trunk", 7.5, (0.045, 0.045, 0.072)), ("spined", "spine_pitch_link", 7.5, (0.045, 0.045, 0.072)),
    ("spined", "LF_abad_link", 0.375, (0.000225, 0.000225, 0.000225)),
    ("spined", "LF_hip_link", 0.9, (0.004875, 0.004875, 0.000375)),
    ("spined", "LH_knee_link", 0.6, (0.003205, 0.003205, 0.00016)),
    ("dynakat", "trunk", 1.5, (0.00225, 0.0117, 0.01305)),
    ("dynakat", "LF_hip_link", 0.2, (4.16667e-05, 5.33333e-05, 4.16667e-05)),
    ("dynakat", "LF_abad_link", 0.15, (0.00013, 0.00013625, 1.625e-05)),
    ("dynakat", "RF_knee_link", 0.1, (5.02083e-05, 5.20833e-05, 8.54167e-06)),
    ("dynakat", "RH_ankle_link", 0.05, (1.20833e-05, 1.20833e-05, 3.33333e-06)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "link", "mass", "moments"), BOXES)
def test_links_are_solid_boxes(name, link, mass, moments):
    found = library.load(name).link(link)
    assert found.mass == mass
    np.testing.assert_allclose(found.inertia, np.diag(moments), rtol=5e-6)


def test_spined_legs_are_a_quarter_of_the_mass():
    robot = library.spined()
    legs = sum(link.mass for link in robot.links if link.name[:2] in LEGS)
    assert legs / robot.mass == pytest.approx(0.25)


def test_spined_front_body_lifts_its_nose_and_hind_body_rolls():
    robot = library.spined()
    q = robot.state()[0]
    rest = foot_centres(robot, q)
    q[7 + robot.joint_names.index("spine_pitch")] = 0.2
    raised = foot_centres(robot, q)
    assert (raised[:2, 2] > rest[:2, 2]).all()
    assert np.array_equal(raised[2:], rest[2:])
    q = robot.state()[0]
    q[7 + robot.joint_names.index("spine_roll")] = 0.2
    rolled = foot_centres(robot, q)
    assert rolled[2, 2] > rest[2, 2]  # a positive roll lifts the left side
    assert rolled[3, 2] < rest[3, 2]
    assert np.array_equal(rolled[:2], rest[:2])


def test_spined_hips_hang_where_the_paper_puts_them():
    feet = foot_centres(library.spined())
    expected = [[0.36, 0.12, -0.56], [0.36, -0.12, -0.56], [-0.36, 0.12, -0.56], [-0.36, -0.12, -0.56]]
    np.testing.assert_allclose(feet, expected, atol=1e-15)
    assert library.spined().poses["stand"].height == pytest.approx(0.51)


def test_xiling_motors_and_their_belt():
    robot = library.xiling()
    for actuator in robot.actuators:
        belt = 2 if actuator.joint.endswith("knee") else 1
        assert actuator.torque_limit == 108.0 * belt
        assert actuator.speed_limit == pytest.approx(36.6519143 / belt, rel=1e-8)
        assert actuator.gear == 20 * belt


def test_xiling_knee_carries_a_third_of_the_weight_with_27_newton_metres():
    robot = library.xiling()
    q = robot.state("stand")[0]
    knee = body_poses(robot, q)[3].p
    lever = foot_centres(robot, q)[0, 0] - knee[0]
    assert abs(robot.mass * 9.81 / 3 * lever) == pytest.approx(27, abs=0.3)
    assert robot.poses["stand"].height == pytest.approx(0.525, abs=1e-4)


@pytest.mark.parametrize("name", ["spined", "xiling"])
@pytest.mark.parametrize(("knees", "sign"), [("behind", -1), ("front", 1)])
def test_knees_stand_on_the_side_asked_for(name, knees, sign):
    robot = library.load(name, knees=knees)
    poses = body_poses(robot, robot.state("stand")[0])
    index = {joint: i + 1 for i, joint in enumerate(robot.joint_names)}
    for leg in LEGS:
        assert np.sign(poses[index[f"{leg}_knee"]].p[0] - poses[index[f"{leg}_hip"]].p[0]) == sign


def test_dynakat_stand_keeps_the_last_link_vertical():
    robot = library.dynakat()
    poses = body_poses(robot, robot.state("stand")[0])
    np.testing.assert_allclose(poses[4].R, np.eye(3), atol=1e-15)
    assert robot.poses["stand"].height == pytest.approx(0.18)


def test_a_depth_out_of_reach_is_refused():
    with pytest.raises(InputError, match=r"links of 0.2 m and 0.1 m cannot reach a depth of 0.5 m"):
        two_link_angles(0.5, 0.2, 0.1, 1)


def test_dynakat_offset_is_mirrored_or_to_the_letter():
    feet = foot_centres(library.dynakat())
    np.testing.assert_allclose(feet[:, 1], [0.08, -0.08, 0.08, -0.08], atol=1e-15)
    feet = foot_centres(library.dynakat(legs="identical"))
    np.testing.assert_allclose(feet[:, 1], [0.02, -0.08, 0.02, -0.08], atol=1e-15)
