"""Triangles of untrusted STL, OBJ and Collada files: limited sizes, no references, no evaluation.

Only data for drawing is read: positions, triangles and plain colours. Textures, normals and animations are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy import ndarray

from footfall.errors import SPOILED, ModelError
from footfall.robot.files.guard import parse_xml, read_bytes, shown
from footfall.spatial.rotation import about_axis
from nptrace._types import Given
from nptrace.array_types import Float, Int

Color = tuple[int, int, int]
KINDS = (".stl", ".obj", ".dae")
MOST_TRIANGLES = 1_000_000  # limit for one file
_FURTHEST = 1e4  # [m]
_DEEP = 50  # maximum depth of nested nodes in a scene
_PARTS = ("triangles", "polylist")


@dataclass(frozen=True)
class Mesh:
    """Triangles, and their colour if they have one."""

    vertices: Float[ndarray, "n 3"]
    faces: Int[ndarray, "m 3"]
    color: Color | None = None


def read_mesh(path: Path) -> tuple[Mesh, ...]:
    """Return the meshes of a file, in its own axes [m]; a ModelError says why it cannot be drawn."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise ModelError(f"mesh {shown(path.name)} is not a {', '.join(KINDS)} file")
    data = read_bytes(path)
    try:
        meshes = {".stl": _stl, ".obj": _obj, ".dae": _collada}[kind](data)
    except SPOILED as error:
        raise ModelError(f"mesh {shown(path.name)} cannot be read: {error}") from None
    found = tuple(mesh for mesh in meshes if len(mesh.faces))
    if not found:
        raise ModelError(f"mesh {shown(path.name)} holds no triangles")
    for mesh in found:
        if not np.isfinite(mesh.vertices).all() or np.abs(mesh.vertices).max(initial=0.0) > _FURTHEST:
            raise ModelError(f"mesh {shown(path.name)} has vertices that are not finite or beyond {_FURTHEST:g} m")
        if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices) or len(mesh.faces) > MOST_TRIANGLES:
            raise ModelError(f"mesh {shown(path.name)} has triangles without corners, or too many")
    return found


# -- STL and OBJ -------------------------------------------------------------------------------------------------------
def stl_corners(data: bytes) -> Float[ndarray, "n 3"]:
    """Return three corners per triangle, from a binary or a text file."""
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else 0
    if count and len(data) >= 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
        return np.frombuffer(data, record, count, 84)["corners"].reshape(-1, 3).astype(float)
    rows = [line.split()[1:4] for line in data.splitlines() if line.lstrip().startswith(b"vertex")]
    return np.array([[float(x) for x in row] for row in rows]).reshape(-1, 3)


def _stl(data: bytes) -> list[Mesh]:
    corners = stl_corners(data)
    corners = corners[: len(corners) // 3 * 3]
    vertices, at = np.unique(corners, axis=0, return_inverse=True)
    return [Mesh(vertices, np.asarray(at).reshape(-1, 3))]


def _obj(data: bytes) -> list[Mesh]:
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            vertices.append([float(x) for x in words[1:4]])
        elif words[0] == b"f":
            corners = [int(word.split(b"/")[0]) for word in words[1:]]
            at = [c - 1 if c > 0 else len(vertices) + c for c in corners]
            faces += [(at[0], at[k], at[k + 1]) for k in range(1, len(at) - 1)]
    return [Mesh(np.array(vertices).reshape(-1, 3), np.array(faces, dtype=int).reshape(-1, 3))]


# -- Collada -----------------------------------------------------------------------------------------------------------
def _collada(data: bytes) -> list[Mesh]:
    root = parse_xml(data, "a Collada file")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        if ":" in element.tag:
            element.tag = element.tag.rpartition(":")[2]
    unit = root.find("asset/unit")
    scale = float(unit.get("meter", "1")) if unit is not None else 1.0
    return _Collada(root).meshes(scale)


class _Collada:
    """Geometries, placed by the nodes of the scene. Axes are used as given, as in URDF viewers."""

    def __init__(self, root: Element) -> None:
        self.root = root
        self.by_id = {element.get("id"): element for element in root.iter() if element.get("id")}
        self.left = MOST_TRIANGLES  # triangles that instances may still add
        # a geometry is read once, however often it is used
        self.read: dict[Element, list[tuple[ndarray, ndarray, str]]] = {}
        self.floats: dict[Element, ndarray] = {}  # and so are the positions shared by its parts

    def meshes(self, scale: float) -> list[Mesh]:
        found: list[Mesh] = []
        scenes = self.root.findall("library_visual_scenes/visual_scene")
        for node in scenes[0].findall("node") if scenes else []:
            self._node(node, np.diag([scale, scale, scale, 1.0]), found, 0)
        if not scenes:
            for geometry in self.root.findall("library_geometries/geometry"):
                found += self._instance(geometry, np.diag([scale, scale, scale, 1.0]), {})
        return found

    def _node(self, node: Element, above: ndarray, found: list[Mesh], depth: int) -> None:
        if depth > _DEEP:
            raise ValueError("its nodes are nested too deep")
        X = above @ _placed(node)
        for instance in node.findall("instance_geometry"):
            bound = {tie.get("symbol"): tie.get("target", "") for tie in instance.iter("instance_material")}
            found += self._instance(self._link(instance.get("url", "")), X, bound)
        for child in node.findall("node"):
            self._node(child, X, found, depth + 1)

    def _link(self, url: str) -> Given:
        return self.by_id[url.lstrip("#")]

    def _instance(self, geometry: Element, X: ndarray, bound: dict[str | None, str]) -> list[Mesh]:
        """Return an instance of a geometry, if its triangles are within the limit."""
        if geometry not in self.read:
            self.read[geometry] = [self._part(p) for p in geometry.findall("mesh/*") if p.tag in _PARTS]
        parts = self.read[geometry]
        self.left -= sum(len(faces) for _, faces, _ in parts)
        if self.left < 0:
            raise ValueError(f"it has more than {MOST_TRIANGLES} triangles")
        return [
            Mesh(vertices @ X[:3, :3].T + X[:3, 3], faces, self._color(bound.get(material, material)))
            for vertices, faces, material in parts
            if len(faces)
        ]

    def _part(self, part: Element) -> tuple[ndarray, ndarray, str]:
        """Return vertices, triangles and the material's name."""
        inputs = part.findall("input")
        stride = 1 + max(int(given.get("offset", "0")) for given in inputs)
        corner = next(given for given in inputs if given.get("semantic") == "VERTEX")
        positions = next(given for given in self._link(corner.get("source", "")) if given.get("semantic") == "POSITION")
        source = self._link(positions.get("source", "")).find("float_array")
        if source not in self.floats:
            self.floats[source] = _floats(source).reshape(-1, 3)
        index = _integers(part.find("p")).reshape(-1, stride)[:, int(corner.get("offset", "0"))]
        faces = index.reshape(-1, 3) if part.tag == "triangles" else _fans(index, _integers(part.find("vcount")))
        return (*_used(self.floats[source], faces), part.get("material") or "")

    def _color(self, material: str) -> Color | None:
        """Return the diffuse colour of a material; None for a texture."""
        effect = self.by_id.get(material.lstrip("#"))
        made = effect.find("instance_effect") if effect is not None else None
        effect = self.by_id.get(made.get("url", "").lstrip("#")) if made is not None else None
        color = effect.find(".//diffuse/color") if effect is not None else None
        if color is None:
            return None
        r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in _floats(color)[:3].tolist())
        return r, g, b


def _used(vertices: ndarray, faces: ndarray) -> tuple[ndarray, ndarray]:
    """Return the mesh without unused vertices: geometries with several materials share theirs."""
    kept, at = np.unique(faces, return_inverse=True)
    if len(kept) and kept[0] < 0:
        raise ValueError("it has triangles without corners")
    return vertices[kept], np.asarray(at).reshape(-1, 3)


def _placed(node: Element) -> ndarray:
    """Return the transform of a node: the product of its elements."""
    X = np.eye(4)
    for element in node:
        step = np.eye(4)
        if element.tag == "matrix":
            step = _floats(element).reshape(4, 4)
        elif element.tag == "translate":
            step[:3, 3] = _floats(element)
        elif element.tag == "scale":
            step[:3, :3] = np.diag(_floats(element))
        elif element.tag == "rotate":
            *axis, degrees = _floats(element).tolist()
            step[:3, :3] = about_axis(np.array(axis) / max(np.linalg.norm(axis), 1e-12), np.radians(degrees))
        X = X @ step
    return X


def _fans(index: ndarray, counts: ndarray) -> ndarray:
    """Return polygons as fans of triangles, with exactly the stated corners, so that a short text cannot claim
    millions.
    """
    if (counts < 0).any() or counts.astype(float).sum() != len(index):
        raise ValueError(f"its polygons do not have the {len(index)} corners given")
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(np.cumsum(counts) - counts, fans)
    k = 1 + np.arange(len(first)) - np.repeat(np.cumsum(fans) - fans, fans)
    return np.stack([index[first], index[first + k], index[first + k + 1]], 1)


def _floats(element: Element | None) -> ndarray:
    return np.array((element.text or "").split() if element is not None else [], dtype=float)


def _integers(element: Element | None) -> ndarray:
    return np.array((element.text or "").split() if element is not None else [], dtype=np.int64)


# -- fewer triangles ---------------------------------------------------------------------------------------------------
def simplified(mesh: Mesh, most: int) -> Mesh:
    """Return about a given number of triangles or fewer: vertices in one cell of a grid are merged, with the finest
    sufficient grid.
    """
    if len(mesh.faces) <= most:
        return mesh
    size = max(float(np.ptp(mesh.vertices, axis=0).max()), 1e-9)
    for cells in (320, 226, 160, 113, 80, 56, 40, 28, 20, 14, 10, 7, 5, 3):
        fewer = _clustered(mesh, size / cells)
        if len(fewer.faces) <= most:
            return fewer
    return fewer


def _clustered(mesh: Mesh, cell: float) -> Mesh:
    keys = np.floor((mesh.vertices - mesh.vertices.min(axis=0)) / cell).astype(np.int64)
    _, at = np.unique((keys[:, 0] * 4096 + keys[:, 1]) * 4096 + keys[:, 2], return_inverse=True)
    at = np.asarray(at).reshape(-1)
    count = np.bincount(at)
    vertices = np.stack([np.bincount(at, mesh.vertices[:, k]) / count for k in range(3)], axis=1)
    faces = at[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return Mesh(vertices, faces[np.sort(first)], mesh.color)


# -- just enough of mesh files (STL, OBJ, Collada) to fit a sphere to a foot ------------------------------------------
_SNUG = 1.1  # radius over half of the longest side of the bounding box: 1 for a ball and for half of one
_GOOD_FIT = 0.1  # root mean square distance of the vertices from the sphere, over its radius


def vertices(path: Path) -> ndarray | None:
    """Return the distinct vertices of an STL, OBJ or Collada file, (n, 3); None if it cannot be read."""
    kind = path.suffix.lower()
    points: ndarray | None = None
    try:
        if kind == ".stl":
            points = _corners(read_bytes(path))
        elif kind == ".obj":
            points = _lines(read_bytes(path), b"v")
        elif kind == ".dae":
            points = np.concatenate([mesh.vertices for mesh in read_mesh(path)])
    except ModelError:
        return None
    if points is None or len(points) < 4 or not np.isfinite(points).all() or np.abs(points).max() > 1e6:
        return None
    return np.unique(points, axis=0)


def _corners(data: bytes) -> ndarray | None:
    try:
        return stl_corners(data)
    except ValueError:
        return None


def _lines(data: bytes, keyword: bytes) -> ndarray | None:
    rows = [words[1:4] for words in map(bytes.split, data.splitlines()) if words and words[0] == keyword]
    try:
        return np.array([[float(x) for x in row] for row in rows]).reshape(-1, 3)
    except ValueError:
        return None


def fit_sphere(points: ndarray) -> tuple[ndarray, float, float | None]:
    """Return centre and radius of a sphere for a foot, and the root mean square distance of the points from it [m]:
    a least-squares fit if the points lie on one, otherwise the largest within the bounding box around its centre,
    and None.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    moved = points - middle
    system = np.column_stack([2 * moved, np.ones(len(points))])
    solution, *_ = np.linalg.lstsq(system, (moved**2).sum(axis=1), rcond=None)
    square = float(solution[3] + solution[:3] @ solution[:3])
    if square > 0:
        centre, radius = solution[:3], float(np.sqrt(square))
        residual = np.linalg.norm(moved - centre, axis=1) - radius
        # the corners of a box lie on a sphere too, one that is larger than the box
        inside = radius <= _SNUG * float((high - low).max()) / 2 and bool((np.abs(centre) <= (high - low)).all())
        off = float(np.sqrt((residual**2).mean()))
        if inside and off < _GOOD_FIT * radius:
            return centre + middle, radius, off
    return middle, float((high - low).min() / 2), None


__all__ = ["KINDS", "Color", "Mesh", "fit_sphere", "read_mesh", "simplified", "stl_corners", "vertices"]
