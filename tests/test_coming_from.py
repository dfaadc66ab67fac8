"""The pages "Coming from ...": names of MuJoCo, Pinocchio, CasADi and JAX in their tables exist, and so do ours."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[1] / "docs" / "guides"


def column(page: str, k: int) -> list[str]:
    """The code in one column of the table of a page."""
    rows = [line for line in (GUIDES / f"coming-from-{page}.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row.strip("|").split("|")[k])]


def missing(names: set[str], spaces: dict[str, object]) -> list[str]:
    found = []
    for name in sorted(names):
        space, *rest = name.split(".")
        thing = spaces[space]
        for part in rest:
            if not hasattr(thing, part):
                found.append(name)
                break
            thing = getattr(thing, part)
    return found


def names_in(code: list[str], *spaces: str) -> set[str]:
    return {name for text in code for name in re.findall(rf"(?<![\w.])((?:{'|'.join(spaces)})(?:\.\w+)+)", text)}


def test_the_names_of_mujoco_are_there():
    mujoco = pytest.importorskip("mujoco")
    for part in ("viewer", "rollout"):
        pytest.importorskip(f"mujoco.{part}")
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body/></worldbody></mujoco>")
    code = column("mujoco", 0)
    functions = {f"mujoco.{name}" for text in code for name in re.findall(r"(?<![\w.])(mjd?_\w+)", text)}
    names = functions | names_in(code, "mujoco", "model", "data")
    assert len(names) >= 15
    assert missing(names, {"mujoco": mujoco, "model": model, "data": mujoco.MjData(model)}) == []


def test_the_names_of_pinocchio_are_there():
    pin = pytest.importorskip("pinocchio")
    model = pin.buildSampleModelHumanoidRandom()
    names = names_in(column("pinocchio", 0), "pin", "model", "data")
    assert len(names) >= 15
    assert missing(names, {"pin": pin, "model": model, "data": model.createData()}) == []


@pytest.mark.parametrize(("module", "prefix"), [("casadi", "ca"), ("jax", "jax"), ("jax.numpy", "jnp")])
def test_the_names_of_casadi_and_jax_are_there(module, prefix):
    space = pytest.importorskip(module)
    assert missing(names_in(column("casadi-or-jax", 0), prefix), {prefix: space}) == []


@pytest.mark.parametrize("page", ["mujoco", "pinocchio", "isaac-lab", "casadi-or-jax"])
def test_our_names_are_there(page):
    import footfall as ff
    import nptrace

    code = column(page, 1)
    modules = names_in(code, r"footfall\.learn")
    for name in modules:  # these need packages that are not always there: look into the source
        path, kind = name.rsplit(".", 1)
        spec = importlib.util.find_spec(path)
        assert spec is not None, name
        assert f"class {kind}" in Path(str(spec.origin)).read_text(), name
    assert missing(names_in(code, "ff", "nptrace"), {"ff": ff, "nptrace": nptrace}) == []
