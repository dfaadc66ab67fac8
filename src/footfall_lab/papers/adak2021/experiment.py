"""Adak, Bahceci, Erbatur: a quadruped with spine joints by Euler-Lagrange: model and Table 2.

Its claims about contact are measured in ``adak_contact``, those of its survey about spines in ``spine_claims``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.compiling import compile
from footfall.dynamics import bias_terms, coordinates, mass_matrix
from footfall.dynamics.formalisms import lagrange, link_jacobians
from footfall.dynamics.random_states import random_states
from footfall.kinematics import feet_jacobian
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import euler_rates_to_body, from_euler
from footfall_lab.bench import formalisms
from footfall_lab.bench.report import spelled
from footfall_lab.bench.timing import Row
from footfall_lab.papers.adak2021 import adak_contact, equations, painleve, spine_claims, spine_reach
from footfall_lab.papers.adak2021.spine_claims import Starts
from footfall_lab.papers.claims import Claim, Outcome, Table, assess
from footfall_lab.papers.timing import best_times
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "adak2021"
TITLE = "A quadruped with spine joints by Euler-Lagrange (Adak et al. 2021)"
_ROWS = {"M": "M", "C": "C", "G": "G", "Jc": "J"}  # names in the bench
PRINTED = {name: formalisms.TABLE2[row] for name, row in _ROWS.items()}  # (symbolic, optimised) [s]
_WORDS = {"M": "M(q)", "C": "C(q, q')", "G": "G(q)", "Jc": "J_C(q), 24 x 20"}
_LEGS = ("abad", "hip", "knee")
ROBOT_LEGS = ("LF", "RF", "LH", "RH")
_TARGETS = {"symbolic": "symbolic", "optimised": "native"}  # names in the bench
_SUMMARY = (
    "The paper derives the equations of motion of a 20-DOF robot with an active spine symbolically, in XYZ Euler"
    " angles, and speeds up their evaluation by turning the expressions into optimised code. The same derivation, from"
    " link Jacobians by exact differentiation, agrees with the recursive algorithms to rounding; its times are"
    " compared with the printed ones, as stored expressions and as machine code. On rigid ground, with contact by the"
    " paper's least-squares form, the robot stands, lands and trots; explicit spring-dampers need smaller steps, the"
    " smaller the less they sink. The claims of its survey about spines are assessed for five kinds of spines in three"
    " gaits, with one leg controller that ignores the spine: a claim that our runs do not show is not thereby refuted."
)
_NOTES = {
    "symbolic": (
        "Ours: the traced expressions ({operations} operations), evaluated one by one in Python, as subs() substitutes"
        " numbers into stored expressions. Derivation is not included in either time."
    ),
    "optimised": (
        "Ours: the same expressions as machine code for one robot, {native} an evaluation with many states in one call"
        " ({batch} over SIMD lanes). The paper: 3 GHz processor, matlabFunctionBlock."
    ),
}

Progress = Callable[[str, int, int], None]


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """Measure all claims. ``quick``: two seconds of timing instead of ten, fewer springs to compare."""
    del workers  # timing is on one core
    robot = library.load("spined")
    reported = progress or (lambda what, done, of: None)
    rows, operations = formalisms.table2(2.0 if quick else 10.0, reported)
    claims = [
        *_times(rows, operations),
        _degrees_of_freedom(robot),
        _share_of_legs(robot),
        _agreement(robot),
        _decoupled(robot),
        _sparse(robot),
        _invertible(robot),
        painleve.claim(),
        *_euler_angles(),
        assess(NAME, "massless_legs_widen_the_gap", None),
        *equations.claims(),
    ]
    contact = adak_contact.measure(robot, quick)
    starts = Starts.run(lambda start, count: reported("spines", start, count))
    spines = starts.each[0]
    settings = {
        "robot": "spined: topology and box inertias as published, lengths and masses chosen (the paper prints none)",
        "coordinates": "Euler angles XYZ, position, joints; C is the vector of eq. (27)",
        **contact.settings,
    }
    figures = {"table2": _figure(rows), **contact.figures, "spines": spines.figure()}
    captions = {"table2": _CAPTION, **contact.captions, "spines": spine_claims.CAPTION}
    tables = (_table(rows, operations), *contact.tables, spines.table())
    claims += [*contact.claims, *starts.claims(), *spine_reach.claims(robot)]
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=_SUMMARY,
        claims=tuple(claims),
        figures=figures,
        captions=captions,
        tables=tables,
        settings=settings,
        replays=contact.replays,
    )


_CAPTION = (
    "Table 2 reproduced: time to evaluate each matrix, as printed and here, as stored expressions and as optimised"
    " code."
)


def _times(rows: dict[str, Row], operations: dict[str, int]) -> list[Claim]:
    """Assess Table 2: eight times, and the speed-up of optimised code over stored expressions."""
    claims = []
    for name, (symbolic, optimised) in PRINTED.items():
        words = {
            "operations": operations[f"lagrange_{_ROWS[name]}"],
            "native": spelled(rows[f"lagrange {_ROWS[name]} native"].ns),
            "batch": spelled(rows[f"lagrange {_ROWS[name]} batch"].ns),
        }
        ours = {kind: 1e-9 * rows[f"lagrange {_ROWS[name]} {target}"].ns for kind, target in _TARGETS.items()}
        for kind, seconds in ours.items():
            claims.append(assess(NAME, f"table2_{name}_{kind}", seconds, _NOTES[kind].format(**words)))
        note = (
            f"{symbolic:g} s over {optimised:g} s in the paper, {spelled(1e9 * ours['symbolic'])} over"
            f" {spelled(1e9 * ours['optimised'])} here. Both of our versions use the same shared expressions; per"
            " operation, machine code gains more over Python than MATLAB's function blocks over subs()."
        )
        claims.append(assess(NAME, f"table2_{name}_ratio", ours["symbolic"] / ours["optimised"], note))
    ratios = [float(claim.measured or 0.0) for claim in claims if claim.id.endswith("_ratio")]
    reported = ", ".join(f"{name} {ratio:.0f}" for name, ratio in zip(PRINTED, ratios))
    claims.append(assess(NAME, "code_beats_symbolic", min(ratios), f"{reported}; printed 197, 440, 25 and 78."))
    return claims


def _degrees_of_freedom(robot: Robot) -> Claim:
    note = "6 of the floating base, a pitch and a roll joint of the spine, 3 joints in each of 4 legs."
    return assess(NAME, "dof_20", float(robot.nv), note)


def _share_of_legs(robot: Robot) -> Claim:
    """Assess the legs' share of the mass: the paper prints only the share."""
    legs = sum(link.mass for link in robot.links if link.name.removesuffix("_link").rpartition("_")[2] in _LEGS)
    share = legs / robot.mass
    return assess(NAME, "legs_carry_quarter_of_mass", share, f"Chosen: {legs:.3g} of {robot.mass:.3g} kg.")


def _decoupled(robot: Robot) -> Claim:
    """Assess the elements of M that are zero in any state."""
    states = random_states(robot, 5, seed=4)
    zero = np.all([np.abs(mass_matrix(robot, q)) < 1e-12 for q in states.q], axis=0)
    legs = {leg: [robot.nv - robot.nj + robot.joint_names.index(f"{leg}_{j}") for j in _LEGS] for leg in ROBOT_LEGS}
    apart = all(zero[np.ix_(legs[a], legs[b])].all() for a in legs for b in legs if a[0] != b[0] and a[1] != b[1])
    return assess(
        NAME,
        "legs_are_decoupled",
        100.0 * float(zero.mean()),
        f"{int(zero.sum())} of {zero.size} elements. Blocks of diagonal legs are {'' if apart else 'not '}all zero;"
        " legs at the same end of the body also share only the body.",
    )


def _sparse(robot: Robot) -> Claim:
    """Compare M by (20) from all columns of the link Jacobians, from nonzero columns only, and with a solve."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import spsolve

    states = random_states(robot, 256, seed=4)
    bodies = [
        [*link_jacobians.masses(robot, coordinates.to_euler_coordinates(robot, q, "xyz"), "xyz")] for q in states.q
    ]
    J = np.array([[np.vstack([b.J_v, b.J_omega]) for b in each] for each in bodies])
    inertia = np.zeros((*J.shape[:2], 6, 6))
    inertia[:, :, :3, :3] = np.array([[b.mass * np.eye(3) for b in each] for each in bodies])
    inertia[:, :, 3:, 3:] = np.array([[b.tensor for b in each] for each in bodies])
    used = [tuple(np.flatnonzero(np.any(J[:, k] != 0.0, axis=(0, 1))).tolist()) for k in range(J.shape[1])]
    every = [tuple(range(robot.nv))] * len(used)
    calls, found = {}, {}
    for name, columns in (("nonzero", used), ("all", every)):
        function = compile(_summed, None, J[0], inertia[0], columns=tuple(columns), target="batch", verify=False)
        calls[name], found[name] = partial(function, J, inertia), function(J, inertia)
    M = found["all"][0]
    b, stored = np.ones(robot.nv), csc_matrix(M)
    calls |= {"dense": partial(np.linalg.solve, M, b), "sparse": partial(spsolve, stored, b)}
    took = best_times(calls)
    apart = float(np.abs(found["nonzero"] - found["all"]).max() / np.abs(M).max())
    return assess(
        NAME,
        "sparse_matrices_save_time",
        took["nonzero"] / took["all"],
        f"{1e9 * took['nonzero'] / 256:.0f} against {1e9 * took['all'] / 256:.0f} ns, many states in a call; they agree"
        f" to {apart:.0e}. A sparse matrix then saves nothing at this size: a solve with M takes SciPy"
        f" {1e6 * took['sparse']:.0f} us sparse and {1e6 * took['dense']:.0f} us dense.",
    )


def _summed(
    J: Float[ndarray, "n 6 nv"], inertia: Float[ndarray, "n 6 6"], columns: tuple[tuple[int, ...], ...]
) -> Float[ndarray, "nv nv"]:
    """Return M by (20), from some columns of each link's Jacobian."""
    total = np.zeros((J.shape[2], J.shape[2]))
    for k, used in enumerate(columns):
        part = J[k][:, list(used)]
        place = np.eye(J.shape[2])[list(used)]
        total = total + place.T @ (part.T @ (inertia[k] @ part)) @ place
    return total


def _agreement(robot: Robot) -> Claim:
    """Compare Euler-Lagrange with independent algorithms."""
    states, worst = random_states(robot, 5, seed=3), 0.0
    for q, v in zip(states.q, states.v):
        pairs = (
            (lagrange.mass_matrix(robot, q), mass_matrix(robot, q)),
            (lagrange.bias_terms(robot, q, v), bias_terms(robot, q, v)),
            (lagrange.feet_jacobian(robot, q), feet_jacobian(robot, q)),
        )
        worst = max(worst, *(float(np.abs(ours - other).max() / np.abs(other).max()) for ours, other in pairs))
    note = (
        "Relative difference of M, C + G and J_C from the recursive algorithms, mapped to body velocities. Eq. (27)"
        " with the correction by E_t alone, as in the text below it, would count ω x I ω twice: here C is derived in"
        " Euler coordinates and then mapped, with the rate of the map."
    )
    return assess(NAME, "lagrange_agrees_with_recursive", worst, note)


def _invertible(robot: Robot) -> Claim:
    """Assess M in the velocities of (10), a third of the states with the body upright, and M in Euler rates there."""
    states, least, uneven, upright = random_states(robot, 1000, seed=6), [], [], []
    for k, q in enumerate(states.q):
        x = coordinates.to_euler_coordinates(robot, q, "xyz")
        if k % 3 == 0:
            x[1] = np.pi / 2
            q = np.concatenate([q[:3], from_rotation(from_euler(x[:3], "xyz")), q[7:]])
        M = mass_matrix(robot, q)
        values = np.linalg.eigvalsh(M)
        least.append(float(values[0] / values[-1]))
        uneven.append(float(np.abs(M - M.T).max() / np.abs(M).max()))
        if k % 3 == 0:
            T = np.eye(6)
            T[:3, :3] = euler_rates_to_body(x[:3], "xyz")
            values = np.linalg.eigvalsh(T.T @ M[:6, :6] @ T)
            upright.append(abs(float(values[0] / values[-1])))
    return assess(
        NAME,
        "mass_matrix_is_invertible",
        min(least),
        f"Over the largest one; symmetric to {max(uneven):.0e}. In rates of Euler angles, in which (18) to (27) are"
        f" derived, this fails at 90 degrees of pitch: the block of the body has {max(upright):.0e} there.",
        holds=min(least) > 1e-9 and max(uneven) <= 1e-12,
    )


def _euler_angles() -> list[Claim]:
    """Assess where the map of Euler rates is singular, and the effect of a small number in its denominators."""
    angles = np.array([0.3, 0.0, 0.2])
    ranks = []
    for degree in range(360):
        angles[1] = np.radians(degree)
        ranks.append(int(np.linalg.matrix_rank(euler_rates_to_body(angles, "xyz"), tol=1e-9)))
    singular = [degree for degree, rank in enumerate(ranks) if rank < 3]
    roll, pitch = 0.3, np.pi / 2
    s, c, cos = np.sin(roll), np.cos(roll), np.cos(pitch) + 1e-6
    E_t = np.array([[1.0, s / cos, -c / cos], [0.0, c, s], [0.0, -s / cos, c / cos]])  # (8) at sin Θ = 1
    pose = np.array([roll, pitch, 0.2])
    E = from_euler(pose, "xyz") @ euler_rates_to_body(pose, "xyz")
    lost = float(np.linalg.norm(E @ E_t - np.eye(3), 2))  # over all directions, in inertial axes
    return [
        assess(
            NAME,
            "euler_map_is_singular",
            ", ".join(map(str, singular)),
            "Every degree of a revolution; the determinant of E is cos Θ.",
        ),
        assess(
            NAME,
            "small_number_overcomes_singularity",
            lost,
            "With 1e-6 added nothing is divided by zero, but the resulting rates of 1e6 rad/s do not give the angular"
            " velocity. No such number can work: at 90 degrees E has rank 2, so that no rates rotate the body about"
            " the third direction. A quaternion has no such singularity.",
            holds=lost <= 0.01,
        ),
    ]


def _table(rows: dict[str, Row], operations: dict[str, int]) -> Table:
    header = ("matrix", "symbolic, printed", "ours", "optimised, printed", "ours", "ours, batch", "operations")
    cells = []
    for name, (symbolic, optimised) in PRINTED.items():
        own = {
            target: spelled(rows[f"lagrange {_ROWS[name]} {target}"].ns) for target in ("symbolic", "native", "batch")
        }
        count = f"{operations[f'lagrange_{_ROWS[name]}']}"
        cells.append(
            (
                _WORDS[name],
                spelled(1e9 * symbolic),
                own["symbolic"],
                spelled(1e9 * optimised),
                own["native"],
                own["batch"],
                count,
            )
        )
    return Table("Computation times of the robot's matrices (Table 2)", header, tuple(cells))


def _figure(rows: dict[str, Row]) -> Figure:
    """Draw times on a logarithmic axis: printed and ours, four bars per matrix."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    axes = figure.add_subplot()
    at, width = np.arange(len(PRINTED)), 0.2
    series = [
        ("symbolic, printed", [p[0] for p in PRINTED.values()], "#9aa7b8"),
        ("symbolic, ours", [1e-9 * rows[f"lagrange {k} symbolic"].ns for k in _ROWS.values()], "#2f6fab"),
        ("optimised, printed", [p[1] for p in PRINTED.values()], "#d9b48f"),
        ("optimised, ours", [1e-9 * rows[f"lagrange {k} native"].ns for k in _ROWS.values()], "#c4622d"),
    ]
    for k, (label, values, color) in enumerate(series):
        axes.bar(at + (k - 1.5) * width, values, width, label=label, color=color)
    axes.set_yscale("log")
    axes.set_xticks(at, [word.partition(",")[0] if "," in word and "J" in word else word for word in _WORDS.values()])
    axes.set_ylabel("time of one evaluation [s]")
    axes.legend(fontsize="small", ncols=2)
    return figure
