"""Third-party robot files under every default, and pushed with and without each reflex: one table.

    python tests/strangers/campaign.py FOLDER --clone --out campaign.jsonl --page docs/research/third-party-robots.md

``campaign_files.txt`` lists the files: repository, commit, path. ``--clone`` brings their repositories into FOLDER, as
``owner+name``; ``--every`` takes every URDF and MJCF file below FOLDER instead, but for second copies and files with
fewer than eight joints. (Meshes are not needed, but for feet that are meshes.)

A file is read as ``footfall simulate FILE`` reads it: what it refuses is kept with its sentence; with
``--repair-inertia`` where a refusal or a warning names that. Robots of four feet stand, trot, walk, and walk on command
under ``whole_body`` on three grounds; they are pushed from four sides at four phases of the gait, with the default
reflexes and with each switched off (``studies/reflex_pushes.py``). A file has a process of its own with a time limit.
Outcomes are kept one a line; what a run did before is not done again, so that it can be stopped and go on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))

from reflex_pushes import CHOICES, LEAN, LOW, Beside, PushTable, push_table, speed_of, survival
from table import GROUNDS, SETTLED, Case, Outcome, run

import footfall as ff
from footfall.contact import terrain
from footfall.contact.ground import Plane
from footfall.contact.heightfield import Heightfield
from footfall.control.named import on_command
from footfall.control.posture import with_stand
from footfall.errors import FootfallError
from footfall.sim.commanding import unfollowed
from footfall.sim.start import standing_start

LIST = Path(__file__).with_name("campaign_files.txt")
URL = "https://github.com/{}"  # of a repository
MARKS = "<!-- campaign: written by tests/strangers/campaign.py -->", "<!-- end of campaign -->"
PUSH = 1.6  # of sqrt(g H), by which a push changes the speed: about half of them are survived
ACTS = ("load", "stand", "trot", "walk", "whole_body", "pushes")  # the last two go together
ROUGH_START = 0.5  # [m] along x, from where on ``rough:0.03`` is rough
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


def listed(folder: Path) -> dict[str, Path]:
    """Files of the list by ``owner/name: path``, and where they lie in a folder of checkouts."""
    lines = [line.split(maxsplit=2) for line in LIST.read_text().splitlines() if line.strip()]
    return {f"{name}: {path}": folder / name.replace("/", "+") / path for name, _, path in lines}


def clone(folder: Path, url: str) -> None:
    """Bring the repositories of the list into a folder, each at its commit; what is there is left as it is."""
    commits = dict(line.split(maxsplit=2)[:2] for line in LIST.read_text().splitlines() if line.strip())
    for name, commit in commits.items():
        into = folder / name.replace("/", "+")
        if into.exists():
            continue
        into.mkdir(parents=True)
        source = url.format(name)
        steps = (
            ["init", "--quiet"],
            ["fetch", "--quiet", "--depth=1", source, commit],
            ["checkout", "-q", "FETCH_HEAD"],
        )
        for step in steps:
            done = subprocess.run(["git", "-C", str(into), *step], check=False)
            if done.returncode:
                print(f"{name}: git {step[0]} {source} failed; its files count as missing", file=sys.stderr)
                break


def examine(path: Path, acts: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Outcomes of one file, the first being how it loads."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            repaired, robot = "", with_stand(ff.load(path))
        except FootfallError as error:
            repaired = " ".join(str(error).split())
            if "--repair-inertia" not in repaired:
                yield {"act": "load", "refused": repaired}
                return
    repaired = repaired or next((x for x in (str(w.message) for w in said) if "--repair-inertia" in x), "")
    if repaired:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                robot = with_stand(ff.load(path, repair_inertia=True))
            except FootfallError as error:
                yield {"act": "load", "refused": " ".join(str(error).split())}
                return
    yield {
        "act": "load",
        "repaired": " ".join(repaired.split()),
        "name": robot.name,
        "mass": robot.mass,
        "feet": len(robot.feet),
        "joints": robot.nj,
        "stands": "stand" in robot.poses,
        "floating": robot.floating,
        "remarks": [" ".join(str(warning.message).split()) for warning in said],
        "doubts": list(doubts(robot, path)),
    }
    yield from moved(robot, path, acts, seconds)


def moved(robot: ff.Robot, path: Path, acts: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Outcomes of a robot that stands, beyond how it loads."""
    if not robot.floating or len(robot.feet) != 4 or "stand" not in robot.poses:
        return
    for act in ("stand", "trot", "walk"):
        if act in acts:
            try:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    outcome = asdict(run(Case(str(path), act), path, seconds, robot))
                clips = [" ".join(str(warning.message).split()) for warning in said]
                yield {**outcome, "clipped": [words for words in clips if "clips" in words or "takes" in words]}
            except FootfallError as error:
                yield {"act": act, "ground": "plane", "refused": " ".join(str(error).split())}
    if "whole_body" in acts or "pushes" in acts:
        try:
            yield from on_command_and_pushed(robot, str(path), "pushes" in acts)
        except FootfallError as error:
            words = " ".join(str(error).split())
            yield from ({"act": "whole_body", "ground": ground, "refused": words} for ground in GROUNDS)
            if "pushes" in acts:
                yield {"act": "pushes", "ground": "plane", "refused": words}


def three_grounds() -> Heightfield:
    """The plane, ``slope:10`` and ``rough:0.03`` side by side, a band of y each: one program serves all."""
    rough = terrain.named("rough:0.03")
    assert isinstance(rough, Heightfield)
    heights = np.zeros((len(rough.heights), 3 * rough.heights.shape[1]))
    x = rough.corner[0] + rough.spacing * np.arange(len(heights))
    _, slope, bumps = np.split(heights, 3, axis=1)
    slope[:] = np.tan(np.radians(10.0)) * np.clip(x, -1.5, 5.0)[:, None]
    bumps[:] = rough.heights
    return Heightfield(heights, rough.spacing, rough.corner, rough.friction, smooth=True)


def on_command_and_pushed(robot: ff.Robot, name: str, pushed: bool) -> Iterator[dict[str, Any]]:
    """``whole_body`` on three grounds, and every push or a single one: robots of one batch."""
    controller, ground = on_command("whole_body", "trot", reflexes=True), three_grounds()
    followed, clipped = unfollowed(controller, robot, ff.control.Command(forward=speed_of(robot)))
    across = ground.spacing * (ground.heights.shape[1] // 3) * np.arange(3.0)
    starts = np.array([standing_start(robot, controller, at)[0] for at in (Plane(), Plane.slope(10.0), Plane())])
    starts[:, 1] += across
    starts[2, 0] += ROUGH_START
    feet = ff.kinematics.foot_positions(robot, starts[2])
    starts[2, 2] += max(float(ground.surface(x, y)[0]) for x, y, _ in feet)
    times, states = [], []

    def look(time: float, q: np.ndarray) -> None:
        times.append(time)
        states.append(q.copy())

    beside = Beside(ground=ground, starts=starts, look=look)
    if pushed:
        yield {"act": "pushes", "ground": "plane", **asdict(push_table(robot, steps=1, largest=PUSH, beside=beside))}
    else:
        survival(robot, [CHOICES["default"]], 1, 1, 1, beside=beside)
    t, q = np.array(times), np.array(states)
    settled = t >= SETTLED
    for k, kind in enumerate(GROUNDS):
        w, x, y, z = q[:, k, 3:7].T
        lean = np.degrees(np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0)))
        yaw = np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))[settled]
        moved = np.diff(q[settled, k, :2], axis=0)
        forward = moved[:, 0] * np.cos(yaw[:-1]) + moved[:, 1] * np.sin(yaw[:-1])
        height = np.array([float(ground.distance(p)) for p in q[:, k, :3]]) / robot.poses["stand"].height
        down = (lean > LEAN) | (height < LOW) | ~np.isfinite(q[:, k]).all(axis=1)
        yield {
            **asdict(
                Outcome(
                    robot=name,
                    act="whole_body",
                    ground=kind,
                    asked=followed.forward,
                    speed=float(forward.sum() / np.ptp(t[settled])),
                    fell=bool(down.any()),
                    until=float(t[down][0] if down.any() else t[-1]),
                    lean=float(np.nanmax(lean)),
                    height=float(np.nanmin(height)),
                )
            ),
            "clipped": clipped,
        }


def doubts(robot: ff.Robot, path: Path) -> Iterator[str]:
    """What the import may have got wrong without a word."""
    text = re.sub(r"<!--.*?-->", "", path.read_text(errors="replace"), flags=re.S)
    if "<robot" in text:
        masses = [float(x) for x in re.findall(r"<mass\s+value\s*=\s*[\"']\s*([-+.\deE]+)", text)]
        if abs(robot.mass - sum(masses)) > MASS_ERROR * sum(masses):
            yield f"its mass is {robot.mass:.6g} kg, the file's are {sum(masses):.6g} kg"
    if "stand" in robot.poses and set(robot.foot_names) >= {"LF", "RF", "LH", "RH"}:
        q, _ = robot.state("stand")
        positions = ff.kinematics.foot_positions(robot, q)  # some trunks have their origin beside their middle
        feet = dict(zip(robot.foot_names, positions - positions.mean(axis=0) * [0, 1, 0]))
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
        title = f"{name} (`--repair-inertia`)" if load.get("repaired") else name
        lines.append("| " + " | ".join([title, f"{load['mass']:.3g}", *cells]) + " |")
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
    parser.add_argument("folder", type=Path, help="checkouts by owner+name, or with --every anything")
    parser.add_argument("--clone", nargs="?", const=URL, help="bring the repositories of the list, from a URL with {}")
    parser.add_argument("--every", action="store_true", help="every model below the folder, not the list")
    parser.add_argument("--out", type=Path, default=Path("campaign.jsonl"), help="outcomes, one a line; kept")
    parser.add_argument("--page", type=Path, help="page whose part between the marks is written anew")
    parser.add_argument("--acts", default=",".join(ACTS), help=f"of {', '.join(ACTS)}")
    parser.add_argument("--only", default="", help="files with this in their path")
    parser.add_argument("--shuffle", type=int, help="seed of the order: a run cut off is a sample")
    parser.add_argument("--seconds", type=float, default=8.0, help="of every case")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time, a process each")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)  # the process of one file
    given = parser.parse_args()
    acts = given.acts.split(",")
    if given.one is not None:
        for row in examine(given.one, acts, given.seconds):
            print(json.dumps(row), flush=True)
        return
    if given.clone:
        clone(given.folder, given.clone)
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.is_file() else []
    every = {str(path.relative_to(given.folder)): path for path in files(given.folder)} if given.every else {}
    todo = []
    for name, path in (every or listed(given.folder)).items():
        known = {row["act"] for row in rows if row["file"] == name}
        refused = any(row["file"] == name and row["act"] == "load" and "refused" in row for row in rows)
        wanted = [act for act in acts if act not in known]
        if given.only in name and wanted and not refused:
            if path.is_file():
                todo.append((name, path, known, wanted))
            else:
                print(f"{name}: missing", file=sys.stderr, flush=True)
    if given.shuffle is not None:
        random.Random(given.shuffle).shuffle(todo)
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(given.jobs) as pool:
        for (name, _, known, _), outcomes in zip(todo, pool.map(lambda x: _outcomes(x[1], x[3], given, cache), todo)):
            found = [row for row in outcomes if row["act"] not in known]
            with given.out.open("a") as file:
                for row in found:
                    rows.append({**row, "file": name})
                    file.write(json.dumps(rows[-1]) + "\n")
            print(f"{name}: " + ", ".join(_short(row) for row in found), file=sys.stderr, flush=True)
    if given.page is None:
        print(markdown(rows))
        return
    text = given.page.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    given.page.write_text(text[: start + len(MARKS[0])] + "\n\n" + markdown(rows) + "\n\n" + text[end:])


def _outcomes(path: Path, wanted: list[str], given: argparse.Namespace, cache: str) -> list[dict[str, Any]]:
    """Outcomes of a file in a process of its own; what ends the process is an outcome too."""
    command = [sys.executable, __file__, str(given.folder), "--one", str(path), "--acts", ",".join(wanted)]
    command += ["--seconds", str(given.seconds)]
    own = {"NPTRACE_LEVEL": "0", "NPTRACE_CACHE": cache, **os.environ}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False, env=own)
        out, trouble = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired as late:
        out, trouble = (late.stdout or b"").decode(), [f"not done after {TIME_LIMIT:g} s"]
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    missing = [act for act in wanted if act not in {row["act"] for row in found}]
    if trouble and missing:  # what is no refusal is a fault of ours
        found.append({"act": missing[0], "refused": f"TROUBLE: {trouble[0]}"})
    return found


def _short(row: dict[str, Any]) -> str:
    if "refused" in row:
        return f"{row['act']} refused: {row['refused'][:150]}"
    if row["act"] in ("load", "pushes"):
        return row["act"]
    return f"{row['act']} {row['ground']} {_words(row)}"


if __name__ == "__main__":
    main()
