"""Sampling beside whole-body control, nonlinear MPC and a learned policy, on a Mini Cheetah that none of them knows.

    python studies/sampling_beside_others.py FILE.json

The robot is 10 % heavier than every controller's model, friction is 30 % lower, all links collide, joints and contact
are the default ones at 1 ms; the state is true and commands are not late, as compiled controllers run here. ``walk``:
0.4 m/s for 6 s, speed error, RMS of speed within a stride, cost of transport, and processor time of controller and
physics over simulated time. ``push``: pushes over 0.1 s from four sides, survived if it is upright 1.5 s later.
``stairs``: five steps of 5 cm, known to nmpc and sampling alone.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import sampling_control as study

import footfall as ff
from footfall.control import named

IMPULSES = (10.0, 14.0, 18.0)  # [N s]
KINDS = ("whole_body", "learned", "sampling", "nmpc")


def controller(kind, robot, ground, task="walk"):
    if kind == "sampling":
        return ff.control.Sampling(study.task_named(task, robot), model=robot, ground=ground, seed=1)
    if kind == "learned":
        return named.learned(robot.name, "trot")
    made = named.nmpc("trot") if kind == "nmpc" else named.on_command(kind, "trot")
    return made.over(ground) if kind == "nmpc" and not isinstance(ground, ff.contact.Plane) else made


def run(kind, seconds, ground=None, known=None, pushes=(), task="walk", speed=0.4):
    """Return (simulation, recording, processor time over simulated time)."""
    robot = ff.load("mini_cheetah")
    known = ff.contact.Plane() if known is None else known
    made = controller(kind, robot, known, task)
    sim = ff.Simulation(
        study.heavier(robot),
        made,
        start=ff.control.standing_state(robot),
        ground=ff.contact.Plane(friction=0.56) if ground is None else ground,
        command=ff.Command(forward=speed),
        collisions=True,
        pushes=list(pushes),
    )
    sim.run(2.0 / made.rate)
    sim.reset()
    began = time.process_time()
    rec = sim.run(seconds)
    return sim, rec, (time.process_time() - began) / rec.time[-1]


def walk(kind):
    sim, rec, spent = run(kind, 6.0)
    v = rec.mean_velocity(after=1.5)
    speeds = rec.trunk_velocity[rec.time > 1.5, 0]
    return {
        "speed_error": abs(v[0] - 0.4),
        "speed_rms": float(np.std(speeds)),
        "sideways": v[1],
        "turn": v[2],
        "cost_of_transport": rec.cost_of_transport(after=1.5),
        "processor": spent,
        "fell": sim.stopped is not None,
    }


def push(kind):
    survived = {}
    for impulse in IMPULSES:
        kept = 0
        for side in range(4):
            a, force = 0.5 * np.pi * side, impulse / 0.1
            shove = ff.Push(start=1.5, duration=0.1, force=(force * np.cos(a), force * np.sin(a), 0.0))
            sim, rec, _ = run(kind, 3.1, pushes=[shove])
            kept += sim.stopped is None and study.tilt(rec.q[-1:])[0] < 25.0
        survived[f"{impulse:g} N s"] = f"{kept} of 4"
    return survived


def stairs(kind):
    sim, rec, _ = run(
        kind,
        10.0,
        ground=study.stairs(0.56, ff.load("mini_cheetah"), 0.05),
        known=study.stairs(0.8, ff.load("mini_cheetah"), 0.05),
        task="climb",
        speed=0.35,
    )
    return {"x": float(rec.q[-1, 0]), "height": float(rec.q[-1, 2]), "fell": sim.stopped is not None}


def main() -> None:
    found = {}
    for kind in KINDS:
        found[kind] = {}
        for name, part in (("walk", walk), ("push", push), ("stairs", stairs)):
            found[kind][name] = part(kind)
            print(kind, name, found[kind][name], flush=True)
            with open(sys.argv[1], "w") as file:
                json.dump(found, file, indent=1, default=float)


if __name__ == "__main__":
    main()
