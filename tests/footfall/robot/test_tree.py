"""The numbered tree: index sets of eqs. (1)-(3) of de Paula et al. 2024, fused links, welded rotors, broken trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.dynamics import forward_dynamics, mass_matrix
from footfall.errors import ModelError
from footfall.robot import Foot, Joint, Link, Robot, Rotor, library
from footfall.spatial.inertia import Inertia
from footfall.spatial.rotation import about_x

CHEETAH_PARENTS = (0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11)


def bar(name, mass=1.0, com=(0.0, 0.0, 0.0)):
    return Link(name=name, mass=mass, com=com, inertia=np.diag([0.02, 0.03, 0.04]))


def hinge(name, parent, child, **more):
    return Joint(name=name, kind="revolute", parent=parent, child=child, **more)


# -- index sets ------------------------------------------------------------------------------------------------------
def test_mini_cheetah_predecessors_successors_and_parents_as_printed():
    tree = library.mini_cheetah().tree
    assert tree.pred == CHEETAH_PARENTS
    assert tree.succ == tuple(range(1, 13))
    assert tuple(min(p, s) for p, s in zip(tree.pred, tree.succ)) == tree.parent[1:] == CHEETAH_PARENTS
    assert tree.parent[0] == -1


def test_mini_cheetah_support_child_subtree_and_foot_sets():
    tree = library.mini_cheetah().tree
    assert tree.support[0] == ()
    assert tree.support[3] == (1, 2, 3)
    assert tree.support[11] == (10, 11)
    assert tree.children[0] == (1, 4, 7, 10)
    assert tree.children[1] == (2,)
    assert tree.children[12] == ()
    assert tree.subtree[0] == tuple(range(13))
    assert tree.subtree[4] == (4, 5, 6)
    assert tree.subtree[12] == (12,)
    assert tree.feet == (3, 6, 9, 12)
    assert tree.base_dof == 6
    assert [tree.dof(i) for i in (1, 12)] == [6, 17]


def test_spined_bodies_are_numbered_depth_first():
    tree = library.spined().tree
    assert tree.parent == (-1, 0, 1, 2, 3, 1, 5, 6, 0, 8, 9, 10, 8, 12, 13)
    assert tree.feet == (4, 7, 11, 14)
    assert tree.support[14] == (8, 12, 13, 14)


@pytest.mark.parametrize("name", library.names())
def test_index_sets_agree_with_each_other(name):
    tree = library.load(name).tree
    n = len(tree.bodies)
    for i in range(1, n):
        assert tree.parent[i] < i
        assert i in tree.children[tree.parent[i]]
        assert tree.support[i] == (*tree.support[tree.parent[i]], i)
    for i in range(n):
        assert tree.subtree[i] == tuple(k for k in range(n) if i == 0 or i in tree.support[k])
        assert tree.frames[tree.bodies[i].name][0] == i


@given(st.data())
def test_any_order_of_listing_gives_parents_before_children(data):
    """A random tree, its links and joints shuffled: every body still comes after its parent, once."""
    n = data.draw(st.integers(1, 9))
    parents = [data.draw(st.integers(0, i - 1)) for i in range(1, n)]
    joints = [hinge(f"j{i}", f"b{parents[i - 1]}", f"b{i}") for i in range(1, n)]
    robot = Robot(
        name="r",
        links=data.draw(st.permutations([bar(f"b{i}") for i in range(n)])),
        joints=data.draw(st.permutations(joints)),
    )
    tree = robot.tree
    assert tree.bodies[0].name == "b0"
    assert sorted(body.name for body in tree.bodies) == sorted(f"b{i}" for i in range(n))
    for body, parent in zip(tree.bodies[1:], tree.parent[1:]):
        assert tree.bodies[parent].name == f"b{parents[int(body.name[1:]) - 1]}"


# -- fusing ----------------------------------------------------------------------------------------------------------
def test_links_behind_fixed_joints_are_fused_with_mass_and_frame():
    sensor = bar("sensor", 0.5, (0.0, 0.0, 0.1))
    fixed = Joint(
        name="mount", kind="fixed", parent="arm", child="sensor", origin=(0.1, 0.0, 0.0), rotation=about_x(0.3)
    )
    tip = hinge("wrist", "sensor", "hand", origin=(0.0, 0.2, 0.0))
    robot = Robot(
        name="r",
        links=[bar("base"), bar("arm"), sensor, bar("hand")],
        joints=[hinge("shoulder", "base", "arm"), fixed, tip],
        feet=[Foot(name="tool", link="sensor", position=(0.0, 0.0, 0.2))],
        floating=False,
    )
    tree = robot.tree
    assert [b.name for b in tree.bodies] == ["base", "arm", "hand"]
    assert robot.joint_names == ("shoulder", "wrist")
    body, X_BL = tree.frames["sensor"]
    assert body == 1
    np.testing.assert_allclose(tree.bodies[2].X_PJ.p, X_BL.point(np.array([0.0, 0.2, 0.0])), atol=1e-15)
    np.testing.assert_allclose(tree.foot_positions[0], [0.1, -0.2 * np.sin(0.3), 0.2 * np.cos(0.3)], atol=1e-15)
    expected = Inertia.about_com(1.0, np.zeros(3), bar("arm").inertia) + Inertia.about_com(
        0.5, sensor.com, sensor.inertia
    ).to_parent(X_BL)
    np.testing.assert_allclose(tree.bodies[1].inertia.matrix(), expected.matrix(), atol=1e-15)
    assert robot.nv == 2
    assert tree.base_dof == 0


@pytest.mark.parametrize(
    ("mode", "armature", "mass", "spins"), [("none", 0.1, 1.0, 0), ("armature", 0.9, 1.2, 0), ("exact", 0.9, 1.2, 1)]
)
def test_rotor_modes_weld_reflect_and_couple(mode, armature, mass, spins):
    rotor = Rotor(0.2, (0.1, 0.0, 0.0), 0.05, 0.03, gear=4.0)
    joint = hinge("j", "base", "arm", axis=(0.0, 1.0, 0.0), armature=0.1, rotor=rotor)
    bodies = Robot(name="r", links=[bar("base"), bar("arm")], joints=[joint], rotors=mode).tree.bodies
    assert bodies[1].armature == pytest.approx(armature)
    assert bodies[0].inertia.m == pytest.approx(mass)
    assert len(bodies[0].spins) == spins
    if spins:
        np.testing.assert_allclose(bodies[0].spins[0].momentum, [0, 0.2, 0])
    if mode != "none":
        np.testing.assert_allclose(
            np.diag(bodies[0].inertia.I), [0.02 + 0.03, 0.03 + 0.05 + 0.002, 0.04 + 0.03 + 0.002]
        )


# -- broken trees ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("links", "joints", "message"),
    [
        ("ab", [], "robot 'r' has 2 roots, a, b: join them into one tree"),
        ("ab", ["ab", "ba"], "robot 'r' has no root: .* the joints form a loop"),
        ("abc", ["bc", "cb"], "link 'b' is part of a loop"),
        ("abc", ["ac", "bc"], "link 'c' is the child of two joints, 'ac' and 'bc'"),
        ("ab", ["ax"], "child of joint 'ax' is the unknown link 'x': links are a, b"),
        ("ab", ["xb"], "parent of joint 'xb' is the unknown link 'x': links are a, b"),
        ("a", ["aa"], "robot 'r' has no root"),
    ],
)
def test_what_is_not_one_tree_is_refused(links, joints, message):
    with pytest.raises(ModelError, match=message):
        Robot(name="r", links=[bar(name) for name in links], joints=[hinge(name, name[0], name[1]) for name in joints])


def test_a_massless_leaf_cannot_be_moved():
    with pytest.raises(ModelError, match="link 'tip' and its descendants have no mass"):
        Robot(name="r", links=[bar("base"), Link.massless("tip")], joints=[hinge("j", "base", "tip")])
    Robot(
        name="r",
        links=[bar("base"), Link.massless("middle"), bar("end")],
        joints=[hinge("j", "base", "middle"), hinge("k", "middle", "end", axis=[1.0, 0.0, 0.0])],
    )


def test_motions_that_move_no_inertia_are_refused():
    """Their mass matrix is singular at every state, and forward dynamics would give NaN."""
    base = [Link.massless("base"), bar("end", com=(0.0, 0.0, -0.1))]
    with pytest.raises(ModelError, match="link 'base' can move without moving anything that has mass"):
        Robot(name="r", links=base, joints=[hinge("j", "base", "end")])
    with pytest.raises(ModelError, match="link 'base' can move without moving anything"):
        Robot(name="r", links=base, joints=[Joint(name="j", kind="prismatic", parent="base", child="end")])
    with pytest.raises(ModelError, match="joint 'j' moves nothing that has inertia about its axis: give link 'middle'"):
        Robot(
            name="r",
            links=[bar("base"), Link.massless("middle"), bar("end")],
            joints=[hinge("j", "base", "middle"), hinge("k", "middle", "end")],
        )
    needle = Link(name="needle", mass=1.0, com=(0.0, 0.0, 0.3), inertia=np.diag([0.02, 0.02, 0.0]))
    with pytest.raises(ModelError, match="joint 'j' moves nothing that has inertia"):
        Robot(name="r", links=[bar("base"), needle], joints=[hinge("j", "base", "needle")])


@pytest.mark.parametrize("more", [{"armature": 0.01}, {"floating": False}])
def test_a_massless_base_with_armature_or_a_pedestal_has_finite_accelerations(more):
    fixed = {"floating": more.pop("floating")} if "floating" in more else {}
    base = [Link.massless("base"), bar("end", com=(0.0, 0.0, -0.1))]
    robot = Robot(name="r", links=base, joints=[hinge("j", "base", "end", **more)], **fixed)
    q, v = robot.state()
    assert np.linalg.eigvalsh(mass_matrix(robot, q))[0] > 1e-3
    assert np.isfinite(forward_dynamics(robot, q, v, np.ones(robot.nj))).all()


def test_a_massless_base_on_two_legs_is_a_robot():
    links = [Link.massless("base"), bar("left"), bar("right")]
    joints = [hinge("l", "base", "left"), hinge("r", "base", "right", origin=[0.2, 0.0, 0.0], axis=[0.0, 1.0, 0.0])]
    assert Robot(name="r", links=links, joints=joints).nv == 8


@pytest.mark.parametrize(("key", "value"), [("mass", 1e30), ("inertia", 1e30 * np.eye(3)), ("com", [1e20, 0.0, 0.0])])
def test_magnitudes_that_leave_no_digits_are_refused(key, value):
    with pytest.raises(ModelError, match="of link 'trunk'"):
        library.mini_cheetah().replace({f"trunk.{key}": value})
