"""Carts on free wheels or balls never gain energy from fixed ground, and a wheel touches with its nearest point."""

import functools

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Box, Boxes, Heightfield, Patches, Plane, Steps
from footfall.contact.course import Course
from footfall.contact.points import Sphere, contact_points, spheres_of
from footfall.kinematics.forward import body_poses, joint_transforms, poses_in_base
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


def energies(kind, radius, ground, contact="compliant", speed=1.5, yaw=0.0, duration=1.2, dt=1e-3, recorded=False):
    robot = cart(kind, radius)
    q = np.concatenate([[0, 0, radius + 0.3], from_rotation(about_axis(np.array([0.0, 0.0, 1.0]), yaw)), np.zeros(4)])
    for _ in range(3):  # down until a wheel touches
        X = joint_transforms(robot, q)
        q[2] -= min(
            point.distance for point in contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot), ground)
        )
    if contact != "stance":  # which would lift it out of the ground
        q[2] -= 1e-5
    v = np.concatenate([[0, 0, 0, speed, 0, 0], np.full(4, speed / radius)])
    passive = ff.controller(rate=round(1 / dt))(lambda t, robot, sensed, command, memory: (ff.JointCommand(), memory))
    simulation = ff.Simulation(
        robot,
        passive,
        ground=ground,
        contact=contact,
        dt=dt,
        start=(q, v),
        stop_on_fall=False,
        joints=ff.sim.JointModel.ideal(),
    )
    recording = simulation.run(duration)
    assert simulation.stopped is None
    energy = recording["kinetic"] + recording["potential"]
    return (energy, recording) if recorded else energy


def most(ground, contact):
    """Share of its energy that a cart may gain.

    Nothing but rounding, with two exceptions: standing feet that a curved ground leaves below its surface are lifted
    onto it (2 mJ of 33 J), and a heightfield's distance is exact to the first order of its curvature (0.3 mJ for balls
    of 0.2 m on cells of 0.1 m).
    """
    if contact == "stance":
        return 2e-4
    return 2e-5 if isinstance(ground, Heightfield | Patches) else 1e-6


PLAIN = [
    "course of narrow bumps",
    "course that climbs",
    "random field",
    "ridges of 5 cm",
    "boxes",
    "patches of a random field",
]
CONTACTS = ["compliant", "complementarity", "stance"]


@pytest.mark.parametrize("kind", ["wheels", "balls"])
@pytest.mark.parametrize("ground", PLAIN)
def test_what_rolls_freely_never_has_more_energy_than_at_its_start(ground, kind):
    energy = energies(kind, 0.09, GROUNDS[ground])
    assert energy.max() <= energy[0] * (1.0 + most(GROUNDS[ground], "compliant"))


@pytest.mark.parametrize("contact", CONTACTS[1:])
@pytest.mark.parametrize("ground", ["course of narrow bumps", "ridges of 5 cm"])
def test_wheels_under_hard_contact_gain_no_energy_and_stay_on_the_ground(ground, contact):
    """Their rims, not their centres: under the nearest of a rim's points nothing is more than 3 mm deep."""
    robot, subject = cart("wheels", 0.09), GROUNDS[ground]
    energy, recording = energies("wheels", 0.09, subject, contact, recorded=True)
    assert energy.max() <= energy[0] * (1.0 + most(subject, contact))
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    for q in recording.q[::50]:
        for pose in body_poses(robot, q)[1:]:
            rim = 0.07 * (np.cos(angles)[:, None] * pose.R[:, 0] + np.sin(angles)[:, None] * pose.R[:, 2])
            assert np.min(subject.distance((pose.p + rim).T)) - TYRE > -3e-3


@pytest.mark.parametrize("ground", ["course of narrow bumps", "course of gaps"])
def test_a_ball_wider_than_treads_gains_no_energy(ground):
    energy = energies("balls", 0.15, GROUNDS[ground])
    assert energy.max() <= energy[0] * (1.0 + most(GROUNDS[ground], "compliant"))


@pytest.mark.parametrize(("contact", "sinks"), [("compliant", 3e-4), ("complementarity", 3e-3), ("stance", 3e-4)])
def test_a_ball_across_a_trench_is_borne_by_its_edges_in_turns(contact, sinks):
    """A sphere has one contact: it never rests quite, and lies a little too low. It gains no energy."""
    radius, gap = 0.03, 0.04
    link = ff.Link(name="ball", mass=0.5, inertia=0.4 * 0.5 * radius**2 * np.eye(3))
    foot = ff.Foot(name="surface", link="ball", position=np.zeros(3), radius=radius)
    robot = ff.Robot(name="ball", links=[link], feet=[foot])
    q, v = robot.state()
    q[:3] = 0.77, 0.0, radius + 1e-4
    passive = ff.controller(rate=1000)(lambda t, robot, sensed, command, memory: (ff.JointCommand(), memory))
    ground = Course(gap=gap, deep=0.3, tread=0.15)
    simulation = ff.Simulation(robot, passive, ground=ground, contact=contact, start=(q, v), stop_on_fall=False)
    recording = simulation.run(1.0)
    energy, late = recording["kinetic"] + recording["potential"], recording.q[-200:, 2]
    assert energy.max() <= energy[0] + 1e-12
    assert 0.0 < np.sqrt(radius**2 - gap**2 / 4.0) - late.min() < sinks
    assert np.abs(recording.v[-300:, 3:]).max() < 0.01
    assert recording.force_mean[-100:, 0].mean(axis=0)[2] == pytest.approx(0.5 * 9.81, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("contact", CONTACTS)
@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("kind", ["wheels", "balls"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_energy_is_never_gained_on_any_ground_at_any_radius(ground, kind, radius, contact):
    if kind == "wheels" and radius <= 1.5 * TYRE:
        pytest.skip("a wheel needs a rim that is larger than its tyre")
    for yaw in (0.0, 0.35):
        energy = energies(kind, radius, GROUNDS[ground], contact, yaw=yaw)
        assert energy.max() <= energy[0] * (1.0 + most(GROUNDS[ground], contact)), f"yaw {yaw}"


@pytest.mark.parametrize(("integrator", "most"), [("semi_implicit_euler", 1e-3), ("heun", 0.02), ("rk4", 0.01)])
def test_contact_takes_no_more_than_its_work_where_explicit_friction_chatters(integrator, most):
    """A driven cart on a plane; stiff friction changes its sign within steps. By the stages of a step it was 0.26 J."""
    passive = cart("wheels", 0.09)
    motors = [ff.Actuator(joint=joint.name) for joint in passive.joints]
    robot = ff.Robot(name="driven", links=passive.links, joints=passive.joints, feet=passive.feet, actuators=motors)
    drive = ff.controller(rate=500)(
        lambda t, robot, sensed, command, memory: (ff.JointCommand(torque=0.4 * np.sin(6.0 * t) * np.ones(4)), memory)
    )
    q, v = robot.state()
    q[2] = 0.14
    simulation = ff.Simulation(
        robot,
        drive,
        integrator=integrator,
        contact=ff.contact.Compliant(damping=10.0),
        dt=1e-4,
        start=(q, v),
        stop_on_fall=False,
        joints=ff.sim.JointModel.ideal(),
    )
    recording = simulation.run(0.4)
    energy = recording["kinetic"] + recording["potential"]
    given = sum(recording[key] - recording[key][0] for key in ("work", "contact_work"))
    assert np.abs(energy - energy[0] - given).max() < most
    assert recording["contact_work"][-1] < 0.0


@pytest.mark.parametrize("ground", [name for name in GROUNDS if name not in ("plane", "slope")])
def test_a_wheel_touches_with_the_nearest_point_of_its_rim(ground):
    """Against 20 000 points of the rim, at random places and tilts near the ground."""
    subject, random = GROUNDS[ground], np.random.default_rng(7)
    robot = cart("wheels", 0.12)
    wheel = Sphere(name="wheel", body=1, center=np.zeros(3), radius=0.12, axis=np.array([0.0, 1.0, 0.0]), tyre=TYRE)
    angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
    distances = ff.compile(lambda p_W: subject.distance(p_W), None, np.zeros(3), target="batch")
    for _ in range(8):
        axis = random.normal(size=3)
        tilt = about_axis(axis / np.linalg.norm(axis), random.uniform(-0.4, 0.4))
        place = np.array([random.uniform(0.9, 2.5), random.uniform(-0.5, 0.5), 1.0])
        rim = 0.1 * (np.cos(angles)[:, None] * tilt[:, 0] + np.sin(angles)[:, None] * tilt[:, 2])
        for _ in range(12):  # down to where the tyre touches, or nearly
            nearest = np.min(distances(place + rim)) - TYRE
            place[2] -= 0.7 * nearest
        q = np.concatenate([place - tilt @ [0.25, 0.2, -0.05], from_rotation(tilt), np.zeros(4)])
        X = joint_transforms(robot, q)
        (point,) = contact_points(robot, X, poses_in_base(robot, X), [wheel], subject)
        center = body_poses(robot, q)[1].p
        nearest = np.min(distances(center + rim)) - TYRE
        assert abs(nearest) < 0.01
        assert point.distance == pytest.approx(nearest, abs=2e-5)
