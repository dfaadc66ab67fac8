"""Robots from files that nobody here made, each under every controller: a table as Markdown.

    FOOTFALL_MENAGERIE=~/mujoco_menagerie FOOTFALL_UNITREE_ROS=~/unitree_ros \\
        python tests/strangers/table.py --out strangers.jsonl > strangers.md

The two folders are checkouts of google-deepmind/mujoco_menagerie and unitreerobotics/unitree_ros, made by whoever runs
this; robots of the installed package example-robot-data are always there. One case after another in one process; cases
that the file has are not run again, so that it can be stopped and go on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import footfall as ff
from footfall.gait.tuned import hip_height_of
from footfall.robot.files.installed import file_of
from footfall.sim.run_options import RunOptions
from footfall.sim.runfile import plan

MENAGERIE = (
    "anybotics_anymal_b/anymal_b.xml",
    "anybotics_anymal_c/anymal_c.xml",
    "anybotics_anymal_c/anymal_c_mjx.xml",
    "boston_dynamics_spot/spot.xml",
    "boston_dynamics_spot/spot_arm.xml",
    "google_barkour_v0/barkour_v0.xml",
    "google_barkour_v0/barkour_v0_mjx.xml",
    "google_barkour_v0/barkour_v0.urdf",
    "google_barkour_vb/barkour_vb.xml",
    "google_barkour_vb/barkour_vb_mjx.xml",
    "google_barkour_vb/barkour_vb_rev_1_0_head_straight.urdf",
    "unitree_a1/a1.xml",
    "unitree_go1/go1.xml",
    "unitree_go2/go2.xml",
    "unitree_go2/go2_mjx.xml",
)
UNITREE = (
    "a1_description/urdf/a1.urdf",
    "a2_description/a2.xml",
    "a2_description/urdf/a2.urdf",
    "aliengo_description/urdf/aliengo.urdf",
    "as2_description/as2.xml",
    "as2_description/urdf/as2.urdf",
    "b1_description/xacro/b1.urdf",
    "b2_description/urdf/b2_description.urdf",
    "b2_description_mujoco/xml/b2.xml",
    "b2_description_mujoco/xml/b2_description.urdf",
    "b2w_description/urdf/b2w_description.urdf",
    "go1_description/urdf/go1.urdf",
    "go2_description/urdf/go2_description.urdf",
    "go2w_description/urdf/go2w_description.urdf",
    "laikago_description/urdf/laikago.urdf",
)
PACKAGED = ("a1", "anymal_b", "anymal_c", "b1", "go1", "go2", "hyq", "laikago", "solo12")
GROUNDS = ("plane", "slope:10", "rough:0.03")
SETTLED = 2.0  # [s] before which speeds do not count
WITHIN = 0.1  # of the commanded speed
UPRIGHT, HIGH = 45.0, 0.5  # degrees of lean, and part of the standing height, beyond which a robot does not walk


@dataclass(frozen=True)
class Case:
    """One run; ``act`` is stand, trot, walk (joint PD), mpc or whole_body."""

    robot: str
    act: str
    ground: str = "plane"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How it went: speeds [m/s] along the heading, largest lean [degrees], least height over the standing one."""

    robot: str
    act: str
    ground: str
    asked: float
    speed: float
    fell: bool
    until: float  # [s]
    lean: float
    height: float

    @property
    def silent(self) -> bool:
        """A fall that the run does not report."""
        return not self.fell and (self.lean > UPRIGHT or self.height < HIGH)

    @property
    def passed(self) -> bool:
        if self.fell or self.silent:
            return False
        if self.act == "stand":
            return self.lean < 5.0 and self.height > 0.9
        if self.act in ("trot", "walk"):
            return self.speed > 0
        return abs(self.speed / self.asked - 1.0) <= WITHIN

    @property
    def words(self) -> str:
        if self.fell:
            return f"**fell** {self.until:.1f} s"
        if self.silent:
            return f"**lay** ({self.lean:.0f}°)"
        if self.act == "stand":
            return "yes" if self.passed else f"**leans {self.lean:.0f}°**"
        share = f"{100 * self.speed / self.asked:.0f} %"
        return share if self.passed else f"**{share}**"


def cases(robot: str) -> Iterator[Case]:
    yield from (Case(robot, act) for act in ("stand", "trot", "walk"))
    yield from (Case(robot, act, ground) for act in ("mpc", "whole_body") for ground in GROUNDS)


def files() -> dict[str, Path]:
    """Every robot whose file is there: of the package, and of the folders that the environment names."""
    found = {f"{name} (example-robot-data)": file_of(name) for name in PACKAGED}
    for variable, inside, paths in (("FOOTFALL_MENAGERIE", "", MENAGERIE), ("FOOTFALL_UNITREE_ROS", "robots", UNITREE)):
        if variable in os.environ:
            folder = Path(os.environ[variable]).expanduser() / inside
            found |= {path: folder / path for path in paths if (folder / path).is_file()}
    return found


@lru_cache(maxsize=1)
def robot_of(path: Path) -> ff.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the importer says of it is no news here
        return ff.load(path)


def speed_of(robot: ff.Robot) -> float:
    """min(0.5 m/s, the speed of Froude number 0.1): v² = 0.1 g H."""
    return min(0.5, float(np.sqrt(0.1 * 9.81 * hip_height_of(robot))))


def run(case: Case, path: Path, seconds: float, robot: ff.Robot | None = None) -> Outcome:
    robot = robot_of(path) if robot is None else robot
    controller = {"stand": "hold", "trot": "pd", "walk": "pd"}.get(case.act, case.act)
    gait = case.act if controller == "pd" else None
    speed = speed_of(robot) if controller in ("mpc", "whole_body") else None
    options = RunOptions(
        robot=case.robot, gait=gait, controller=controller, speed=speed, ground=case.ground, duration=seconds
    )
    planned = plan(robot, options)
    rec = planned.simulation.run(seconds)
    _, x, y, _ = rec.q[:, 3:7].T
    lean = float(np.degrees(np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))).max())
    heights = planned.simulation.model.world.ground.distances(rec.q[:, :3])
    settled = min(SETTLED, 0.5 * rec.duration)
    return Outcome(
        robot=case.robot,
        act=case.act,
        ground=case.ground,
        asked=planned.speed,
        speed=rec.mean_velocity(after=settled)[0],
        fell=bool(rec.meta["fell"] or rec.meta["diverged"]),
        until=float(rec.time[-1]),
        lean=lean,
        height=float(heights.min()) / robot.poses["stand"].height,
    )


def table(outcomes: Iterable[Outcome]) -> str:
    """Markdown: a row a robot; speeds as a part of the commanded one, what misses in bold; counts below."""
    by_robot: dict[str, dict[tuple[str, str], Outcome]] = {}
    everything = list(outcomes)
    for outcome in everything:
        by_robot.setdefault(outcome.robot, {})[outcome.act, outcome.ground] = outcome
    columns = [(case.act, case.ground) for case in cases("")]
    titles = [act if act in ("stand", "trot", "walk") else f"{act} {ground}" for act, ground in columns]
    lines = ["| " + " | ".join(["robot", *titles]) + " |", "|" + "---|" * (1 + len(titles))]
    for robot, done in by_robot.items():
        cells = [done[column].words if column in done else "" for column in columns]
        lines.append("| " + " | ".join([robot, *cells]) + " |")
    moving = [o for o in everything if o.act in ("mpc", "whole_body")]
    open_loop = [o for o in everything if o.act in ("trot", "walk")]
    stood = [o for o in everything if o.act == "stand"]
    lines += [
        "",
        f"{_count(stood)} stand; {_count(open_loop)} default trots and walks stay up and go forward; {_count(moving)}"
        f" on command are within {100 * WITHIN:.0f} %; {sum(o.silent for o in everything)} falls were not reported.",
    ]
    return "\n".join(lines)


def _count(outcomes: list[Outcome]) -> str:
    return f"{sum(o.passed for o in outcomes)} of {len(outcomes)}"


def main() -> None:
    parser = argparse.ArgumentParser(description="robots from files under every controller, as Markdown")
    parser.add_argument("--out", type=Path, default=Path("strangers.jsonl"), help="outcomes, one a line; kept")
    parser.add_argument("--only", default="", help="robots with this in their name")
    parser.add_argument("--acts", default="stand,trot,walk,mpc,whole_body")
    parser.add_argument("--seconds", type=float, default=10.0, help="of every case")
    asked = parser.parse_args()
    done = [Outcome(**json.loads(line)) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    known = {(o.robot, o.act, o.ground) for o in done}
    for name, path in files().items():
        for case in cases(name) if asked.only in name else ():
            if (case.robot, case.act, case.ground) in known or case.act not in asked.acts.split(","):
                continue
            outcome = run(case, path, asked.seconds)
            done.append(outcome)
            with asked.out.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
            print(f"{case.robot}: {case.act} on {case.ground}: {outcome.words}", file=sys.stderr, flush=True)
    print(table(done))


if __name__ == "__main__":
    main()
