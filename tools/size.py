"""Reports lines, files and public names of every package under src, and what has changed since a commit.

Also how many annotations say Any, by itself or by one of its aliases: what a type checker cannot follow; and the pages
and words of the documentation, by kind.

python tools/size.py [--against COMMIT]

A report, not a law: no number here is too large.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
OWN = "(its own files)"  # of a package that has subpackages


@dataclass(frozen=True)
class Size:
    """What is counted."""

    lines: int = 0
    files: int = 0
    names: int = 0  # in the ``__all__`` of its ``__init__.py``

    def __add__(self, other: Size) -> Size:
        return Size(self.lines + other.lines, self.files + other.files, self.names + other.names)

    def __sub__(self, other: Size) -> Size:
        return Size(self.lines - other.lines, self.files - other.files, self.names - other.names)


def public_names(text: str) -> int:
    """The number of names in the ``__all__`` of a module, or in the tables of names that it is made from."""
    tree = ast.parse(text)
    values = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in tree.body:  # __all__, __dir__, __getattr__ = lazy_exports("footfall.gait", {"pattern": "Gait trot"})
        if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0]):
            return _names_in(node.value, values)
    return 0


def _names_in(node: ast.expr, values: dict[str, ast.expr]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return len(node.value.split())
    if isinstance(node, ast.Name):
        return _names_in(values[node.id], values) if node.id in values else 0
    if isinstance(node, ast.Starred):
        return _names_in(node.value, values)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return sum(_names_in(element, values) for element in node.elts)
    if isinstance(node, ast.BinOp):
        return _names_in(node.left, values) + _names_in(node.right, values)
    if isinstance(node, ast.Dict):
        return sum(_of_entry(key, value, values) for key, value in zip(node.keys, node.values))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict.fromkeys":
        return _names_in(node.args[0], values)
    if isinstance(node, ast.Call):
        tables = [argument for argument in node.args if not isinstance(argument, ast.Constant)]
        return sum(_names_in(argument, values) for argument in tables)
    return 0


def _of_entry(key: ast.expr | None, value: ast.expr, values: dict[str, ast.expr]) -> int:
    """An entry of a table: a module and its names, or a name and its module."""
    if key is None:  # **table
        return _names_in(value, values)
    dotted = isinstance(value, ast.Constant) and "." in str(value.value)
    return _names_in(key if dotted else value, values)


def sizes(files: Iterable[tuple[str, str]]) -> dict[str, dict[str, Size]]:
    """By package and subpackage, from (path below src, text) of every Python file."""
    found: dict[str, dict[str, Size]] = {}
    for path, text in files:
        package, *inside = PurePosixPath(path).parts
        part = inside[0] if len(inside) > 1 else OWN
        names = public_names(text) if inside[-1] == "__init__.py" and len(inside) <= 2 else 0
        parts = found.setdefault(package, {})
        parts[part] = parts.get(part, Size()) + Size(len(text.splitlines()), 1, names)
    return found


def open_annotations(files: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Return (annotations that hold Any or an alias of it, all annotations)."""
    trees = [ast.parse(text) for _, text in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    names = {"Any"} | {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if ast.unparse(node.annotation) == "TypeAlias" and node.value and ast.unparse(node.value) == "Any"
    }
    found: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [node.returns] if node.returns else []
        elif isinstance(node, ast.arg) and node.annotation:
            found.append(node.annotation)
    return sum(not names.isdisjoint(_names(annotation)) for annotation in found), len(found)


def _names(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}


def here() -> Iterable[tuple[str, str]]:
    """The files of the working tree."""
    source = ROOT / "src"
    for path in sorted(source.glob("*/**/*.py")):
        yield path.relative_to(source).as_posix(), path.read_text(encoding="utf-8")


def at(commit: str) -> Iterable[tuple[str, str]]:
    """The files of a commit."""
    listed = _git("ls-tree", "-r", "-z", commit, "src").split("\0")
    blobs = [line.split("\t") for line in listed if line.endswith(".py")]
    text = _git("cat-file", "--batch", stdin="\n".join(head.split()[2] for head, _ in blobs) + "\n")
    data, start = text.encode(), 0
    for _, path in blobs:
        end = data.index(b"\n", start)
        length = int(data[start:end].split()[2])
        yield path.removeprefix("src/"), data[end + 1 : end + 1 + length].decode()
        start = end + 1 + length + 1


def _git(*words: str, stdin: str | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, input=stdin, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"git {words[0]}: {done.stderr.strip()}")
    return done.stdout


def words() -> dict[str, tuple[int, int]]:
    """Return (pages, words) by the caption under which docs/index.md lists them; code and tables count as words."""
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text(encoding="utf-8")
    found = {"README and front page": _counted([ROOT / "README.md", docs / "index.md"])}
    for caption, listed in re.findall(r"```{toctree}\n:caption: (.+)\n(?::.*\n)*\n((?:.+\n)+)```", index):
        found[caption] = _counted([docs / f"{name}.md" for name in listed.split()])
        if any("/api/" in name for name in listed.split()):
            found[caption] = _counted([docs / f"{name}.md" for name in listed.split() if "/api/" not in name])
            found[f"{caption}, generated"] = _counted(sorted((docs / "reference" / "api").glob("*.md")))
    return found


def _counted(pages: list[Path]) -> tuple[int, int]:
    return len(pages), sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def table(now: dict[str, dict[str, Size]], before: dict[str, dict[str, Size]] | None) -> list[str]:
    """The lines of the report."""
    old = before or {}
    rows: list[tuple[str, Size, Size]] = []
    for package in sorted({*now, *old}):
        parts, were = now.get(package, {}), old.get(package, {})
        rows.append((package, sum(parts.values(), Size()), sum(were.values(), Size())))
        rows += [(f"  {part}", parts.get(part, Size()), were.get(part, Size())) for part in sorted({*parts, *were})]
    packages = [row for row in rows if not row[0].startswith(" ")]
    rows.append(("all", sum((now for _, now, _ in packages), Size()), sum((was for *_, was in packages), Size())))
    lines = [f"{'':24}{'lines':>8}{'':8}{'files':>6}{'':8}{'public names':>12}"]
    for name, size, was in rows:
        changes = ["" if before is None or not change else f"{change:+}" for change in _numbers(size - was)]
        cells = [f"{value:>{w}}{change:>8}" for value, change, w in zip(_numbers(size), changes, (8, 6, 12))]
        lines.append(f"{name:24}{''.join(cells)}".rstrip())
    return lines


def _numbers(size: Size) -> tuple[int, int, int]:
    return size.lines, size.files, size.names


def main() -> None:
    parser = argparse.ArgumentParser(description="Lines, files and public names of every package under src.")
    parser.add_argument("--against", metavar="COMMIT", help="also show the change since this commit")
    given = parser.parse_args()
    print("\n".join(table(sizes(here()), sizes(at(given.against)) if given.against else None)))
    count, of = open_annotations(here())
    print(f"annotations that say Any, by itself or by an alias: {count} of {of}, {100 * count / of:.1f} %")
    print(f"{'documentation':32}{'pages':>6}{'words':>8}")
    kinds = words()
    for kind, (pages, counted) in kinds.items():
        print(f"{kind:32}{pages:>6}{counted:>8}")
    print(f"{'all':32}{sum(pages for pages, _ in kinds.values()):>6}{sum(n for _, n in kinds.values()):>8}")


if __name__ == "__main__":
    main()
