"""The referees themselves: built from links, honest about what they cannot hold, absent without harm."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from random_trees import random_link

from footfall.dynamics.random_states import random_states
from footfall.errors import InputError, MissingExtraError
from footfall.mujoco import MuJoCo, assembly
from footfall.robot import Joint, Link, Robot, library
from footfall_lab.verify import Pinocchio


@pytest.mark.parametrize("rotors", ["none", "armature", "exact"])
def test_referees_agree_with_each_other(rotors: str) -> None:
    robot = library.load("mini_cheetah").replace(rotors=rotors)
    pinocchio, mujoco = Pinocchio(robot), MuJoCo(robot)
    state = random_states(robot, 1)
    q, v, a, tau, wrenches = (x[0] for x in (state.q, state.v, state.a, state.tau, state.wrenches))
    for name, arguments in (
        ("mass_matrix", (q,)),
        ("bias", (q, v)),
        ("gravity", (q,)),
        ("inverse_dynamics", (q, v, a)),
        ("foot_positions", (q,)),
        ("feet_jacobian", (q,)),
        ("jacobian_rate", (q, v)),
        ("momentum_matrix", (q,)),
        ("center_of_mass", (q,)),
        ("kinetic_energy", (q, v)),
        ("potential_energy", (q,)),
        ("velocity_terms", (q, v)),
        ("external_terms", (q, wrenches)),
        ("forward_dynamics", (q, v, tau)),
    ):
        x, y = getattr(pinocchio, name)(*arguments), getattr(mujoco, name)(*arguments)
        assert np.abs(np.asarray(x) - y).max() <= 1e-11 * np.abs(y).max(), name


def test_exact_rotors_are_bodies_of_their_own() -> None:
    robot = library.load("mini_cheetah", rotors="exact")
    pinocchio = Pinocchio(robot)
    assert pinocchio.model.nv == robot.nv + 12
    assert pinocchio.G.shape == (30, 18)


def test_parts_keep_every_link_and_rotor_separate() -> None:
    robot = library.load("mini_cheetah")
    parts = assembly.parts_of(robot)
    assert len(parts) == 13 + 12
    assert sum(part.mass for part in parts) == pytest.approx(8.912, abs=1e-12)
    together = assembly.welded(parts)
    assert [part.mass > 0 for part in together].count(True) == 13
    trunk = together[0]
    assert trunk.mass == pytest.approx(3.52)
    assert np.diag(trunk.inertia) == pytest.approx([0.01203322, 0.03977250, 0.04677072])


def test_a_tensor_that_mujoco_refuses_is_named() -> None:
    robot = library.load("mini_cheetah", hip_inertia="as_published")
    with pytest.raises(InputError, match=r"robot 'mini_cheetah'.*LF_hip_link.*not realisable"):
        MuJoCo(robot)
    Pinocchio(robot)


def test_mujoco_takes_an_odd_tensor_of_a_link_when_its_whole_body_is_sound() -> None:
    rng = np.random.default_rng(0)
    rod = Link(name="rod", mass=0.1, com=np.zeros(3), inertia=np.diag([1e-3, 0.0, 0.0]), as_published=True)
    arm = Joint(name="arm", kind="revolute", parent="box", child="hand", axis=np.array([0.0, 1.0, 0.0]))
    glue = Joint(name="glue", kind="fixed", parent="box", child="rod", origin=np.array([0.1, 0.2, 0.3]))
    robot = Robot(
        name="box and rod", links=[random_link(rng, "box"), rod, random_link(rng, "hand")], joints=[glue, arm]
    )
    q = random_states(robot, 1).q[0]
    assert np.allclose(MuJoCo(robot).mass_matrix(q), Pinocchio(robot).mass_matrix(q), atol=1e-13)


def test_mujoco_takes_links_without_mass_between_joints() -> None:
    rng = np.random.default_rng(1)
    axes = np.eye(3)
    joints = [
        Joint(name="x", kind="revolute", parent="base", child="cross", axis=axes[0]),
        Joint(name="y", kind="revolute", parent="cross", child="arm", axis=axes[1]),
    ]
    robot = Robot(
        name="gimbal", links=[random_link(rng, "base"), Link.massless("cross"), random_link(rng, "arm")], joints=joints
    )
    state = random_states(robot, 1)
    q, v, tau = state.q[0], state.v[0], state.tau[0]
    found, asked = MuJoCo(robot).forward_dynamics(q, v, tau), Pinocchio(robot).forward_dynamics(q, v, tau)
    assert np.allclose(found, asked, rtol=1e-10)


def test_gravity_can_be_chosen() -> None:
    robot = library.load("mini_cheetah")
    q, v = robot.state("stand")
    for engine in (Pinocchio, MuJoCo):
        assert np.abs(engine(robot, gravity=(0.0, 0.0, 0.0)).bias(q, v)).max() < 1e-12
        assert engine(robot, gravity=(0.0, 0.0, -1.62)).bias(q, v)[5] == pytest.approx(1.62 * robot.mass)


@pytest.mark.parametrize(("engine", "package"), [(Pinocchio, "pinocchio"), (MuJoCo, "mujoco")])
def test_a_missing_engine_says_what_to_install(engine, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'footfall\[compare\]'"):
        engine(library.load("mini_cheetah"))


def test_importing_footfall_loads_no_engine() -> None:
    code = (
        "import sys, footfall_lab.verify, footfall.cli.main, footfall.dynamics;"
        "print([m for m in ('mujoco', 'pinocchio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
