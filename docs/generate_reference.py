"""The API reference as plain Markdown, one page a package, from signatures and docstrings.

python docs/generate_reference.py
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
import tokenize
from importlib import import_module
from pathlib import Path

import footfall as ff

FOLDER = Path(__file__).parent / "reference" / "api"
SOURCES = Path(ff.__file__).parents[1]
PACKAGES = tuple(name for name in ff.__all__ if inspect.ismodule(getattr(ff, name)))
BESIDE = ("nptrace", "nptrace.random", "nptrace.solve", "footfall_lab.verify")  # packages beside the front page
MADE = "Generated from the source by `python docs/generate_reference.py`."
GROUPS = {
    "Robots": ("load", "Robot", "Link", "Joint", "Foot", "Actuator", "Rotor"),
    "Simulation": ("Simulation", "FreeBox", "FreeBall", "Push", "Recording", "show", "Block", "linearize", "margins"),
    "Control": ("controller", "Command", "Sensed", "JointCommand"),
    "Compilation and derivatives": ("compile", "jacobian", "gradient", "program"),
    "Many robots": ("Batch", "GpuBatch"),
    "Errors": ("FootfallError", "InputError", "ModelError", "TraceError", "MissingExtraError"),
}
_OBJECT = re.compile(r" at 0x[0-9a-f]+")
_DOTTED = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Z])")
_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Attributes|Example|Examples):$")
_ENTRY = re.compile(r"^([\w*., `]+?)(?: \(([^)]*)\))?: (.*)$")


def page(package: str) -> str:
    """The page of one package: a table of its public names, then each with its signature and docstring."""
    module = import_module(package if package in BESIDE else f"footfall.{package}")
    names = sorted(module.__all__)
    parts = [f"# {package if package in BESIDE else f'ff.{package}'}", _words(module), MADE]
    parts += [_table(names, module, "")]
    for name in names:
        parts += _entry(name, getattr(module, name), "##")
    return _stripped("\n\n".join(part for part in parts if part))


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


def front() -> str:
    """The page of what is reached by one dot."""
    parts = ["# ff", "What `import footfall as ff` gives, without the packages.", MADE]
    for name in sorted(set(ff.__all__) - set(PACKAGES)):
        parts += _entry(name, getattr(ff, name), "##")
    return _stripped("\n\n".join(parts))


def index() -> str:
    """The first page of the reference: the front page's names by subject, and the packages."""
    left = set(ff.__all__) - set(PACKAGES) - {name for names in GROUPS.values() for name in names}
    parts = [
        "# API reference",
        "Everything is reached through `import footfall as ff`; names load when they are first used. Arrays are NumPy's"
        " and units SI; [Conventions](../conventions.md) has frames and orders.",
        MADE,
    ]
    for title, names in {**GROUPS, "Other": tuple(sorted(left))}.items():
        if names:
            parts += [f"## {title}", _table(names, ff, "front.md", "ff.")]
    parts += ["## Packages"]
    rows = [
        f"| [{_title(package)}]({package}.md) | {_cell(_first(_module(package)))} |" for package in (*PACKAGES, *BESIDE)
    ]
    parts += ["| package | contents |\n|---|---|\n" + "\n".join(rows)]
    for package in (*PACKAGES, *BESIDE):
        names = sorted(_module(package).__all__)
        links = ", ".join(f"[{name}]({package}.md#{_anchor(name, names)})" for name in names)
        parts += [f"**{_title(package)}**: {links}"]
    tree = "\n".join(("front", *PACKAGES, *BESIDE))
    parts += [f"```{{toctree}}\n:maxdepth: 1\n:hidden:\n\n{tree}\n```"]
    return _stripped("\n\n".join(parts))


def pages() -> dict[str, str]:
    """All pages by their file's name."""
    made = {f"{package}.md": page(package) for package in (*PACKAGES, *BESIDE)}
    return {"index.md": index(), "front.md": front(), **made}


def _module(package: str) -> object:
    return import_module(package if package in BESIDE else f"footfall.{package}")


def _title(package: str) -> str:
    return package if package in BESIDE else f"ff.{package}"


def _anchor(name: str, names: object) -> str:
    """The anchor of a heading: in lower case, and numbered where two names differ in case alone."""
    alike = [each for each in sorted(names) if each.lower() == name.lower()]
    before = alike.index(name)
    return f"{name.lower()}-{before}" if before else name.lower()


def _table(names: object, holder: object, file: str, prefix: str = "") -> str:
    rows = []
    everything = set(ff.__all__) - set(PACKAGES) if holder is ff else names
    for name in names:
        value = getattr(holder, name)
        said = "" if not callable(value) and not inspect.ismodule(value) else _cell(_first(value))
        rows.append(f"| [{prefix}{name}]({file}#{_anchor(name, everything)}) | {said} |")
    return "| name | |\n|---|---|\n" + "\n".join(rows)


def _first(value: object) -> str:
    """The first sentence of a docstring."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z`])", paragraph, maxsplit=1)[0]


def _cell(text: str) -> str:
    return _plain(text)


def _entry(name: str, value: object, mark: str) -> list[str]:
    if inspect.ismodule(value):
        found = [f"{mark} {name}", f"A module. {_words(value)}"]
        public = [each for each in getattr(value, "__all__", ()) if callable(getattr(value, each))]
        lines = [
            f"- **`{each}{_signature(getattr(value, each), 200)}`** {_cell(_first(getattr(value, each)))}"
            for each in public
        ]
        return [*found, "\n".join(lines)] if lines else found
    if not callable(value):
        return [f"{mark} {name}", f"A constant, `{type(value).__name__}`."]
    found = [f"{mark} {name}", f"```python\n{name}{_signature(value)}\n```", _words(value)]
    if inspect.isclass(value):
        found += _fields(value)
        found += _members(value)
    found += [_place(value)]
    return [part for part in found if part]


def _place(value: object) -> str:
    """Where the source is."""
    try:
        path = Path(inspect.getsourcefile(inspect.unwrap(value)) or "")
    except TypeError:
        return ""
    return f"Source: `{path.relative_to(SOURCES).as_posix()}`" if path.is_relative_to(SOURCES) else ""


def _fields(kind: type) -> list[str]:
    """A table of a dataclass's fields that its source explains in comments."""
    if not dataclasses.is_dataclass(kind):
        return []
    said: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if dataclasses.is_dataclass(base):
            said |= _comments(base)
    documented = inspect.getdoc(kind) or ""
    rows = [
        f"| `{field.name}` | {_code(_annotation(field.type))} | {_plain(said[field.name])} |"
        for field in dataclasses.fields(kind)
        if said.get(field.name) and not field.name.startswith("_") and f"{field.name}:" not in documented
    ]
    return ["| field | type | |\n|---|---|---|\n" + "\n".join(rows)] if rows else []


def _comments(kind: type) -> dict[str, str]:
    """What the comments behind the fields of a class say."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    last: tuple[int, str] | None = None
    names = {field.name for field in dataclasses.fields(kind)}
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start
        before = lines[row - 1][:column]
        field = re.match(r"^    (\w+): ", before)
        text = token.string.removeprefix("#").strip()
        if field and field[1] in names:
            found[field[1]] = text
            last = (row, field[1])
        elif last is not None and row == last[0] + 1 and not before.strip() and column > 4:
            found[last[1]] += f" {text}"
            last = (row, last[1])
    return found


def _members(kind: type) -> list[str]:
    """Public methods and properties of a class, with their docstrings."""
    lines = []
    for name, member in vars(kind).items():
        inner = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if name.startswith("_") or not (inspect.isfunction(inner) or isinstance(member, property)):
            continue
        text = inspect.getdoc(inner) or ""
        title = f"**`.{name}`**" if isinstance(member, property) else f"**`.{name}{_signature(inner, 400)}`**"
        body = _plain(text)
        first, _, rest = body.partition("\n")
        lines.append(f"- {title} {first}".rstrip())
        lines += [f"  {line}".rstrip() for line in rest.split("\n")] if rest else []
    return ["\n".join(lines)] if lines else []


def _signature(value: object, width: int = 100) -> str:
    """Parameters with types and defaults, one a line where they are many."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    shown = [_parameter(p) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    kinds = [p.kind for p in signature.parameters.values() if p.name not in ("self", "cls")]
    only = inspect.Parameter.KEYWORD_ONLY
    if only in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(only), "*")
    result = (
        ""
        if inspect.isclass(value) or signature.return_annotation in (inspect.Signature.empty, "None", None)
        else (f" -> {_annotation(signature.return_annotation)}")
    )
    text = f"({', '.join(shown)}){result}"
    if len(text) > width:
        text = "(\n" + "".join(f"    {part},\n" for part in shown) + f"){result}"
    return _OBJECT.sub("", text)


def _parameter(parameter: inspect.Parameter) -> str:
    mark = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{mark}{parameter.name}"
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        text += (" = " if ":" in text else "=") + _default(parameter.default)
    return text


def _default(default: object) -> str:
    if inspect.isfunction(default) or inspect.isclass(default):
        return default.__name__
    return repr(default) if isinstance(default, int | float | str | bool | tuple | None) else "..."


def _annotation(annotation: object) -> str:
    """A type as the source says it, without the modules that it lives in."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = _DOTTED.sub("", _OBJECT.sub("", text)).replace("'", '"').replace("typing.", "").replace("numpy.", "np.")
    return text.strip('"') if text.startswith('"') and text.count('"') == 2 else text


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _words(value: object) -> str:
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""  # a dataclass that says no more than its signature
    return _plain(text)


def _plain(text: str) -> str:
    """A docstring as Markdown: sections become lists, examples and indented blocks become code."""
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    lines: list[str] = []
    inside, section = "", ""
    for line in text.split("\n"):
        title = _SECTION.match(line)
        indented, example = line.startswith("    "), line.startswith((">>> ", "... "))
        if title:
            _close(lines, inside)
            inside, section = "", title[1]
            lines += ["", f"**{title[1]}**", ""]
            continue
        if section and line.strip() and not indented:
            section = ""
        if section in ("Args", "Arguments", "Raises", "Attributes"):
            entry = _ENTRY.match(line[4:]) if indented and not line.startswith("     ") else None
            if entry:
                lines.append(f"- `{entry[1].strip('` ')}`: {_escaped(entry[3])}")
            elif line.strip():
                lines.append(f"  {_escaped(line.strip())}")
            continue
        if section in ("Returns", "Yields"):
            lines.append(_escaped(line.strip()))
            continue
        if not inside and ((indented and (not lines or not lines[-1].strip())) or example):
            inside = "python" if example else "text"
            lines += [*([""] if lines and lines[-1].strip() else []), f"```{inside}"]
        elif inside and (not line.strip() if inside == "python" else line.strip() and not indented):
            _close(lines, inside)
            inside = ""
        if inside == "python":
            lines.append(line)
        else:
            lines.append(line[4:] if inside else _escaped(line))
    _close(lines, inside)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _close(lines: list[str], inside: str) -> None:
    if inside:
        while lines and not lines[-1].strip():
            lines.pop()
        lines += ["```", ""]


def _escaped(line: str) -> str:
    """Text whose bars, stars and angles are themselves, outside of code; a word between stars is emphasised."""
    parts = re.split(r"(`[^`]*`|(?<!\*)\*\w+\*(?!\*))", line)
    return "".join(
        part.replace("|", "\\|") if k % 2 else re.sub(r"([|*<]|\](?=\())", r"\\\1", part)
        for k, part in enumerate(parts)
    )


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text)
    print(f"wrote {len(pages())} pages to docs/reference/api")
