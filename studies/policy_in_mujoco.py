"""Policies that were trained in footfall, walking in MuJoCo: with its default contact and with that of ``compare``.

    python studies/policy_in_mujoco.py train ROBOT.urdf --variant seen --seconds 60 --out DIR
    python studies/policy_in_mujoco.py judge ROBOT.urdf DIR/*.npz

A variant is the task ``walk`` with other observations or other ranges of randomisation. Speeds are means from 2 s to
8 s at a command of 0.4 m/s, or of a Froude number of 0.1 where that is less.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path

import numpy as np

from footfall.gait.tuned import hip_height_of
from footfall.learn.training import train
from footfall.loading import load
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.robot.model.description import Robot
from footfall.sim.run_options import RunOptions
from footfall.sim.runfile import plan

WALK = Path(__file__).resolve().parents[1] / "src" / "footfall" / "learn" / "task_files" / "walk.toml"
SECONDS, SETTLED = 8.0, 2.0  # [s] of a run, and before its speed counts
SEEN = 'policy = ["angular_velocity", "linear_velocity", "down", "command", "joints", "rates", "action", "clock"]'
SOFT = "softness = [0.0, 0.033]"
FORCE = "force_per_weight = [0.0, 0.1]"
SHARP = 'tracking = { term = "velocity_tracking", weight = 2.5, error = 0.06 }'
CONTACTS = {"MuJoCo default": {}, "compare": None}
VARIANTS: dict[str, tuple[str, ...]] = {  # lines of walk.toml, which replace those of the same key
    "walk": (),
    "soft": (SOFT,),
    "seen": (SEEN,),
    "seen_soft": (SEEN, SOFT),
    "seen_soft_force": (SEEN, SOFT, FORCE),
    "seen_sharp": (SEEN, SHARP),
    "seen_force": (SEEN, FORCE),
    "seen_sharp_force": (SEEN, SHARP, FORCE),
    "seen_soft_sharp": (SEEN, SOFT, SHARP),
    "seen_soft_sharp_force": (SEEN, SOFT, SHARP, FORCE),
}


def task_of(variant: str, folder: Path) -> Path:
    """Write the task file of a variant."""
    text = WALK.read_text()
    for line in VARIANTS[variant]:
        key = line.split(" = ")[0]
        text, count = re.subn(rf"^{key} = .*$", lambda _, line=line: line, text, flags=re.M)
        assert count == 1, key
    path = folder / f"{variant}.toml"
    path.write_text(text)
    return path


def speeds(robot: Robot, policy: Path) -> dict[str, float]:
    """Mean forward speeds over the commanded one, in footfall and in MuJoCo; 0 for a robot that fell."""
    speed = min(0.4, float(np.sqrt(0.1 * 9.81 * hip_height_of(robot))))
    options = RunOptions(robot=robot.name, controller=str(policy), speed=speed, duration=SECONDS)
    simulation = plan(robot, options).simulation
    found = {}
    for name, contact in CONTACTS.items():
        model = mujoco_model(simulation, contact=contact)
        recording = run_mujoco(simulation, SECONDS, model)
        found[name] = 0.0 if recording.meta["fell"] else recording.mean_velocity(after=SETTLED)[0] / speed
    ours = simulation.run(SECONDS)
    found["footfall"] = 0.0 if ours.meta["fell"] else ours.mean_velocity(after=SETTLED)[0] / speed
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("act", choices=("train", "judge"))
    parser.add_argument("robot")
    parser.add_argument("policies", nargs="*", type=Path)
    parser.add_argument("--variant", default="seen_soft", choices=tuple(VARIANTS))
    parser.add_argument("--seconds", type=float, default=60.0, help="of training")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("policies"))
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load(given.robot)
    if given.act == "train":
        given.out.mkdir(parents=True, exist_ok=True)
        path = given.out / f"{robot.name}-{given.variant}-{given.seed}.npz"
        task = str(task_of(given.variant, given.out))
        done = train(robot, path, task, "cpu", seconds=given.seconds, seed=given.seed)
        print(path, json.dumps({key: round(float(value), 4) for key, value in done.last.items()}))
    for policy in given.policies:
        print(json.dumps({"policy": policy.stem, **{key: round(x, 3) for key, x in speeds(robot, policy).items()}}))


if __name__ == "__main__":
    main()
