"""The API as plain Markdown that is readable in a clone: one page a package, from signatures and docstrings.

python docs/generate_reference.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from importlib import import_module
from pathlib import Path

import footfall as ff

FOLDER = Path(__file__).parent / "reference" / "api"
PACKAGES = tuple(name for name in ff.__all__ if inspect.ismodule(getattr(ff, name)))
BESIDE = ("nptrace", "nptrace.random", "nptrace.solve", "footfall_lab.verify")  # packages beside the front page
_OBJECT = re.compile(r" at 0x[0-9a-f]+")


def page(package: str) -> str:
    """The page of one package: every public name with its signature and what it says of itself."""
    module = import_module(package if package in BESIDE else f"footfall.{package}")
    parts = [
        f"# {package if package in BESIDE else f'ff.{package}'}",
        _words(module),
        "Made from the source by `python docs/generate_reference.py`.",
    ]
    for name in sorted(module.__all__):
        parts += _entry(name, getattr(module, name), "##")
    return "\n\n".join(part for part in parts if part).rstrip() + "\n"


def front() -> str:
    """The page of what is reached by one dot."""
    parts = ["# ff", "Made from the source by `python docs/generate_reference.py`."]
    for name in sorted(set(ff.__all__) - set(PACKAGES)):
        parts += _entry(name, getattr(ff, name), "##")
    links = ", ".join(f"[ff.{package}]({package}.md)" for package in PACKAGES)
    return "\n\n".join([parts[0], f"Rooms: {links}.", *parts[1:]]).rstrip() + "\n"


def pages() -> dict[str, str]:
    """All pages by their file's name."""
    return {"front.md": front(), **{f"{package}.md": page(package) for package in (*PACKAGES, *BESIDE)}}


def package_list() -> str:
    """What each package holds, for the reference's front page."""
    lines = []
    for package in PACKAGES:
        names = ", ".join(f"`{name}`" for name in sorted(import_module(f"footfall.{package}").__all__))
        lines.append(textwrap.fill(f"- `ff.{package}`: {names}", 120, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines) + "\n"


def _entry(name: str, value: object, mark: str) -> list[str]:
    if inspect.ismodule(value):
        return [f"{mark} {name}", f"A module: {_words(value)}"]
    if not callable(value):
        return [f"{mark} {name}", f"A constant, `{type(value).__name__}`."]
    found = [f"{mark} {name}", f"```python\n{name}{_signature(value)}\n```", _words(value)]
    if inspect.isclass(value):
        found += _members(value)
    return [part for part in found if part]


def _members(kind: type) -> list[str]:
    """Public methods and properties of a class, with the first line of each."""
    lines = []
    for name, member in vars(kind).items():
        inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if name.startswith("_") or not (inspect.isfunction(inner) or isinstance(member, property)):
            continue
        first = (inspect.getdoc(inner) or "").partition("\n")[0]
        title = f"`.{name}`" if isinstance(member, property) else f"`.{name}{_signature(inner)}`"
        lines.append(f"- {title}: {_plain(first)}" if first else f"- {title}")
    return ["\n".join(lines)] if lines else []


def _signature(value: object) -> str:
    """Parameters with their defaults, without annotations, which the docstring says better."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return "(...)"
    bare = [_bare(p) for p in parameters if p.name != "self"]
    text = str(inspect.Signature(bare))
    return _OBJECT.sub("", text)


def _bare(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    if default is not inspect.Parameter.empty and not isinstance(default, int | float | str | bool | tuple | None):
        default = _Shown("..." if not inspect.isfunction(default) else default.__name__)
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)


@dataclasses.dataclass(frozen=True)
class _Shown:
    text: str

    def __repr__(self) -> str:
        return self.text


def _words(value: object) -> str:
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""  # a dataclass that says no more than its signature
    return _plain(text)


def _plain(text: str) -> str:
    """A docstring as Markdown: double backquotes are code, indented blocks stay as they are."""
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    lines, inside = [], False
    for line in text.split("\n"):
        code = line.startswith("    ")
        if code and not inside and (not lines or not lines[-1].strip()):
            lines.append("```text")
            inside = True
        if inside and line.strip() and not code:
            while lines and not lines[-1].strip():
                lines.pop()
            lines += ["```", ""]
            inside = False
        lines.append(line[4:] if inside else line.replace("|", "\\|").replace("*", "\\*"))
    return "\n".join(lines + (["```"] if inside else [])).strip()


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text)
    front_page = FOLDER.parents[1] / "api.md"
    before, rest = front_page.read_text().split("- `ff.analysis`: ", 1)
    front_page.write_text(before + package_list() + "\n" + rest.split("\n\n", 1)[1])
    print(f"wrote {len(pages())} pages to docs/reference/api")
