"""Spoiled models and meshes, and what MuJoCo and Pinocchio make of the same models."""

from __future__ import annotations

import random
import re
import struct
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from spoil import NUMBERS, spoiled_bytes, spoiled_text

sys.path.insert(0, str(Path(__file__).parent.parent / "footfall" / "robot"))
from model_samples import mutated, small_mjcf, small_urdf

from footfall.contact.heightfield import Heightfield
from footfall.dynamics import forward_dynamics, mass_matrix
from footfall.robot.files.loading import load
from footfall.robot.files.mesh import read_mesh, simplified

Case = Callable[[int], str]
FORMATS = (b"%s%s%s%s%s%s%s%s", b"%n%n", b"%99999999d", b"{0}", b"&lt;script&gt;", b"[/x]", b"&#27;[2J", b"../x")


def stl(count: int = 12) -> bytes:
    corners = np.random.default_rng(3).normal(size=(count, 4, 3)).astype("<f4")
    return bytes(80) + struct.pack("<I", count) + b"".join(c.tobytes() + b"\0\0" for c in corners)


def model_case(seed: int) -> tuple[str, bytes]:
    """(kind, text) of a case: URDF or MJCF, spoiled as XML, in its numbers, or as bytes."""
    luck = random.Random(seed)
    kind, text = luck.choice((("urdf", small_urdf()), ("xml", small_mjcf())))
    act = luck.randrange(20)
    if act < 10:
        return kind, mutated(text, seed)
    if act < 14:
        return kind, spoiled_text(text.encode(), luck)
    root = text.encode()
    if act == 14:  # formats and markup, which have no business in a name
        words = list(re.finditer(rb'="([^"]*)"', root))
        at = luck.choice(words)
        return kind, root[: at.start(1)] + luck.choice(FORMATS) + root[at.end(1) :]
    for _ in range(luck.randint(1, 6)):  # many numbers at once, none of them absurd alone
        places = [k for k in range(len(root)) if root[k : k + 1] in b"123456789"]
        at = luck.choice(places)
        root = root[:at] + luck.choice((b"0", b"1e", b"-", b".", b"9999", b"1e-9", b"1e9", b"0.0000")) + root[at + 1 :]
    return kind, root


def models(folder: Path) -> Case:
    """A model loads and its accelerations are finite, or it is refused."""
    (folder / "meshes").mkdir(exist_ok=True)
    (folder / "meshes" / "thigh.stl").write_bytes(stl())

    def case(seed: int) -> str:
        kind, text = model_case(seed)
        path = folder / f"case.{kind}"
        path.write_bytes(text)
        robot = load(path)
        q, v = robot.state()
        numbers = [mass_matrix(robot, q), forward_dynamics(robot, q, v, np.zeros(robot.nj))]
        if not all(np.isfinite(x).all() for x in numbers):
            raise AssertionError("a model was loaded whose accelerations are not finite")
        return "loaded"

    return case


def mujoco(folder: Path) -> Case:
    """What MuJoCo does with the same texts."""
    import mujoco as package

    (folder / "meshes").mkdir(exist_ok=True)
    (folder / "meshes" / "thigh.stl").write_bytes(stl())

    def case(seed: int) -> str:
        kind, text = model_case(seed)
        path = folder / f"case.{kind}"
        path.write_bytes(text)
        try:
            model = package.MjModel.from_xml_path(str(path))
        except ValueError:
            return "refused"
        data = package.MjData(model)
        package.mj_forward(model, data)
        return "loaded" if np.isfinite(data.qacc).all() and not data.warning.number.any() else "not finite"

    return case


def pinocchio(folder: Path) -> Case:
    """What Pinocchio does with the same URDF texts; it is not given MJCF."""
    import pinocchio as package

    def case(seed: int) -> str:
        kind, text = model_case(seed)
        if kind != "urdf":
            return "not asked"
        try:
            model = package.buildModelFromXML(text.decode(errors="replace"), package.JointModelFreeFlyer())
        except (ValueError, RuntimeError, IndexError):
            return "refused"
        data = model.createData()
        q, v = package.neutral(model), np.zeros(model.nv)
        package.aba(model, data, q, v, v)
        return "loaded" if np.isfinite(data.ddq).all() else "not finite"

    return case


# -- meshes ------------------------------------------------------------------------------------------------------------
def _samples() -> list[tuple[str, bytes]]:
    places = "0 0 0 1 0 0 0 1 0 0 0 1 0.5 0.25 -1e-3"
    part = '<input semantic="VERTEX" source="#v" offset="0"/>'
    collada = f"""<?xml version="1.0"?><COLLADA xmlns="x"><asset><unit meter="0.01"/></asset>
<library_effects><effect id="e"><profile_COMMON><technique><lambert><diffuse><color>1 0.5 0 1</color></diffuse>
</lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/>
</material></library_materials><library_geometries><geometry id="g"><mesh><source id="s"><float_array id="f" count="15">
{places}</float_array></source><vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="2" material="m">{part}<p>0 1 2 0 2 3</p></triangles>
<polylist count="2">{part}<vcount>3 4</vcount><p>0 1 2 0 1 2 4</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><translate>0 0 1</translate><rotate>0 0 1 90</rotate>
<node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="m" target="#m"/></technique_common></bind_material></instance_geometry></node></node>
</visual_scene></library_visual_scenes></COLLADA>"""
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0.5\nendloop\nendfacet\n"
    obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nf 1 2 3\nf 1//1 3//1 4//1\nf -1 -2 -3 -4\n"
    rows = b"".join(b"\0" + bytes(range(k, k + 12)) for k in range(9))

    def part_of(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    png = b"\x89PNG\r\n\x1a\n" + part_of(b"IHDR", struct.pack(">2I5B", 12, 9, 8, 0, 0, 0, 0))
    png += part_of(b"IDAT", zlib.compress(rows)) + part_of(b"IEND", b"")
    head = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (6, 4), }"
    npy = head.ljust(127) + b"\n" + np.linspace(0, 0.1, 24).tobytes()
    return [
        (".stl", stl()),
        (".stl", b"solid x\n" + facet.encode() * 4 + b"endsolid\n"),
        (".obj", obj.encode()),
        (".dae", collada.encode()),
        (".dae", collada.encode()),
        (".png", png),
        (".npy", npy),
    ]


def meshes(folder: Path) -> Case:
    """Meshes, and grounds from images and arrays."""
    samples = _samples()

    def case(seed: int) -> str:
        luck = random.Random(seed)
        kind, data = luck.choice(samples)
        spoil = spoiled_bytes if kind in (".png", ".npy") or data[:4] == bytes(4) else spoiled_text
        path = folder / f"case{kind}"
        path.write_bytes(spoil(data, luck))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind in (".png", ".npy"):
                ground = Heightfield.from_file(path, height=luck.choice((0.1, 1.0)))
                return "loaded" if ground.heights.ndim == 2 else "strange"
            for mesh in read_mesh(path):
                fewer = simplified(mesh, 5)
                if not np.isfinite(fewer.vertices).all() or fewer.faces.max(initial=0) >= max(len(fewer.vertices), 1):
                    raise AssertionError("a mesh was read that is not finite, or has corners that are not there")
        return "loaded"

    return case


__all__ = ["NUMBERS", "meshes", "models", "mujoco", "pinocchio"]
