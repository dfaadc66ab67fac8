"""``verify``: compare all formalisms with each other, Pinocchio and MuJoCo on random states of one robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.dynamics.random_states import States, random_states, with_modes
from footfall.errors import InputError, MissingExtraError, unknown
from footfall.robot.model.description import Robot
from footfall.robot.model.variants import by_middles
from footfall.spatial.gravity import STANDARD
from footfall_lab.verify.file_checks import file_checks
from footfall_lab.verify.laws import LAWS, Law
from footfall_lab.verify.loop_sides import LOOP_TOLERANCES, with_closed
from footfall_lab.verify.report import NOT_FINITE, Check, Report
from footfall_lab.verify.sides import OUTSIDE, QUANTITIES, SIDES, UNTRACED, Side
from footfall_lab.verify.stance_laws import SAMPLES, STANCE_LAWS

TOLERANCE = 1e-10
BACKENDS = ("auto", "numpy", "batch")
_PLAIN = 200  # samples always evaluated by plain NumPy: all laws, and with ``auto`` the first of every quantity
_HEAVY = 64  # samples for sides that are never traced: every contact mode of a quadruped four times
_TRACED = 1e-9  # machine code fuses multiply-adds; forward dynamics of light links amplifies the difference
_FORCES = (  # may vanish, as gravity about a vertical axis and contact forces in flight
    "bias",
    "velocity_terms",
    "gravity",
    "contact_forces",
    "joint_reactions",
    "touchdown_impulses",
)

Progress = Callable[[str, int, int], None]


def verify(
    robot: Robot,
    samples: int = 200,
    seed: int = 0,
    sides: Iterable[str] | None = None,
    laws: bool = True,
    backend: str = "auto",
    progress: Progress | None = None,
    file: Path | None = None,
) -> Report:
    """Compare all sides on random states; see ``Report``.

    ``file``: the model file that the robot was read from: MuJoCo or Pinocchio read it too, and masses, inertias, axes,
    limits, losses and soles must be the same (``file_checks``).

    ``sides``: names from ``SIDES``; a named side that is not installed is an error, an unnamed one is skipped with the
    reason. ``laws``: also check the identities of ``laws.py``, on the first 200 states. Errors are max |x - y| / max
    |y| over the entries of a quantity; forward dynamics is checked by the residual that one side's accelerations leave
    in the other side's equations.

    ``backend``: ``numpy`` runs footfall's algorithms in plain NumPy, ``batch`` traces and compiles them first; ``auto``
    uses NumPy for the first 200 states and machine code for the others, and compares the two where both ran.
    """
    if robot.nv == 0:
        raise InputError(f"robot '{robot.name}' cannot move: it has a fixed base and no joints, nothing to verify")
    if backend not in BACKENDS:
        raise unknown("backend", backend, BACKENDS)
    read, robot = robot, by_middles(robot)  # all sides fix points, in the middle of a sole
    plain = {"auto": min(samples, _PLAIN), "numpy": samples, "batch": 0}[backend]
    states = with_closed(robot, with_modes(robot, random_states(robot, samples, seed)))
    chosen, skipped = _sides(robot, sides)
    identities = _identities(chosen) if laws else ()
    steps = sum(len(side) for side in chosen.values()) + len(identities)
    tick = _counter(progress, steps)
    values, traced = _evaluate_all(chosen, states, plain, tick)
    checks = [*_compared(robot, chosen, values, states), *_traced_checks(robot, values, traced)]
    few = states.first(_PLAIN)
    for law in identities:
        tick(law.__name__.replace("_", " "))
        check = _law_check(robot, law, few.first(SAMPLES.get(law, _PLAIN)))
        if check is not None:
            checks.append(check)
    if file is not None:
        found, unread = file_checks(read, file)
        checks += found
        skipped |= unread
    used = "+".join(name for name, count in (("numpy", plain), ("batch", samples - plain)) if count)
    return Report(robot=robot.name, samples=samples, seed=seed, backend=used, checks=tuple(checks), skipped=skipped)


def relative_errors(x: ndarray, y: ndarray, floor: float = 0.0) -> ndarray:
    """Return max |x - y| / max |y| of every sample; ``floor`` is the least denominator."""
    x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
    scale = np.maximum(np.abs(y).max(axis=1), max(floor, np.finfo(float).tiny))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(x - y).max(axis=1) / scale
    return np.where(np.isfinite(error), np.minimum(error, NOT_FINITE), NOT_FINITE)


def _identities(chosen: Iterable[str]) -> tuple[Law, ...]:
    """Return the laws, except those of formalisms that do not take part."""
    names = set(chosen)
    laws = [law for law in LAWS if "christoffel" not in law.__name__ or "lagrange" in names]
    return (*laws, *(STANCE_LAWS if names & {"screw", "constrained", "reduced"} else ()))


# -- sides -------------------------------------------------------------------------------------------------------------
def _sides(robot: Robot, names: Iterable[str] | None) -> tuple[dict[str, Side], dict[str, str]]:
    requested = None if names is None else list(names)
    for name in requested or ():
        if name not in SIDES:
            raise unknown("side", name, SIDES)
    chosen: dict[str, Side] = {}
    skipped: dict[str, str] = {}
    for name in SIDES if requested is None else requested:
        try:
            chosen[name] = SIDES[name](robot)
        except (MissingExtraError, InputError) as error:
            if requested is not None:
                raise
            skipped[name] = str(error)
    return chosen, skipped


Values = dict[tuple[str, str], ndarray | str]  # by side and quantity; a message where the evaluation raised


def _evaluate_all(
    chosen: dict[str, Side], states: States, plain: int, tick: Callable[[str], None]
) -> tuple[Values, Values]:
    """Evaluate every quantity on every side; also by machine code at the ``plain`` states, where both ran."""
    values: Values = {}
    traced: Values = {}
    for name, side in chosen.items():
        here = len(states) if name in OUTSIDE else plain
        requested = states.first(min(_PLAIN, _HEAVY)) if name in UNTRACED else states
        here = len(requested) if name in UNTRACED else here
        for quantity, function in side.items():
            tick(f"{name}: {quantity.replace('_', ' ')}")
            arrays = requested.arrays(QUANTITIES[quantity])
            try:
                parts = [_looped(function, [array[:here] for array in arrays])] if here else []
                if here < len(requested):
                    compiled = _batched(function, arrays)
                    parts.append(compiled[here:])
                    if here:
                        traced[name, quantity] = compiled[:here]
                values[name, quantity] = np.concatenate(parts)
            except Exception as error:  # a broken algorithm is reported, but does not end the report
                values[name, quantity] = f"raised {type(error).__name__}: {error}"
    return values, traced


def _looped(function: Callable[..., ndarray], arrays: list[ndarray]) -> ndarray:
    return np.array([function(*row) for row in zip(*arrays)], dtype=float)


def _batched(function: Callable[..., ndarray], arrays: list[ndarray]) -> ndarray:
    import nptrace as trace

    compiled = trace.compile(function, *(array[0] for array in arrays), target="batch", verify=False)
    return np.asarray(compiled(*arrays))


# -- checks ------------------------------------------------------------------------------------------------------------
def _compared(robot: Robot, chosen: dict[str, Side], values: Values, states: States) -> Iterable[Check]:
    """Return a check for every quantity that two sides support, at least one of them ours."""
    for quantity in QUANTITIES:
        knowing = [name for name in chosen if (name, quantity) in values]
        for i, left in enumerate(knowing):
            for right in knowing[i + 1 :]:
                if left in OUTSIDE and right in OUTSIDE:
                    continue
                x, y = values[left, quantity], values[right, quantity]
                if isinstance(x, ndarray) and x.size == 0:
                    continue  # a robot without feet
                both = states
                if isinstance(x, ndarray) and isinstance(y, ndarray):  # a side that is not traced has fewer states
                    both = states.first(min(len(x), len(y)))
                    x, y = x[: len(both)], y[: len(both)]
                yield _side_check(robot, chosen, both, quantity, left, right, x, y)


def _side_check(
    robot: Robot,
    chosen: dict[str, Side],
    states: States,
    quantity: str,
    left: str,
    right: str,
    x: ndarray | str,
    y: ndarray | str,
) -> Check:
    failed = [f"{side} {words}" for side, words in ((left, x), (right, y)) if isinstance(words, str)]
    if not failed and np.shape(x) != np.shape(y):
        failed = [f"shapes {np.shape(x)[1:]} and {np.shape(y)[1:]} differ"]
    if failed:
        return Check(
            quantity=quantity,
            left=left,
            right=right,
            max_rel_error=NOT_FINITE,
            median_rel_error=NOT_FINITE,
            tolerance=TOLERANCE,
            samples=len(states),
            note="; ".join(failed),
        )
    assert isinstance(x, ndarray)
    assert isinstance(y, ndarray)
    if quantity == "forward_dynamics":
        try:
            x, y = _residual(chosen, states, left, right, x, y)
        except Exception as error:  # inverse dynamics is under test too
            note = f"raised {type(error).__name__}: {error}"
            return Check(
                quantity=quantity,
                left=left,
                right=right,
                max_rel_error=NOT_FINITE,
                median_rel_error=NOT_FINITE,
                tolerance=TOLERANCE,
                samples=len(states),
                note=note,
            )
    errors = relative_errors(x, y, floor=_floor(robot, quantity))
    tolerance = LOOP_TOLERANCES.get(quantity, TOLERANCE)
    return Check(
        quantity=quantity,
        left=left,
        right=right,
        max_rel_error=float(errors.max()),
        median_rel_error=float(np.median(errors)),
        tolerance=tolerance,
        samples=len(states),
    )


def _traced_checks(robot: Robot, values: Values, traced: Values) -> Iterable[Check]:
    """Compare machine code with the NumPy it was traced from: one check per side, over all quantities."""
    for name in dict.fromkeys(side for side, _ in traced):
        errors: dict[str, ndarray] = {}
        for (side, quantity), compiled in traced.items():
            reference = values[side, quantity]
            if side == name and isinstance(compiled, ndarray) and isinstance(reference, ndarray) and compiled.size:
                errors[quantity] = relative_errors(compiled, reference[: len(compiled)], _floor(robot, quantity))
        worst = max(errors, key=lambda quantity: float(errors[quantity].max()))
        most = np.max(list(errors.values()), axis=0)
        note = "" if most.max() <= _TRACED else f"{worst} differs"
        yield Check(
            quantity="machine_code_equals_numpy",
            left=name,
            right=name,
            max_rel_error=float(most.max()),
            median_rel_error=float(np.median(most)),
            tolerance=_TRACED,
            samples=len(most),
            note=note,
        )


def _residual(
    chosen: dict[str, Side], states: States, left: str, right: str, left_a: ndarray, right_a: ndarray
) -> tuple[ndarray, ndarray]:
    """Return the forces that one side's accelerations need by the other side's equations, for comparison with τ.

    Two sides that only solve for accelerations, without equations, are checked by those of a third.
    """
    if "inverse_dynamics" in chosen[right]:
        return _looped(chosen[right]["inverse_dynamics"], [states.q, states.v, left_a]), states.tau
    if "inverse_dynamics" in chosen[left]:
        return _looped(chosen[left]["inverse_dynamics"], [states.q, states.v, right_a]), states.tau
    third = next((side["inverse_dynamics"] for side in chosen.values() if "inverse_dynamics" in side), None)
    if third is None:
        return left_a, right_a
    left_tau, right_tau = (_looped(third, [states.q, states.v, a]) for a in (left_a, right_a))
    return left_tau, right_tau


def _floor(robot: Robot, quantity: str) -> float:
    """Return the least scale of a quantity that can vanish: 1e-4 of the weight for forces, 1e-4 for others."""
    if quantity in _FORCES:
        return 1e-4 * STANDARD * robot.mass
    if quantity in ("mass_matrix", "momentum_matrix"):
        return 0.0
    return 1e-4


def _law_check(robot: Robot, law: Law, states: States) -> Check | None:
    quantity = law.__name__
    check = partial(Check, quantity=quantity, left="recursive", right="recursive", tolerance=TOLERANCE)
    errors = []
    try:
        for row in zip(states.q, states.v, states.a, states.tau):
            sides = law(robot, *row)
            if sides is not None:
                x, y = (np.asarray(side)[None] for side in sides)
                errors.append(float(relative_errors(x, y, floor=1e-4 * robot.mass)[0]))  # both sides may vanish
    except Exception as error:  # a broken algorithm is reported, but does not end the report
        note = f"raised {type(error).__name__}: {error}"
        return check(max_rel_error=NOT_FINITE, median_rel_error=NOT_FINITE, samples=len(states), note=note)
    if not errors:
        return None
    return check(max_rel_error=max(errors), median_rel_error=float(np.median(errors)), samples=len(errors))


def _counter(progress: Progress | None, total: int) -> Callable[[str], None]:
    done = 0

    def tick(what: str) -> None:
        nonlocal done
        if progress is not None:
            progress(what, done, total)
        done += 1

    return tick
