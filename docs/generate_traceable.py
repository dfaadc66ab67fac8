"""Which library functions a traced controller may call: the table of guides/traceable-controllers.md.

python docs/generate_traceable.py
"""

from __future__ import annotations

import inspect
import re
import textwrap
import warnings
from pathlib import Path

import numpy as np

import footfall as ff
import nptrace.solve
from footfall.spatial import quaternion, rotation

PAGE = Path(__file__).parent / "guides" / "traceable-controllers.md"
BEGIN, END = "<!-- traceable: begin -->", "<!-- traceable: end -->"
ROBOT = ff.load("mini_cheetah")
Q, V = ROBOT.state("stand")
CHAIN = ff.kinematics.leg_chain(ROBOT, "LF")
GAIT = ff.gait.for_robot(ROBOT, "trot").gait
EYE = np.eye(3)

# what a parameter of a name is given; an array is traced, anything else is a constant of the trace
NUMBERS = {
    "q": Q,
    "v": V,
    "a": 0.1 * np.ones(ROBOT.nv),
    "tau": np.zeros(ROBOT.nj),
    "rates": np.zeros(ROBOT.nj),
    "targets": ff.kinematics.foot_positions(ROBOT, Q),
    "phase": np.array([0.1, 0.6, 0.6, 0.1]),
    "t": np.float64(0.3),
    "angle": np.float64(0.2),
    "quat": np.array([1.0, 0.0, 0.0, 0.0]),
    "R": EYE,
    "omega": np.array([0.1, 0.2, 0.3]),
    "A": 2.0 * np.eye(4),
    "b": np.ones(4),
    "points": np.ones((4, 2)),
    "joints": np.array(ROBOT.poses["stand"].joints[:3]),
    "position": np.array([0.19, 0.11, -0.27]),
    "x": np.array([0.1, 0.2, 0.3]),
    "u": np.array([0.1, 0.2, 0.3]),
    "dt": np.float64(1e-3),
    "vector": np.array([0.1, 0.2, 0.3]),
    "angles": np.array([0.1, 0.2, 0.3]),
    "target": np.array([0.19, 0.11, -0.27]),
    "start": np.array(ROBOT.poses["stand"].joints[:3]),
    "velocity": np.array([0.1, 0.0, 0.2]),
    "mode": np.ones(ROBOT.nf),
    "standing": np.ones(ROBOT.nf),
    "M": ff.dynamics.mass_matrix(ROBOT, Q),
    "feet": ff.kinematics.foot_positions(ROBOT, Q),
    "contact": np.ones(4),
    "center": np.array([0.0, 0.0, 0.3]),
    "acceleration": np.array([0.1, 0.0, 0.2]),
    "quat_WB": np.array([1.0, 0.0, 0.0, 0.0]),
    "omega_B": np.array([0.1, 0.2, 0.3]),
    "R_WB": EYE,
    "turn_B": np.array([0.1, 0.2, 0.3]),
    "J": np.eye(3),
    "joint_accelerations": np.zeros(ROBOT.nj),
    "point": np.array([0.1, 0.0]),
    "polygon": np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]),
    "B": np.ones((4, 2)),
    "S": np.zeros((2, 4)),
    "P": np.eye(4),
    "L": np.eye(4),
    "mass": np.float64(9.0),
    "forces": np.tile([0.0, 0.0, 25.0], (4, 1)),
    "speed": np.float64(0.3),
    "distance": np.float64(0.2),
    "guess": np.array(ROBOT.poses["stand"].joints[:3]),
}
OF_ONE = {  # where a name means something else
    "ldl_solve": {"factors": nptrace.solve.ldl(2.0 * np.eye(4))},
    "solve_factored": {"L": np.eye(ROBOT.nv), "d": np.ones(ROBOT.nv), "b": np.ones(ROBOT.nv)},
    "multiply": {"a": NUMBERS["quat_WB"], "b": NUMBERS["quat_WB"]},
    "fabrik": {
        "joints": np.array(ROBOT.poses["stand"].joints),
        "targets": ff.kinematics.foot_positions(ROBOT, Q) - Q[:3],
    },
    "external_terms": {"wrenches": np.zeros((len(ROBOT.tree.bodies), 6))},
    "riccati_step": {"A": np.eye(4), "R": np.eye(2)},
    "difference": {"q_from": Q, "q_to": Q},
    "touchdown_reset": {"duty": np.float64(0.5)},
}
CONSTANTS = {
    "robot": ROBOT,
    "leg": CHAIN,
    "chain": CHAIN,
    "gait": GAIT,
    "name": "LF",
    "foot": "LF",
    "order": "zyx",
    "axis": np.array([0.0, 0.6, 0.8]),
}
PACKAGES = {
    "ff.kinematics": ff.kinematics,
    "ff.dynamics": ff.dynamics,
    "ff.gait": ff.gait,
    "nptrace.solve": nptrace.solve,
    "ff.spatial.quaternion": quaternion,
    "ff.spatial.rotation": rotation,
}


def functions(package: object) -> dict[str, object]:
    """Public functions of a package, by name."""
    names = getattr(package, "__all__", [n for n in vars(package) if not n.startswith("_")])
    found = {name: getattr(package, name) for name in sorted(names)}
    home = package.__name__
    return {n: f for n, f in found.items() if inspect.isfunction(f) and f.__module__.startswith(home)}


def verdict(function: object) -> str:
    """``traces``, ``refuses``, or why it is not tried here: a parameter without an example, or no number to trace."""
    given, traced = {}, {}
    numbers = {**NUMBERS, **OF_ONE.get(function.__name__, {})}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in CONSTANTS:
            given[name] = CONSTANTS[name]
        elif name in numbers and parameter.default is inspect.Parameter.empty:
            traced[name] = numbers[name]
        elif parameter.default is inspect.Parameter.empty:
            return f"needs `{name}`"
    if not traced:
        return "takes no numbers"

    def call(*values: object) -> object:
        result = function(**given, **dict(zip(traced, values)))
        return _arrays(result)

    try:
        call(*traced.values())
    except Exception:
        return "needs other examples than here"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nptrace.trace(call, *traced.values())
        except ff.FootfallError:
            return "refuses"
    return "traces"


def _arrays(result: object) -> object:
    """The numbers of a result, without words and objects beside them."""
    if isinstance(result, ff.kinematics.Inverse | ff.kinematics.WholeBodyInverse):
        return result.q
    if isinstance(result, ff.spatial.Transform):
        return result.R, result.p
    if isinstance(result, ff.spatial.Inertia):
        return result.matrix()
    return [_arrays(part) for part in result] if isinstance(result, list) else result


def table() -> str:
    """The table in Markdown."""
    lines = ["| package | traces | refuses | not tried |", "|---|---|---|---|"]
    for title, package in PACKAGES.items():
        found = {name: verdict(function) for name, function in functions(package).items()}
        cells = [", ".join(f"`{n}`" for n, v in found.items() if v == kind) or "" for kind in ("traces", "refuses")]
        rest = ", ".join(f"`{n}` ({why})" for n, why in found.items() if why not in ("traces", "refuses"))
        lines.append(f"| `{title}` | {cells[0]} | {cells[1]} | {rest} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """A page with its table made again."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: f"{BEGIN}\n{table()}\n{END}", text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    print(textwrap.shorten(f"wrote {PAGE.name}", 80))
