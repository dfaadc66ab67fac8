"""The study of ``gait_optimisation`` as a table, a figure and a file.

python studies/gait_front.py --out out/gaits
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gait_optimisation import GAITS, SPEEDS, Front, optimise

from footfall.draw.style import COLORS, GREY, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(front: Front) -> Figure:
    """Cost of transport against speed: every candidate that stayed up, the best by gait, and the front of all."""
    with style():
        figure = new_figure(7.2, 4.2)
        axis = figure.subplots()
        for color, (pattern, cloud) in zip(COLORS, front.clouds.items()):
            axis.plot(cloud[:, 0], cloud[:, 1], ".", color=color, markersize=1.2, alpha=0.25, rasterized=True)
            holds = [best for best in front.best if best.pattern == pattern and best.holds]
            axis.plot([b.speed for b in holds], [b.cost for b in holds], "o-", color=color, label=pattern, markersize=4)
        pareto = front.pareto()
        axis.step(pareto[:, 0], pareto[:, 1], where="pre", color=GREY, linewidth=0.9, label="front of all candidates")
        top = max((best.cost for best in front.best if best.holds), default=1.0)
        fastest = max((best.speed for best in front.best if best.holds), default=1.0)
        axis.set(
            xlabel="forward speed [m/s]",
            ylabel="cost of transport",
            ylim=(0.0, 1.6 * top),
            xlim=(0.0, 1.25 * fastest),
            title=f"{front.robot}: gaits of least cost, joint PD, means over friction 0.6, 0.9 and payload 0, 10 %",
        )
        axis.legend(loc="upper right")
    return figure


def rows(front: Front) -> list[dict[str, object]]:
    """One row per gait and speed."""
    return [{**dataclasses.asdict(best), "wins": front.winner(best.asked) == best} for best in front.best]


def table(front: Front) -> str:
    """Cost of transport by speed and gait as Markdown; the cheapest in bold, a dash where none holds the speed."""
    patterns = list(front.clouds)
    lines = [f"| speed [m/s] | {' | '.join(patterns)} |", "|---" * (len(patterns) + 1) + "|"]
    for speed in sorted({best.asked for best in front.best}):
        winner, cells = front.winner(speed), []
        for pattern in patterns:
            best = next(b for b in front.best if b.pattern == pattern and b.asked == speed)
            text = f"{best.cost:.2f}" if best.holds else "-"
            cells.append(f"**{text}**" if winner == best else text)
        lines.append(f"| {speed:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Gaits of least cost of transport, by speed.")
    parser.add_argument("--robot", default="mini_cheetah")
    parser.add_argument("--gaits", default=",".join(GAITS))
    parser.add_argument("--speeds", default=",".join(map(str, SPEEDS)), help="metres a second")
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--population", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/gaits"))
    asked = parser.parse_args()
    begin = time.perf_counter()
    front = optimise(
        asked.robot,
        asked.gaits.split(","),
        [float(v) for v in asked.speeds.split(",")],
        generations=asked.generations,
        population=asked.population,
        seed=asked.seed,
        progress=lambda what, done, of: print(f"{done} of {of}: {what}", flush=True),
    )
    asked.out.mkdir(parents=True, exist_ok=True)
    draw(front).savefig(asked.out / "gait-front.png")
    found = {"robot": front.robot, "seed": asked.seed, "wall_seconds": time.perf_counter() - begin, "best": rows(front)}
    (asked.out / "gait-front.json").write_text(json.dumps(found, indent=1) + "\n")
    print(table(front))


if __name__ == "__main__":
    main()
