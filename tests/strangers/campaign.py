"""Every robot file below a folder, under every default, and pushed with and without each reflex: one table.

    python tests/strangers/campaign.py FOLDER --out campaign.jsonl > campaign.md

The folder holds URDF and MJCF files that nobody here made: checkouts, or the files alone (meshes are not needed, but
for feet that are meshes). Files with fewer than eight joints are passed over, and so are second copies. A file is read
as ``footfall simulate FILE`` reads it: what it refuses is kept with its sentence. Robots of four feet then stand, trot,
walk, and walk on command under ``whole_body`` on three grounds; with ``pushes`` among the acts they are pushed from
four sides at four phases of the gait, with the default reflexes and with each switched off (``studies/
reflex_pushes.py``). A file has a process of its own with a time limit. Outcomes are kept one a line; what a run did
before is not done again, so that it can be stopped and go on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))

from reflex_pushes import CHOICES, PushTable, push_table
from table import GROUNDS, Case, Outcome, run

import footfall as ff
from footfall.control.posture import with_stand
from footfall.errors import FootfallError

ACTS = ("load", "stand", "trot", "walk", "whole_body", "pushes")
MODELS = (".urdf", ".xml", ".mjcf")
FEWEST_JOINTS = 8
MASS_ERROR, MIRROR_ERROR = 1e-6, 5e-3  # relative; of the legs' length, between left and right feet
TIME_LIMIT = 900.0  # [s] of a file


def files(folder: Path) -> Iterator[Path]:
    """Models with enough joints to be a quadruped, each content once, in order."""
    seen = set()
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in MODELS and p.is_file()):
        text = path.read_text(errors="replace")
        digest = hashlib.sha256(text.encode()).hexdigest()
        model = "<robot" in text or "<mujoco" in text
        if model and "<xacro:" not in text and digest not in seen and len(_JOINT.findall(text)) >= FEWEST_JOINTS:
            seen.add(digest)
            yield path


_JOINT = re.compile(r"<joint\b[^>]*\btype\s*=\s*[\"'](?:revolute|continuous|prismatic)|<joint\b(?![^>]*type=)")


def examine(path: Path, acts: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Outcomes of one file, the first being how it loads."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            robot = with_stand(ff.load(path))
        except FootfallError as error:
            yield {"act": "load", "refused": " ".join(str(error).split())}
            return
    yield {
        "act": "load",
        "name": robot.name,
        "mass": robot.mass,
        "feet": len(robot.feet),
        "joints": robot.nj,
        "stands": "stand" in robot.poses,
        "floating": robot.floating,
        "remarks": [" ".join(str(warning.message).split()) for warning in said],
        "doubts": list(doubts(robot, path)),
    }
    if not robot.floating or len(robot.feet) != 4 or "stand" not in robot.poses:
        return
    for act in acts:
        for ground in GROUNDS if act == "whole_body" else ("plane",):
            try:
                if act == "pushes":
                    yield {"act": act, "ground": ground, **asdict(push_table(robot, steps=8))}
                elif act != "load":
                    with warnings.catch_warnings(record=True) as said:
                        warnings.simplefilter("always")
                        outcome = asdict(run(Case(str(path), act, ground), path, seconds))
                    clips = [str(warning.message) for warning in said]
                    yield {**outcome, "clipped": [" ".join(c.split()) for c in clips if "clips" in c or "takes" in c]}
            except FootfallError as error:
                yield {"act": act, "ground": ground, "refused": " ".join(str(error).split())}


def doubts(robot: ff.Robot, path: Path) -> Iterator[str]:
    """What the import may have got wrong without a word."""
    text = re.sub(r"<!--.*?-->", "", path.read_text(errors="replace"), flags=re.S)
    if "<robot" in text:
        masses = [float(x) for x in re.findall(r"<mass\s+value\s*=\s*[\"']\s*([-+.\deE]+)", text)]
        if abs(robot.mass - sum(masses)) > MASS_ERROR * sum(masses):
            yield f"its mass is {robot.mass:.6g} kg, the file's are {sum(masses):.6g} kg"
    if "stand" in robot.poses and set(robot.foot_names) >= {"LF", "RF", "LH", "RH"}:
        q, _ = robot.state("stand")
        feet = dict(zip(robot.foot_names, ff.kinematics.foot_positions(robot, q)))
        for left, right in (("LF", "RF"), ("LH", "RH")):
            off = np.abs(feet[left] * [1, -1, 1] - feet[right]).max()
            if off > MIRROR_ERROR * q[2] + 1e-3:
                yield f"{left} and {right} are {1e3 * off:.1f} mm from being mirror images in its stand"


def markdown(rows: list[dict[str, Any]]) -> str:
    """A row a file, then the counts, the refusals and the pushes."""
    by_file: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for row in rows:
        by_file.setdefault(row["file"], {})[row["act"], row.get("ground", "plane")] = row
    columns = [(act, "plane") for act in ("stand", "trot", "walk")] + [("whole_body", ground) for ground in GROUNDS]
    columns = [column for column in columns if any(column in found for found in by_file.values())]
    titles = ["file", "kg", *(act if act != "whole_body" else f"{act} {ground}" for act, ground in columns)]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    refused, other, doubtful = [], [], []
    for name, found in by_file.items():
        load = found.get(("load", "plane"), {"refused": "no outcome"})
        if "refused" in load:
            refused.append(f"- {name}: {load['refused']}")
            continue
        doubtful += [f"- {name}: {words}" for words in load["doubts"]]
        if load["feet"] != 4 or not load["stands"] or not load["floating"]:
            other.append(f"- {name}: {load['feet']} feet, {load['joints']} joints; {'; '.join(load['remarks'])[:300]}")
            continue
        cells = [_words(found[column]) if column in found else "" for column in columns]
        lines.append("| " + " | ".join([name, f"{load['mass']:.3g}", *cells]) + " |")
    lines += [
        "",
        "Within their bounds: "
        + "; ".join(_count(rows, act) for act in ACTS[1:5] if any(row["act"] == act for row in rows))
        + ".",
    ]
    for title, some in (("Refused", refused), ("No quadrupeds that stand", other), ("Doubts", doubtful)):
        lines += ["", f"{title}: {len(some)}", "", *some]
    pushes = [row for row in rows if row["act"] == "pushes" and "refused" not in row]
    if pushes:
        lines += ["", _push_table(pushes)]
    return "\n".join(lines)


def _outcome(row: dict[str, Any]) -> Outcome:
    return Outcome(**{key: row[key] for key in Outcome.__dataclass_fields__})


def _words(row: dict[str, Any]) -> str:
    if "refused" in row:
        return "refused"
    clipped = f" of {row['asked']:.2g} m/s" if row.get("clipped") else ""
    return _outcome(row).words + clipped


def _count(rows: list[dict[str, Any]], act: str) -> str:
    some = [row for row in rows if row["act"] == act]
    return f"{act} {sum('refused' not in row and _outcome(row).passed for row in some)} of {len(some)}"


def _push_table(rows: list[dict[str, Any]]) -> str:
    names = list(CHOICES)
    tables = [PushTable(**{key: row[key] for key in PushTable.__dataclass_fields__}) for row in rows]
    lines = ["| " + " | ".join(["pushes survived by", "kg", "of", *names]) + " |", "|" + "---|" * (3 + len(names))]
    lines += [
        "| " + " | ".join([t.robot, f"{t.mass:.1f}", str(t.pushes), *(str(t.survived[name]) for name in names)]) + " |"
        for t in tables
    ]
    sums = [str(sum(t.survived[name] for t in tables)) for name in names]
    return "\n".join([*lines, "| " + " | ".join(["all", "", str(sum(t.pushes for t in tables)), *sums]) + " |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("campaign.jsonl"), help="outcomes, one a line; kept")
    parser.add_argument("--acts", default="load,stand,trot,walk,whole_body", help=f"of {', '.join(ACTS)}")
    parser.add_argument("--only", default="", help="files with this in their path")
    parser.add_argument("--seconds", type=float, default=8.0, help="of every case")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)  # the process of one file
    given = parser.parse_args()
    acts = given.acts.split(",")
    if given.one is not None:
        for row in examine(given.one, acts, given.seconds):
            print(json.dumps(row), flush=True)
        return
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.is_file() else []
    for path in files(given.folder):
        name = str(path.relative_to(given.folder))
        known = {row["act"] for row in rows if row["file"] == name}
        refused = any(row["file"] == name and row["act"] == "load" and "refused" in row for row in rows)
        wanted = [act for act in acts if act not in known]
        if given.only not in name or not wanted or refused:
            continue
        command = [sys.executable, __file__, str(given.folder), "--one", str(path), "--acts", ",".join(wanted)]
        command += ["--seconds", str(given.seconds)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
            out, trouble = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
        except subprocess.TimeoutExpired as late:
            out, trouble = (late.stdout or b"").decode(), [f"not done after {TIME_LIMIT:g} s"]
        found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        found = [row for row in found if row["act"] not in known]
        missing = [act for act in wanted if act not in {row["act"] for row in found}]
        if trouble and missing:  # what is no refusal is a fault of ours
            found.append({"act": missing[0], "refused": f"TROUBLE: {trouble[0]}"})
        with given.out.open("a") as file:
            for row in found:
                rows.append({**row, "file": name})
                file.write(json.dumps(rows[-1]) + "\n")
        print(f"{name}: " + ", ".join(_short(row) for row in found), file=sys.stderr, flush=True)
    print(markdown(rows))


def _short(row: dict[str, Any]) -> str:
    if "refused" in row:
        return f"{row['act']} refused: {row['refused'][:150]}"
    if row["act"] in ("load", "pushes"):
        return row["act"]
    return f"{row['act']} {row['ground']} {_words(row)}"


if __name__ == "__main__":
    main()
