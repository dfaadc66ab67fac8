"""Carts on free wheels or balls, which never gain energy from fixed ground: every ground, radius and contact model.

    python tests/rolling_carts.py --part 1/4 --json carts.json

runs a part of the whole campaign. Carts of all radii and directions roll in one batch wherever the ground allows their
radius to be a free parameter. What the file has already is not run again.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sys
import time
from pathlib import Path

import numpy as np

import footfall as ff
from footfall.contact import Box, Boxes, Ground, Heightfield, Patches, Plane, Steps
from footfall.contact.course import Course
from footfall.contact.points import contact_points, spheres_of
from footfall.contact.steps import Treads
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import about_axis

RADII = (0.03, 0.05, 0.09, 0.15, 0.2)
TYRE = 0.02
rng = np.random.default_rng(2)


def field(nodes, spacing, smooth=False):
    return Heightfield(nodes, spacing=spacing, corner=(-0.5, -0.5 * spacing * nodes.shape[1]), smooth=smooth)


def level_first(nodes, count):
    nodes = np.array(nodes)
    nodes[:count] = 0.0
    return nodes


RIDGES = np.tile((np.arange(80) % 2 * 0.03)[:, None], 60)
GROUNDS = {
    "plane": Plane(),
    "slope": Plane.slope(5.0),
    "stairs": Steps.stairs(0.05),
    "narrow steps": Steps(0.04 * np.arange(40.0), tread=0.12),
    "course that climbs": Course(rise=0.05, start=0.8),
    "course of bumps": Course(bumps=0.03, tread=0.1, start=0.8),
    "course of narrow bumps": Course(bumps=0.03, tread=0.06, start=0.8),
    "course of gaps": Course(gap=0.08, tread=0.2, start=0.8),
    "rough": Heightfield.rough(0.06, seed=3),
    "random field": field(level_first(rng.uniform(-0.05, 0.05, (60, 60)), 10), 0.1),
    "smooth random field": field(level_first(rng.uniform(-0.05, 0.05, (60, 60)), 10), 0.1, smooth=True),
    "fine random field": field(level_first(rng.uniform(-0.02, 0.02, (120, 90)), 22), 0.04),
    "ridges of 5 cm": field(level_first(RIDGES, 20), 0.05),
    "ridges of 10 cm": field(level_first(RIDGES, 10), 0.1),
    "boxes": Boxes(
        Plane(),
        [
            Box((1.0, 0.0, 0.01), (0.3, 2.0, 0.02)),
            Box((1.5, 0.2, 0.02), (0.2, 0.3, 0.04), 0.4),
            Box((1.55, -0.25, 0.03), (0.15, 0.2, 0.06), -0.3),
        ],
    ),
    "narrow boxes": Boxes(Plane(), [Box((0.8 + 0.12 * k, 0.0, 0.01), (0.05, 2.0, 0.02)) for k in range(6)]),
}
GROUNDS["patches of a random field"] = Patches(
    GROUNDS["random field"], rng.uniform(0.1, 1.2, (20, 20)), spacing=0.2, corner=(-0.5, -2.0)
)


extra = np.random.default_rng(99)
GROUNDS |= {
    f"field of {spacing:g} m": field(
        level_first(extra.uniform(-most, most, (60, 60)), 10), spacing, smooth=spacing == 0.1
    )
    for most, spacing in ((0.04, 0.05), (0.05, 0.07), (0.06, 0.1))
}
GROUNDS["course of treads of 4 cm"] = Course(bumps=0.02, tread=0.04, start=0.8)
KINDS = ("wheels", "balls")
CONTACTS = ("compliant", "complementarity", "stance")
YAWS = (0.0, 0.35, 1.1)


@functools.cache
def cart(kind, radius):
    """A trunk of 10 kg on four wheels or balls that turn freely."""
    inertia = 0.4 * radius * radius
    links = [ff.Link(name="trunk", mass=10.0, inertia=np.diag([0.1, 0.2, 0.25]), box=(0.4, 0.3, 0.1))]
    joints, feet = [], []
    for name, x, y in (("LF", 0.25, 0.2), ("RF", 0.25, -0.2), ("LH", -0.25, 0.2), ("RH", -0.25, -0.2)):
        links.append(
            ff.Link(name=f"{name}_wheel", mass=0.8, inertia=np.diag([0.55 * inertia, inertia, 0.55 * inertia]))
        )
        at = np.array([x, y, -0.05])
        joints.append(
            ff.Joint(
                name=f"{name}_spin",
                kind="revolute",
                parent="trunk",
                child=f"{name}_wheel",
                origin=at,
                axis=np.array([0.0, 1.0, 0.0]),
            )
        )
        shape = {"axis": (0.0, 1.0, 0.0), "tyre": TYRE} if kind == "wheels" else {}
        feet.append(ff.Foot(name=name, link=f"{name}_wheel", position=np.zeros(3), radius=radius, **shape))
    return ff.Robot(name="cart", links=links, joints=joints, feet=feet)


passive = ff.controller(rate=1000)(lambda t, robot, sensed, command, memory: (ff.JointCommand(), memory))


def start(kind, radius, ground, contact, yaw=0.0, speed=1.5):
    """A cart that rolls ahead, lowered until it touches: (q, v).

    Where all of the distance leads into the ground, since a field's is measured along its normal, it is lowered by
    small parts of it instead.
    """
    robot = cart(kind, radius)
    q = np.concatenate([[0, 0, radius + 0.3], from_rotation(about_axis(np.array([0.0, 0.0, 1.0]), yaw)), np.zeros(4)])

    def gap():
        X = joint_transforms(robot, q)
        points = contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot), ground)
        return min(point.distance for point in points)

    for _ in range(3):
        q[2] -= gap()
    if abs(gap()) > 1e-6:
        q[2] = radius + 0.3
        while (left := gap()) > 1e-9:
            q[2] -= min(left, 0.25 * left + 1e-4)
        for _ in range(3):
            q[2] -= gap()
    if contact != "stance":  # which would lift it out of the ground
        q[2] -= 1e-5
    v = np.concatenate([[0, 0, 0, speed, 0, 0], np.full(4, speed / radius)])
    return q, v


def most(ground: Ground, contact: str) -> float:
    """Share of its energy that a cart may gain.

    Nothing but rounding, with two exceptions: standing feet that a curved ground leaves below its surface are lifted
    onto it (2 mJ of 33 J), and a heightfield's distance is exact to the first order of its curvature (0.3 mJ for balls
    of 0.2 m on cells of 0.1 m).
    """
    if contact == "stance":
        return 2e-4
    return 2e-5 if isinstance(ground, Heightfield | Patches) else 1e-6


# -- the whole campaign ------------------------------------------------------------------------------------------------
def radii_of(kind):
    """A wheel needs a rim that is larger than its tyre."""
    return [radius for radius in RADII if kind == "balls" or radius > 1.5 * TYRE]


def cases():
    """(ground, kind of wheels, contact) in an order in which a part of them is a fair sample."""
    every = list(itertools.product(GROUNDS, KINDS, CONTACTS))
    return [every[k] for k in np.random.default_rng(5).permutation(len(every))]


def gains(ground, kind, contact, duration=1.2):
    """The largest share of its energy that each cart gains, by (radius, yaw)."""
    subject, radii = GROUNDS[ground], radii_of(kind)
    inner = subject.ground if isinstance(subject, Patches) else subject
    if not isinstance(inner, Treads):
        return rolled(kind, radii, subject, contact, duration)
    found = {}
    for radius in radii:
        found |= rolled(kind, [radius], subject, contact, duration)
    return found


def rolled(kind, radii, ground, contact, duration):
    """``gains`` of carts that share a program."""
    robots = [(radius, yaw) for radius in radii for yaw in YAWS]
    robot, free = cart(kind, radii[0]), ()
    if len(radii) > 1:
        free = tuple(f"{foot.name}.radius" for foot in robot.feet) + tuple(
            f"{foot.link}.inertia" for foot in robot.feet
        )
    batch = ff.Batch(
        robot,
        len(robots),
        passive,
        free=free,
        ground=ground,
        contact=contact,
        start=start(kind, radii[0], ground, contact),
        joints=ff.sim.JointModel.ideal(),
        threads=1,
    )
    values = {path: np.stack([cart(kind, radius).parameter(path) for radius, _ in robots]) for path in free}
    batch.set(values)
    batch.set_state(*map(np.stack, zip(*(start(kind, radius, ground, contact, yaw) for radius, yaw in robots))))

    def energy(robot, q, v):
        return ff.dynamics.kinetic_energy(robot, q, v) + ff.dynamics.potential_energy(robot, q)

    compiled = ff.compile(energy, robot, batch.q[0], batch.v[0], target="batch", free=free)
    rows = []
    for _ in range(round(1000 * duration) + 1):
        rows.append(compiled(batch.q, batch.v, *([batch.parameters] if free else [])))
        batch.run(1)
    energies = np.array(rows)
    share = np.max(energies, axis=0) / energies[0] - 1.0  # not a number where one is not
    return {key: float(gain) for key, gain in zip(robots, share)}


def main() -> int:
    parser = argparse.ArgumentParser(description="carts roll over grounds and gain no energy")
    parser.add_argument("--part", default="1/1", help="which of how many parts, as in 1/4")
    parser.add_argument("--json", type=Path, default=Path("out/rolling-energy.json"), help="file for what was found")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of processor time; then it stops between cases")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    found = json.loads(given.json.read_text()) if given.json.exists() else {}
    given.json.parent.mkdir(parents=True, exist_ok=True)
    chosen = cases()[part - 1 :: parts]
    for ground, kind, contact in chosen:
        key = f"{ground}, {kind}, {contact}"
        if key in found:
            continue
        if time.process_time() > given.seconds:
            break
        began, bound = time.process_time(), most(GROUNDS[ground], contact)
        try:
            shares = {
                f"{radius:g} m, {yaw:g} rad": gain for (radius, yaw), gain in gains(ground, kind, contact).items()
            }
            worst = max(shares.values(), key=lambda gain: np.inf if np.isnan(gain) else gain)
            found[key] = {"largest gain": worst, "bound": bound, "holds": worst <= bound, "gains": shares}
        except Exception as error:
            found[key] = {"holds": False, "error": f"{type(error).__name__}: {error}"}
        found[key]["processor seconds"] = round(time.process_time() - began, 2)
        given.json.write_text(json.dumps(found, indent=1))
        print(key, {name: value for name, value in found[key].items() if name != "gains"}, flush=True)
    mine = {", ".join(case): found.get(", ".join(case)) for case in chosen}
    done = {key: entry for key, entry in mine.items() if entry is not None}
    bad = [key for key, entry in done.items() if not entry["holds"]]
    carts = sum(len(entry.get("gains", ())) for entry in done.values())
    print(f"{len(done)} of {len(chosen)} cases, {carts} carts: {len(bad)} gain energy or fail", *bad, sep="\n    ")
    return 1 if bad or len(done) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
