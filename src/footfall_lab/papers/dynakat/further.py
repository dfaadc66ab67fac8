"""Further sentences of the DynaKat report: several end effectors, exactness, a leg like any other; its equations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics import coriolis_matrix, forward_dynamics, gravity_terms, mass_matrix
from footfall.dynamics.formalisms import lagrange
from footfall.dynamics.random_states import random_states
from footfall.kinematics.iterative.fabrik_chain import fabrik_chain
from footfall.kinematics.leg_chain import foot_position, leg_chain
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.mechanics import Mechanics, off, turned

NAME = "dynakat"
LEGS, LINKS, LENGTH = 4, 3, 0.1  # of the tree of balls; [m]
MOST = 1000  # iterations


def claims(robot: Robot, quick: bool) -> list[Claim]:
    return [
        _several(20 if quick else 200),
        _exact(20 if quick else 200),
        _three_joints(robot),
        not_asked(),
        *_equations(robot),
    ]


# -- several end effectors, as section 4.3 of Aristidou and Lasenby 2011 has them --------------------------------------
def _pull(points: list[ndarray], first: ndarray) -> list[ndarray]:
    """Return points of a chain whose first is put somewhere, each next pulled after it at its length."""
    found = [first]
    for old, new in pairwise(points):
        way = new - found[-1]
        found.append(found[-1] + way * (np.linalg.norm(new - old) / np.linalg.norm(way)))
    return found


def reach_all(
    root: Float[ndarray, "2 3"], legs: list[Float[ndarray, "n 3"]], targets: Float[ndarray, "k 3"], iterations: int
) -> tuple[list[ndarray], int]:
    """Return the legs after FABRIK with one sub-base, to which ``root`` is a link from where the tree is fixed."""
    base = root[0]
    for made in range(iterations):
        if max(np.linalg.norm(leg[-1] - target) for leg, target in zip(legs, targets)) < 1e-3:
            return legs, made
        back = [_pull(list(leg[::-1]), target) for leg, target in zip(legs, targets)]
        mean = np.mean([chain[-1] for chain in back], axis=0)  # what the legs ask of the sub-base
        root = np.array(_pull(_pull([root[1], root[0]], mean)[::-1], base))
        legs = [np.array(_pull(chain[::-1], root[1])) for chain in back]
    return legs, iterations


def _several(count: int) -> Claim:
    random = np.random.default_rng(7)

    def tree() -> tuple[ndarray, list[ndarray]]:
        steps = random.normal(size=(1 + LEGS * LINKS, 3))
        steps *= LENGTH / np.linalg.norm(steps, axis=1)[:, None]
        hub = steps[0]
        legs = [hub + np.vstack([np.zeros(3), np.cumsum(s, axis=0)]) for s in steps[1:].reshape(LEGS, LINKS, 3)]
        return np.array([np.zeros(3), hub]), legs

    reached, made = 0, []
    for _ in range(count):
        _, goal = tree()
        root, legs = tree()
        targets = np.array([leg[-1] for leg in goal])
        found, iterations = reach_all(root, legs, targets, MOST)
        good = max(np.linalg.norm(leg[-1] - target) for leg, target in zip(found, targets)) < 1e-3
        reached += bool(good)
        made.append(iterations)
    return assess(
        NAME,
        "fabrik_several_end_effectors",
        100.0 * reached / count,
        f"{count} random trees of balls: a link from a fixed root to a sub-base, {LEGS} legs of {LINKS} links on it;"
        f" median {np.median(made):.0f} iterations, at most {MOST}, from another random posture.",
    )


def _exact(count: int) -> Claim:
    random, left, later = np.random.default_rng(8), [], []
    for _ in range(count):
        steps = random.normal(size=(5, 3))
        points = np.vstack([np.zeros(3), np.cumsum(LENGTH * steps / np.linalg.norm(steps, axis=1)[:, None], axis=0)])
        target = random.normal(size=3)
        target *= 0.25 / np.linalg.norm(target)
        left.append(float(fabrik_chain(points, target, 200, 1e-6).residual))
        later.append(float(fabrik_chain(points, target, 200, 0.0).residual))
    return assess(
        NAME,
        "fabrik_never_exact",
        float(np.median(left)),
        f"Five links of balls, {count} targets. What is left shrinks by a factor in each iteration: after 200 of"
        " them it is"
        f" {np.median(later):.0e} m, which is rounding.",
        holds=min(left) > 1e-15,
    )


# -- the leg and its equations -----------------------------------------------------------------------------------------
def _three_joints(robot: Robot) -> Claim:
    """The last joint held: a leg of three joints, whose shank reaches from the knee to the foot, by its own formula."""
    leg, random, worst = leg_chain(robot, "LF"), np.random.default_rng(9), 0.0
    for _ in range(100):
        held = float(random.uniform(-1.0, 1.0))
        points, axes = [np.array(s.point) for s in leg.screws], [np.array(s.axis) for s in leg.screws]
        zero = foot_position(leg, np.zeros(len(leg)))
        shank = points[3] + turned(axes[3], held) @ (zero - points[3])  # the foot of the leg of three joints at zero
        joints = random.uniform(-1.0, 1.0, 3)
        place = shank
        for k in (2, 1, 0):
            place = points[k] + turned(axes[k], joints[k]) @ (place - points[k])
        worst = max(worst, float(np.abs(place - foot_position(leg, np.array([*joints, held]))).max()))
    return assess(NAME, "emulates_three_joints", worst, "100 postures, the last joint held anywhere within a radian.")


def not_asked() -> Claim:
    return assess(NAME, "fourth_joint_in_rough_terrain", None)


def _equations(robot: Robot) -> list[Claim]:
    plain = robot.replace({f"{joint.name}.armature": 0.0 for joint in robot.joints})
    states, worst, printed = random_states(plain, 3, seed=5), 0.0, 0.0
    for q, v, tau in zip(states.q, states.v, states.tau):
        own = Mechanics.of(plain, q, v)
        M, G = own.M, own.G(GRAVITY)
        a = np.linalg.solve(M, tau - own.c - G)
        found = forward_dynamics(plain, q, v, tau, classical=True)
        worst = max(worst, off(mass_matrix(plain, q), M), off(gravity_terms(plain, q), G), off(found, a))
        right = lagrange.velocity_terms(plain, q, v)
        doubled = 2.0 * coriolis_matrix(plain, q, v) @ v
        printed = max(printed, off(doubled, right))
    return [
        assess(
            NAME,
            "eq_dynamics",
            worst,
            "Beside mechanics written apart, in world axes. In B u the report calls B the matrix of friction"
            " coefficients: it is the input matrix.",
        ),
        assess(NAME, "erratum_christoffel", printed, "The sum of three terms lacks the factor 1/2: twice the forces."),
    ]
