"""Carts on free wheels or balls never gain energy from fixed ground, and a wheel touches with its nearest point."""

import numpy as np
import pytest
from rolling_carts import CONTACTS, GROUNDS, TYRE, cart, cases, gains, most, passive, start

import footfall as ff
from footfall.contact.course import Course
from footfall.contact.points import Sphere, contact_points, spheres_of
from footfall.kinematics.forward import body_poses, joint_transforms, poses_in_base
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import about_axis


def energies(kind, radius, ground, contact="compliant", yaw=0.0, duration=1.2, recorded=False):
    simulation = ff.Simulation(
        cart(kind, radius),
        passive,
        ground=ground,
        contact=contact,
        start=start(kind, radius, ground, contact, yaw),
        stop_on_fall=False,
        joints=ff.sim.JointModel.ideal(),
    )
    recording = simulation.run(duration)
    assert simulation.stopped is None
    energy = recording["kinetic"] + recording["potential"]
    return (energy, recording) if recorded else energy


PLAIN = [
    "course of narrow bumps",
    "course that climbs",
    "random field",
    "ridges of 5 cm",
    "boxes",
    "patches of a random field",
]


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


@pytest.mark.parametrize(
    ("ground", "kind", "radius", "yaw"),
    [
        ("field of 0.05 m", "balls", 0.03, 1.1),
        pytest.param("field of 0.07 m", "wheels", 0.05, 0.0, marks=pytest.mark.slow),
        pytest.param("course of treads of 4 cm", "balls", 0.2, 0.0, marks=pytest.mark.slow),
    ],
)
def test_what_is_jammed_among_steep_cells_is_held_and_gains_no_energy(ground, kind, radius, yaw):
    """One ball was let go, sank by its radius and was thrown out; gaps of two wheels were closed against each other.

    They had 14 and 60 times their energy then, by forces of up to 150 GN; between treads no set of feet was found.
    """
    robot, subject = cart(kind, radius), GROUNDS[ground]
    energy, recording = energies(kind, radius, subject, "stance", yaw=yaw, recorded=True)
    assert energy.max() <= energy[0] * (1.0 + most(subject, "stance"))
    for q in recording.q[::20]:
        X = joint_transforms(robot, q)
        points = contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot), subject)
        assert min(point.distance for point in points) > -2e-3


@pytest.mark.parametrize("ground", ["course of narrow bumps", "course of gaps"])
def test_a_ball_wider_than_treads_gains_no_energy(ground):
    energy = energies("balls", 0.15, GROUNDS[ground])
    assert energy.max() <= energy[0] * (1.0 + most(GROUNDS[ground], "compliant"))


def test_a_wheel_whose_radius_is_a_free_parameter_touches_as_a_wheel_of_that_radius():
    def gap(robot, q):
        X = joint_transforms(robot, q)
        return contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot)[:1], GROUNDS["boxes"])[0].distance

    robot, q = cart("wheels", 0.12), cart("wheels", 0.12).state()[0]
    q[:3] = 1.0, 0.02, 0.2
    found = ff.compile(gap, robot, q, free=["LF.radius"], verify=False)  # its rim is searched in other steps
    for radius in (0.09, 0.12):
        expected = gap(robot.replace({"LF.radius": radius}), q)
        assert found(q, {"LF.radius": radius}) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("ground", ["stairs", "course of gaps"])
def test_the_radius_of_a_foot_on_treads_cannot_be_free(ground):
    """They look as far as the foot reaches, which is decided when the program is made."""
    robot = cart("balls", 0.09)
    with pytest.raises(ff.InputError, match="radius of a foot cannot be a free parameter"):
        ff.Batch(robot, 2, passive, ground=GROUNDS[ground], free=("LF.radius",))


@pytest.mark.slow
@pytest.mark.parametrize(("free", "values"), [("tread", (0.04, 0.06, 0.1)), ("gap", (0.01, 0.05, 0.12))])
def test_a_ball_wider_than_treads_that_are_free_gains_no_energy(free, values):
    """Where it looked one tread far, as feet do, it gained 40 %."""
    robot, path = cart("balls", 0.15), f"ground.{free}"
    ground = Course(bumps=0.03, tread=0.06, start=0.8) if free == "tread" else Course(gap=0.1, tread=0.1, start=0.8)
    q, v = start("balls", 0.15, ground, "compliant")
    batch = ff.Batch(
        robot, 3, passive, ground=ground, free=(path,), start=(q, v), joints=ff.sim.JointModel.ideal(), threads=1
    )
    batch.set({path: np.array(values)})

    def energy(robot, q, v):
        return ff.dynamics.kinetic_energy(robot, q, v) + ff.dynamics.potential_energy(robot, q)

    compiled, rows = ff.compile(energy, robot, q, v, target="batch"), []
    for _ in range(240):
        rows.append(compiled(batch.q, batch.v))
        batch.run(5)
    assert np.max(rows) <= rows[0][0] * (1.0 + 1e-6)


@pytest.mark.parametrize(("contact", "sinks"), [("compliant", 3e-4), ("complementarity", 3e-3), ("stance", 3e-4)])
def test_a_ball_across_a_trench_is_borne_by_its_edges_in_turns(contact, sinks):
    """A sphere has one contact: it never rests quite, and lies a little too low. It gains no energy."""
    radius, gap = 0.03, 0.04
    link = ff.Link(name="ball", mass=0.5, inertia=0.4 * 0.5 * radius**2 * np.eye(3))
    foot = ff.Foot(name="surface", link="ball", position=np.zeros(3), radius=radius)
    robot = ff.Robot(name="ball", links=[link], feet=[foot])
    q, v = robot.state()
    q[:3] = 0.77, 0.0, radius + 1e-4
    ground = Course(gap=gap, deep=0.3, tread=0.15)
    simulation = ff.Simulation(robot, passive, ground=ground, contact=contact, start=(q, v), stop_on_fall=False)
    recording = simulation.run(1.0)
    energy, late = recording["kinetic"] + recording["potential"], recording.q[-200:, 2]
    assert energy.max() <= energy[0] + 1e-12
    assert 0.0 < np.sqrt(radius**2 - gap**2 / 4.0) - late.min() < sinks
    assert np.abs(recording.v[-300:, 3:]).max() < 0.01
    assert recording.force_mean[-100:, 0].mean(axis=0)[2] == pytest.approx(0.5 * 9.81, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("ground", "kind", "contact"), cases())
def test_energy_is_never_gained_on_any_ground_at_any_radius(ground, kind, contact):
    for where, gain in gains(ground, kind, contact).items():
        assert gain <= most(GROUNDS[ground], contact), where


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
