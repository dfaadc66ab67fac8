"""The results of ``verify``: a list of checks, printed as a table or as JSON."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nptrace._types import Json

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

NOT_FINITE = 1e300  # stands for an error that is not a number: JSON has no infinity


@dataclass(frozen=True, kw_only=True)
class Check:
    """A quantity compared between two sides: largest and median relative error over the samples."""

    quantity: str
    left: str
    right: str
    max_rel_error: float
    median_rel_error: float
    tolerance: float
    samples: int
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.max_rel_error <= self.tolerance

    def to_json(self) -> dict[str, Json]:
        return {
            "quantity": self.quantity,
            "left": self.left,
            "right": self.right,
            "max_rel_error": self.max_rel_error,
            "median_rel_error": self.median_rel_error,
            "tolerance": self.tolerance,
            "samples": self.samples,
            "pass": self.passed,
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Report:
    """All checks of a robot, and the sides that were skipped, with the reason."""

    robot: str
    samples: int
    seed: int
    backend: str
    checks: tuple[Check, ...]
    skipped: dict[str, str]

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)

    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

    def worst(self) -> Check:
        return max(self.checks, key=lambda check: check.max_rel_error / check.tolerance)

    def to_json(self) -> dict[str, Json]:
        return {
            "robot": self.robot,
            "samples": self.samples,
            "seed": self.seed,
            "backend": self.backend,
            "checks": [check.to_json() for check in self.checks],
            "skipped": [{"side": side, "reason": reason} for side, reason in self.skipped.items()],
            "pass": self.passed,
        }

    def table(self) -> Table:
        """Return a readable table, one row per check."""
        from rich.table import Table

        table = Table(title=f"{self.robot}: {self.samples} random states, seed {self.seed}", title_justify="left")
        for name in ("quantity", "left", "right"):
            table.add_column(name)
        for name in ("max error", "median", "tolerance"):
            table.add_column(name, justify="right")
        table.add_column("")
        for check in self.checks:
            table.add_row(
                check.quantity.replace("_", " "),
                check.left,
                check.right,
                _shown(check.max_rel_error),
                _shown(check.median_rel_error),
                f"{check.tolerance:.0e}",
                _verdict(check),
            )
        return table

    def _repr_html_(self) -> str:
        """Return the table as HTML for notebooks."""
        rows = [
            (
                check.quantity.replace("_", " "),
                check.left,
                check.right,
                _shown(check.max_rel_error),
                _shown(check.median_rel_error),
                f"{check.tolerance:.0e}",
                "holds" if check.passed else f"FAILS {check.note}".strip(),
            )
            for check in self.checks
        ]
        titles = ("quantity", "left", "right", "max error", "median", "tolerance", "")
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        left_out = "".join(f"<p>{html.escape(f'{side}: {why}')}</p>" for side, why in self.skipped.items())
        title = html.escape(f"{self.robot}: {self.samples} random states, seed {self.seed}")
        return f"<p>{title}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left_out}"

    def __str__(self) -> str:
        worst = self.worst()
        verdict = "all hold" if self.passed else f"{len(self.failures())} fail"
        return (
            f"{self.robot}: {len(self.checks)} checks on {self.samples} states, {verdict}; largest error"
            f" {_shown(worst.max_rel_error)}: {worst.quantity.replace('_', ' ')} ({worst.left}, {worst.right})"
        )


def _verdict(check: Check) -> Text:
    from rich.text import Text

    return Text("holds", "green") if check.passed else Text.assemble(("FAILS", "bold red"), f" {check.note}".rstrip())


def _shown(error: float) -> str:
    return "no number" if error >= NOT_FINITE else f"{error:.1e}"
