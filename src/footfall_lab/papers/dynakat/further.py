"""Further statements of the DynaKat report: several end effectors, accuracy, more joints, its equations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
from numpy import ndarray

from footfall.compiling import compile
from footfall.contact.points import knees, trunk_corners
from footfall.control.joint.changing_pd import ChangingPD
from footfall.control.joint.joint_pd import Hold, JointPD
from footfall.dynamics import coriolis_matrix, forward_dynamics, gravity_terms, mass_matrix
from footfall.dynamics.energy import potential_energy
from footfall.dynamics.formalisms import lagrange
from footfall.dynamics.formalisms.derive import derive
from footfall.dynamics.random_states import random_states
from footfall.gait import Kuramoto, Transition
from footfall.kinematics.iterative.fabrik_chain import fabrik_chain
from footfall.kinematics.iterative.fabrik_leg import contact_angle
from footfall.kinematics.jacobian import feet_jacobian
from footfall.kinematics.leg_chain import foot_jacobian, foot_position, leg_chain
from footfall.kinematics.leg_inverse import branches
from footfall.robot.library.dynakat import table
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial.gravity import GRAVITY
from footfall_lab.papers.claims import Claim, assess
from footfall_lab.papers.dynakat.leg_race import best_time, standing
from footfall_lab.papers.mechanics import Mechanics, off, turned
from footfall_lab.papers.timing import best_times
from nptrace.array_types import Float
from nptrace.autodiff.nested import interpreted

NAME = "dynakat"
LEGS, LINKS, LENGTH = 4, 3, 0.1  # of the tree of ball joints; [m]
MOST = 1000  # iterations


def claims(robot: Robot, quick: bool) -> list[Claim]:
    return [
        _several(20 if quick else 200),
        _exact(20 if quick else 200),
        _three_joints(robot),
        _changes_gait(robot),
        _tracks(robot),
        _more_joints(robot),
        _symbolic(robot),
        _derived_once(robot),
        _singular_closed(robot, 100 if quick else 1000),
        _limp(robot),
        _through_joints(robot),
        *not_requested(),
        *_equations(robot),
    ]


# -- several end effectors, as in section 4.3 of Aristidou and Lasenby 2011 --------------------------------------------
def _pull(points: list[ndarray], first: ndarray) -> list[ndarray]:
    """Return the points of a chain whose first point is moved, each of the others pulled after it at its length."""
    found = [first]
    for old, new in pairwise(points):
        way = new - found[-1]
        found.append(found[-1] + way * (np.linalg.norm(new - old) / np.linalg.norm(way)))
    return found


def reach_all(
    root: Float[ndarray, "2 3"], legs: list[Float[ndarray, "n 3"]], targets: Float[ndarray, "k 3"], iterations: int
) -> tuple[list[ndarray], int]:
    """Return the legs after FABRIK with one sub-base, which a link connects to the fixed ``root``."""
    base = root[0]
    for made in range(iterations):
        if max(np.linalg.norm(leg[-1] - target) for leg, target in zip(legs, targets)) < 1e-3:
            return legs, made
        back = [_pull(list(leg[::-1]), target) for leg, target in zip(legs, targets)]
        mean = np.mean([chain[-1] for chain in back], axis=0)  # the target of the legs for the sub-base
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
        f"{count} random trees of ball joints: a link from a fixed root to a sub-base, {LEGS} legs of {LINKS} links on"
        f" it;"
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
        f"Five links with ball joints, {count} targets. The error shrinks by a constant factor per iteration: after 200"
        " iterations it is"
        f" {np.median(later):.0e} m, at the level of rounding.",
        holds=min(left) > 1e-15,
    )


# -- the leg and its equations -----------------------------------------------------------------------------------------
def _three_joints(robot: Robot) -> Claim:
    """Assess a leg with its last joint fixed: three joints, by the formula for such a leg."""
    leg, random, worst = leg_chain(robot, "LF"), np.random.default_rng(9), 0.0
    for _ in range(100):
        held = float(random.uniform(-1.0, 1.0))
        points, axes = [np.array(s.point) for s in leg.screws], [np.array(s.axis) for s in leg.screws]
        zero = foot_position(leg, np.zeros(len(leg)))
        shank = points[3] + turned(axes[3], held) @ (zero - points[3])  # foot of the three-joint leg at zero
        joints = random.uniform(-1.0, 1.0, 3)
        place = shank
        for k in (2, 1, 0):
            place = points[k] + turned(axes[k], joints[k]) @ (place - points[k])
        worst = max(worst, float(np.abs(place - foot_position(leg, np.array([*joints, held]))).max()))
    return assess(NAME, "emulates_three_joints", worst, "100 postures, the last joint fixed at random within a radian.")


def _changes_gait(robot: Robot) -> Claim:
    """Assess a walk that becomes a trot by its oscillators."""
    first, later = (JointPD.tuned(robot, name, open_loop=True) for name in ("walk", "trot"))
    change = Transition(first.gait, later.gait.replace(knees=first.gait.knees), begin=4.0, duration=2.0)
    controller = ChangingPD(transition=change, kp=(first.kp, later.kp), kd=(first.kd, later.kd))
    sim = Simulation(robot, controller, start=standing_start(robot, controller))
    rec = sim.run(10.0)
    phase = sim.state.memory["phase"]
    off, before = (float(np.abs(Kuramoto.of(g, 4.0).error(phase)).max()) for g in (change.second, change.first))
    speeds = [float(rec.trunk_position[k, 0]) for k in (np.searchsorted(rec.time, t) for t in (2.0, 4.0, 6.0, 9.99))]
    return assess(
        NAME,
        "oscillators_change_gait",
        off,
        f"{before:.2f} cycles is the phase error of the walk by then. {0.5 * (speeds[1] - speeds[0]):.3f} m/s before,"
        f" {(speeds[3] - speeds[2]) / 3.99:.3f} m/s after; {'it fell' if rec.meta['fell'] else 'upright throughout'}.",
        holds=sim.stopped is None and not rec.meta["fell"] and off <= 0.05,
    )


def _tracks(robot: Robot) -> Claim:
    """Assess a foot that follows an ellipse by rates of the pseudo-inverse, without position feedback."""
    leg, dt = leg_chain(robot, "LF"), 1e-3
    joints = np.array(standing(robot))
    begin, sizes = foot_position(leg, joints), np.array([0.040, 0.020])
    off, length = [], 0.0
    for k in range(round(1.0 / dt)):
        turn = 2.0 * np.pi * (k + 0.5) * dt
        speed = 2.0 * np.pi * np.array([-sizes[0] * np.sin(turn), 0.0, sizes[1] * np.cos(turn)])
        _, J = foot_jacobian(leg, joints)
        joints = joints + dt * (np.linalg.pinv(J) @ speed)
        length += dt * float(np.linalg.norm(speed))
        done = 2.0 * np.pi * (k + 1) * dt
        requested = begin + np.array([sizes[0] * (np.cos(done) - 1.0), 0.0, sizes[1] * np.sin(done)])
        off.append(float(np.linalg.norm(foot_position(leg, joints) - requested)))
    return assess(
        NAME,
        "velocity_inverse_tracks",
        100.0 * float(np.sqrt(np.mean(np.square(off)))) / length,
        f"At most {1e3 * max(off):.2f} mm off, of {1e3 * length:.0f} mm, without feedback; by the 3 x 4 position"
        " Jacobian of the foot.",
    )


def _more_joints(robot: Robot) -> Claim:
    """Compare the time of M, C and G with and without the last joint of each leg."""
    last = [[name for name in robot.joint_names if name.startswith(foot)][-1] for foot in robot.foot_names]
    joints = [replace(j, kind="fixed", lower=0.0, upper=0.0) if j.name in last else j for j in robot.joints]
    motors = [motor for motor in robot.actuators if motor.joint not in last]
    welded = replace(robot, joints=joints, actuators=motors, poses={})
    calls = {}
    for subject in (robot, welded):
        states = random_states(subject, 256, seed=6)
        function = compile(_matrices, subject, states.q[0], states.v[0], target="batch", verify=False)
        calls[subject.nj] = partial(function, states.q, states.v)
    took = dict.fromkeys(calls, np.inf)
    for _ in range(10):  # interleaved, so that other load affects both
        for nj, call in calls.items():
            took[nj] = min(took[nj], best_time(call, least=2e-3) / 256)
    more, fewer = took.values()
    words = ", ".join(f"{nj} joints {1e9 * seconds:.0f} ns" for nj, seconds in took.items())
    return assess(NAME, "links_add_computing", more / fewer, f"{words}.")


def _symbolic(robot: Robot) -> Claim:
    """Compare the time of M, C and G compiled and as stored expressions."""
    states = random_states(robot, 1, seed=6)
    q, v = states.q[0], states.v[0]
    stored, fast = interpreted(partial(_matrices, robot), q, v), compile(_matrices, robot, q, v)
    slow, quick = best_time(partial(stored, q, v), least=0.05), best_time(partial(fast, q, v))
    return assess(
        NAME,
        "symbolic_is_slow",
        quick / slow,
        f"{1e3 * slow:.2f} ms by {stored.program.live_operations} stored expressions, {1e3 * quick:.3f} ms compiled.",
    )


def _matrices(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> tuple[ndarray, ndarray, ndarray]:
    return mass_matrix(robot, q), coriolis_matrix(robot, q, v), gravity_terms(robot, q)


def _derived_once(robot: Robot) -> Claim:
    """Compare the foot's pose by expressions derived once and by the product of the matrices of Table I."""
    formula = derive(robot, "forward_kinematics", leg="RF", form="python", digits=17)
    written, mount = _imported(formula.text).forward_kinematics, leg_chain(robot, "RF").screws[0].point
    rows = [(row.theta, row.d, row.a, np.cos(row.alpha), np.sin(row.alpha), row.joint is not None) for row in table()]

    def product(x: ndarray) -> ndarray:
        T, values = np.eye(4), iter(x)
        for theta, d, a, c, s, moves in rows:
            angle = theta + next(values) if moves else theta
            C, S = np.cos(angle), np.sin(angle)
            T = T @ np.array([[C, -S * c, S * s, a * C], [S, C * c, -C * s, a * S], [0, s, c, d], [0, 0, 0, 1]])
        return T

    x = np.array([0.3, -0.2, 0.7, -0.4])
    took = best_times({"written": partial(written, x), "product": partial(product, x)})
    apart = float(np.abs(written(x)[:3, 3] - mount - product(x)[:3, 3]).max())
    return assess(
        NAME,
        "kinematics_derived_once_saves_time",
        took["written"] / took["product"],
        f"{1e6 * took['written']:.1f} us by {formula.operations} expressions against {1e6 * took['product']:.1f} us by"
        f" seven matrices; {1e3 * formula.seconds:.0f} ms to derive them, once. The feet agree to {apart:.0e} m.",
    )


def _imported(text: str) -> ModuleType:
    """Return a module imported from a file with this text, as matlabFunction writes a function to a file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "formula.py"
        file.write_text(text, encoding="utf-8")
        spec = spec_from_file_location("formula", file)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _singular_closed(robot: Robot, count: int) -> Claim:
    """Run the closed form on the targets of FABRIK, with the angle of the last link given."""
    targets, _, postures = singular_cases(robot, count)
    leg, missed, nothing = leg_chain(robot, "LF"), 0, 0
    for target, posture in zip(targets, postures):
        pitch = float(contact_angle(leg, posture))
        found = [pose.joints for pose in branches(robot, "LF", target, foot_pitch=pitch)]
        off = [float(np.linalg.norm(foot_position(leg, np.asarray(joints)) - target)) for joints in found]
        nothing += not np.isfinite(off).all()
        missed += not min(off) <= 1e-3
    share = 100.0 * missed / count
    return assess(
        NAME,
        "analytical_is_susceptible_to_singularities",
        share,
        f"{missed} of {count} targets missed by 1 mm, {nothing} with a solution that is not a number. Half of the"
        " targets are those of straight legs, where its two solutions meet: the cosine is cut off at 1, so that"
        " rounding does no harm. The report speaks of most methods: of the one of this leg it is not so.",
        holds=share > 1.0 or nothing > 0,
    )


def singular_cases(
    robot: Robot, count: int
) -> tuple[Float[ndarray, "n 3"], Float[ndarray, "n 4"], Float[ndarray, "n 4"]]:
    """Return targets, starts and the postures that reach them: from straight legs, and into them."""
    leg, random = leg_chain(robot, "LF"), np.random.default_rng(1)
    straight = np.zeros(len(leg))
    starts, postures = [], []
    for k in range(count):
        posture = np.array([random.uniform(-0.8, 0.8), random.uniform(-0.5, 0.5), 0.0, 0.0])
        bent = posture + np.array([0.0, 0.0, random.uniform(0.8, 1.6), random.uniform(-1.0, 0.0)])
        starts.append(straight if k % 2 else bent)  # from a stretched leg, and to one
        postures.append(bent if k % 2 else posture)
    return np.array([foot_position(leg, each) for each in postures]), np.array(starts), np.array(postures)


def _limp(robot: Robot) -> Claim:
    q, v = standing_start(robot, Hold("stand"))
    limp = Hold(q[7:], kp=0.0, kd=0.0)
    touching = [*trunk_corners(robot), *knees(robot, 0.005)]
    sim = Simulation(robot, limp, start=(q, v), touching=touching, stop_on_fall=False)
    rec = sim.run(2.0)
    height = rec.trunk_position[:, 2] / q[2]
    low = np.flatnonzero(height < 0.5)
    when = f"Half its height after {rec.time[low[0]]:.2f} s" if len(low) else "It never comes to half its height"
    return assess(
        NAME,
        "limp_legs_do_not_stand",
        float(height[-1]),
        f"{when}; no torque and no friction at any joint, trunk and shins touch the floor.",
        holds=bool(len(low)),
    )


def _through_joints(robot: Robot) -> Claim:
    """Assess the instantaneous effect of control: forces on joints only, accelerations of all coordinates."""
    states, worst, least = random_states(robot, 20, seed=11), 0.0, np.inf
    rng = np.random.default_rng(12)
    for q, v in zip(states.q, states.v):
        u = np.concatenate([np.zeros(6), rng.normal(size=robot.nj)])
        a = forward_dynamics(robot, q, v, u) - forward_dynamics(robot, q, v, np.zeros(robot.nv))
        worst = max(worst, float(np.abs(Mechanics.of(robot, q, v).M @ a - u).max() / np.abs(u).max()))
        least = min(least, float(np.linalg.norm(a[:6]) / np.linalg.norm(a)))
    return assess(
        NAME,
        "controls_act_through_joints",
        worst if least > 0.0 else float("nan"),
        f"The base accelerates in every state, by at least {100.0 * least:.2g} % of the whole, through M alone.",
    )


def not_requested() -> list[Claim]:
    ids = ("fourth_joint_in_rough_terrain", "closed_form_may_be_impossible", "more_joints_fail_more")
    return [assess(NAME, id, None) for id in ids]


def _equations(robot: Robot) -> list[Claim]:
    plain = robot.replace({f"{joint.name}.armature": 0.0 for joint in robot.joints})
    states, worst, printed, rng = random_states(plain, 3, seed=5), 0.0, 0.0, np.random.default_rng(10)
    for q, v, tau in zip(states.q, states.v, states.tau):
        own = Mechanics.of(plain, q, v)
        M, G = own.M, own.G(GRAVITY)
        feet = [own.point(i, r)[1] for i, r in zip(plain.tree.feet, plain.tree.foot_positions)]
        f = rng.normal(size=(plain.nf, 3))
        pushed = sum(J.T @ one for J, one in zip(feet, f))
        free, held = (np.linalg.solve(M, tau + more - own.c - G) for more in (0.0, pushed))
        height = -sum(m * np.asarray(GRAVITY) @ own.point(k, c)[0] for k, (m, c, _) in enumerate(own.masses()))
        worst = max(
            worst,
            off(mass_matrix(plain, q), M),
            off(potential_energy(plain, q), height),  # P, with g upwards
            off(gravity_terms(plain, q), G),  # g_k, its derivative
            off(feet_jacobian(plain, q)[:, 3:], feet),  # J_c
            off(forward_dynamics(plain, q, v, tau, classical=True), free),
            off(forward_dynamics(plain, q, v, tau, external=pushed, classical=True), held),
        )
        right = lagrange.velocity_terms(plain, q, v)
        doubled = 2.0 * coriolis_matrix(plain, q, v) @ v
        printed = max(printed, off(doubled, right))
    return [
        assess(
            NAME,
            "eq_dynamics",
            worst,
            "Compared with independent mechanics in world axes. In B u the report calls B the matrix of friction"
            " coefficients: it is the input matrix. P = m gᵀ r is the energy if g points upwards, as in the report.",
        ),
        assess(NAME, "erratum_christoffel", printed, "The sum of three terms lacks the factor 1/2: twice the forces."),
    ]
