"""Shapes of arrays, checked at every call: ``Float[ndarray, "nq"]`` in a signature is then a law.

A traced array says that it holds floats, so that one annotation serves numbers and symbols. What is no array is left
alone: a traced number is no ``float``. ``PYTHONPATH=tests pytest -p shape_checks tests/kinematics`` runs tests so; as a
script this file runs every formalism on some robots.
"""

import sys

from beartype import BeartypeConf, BeartypeHintOverrides, beartype
from jaxtyping import TypeCheckError, install_import_hook

ROOMS = ("footfall.spatial", "footfall.kinematics", "footfall.dynamics")
NUMBERS = BeartypeHintOverrides({float: object, int: object, bool: object})

checked = beartype(conf=BeartypeConf(hint_overrides=NUMBERS))


def install() -> None:
    """Before the rooms are imported."""
    install_import_hook(ROOMS, "shape_checks.checked")


def pytest_load_initial_conftests() -> None:
    install()


def main(names: list[str]) -> None:
    """Every formalism and every law by plain NumPy, on some robots; and a wrong shape, which must not pass."""
    install()
    import footfall as ff
    from footfall.spatial.quaternion import multiply

    for name in names:
        robot = ff.load(name)
        if not ff.compare.verify(robot, samples=1, backend="numpy").passed:
            raise SystemExit(f"{name} fails")
        q = ff.compare.random_states(robot, 1).q[0]
        multiply(q[3:7], q[3:7])
        try:
            multiply(q[3:7], q[3:6])
        except TypeCheckError:
            continue
        raise SystemExit("a wrong shape has passed")


if __name__ == "__main__":
    main(sys.argv[1:])
