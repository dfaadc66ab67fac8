"""How often predictive control by sampling does its tasks on a robot that it does not know, and for how much processor.

    python studies/sampling_control.py walk --seeds 20
    python studies/sampling_control.py get_up --robot go2 --seeds 20
    python studies/sampling_control.py walk --estimate
    python studies/sampling_control.py hind_legs --plant mujoco
    python studies/sampling_control.py --table       # rows as a table of docs/research/locomotion-results.md

The simulated robot has default joints and contact, steps of 1 ms, and all of its links collide. It is 10 % heavier than
the planner's, the ground has 30 % less friction than the planner's, commands reach the motors 5 ms late, and the state
has noise (``OnARobot``; with ``--estimate`` the planner runs on the estimator instead, on noisy sensors). A plan takes
effect one planning period after the state that it was made from. Rows go to ``docs/measured/sampling-control.json``;
processor time is that of planning, physics and the loop in Python, on one core.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import footfall as ff
from footfall.contact.boxes import Box, Boxes
from footfall.control.interface import ControllerWrapper
from footfall.learn.randomise import Randomisation
from footfall.learn.recover import RecoverTask
from footfall.mujoco.run import mujoco_model, run_mujoco
from footfall.sim.sampling_tasks import HindLegs, task_named
from footfall.sim.start import deepest
from footfall.spatial.quaternion import multiply

OUT = Path(__file__).parents[1] / "docs" / "measured" / "sampling-control.json"
PAGE = Path(__file__).parents[1] / "docs" / "research" / "locomotion-results.md"
MARKS = "<!-- sampling: written by studies/sampling_control.py --table -->", "<!-- end of sampling -->"
HEAVIER, SLIPPERIER, LATE = 1.1, 0.7, 5e-3
FRICTION = 0.8  # that the planner believes in
OF_ROBOTS = {"anymal_c": {"samples": 768, "noise": (0.15, 0.25, 0.35)}}  # settings of walks, where not the usual ones
FIRST_SEED = 100  # tasks were tuned on seeds below


# -- the plant ---------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class OnARobot(ControllerWrapper):
    """A controller that sees the state with noise, and whose commands come late."""

    inner: Any
    seed: int
    noisy: bool = True
    late: float = LATE  # [s]

    def start(self, robot):
        random = np.random.default_rng([self.seed, 7])
        bias = {"attitude": 0.005 * random.normal(size=3), "gyro": 0.01 * random.normal(size=3)}
        return {"inner": self.inner.start(robot), "late": (), "tick": 0, "bias": bias}

    def __call__(self, t, robot, sensed, command, memory):
        if self.noisy:
            sensed = self.seen(robot, sensed, memory)
        joint_command, inner = self.inner(t, robot, sensed, command, memory["inner"])
        late = (*memory["late"], joint_command)
        ticks = round(self.late * self.rate)
        return late[0], {**memory, "inner": inner, "late": late[-ticks:] if ticks else (), "tick": memory["tick"] + 1}

    def seen(self, robot, sensed, memory):
        """Return the state with the noise of ``Sensors.realistic``, and that of a good estimator of the base."""
        n = np.random.Generator(np.random.Philox(key=[self.seed, memory["tick"]])).standard_normal(12 + 2 * robot.nj)
        bias, q, v = memory["bias"], np.array(sensed.q), np.array(sensed.v)
        q[:3] += 0.003 * n[:3]
        turn = 0.5 * (0.001 * n[3:6] + bias["attitude"])
        q[3:7] = multiply(q[3:7], np.concatenate([[1.0], turn]) / np.sqrt(1.0 + turn @ turn))
        v[:3] += 0.005 * n[6:9] + bias["gyro"]
        v[3:6] += 0.03 * n[9:12]
        q[7:] += 1e-3 * n[12 : 12 + robot.nj]
        v[6:] += 0.05 * n[12 + robot.nj :]
        return replace(sensed, q=q, v=v)


def heavier(robot):
    """Return a robot whose links have 10 % more mass and inertia."""
    return replace(
        robot,
        links=[replace(x, mass=HEAVIER * x.mass, inertia=HEAVIER * x.inertia) if x.mass else x for x in robot.links],
    )


def colliding(robot):
    """Return which links collide: all, but the shanks where the shapes of a file reach under the feet, as Go2's do."""
    q, v = ff.control.standing_state(robot)
    every = ff.Simulation(robot, start=(q + np.eye(len(q))[2], v), collisions=True, stop_on_fall=False)
    return True if deepest(every.model.world, q)[0] < 3e-3 else "trunk,hips,knees"


# -- what a run shows --------------------------------------------------------------------------------------------------
def tilt(q):
    return np.degrees(np.arccos(np.clip(1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2), -1.0, 1.0)))


def heading(q):
    w, x, y, z = q[:, 3:7].T
    return np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def longest(flags, period):
    """Return the longest time for which flags are set without a break [s]."""
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best * period


@dataclass
class Run:
    robot: Any
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    ground: Any
    stopped: str | None

    @property
    def period(self):
        return self.time[1] - self.time[0]

    def feet(self):
        radii = np.array([foot.radius for foot in self.robot.feet])
        return np.array([ff.kinematics.foot_positions(self.robot, q) for q in self.q]) - radii[:, None] * [0, 0, 1]

    def speed(self, begin, end):
        """Return the mean velocity along the heading and to its left [m/s], and the yaw rate [rad/s]."""
        k, m = np.searchsorted(self.time, [begin, end - 1e-6])
        m, yaw = min(m, len(self.time) - 1), heading(self.q)
        d, middle = np.diff(self.q[k : m + 1, :2], axis=0), 0.5 * (yaw[k:m] + yaw[k + 1 : m + 1])
        T, c, s = self.time[m] - self.time[k], np.cos(middle), np.sin(middle)
        return np.array([d[:, 0] @ c + d[:, 1] @ s, d[:, 1] @ c - d[:, 0] @ s, yaw[m] - yaw[k]]) / T


# -- tasks -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Trial:
    """A task with its run: (success, figures) of a ``Run`` by ``judge``."""

    judge: Callable[[Run], tuple[bool, dict[str, float]]]
    need: int | None = None  # of 20
    task: str = "walk"
    options: dict[str, Any] = field(default_factory=dict)  # of the task
    settings: dict[str, Any] = field(default_factory=dict)  # of the planner
    command: Any = None
    seconds: float = 6.0
    ground: Callable[[float, Any], Any] = lambda friction, robot: ff.contact.Plane(friction=friction)
    start: Callable[[Any, int], Any] = lambda robot, seed: None
    pushes: Callable[[Any, int], list] = lambda robot, seed: []
    self_collision: str | None = None
    falls: bool = True  # a fall ends the run


def follows(command, within=0.1):
    def judge(run):
        speed = run.speed(1.0, run.time[-1])
        want = np.array([command.forward, command.sideways, command.turn])
        off = np.degrees(heading(run.q) - heading(run.q)[0] - command.turn * run.time)
        lean, size = tilt(run.q).max(), np.maximum(within * np.abs(want), 0.05)
        fine = run.stopped is None and (np.abs(speed - want) <= size).all() and np.abs(off).max() < 20.0
        return fine, {"forward": speed[0], "sideways": speed[1], "turn": speed[2], "heading off": off[-1], "tilt": lean}

    return judge


PUSHED = 2.0  # [s]


def push_of(robot, seed):
    """Return a push of 1.3 m/s times mass over 0.1 s, from one of four sides, at some phase of the gait."""
    a, force = 0.5 * np.pi * (seed % 4), 1.3 * robot.mass / 0.1
    at = PUSHED + 0.08 * (seed // 4 % 5)
    return [ff.Push(start=at, duration=0.1, force=(force * np.cos(a), force * np.sin(a), 0.0))]


def pushed(run):
    after = run.speed(PUSHED + 0.5 + 3.0, run.time[-1])
    lean = tilt(run.q)
    end = lean[run.time > PUSHED + 3.5].max() if run.time[-1] > PUSHED + 3.6 else 180.0
    fine = run.stopped is None and abs(after[0] - 0.4) < 0.08 and end < 15.0
    return fine, {"forward": after[0], "tilt": lean.max()}


def recover_start(robot, seed):
    """Return a start of the training task ``recover``: turned any way, joints anywhere, just over the ground."""
    task, random = RecoverTask(robot=robot, any_pose=1.0), np.random.default_rng([seed, 11])
    q, v = robot.state("stand")
    q = task.initial_pose(q, Randomisation(), random.uniform(size=robot.nj), random.uniform(size=4))
    above = q + np.eye(len(q))[2]
    every = ff.Simulation(robot, start=(above, v), collisions=colliding(robot), stop_on_fall=False)
    depth, _ = deepest(every.model.world, q)  # of links that the task's own robot lets pass
    q[2] += max(depth + 1e-3, 0.0)
    return q, v


def is_up(run):
    stand = run.robot.poses["stand"]
    joints = np.abs(run.q[:, 7:] - stand.joints).max(axis=1)
    return (np.abs(run.q[:, 2] - stand.height) < 0.15 * stand.height) & (tilt(run.q) < 15.0) & (joints < 0.6)


def got_up(run):
    up, stand = is_up(run), run.robot.poses["stand"].height
    since = run.time[-1] if not up[-1] else run.time[np.flatnonzero(~up)[-1]] if not up.all() else 0.0
    high = run.q[:, 2].max() / stand
    held = up[-1] and since < 6.0
    first = np.argmax(np.convolve(up, np.ones(round(0.5 / run.period)), "valid") > 0.5 / run.period - 0.5)
    return bool(held and high < 1.5), {"up after": since, "first up": run.time[first], "highest": high}


def on_hind_legs(run):
    rows = slice(None, None, 2)
    pitch = 2.0 * (run.q[:, 4] * run.q[:, 6] - run.q[:, 3] * run.q[:, 5])
    feet = run.feet()[rows, :, 2]
    knees = np.array([[HindLegs.knee_height(run.robot, q, k) for k in range(4)] for q in run.q[rows]])
    length = run.robot.poses["stand"].height / 0.29
    fine = (feet[:, :2].min(axis=1) > 0.05) & (pitch[rows] > 0.6) & (knees.min(axis=1) > 0.03 * length)
    time_ = longest(fine, 2 * run.period)
    return time_ >= 3.0, {"unbroken": time_, "wandered": float(np.hypot(*(run.q[-1, :2] - run.q[0, :2])))}


def hopped(run):
    low = run.feet()[:, :, 2].min(axis=1)
    length = run.robot.poses["stand"].height / 0.29
    off = int(np.sum((low[1:] > 0.02 * length) & (low[:-1] <= 0.02 * length)))
    fine = run.stopped is None and low.max() > 0.07 * length and off >= 5 and tilt(run.q).max() < 30.0
    return fine, {"highest of lowest foot": low.max(), "hops": off, "tilt": tilt(run.q).max()}


RISE, TREAD, COUNT, START = 0.1, 0.4, 5, 0.5  # of the steps [m]


def stairs(friction, robot, rise=RISE):
    length = robot.poses["stand"].height / 0.29
    return ff.contact.Steps(rise * np.arange(COUNT + 1), TREAD * length, START * length, friction)


def climbs(rise):
    def judge(run):
        length = run.robot.poses["stand"].height / 0.29
        top = START * length + TREAD * length * (COUNT - 1)
        up = (run.feet()[-1, :, 0] > top).all() and run.feet()[-1, :, 2].min() > (COUNT - 0.5) * rise
        fine = run.stopped is None and up and tilt(run.q)[-1] < 25.0
        return bool(fine), {"x": run.q[-1, 0], "height": run.q[-1, 2], "tilt": tilt(run.q).max()}

    return judge


BOX = 0.2  # height [m]


def box(friction, robot, high=BOX):
    return Boxes(ff.contact.Plane(friction=friction), [Box((0.75, 0.0, 0.5 * high), (0.8, 1.0, high))])


def jumps(high):
    """Whether it is on a box at the end: all feet, level within 15 degrees, at 0.7 of its standing height or more."""

    def judge(run):
        feet, lean, stand = run.feet(), tilt(run.q), run.robot.poses["stand"].height
        fine = run.stopped is None and feet[-1, :, 2].min() > high - 0.02 and lean[-1] < 15.0
        figures = {
            "lowest foot at the end": feet[-1, :, 2].min(),
            "x": run.q[-1, 0],
            "height": run.q[-1, 2],
            "tilt": lean.max(),
            "highest": run.q[:, 2].max(),
        }
        return bool(fine and run.q[-1, 2] - high > 0.7 * stand), figures

    return judge


def reached(run):
    length = run.robot.poses["stand"].height / 0.29
    want = length * np.array([0.30, 0.15, 0.20]) + [run.q[0, 0], run.q[0, 1], 0.0]
    feet = np.array([ff.kinematics.foot_positions(run.robot, q)[0] for q in run.q])
    off = np.linalg.norm(feet - want, axis=1)[run.time > 2.0]
    fine = run.stopped is None and np.sqrt(np.mean(off**2)) < 0.03 * length and tilt(run.q).max() < 20.0
    return bool(fine), {"rms from the point after 2 s": np.sqrt(np.mean(off**2)), "tilt": tilt(run.q).max()}


def danced(run):
    """Return whether the trunk bows, sways and bobs as the beat asks: how far it is off, over what is asked."""
    w, x, y, z = run.q[:, 3:7].T
    stand, late = run.robot.poses["stand"].height, run.time > 1.0
    pitch, roll, yaw, bob, _ = task_named("dance", run.robot).figure(run.time)
    have = [2.0 * (w * y - x * z), 2.0 * (y * z + w * x), 2.0 * (x * y + w * z), run.q[:, 2] / stand - 1.0]
    fits = [np.corrcoef(h[late], a[late])[0, 1] for h, a in zip(have, (pitch, roll, yaw, bob))]
    return bool(run.stopped is None and min(fits) > 0.8), dict(zip(("pitch", "roll", "yaw", "bob"), fits))


def flipped(run):
    """Return whether the trunk turned once about its side and stands."""
    pitch = np.unwrap(np.arctan2(*_pitch(run.q)))
    turned = (pitch[-1] - pitch[0]) / (2.0 * np.pi)
    stands = bool(is_up(run)[-1])
    return bool(stands and abs(abs(turned) - 1.0) < 0.1), {"turns": turned, "highest": run.q[:, 2].max()}


def _pitch(q):
    """Return sine and cosine of the angle of the trunk's long axis over the level, in the plane it started in."""
    w, x, y, z = q[:, 3:7].T
    return 2.0 * (x * z - w * y), 1.0 - 2.0 * (y * y + z * z)


TRIALS = {
    "flip": Trial(
        judge=flipped,
        task="jump",
        options={"flips": 1, "rise": 0.0, "distance": 0.0, "duration": 0.5},
        seconds=3.0,
        falls=False,
    ),
    "climb": Trial(
        judge=climbs(RISE),
        need=16,
        task="climb",
        command=ff.Command(forward=0.35),
        seconds=14.0,
        ground=stairs,
        falls=False,
    ),
    "jump": Trial(judge=jumps(BOX), need=14, task="jump", seconds=3.0, ground=box, falls=False),
    "reach": Trial(judge=reached, task="reach", seconds=4.0),
    "dance": Trial(judge=danced, task="dance", seconds=6.0),
    "walk": Trial(
        judge=follows(ff.Command(forward=0.4)),
        need=20,
        command=ff.Command(forward=0.4),
        seconds=11.0,
    ),
    "bound": Trial(
        judge=follows(ff.Command(forward=0.4), 0.2),
        options={"gait": "bound"},
        command=ff.Command(forward=0.4),
    ),
    "sideways": Trial(judge=follows(ff.Command(sideways=0.2), 0.2), command=ff.Command(sideways=0.2)),
    "turn": Trial(judge=follows(ff.Command(turn=0.5), 0.1), command=ff.Command(turn=0.5)),
    "push": Trial(judge=pushed, need=18, command=ff.Command(forward=0.4), seconds=6.5, pushes=push_of),
    "get_up": Trial(
        judge=got_up, need=18, task="get_up", seconds=7.0, start=recover_start, self_collision="force", falls=False
    ),
    "hind_legs": Trial(judge=on_hind_legs, need=18, task="hind_legs", seconds=6.0, falls=False),
    "hop": Trial(judge=hopped, task="hop", seconds=4.0),
}


# -- runs --------------------------------------------------------------------------------------------------------------
@functools.cache
def simulation_of(name, robot_name, estimate, settings, sensors_seed):
    """Return (simulation, its planner): compiled once for all seeds."""
    trial, nominal = TRIALS[name], ff.load(robot_name)
    task = task_named(trial.task, nominal, **trial.options)
    usual = OF_ROBOTS.get(robot_name, {}) if trial.task == "walk" else {}
    given = {**usual, **trial.settings, **json.loads(settings)}
    weights = given.pop("weights", {})
    planner = ff.control.Sampling(task, model=nominal, ground=trial.ground(FRICTION, nominal), **given)
    planner.weights.update(weights)
    inner = ff.control.Estimated(planner) if estimate else planner
    sim = ff.Simulation(
        heavier(nominal),
        OnARobot(inner, 0, noisy=not estimate),
        start=ff.control.standing_state(nominal),
        ground=trial.ground(SLIPPERIER * FRICTION, nominal),
        command=trial.command,
        collisions=colliding(nominal),
        self_collision=trial.self_collision,
        stop_on_fall=trial.falls,
        sensors=ff.sensing.Sensors.realistic(sensors_seed) if estimate else None,
    )
    return sim, planner


def run_once(name, robot_name, seed, *, estimate=False, plant="footfall", settings=None):
    """Return the run of a trial with one seed, its processor time over simulated time, its planner and recording."""
    trial = TRIALS[name]
    sim, planner = simulation_of(name, robot_name, estimate, json.dumps(settings or {}), seed if estimate else None)
    sim.controller.seed = planner.seed = seed
    nominal = planner.model
    sim.start = trial.start(nominal, seed) or ff.control.standing_state(nominal)
    sim.pushes = trial.pushes(sim.robot, seed)
    sim.reset()
    sim.run(1e-9 + 1.0 / planner.rate)  # compiles
    sim.reset()
    began = time.process_time()
    if plant == "mujoco":
        rec = run_mujoco(sim, trial.seconds, mujoco_model(sim, contact={}))
        stopped = rec.meta["stopped"] if trial.falls else None
    else:
        rec = sim.run(trial.seconds)
        stopped = sim.stopped.message if sim.stopped is not None else None
    spent = (time.process_time() - began) / rec.time[-1]
    return Run(sim.robot, rec.time, rec.q, rec.v, sim.ground, stopped), spent, planner, rec


def measure(name, robot_name, seeds, first, estimate, plant, settings, quiet=False):
    trial, nominal = TRIALS[name], ff.load(robot_name)
    rows = []
    for seed in range(first, first + seeds):
        run, spent, planner, _ = run_once(name, robot_name, seed, estimate=estimate, plant=plant, settings=settings)
        fine, figures = trial.judge(run)
        row = {"seed": seed, "fine": bool(fine), "processor": round(spent, 3)}
        row |= {k: round(float(v), 3) for k, v in figures.items()}
        row["stopped"] = run.stopped
        rows.append(row)
        if not quiet:
            print(json.dumps(row), flush=True)
    fine, need = sum(row["fine"] for row in rows), trial.need
    if need is not None:
        need = min(need, 16 if plant == "mujoco" else 20 if robot_name == "mini_cheetah" else 18)
    spent = [row["processor"] for row in rows]
    result = {
        "task": name,
        "robot": robot_name,
        "plant": plant,
        "state": "estimated" if estimate else "noisy",
        "success": fine,
        "seeds": seeds,
        "needed": None if need is None else need * seeds // 20,
        "processor_mean": round(float(np.mean(spent)), 3),
        "processor_most": max(spent),
        "samples": planner.samples,
        "plans_per_second": planner.plan_rate,
        "horizon": round(planner.horizon(nominal) * planner.dt, 3),
        "settings": settings,
        "runs": rows,
    }
    print(f"{name} {robot_name} {plant}: {fine} of {seeds}, {result['processor_mean']} of real time", flush=True)
    return result


def keep(result, out=OUT):
    """Put a result in the place of an earlier one of the same task, robot, plant and state."""
    rows = json.loads(out.read_text()) if out.exists() else []
    key = ("task", "robot", "plant", "state")
    rows = [row for row in rows if any(row[k] != result[k] for k in key)] + [result]
    rows.sort(key=lambda row: [row[k] for k in key])
    out.write_text(json.dumps(rows, indent=1) + "\n")


def table(page=PAGE):
    """Write the rows of ``OUT`` as the table of a page."""
    heads = ("task", "robot", "plant, state", "success", "samples, plans per second, horizon", "processor time")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    names = {"mini_cheetah": "Mini Cheetah", "go2": "Go2", "anymal_c": "ANYmal C"}
    for row in json.loads(OUT.read_text()):
        needed = "" if row["needed"] is None else f" (needed: {row['needed']})"
        lines.append(
            f"| {row['task'].replace('_', ' ')} | {names[row['robot']]} | {row['plant']}, {row['state']}"
            f" | {row['success']} of {row['seeds']}{needed} | {row['samples']}, {row['plans_per_second']:g},"
            f" {row['horizon']:g} s | {row['processor_mean']:.2f} (at most {row['processor_most']:.2f}) |"
        )
    text = page.read_text()
    head, rest = text.split(MARKS[0])
    page.write_text(head + MARKS[0] + "\n" + "\n".join(lines) + "\n" + MARKS[1] + rest.split(MARKS[1])[1])


def main() -> None:
    if sys.argv[1:] == ["--table"]:
        table()
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TRIALS)
    parser.add_argument("--robot", default="mini_cheetah")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--estimate", action="store_true", help="planner on the estimator, on noisy sensors")
    parser.add_argument("--plant", choices=("footfall", "mujoco"), default="footfall")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the planner, as JSON")
    parser.add_argument("--out", type=Path, default=OUT, help="file of rows")
    parser.add_argument("--dry", action="store_true", help="keep no row")
    given = parser.parse_args()
    result = measure(given.task, given.robot, given.seeds, given.first, given.estimate, given.plant, given.settings)
    if not given.dry:
        keep(result, given.out)
    sys.exit(0)


if __name__ == "__main__":
    main()
