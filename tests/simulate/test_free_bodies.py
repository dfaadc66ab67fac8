"""Free bodies beside a robot: against analytic motion, at the default step with the default contact."""

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Box, Boxes, FreeBall, FreeBox, Plane
from footfall.draw.video import picture
from footfall.errors import InputError
from footfall.recording.object_form import object_forms, objects_of

G = 9.81
POST = ff.Robot("post", [ff.Link("post", 1.0, inertia=np.eye(3))], floating=False)


def cart(mass: float = 5.0, box: tuple[float, float, float] = (1.2, 0.6, 0.1)) -> ff.Robot:
    """A table on a rail along x, its top at height 0.5 m."""
    links = [
        ff.Link("rail", 1.0, inertia=np.eye(3)),
        ff.Link("table", mass, np.array([0.0, 0.0, 0.5 - box[2] / 2]), np.eye(3), box=box),
    ]
    slide = ff.Joint("slide", "prismatic", "rail", "table", axis=np.array([1.0, 0.0, 0.0]))
    return ff.Robot("cart", links, [slide], actuators=[ff.Actuator("slide")], floating=False)


def drive(**command: float):
    return ff.controller(rate=1000)(lambda t, robot, sensed, asked, memory: (ff.JointCommand(**command), memory))


def on_slope(degrees: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """(place over a slope through the origin, axes along it)."""
    R = Plane.slope(degrees).axes
    return height * R[:, 2], R


@pytest.mark.parametrize(("degrees", "mu"), [(25.0, 0.3), (12.0, 0.1)])
def test_a_box_slides_down_a_slope_as_coulomb_says(degrees, mu):
    place, R = on_slope(degrees, 0.06)
    box = FreeBox((0.3, 0.2, 0.12), 1.7, place, rotation=R)
    sim = ff.Simulation(POST, ground=Plane.slope(degrees, friction=mu), objects=[box])
    sim.run(0.2)
    before = sim.object("box").velocity
    sim.run(0.5)
    found = (before - sim.object("box").velocity) @ R[:, 0] / 0.5
    angle = np.radians(degrees)
    assert found == pytest.approx(G * (np.sin(angle) - mu * np.cos(angle)), rel=2e-3)


def test_a_box_within_its_cone_stays_where_it_is():
    place, R = on_slope(15.0, 0.1)
    box = FreeBox((0.2, 0.2, 0.2), 3.0, place, rotation=R, friction=0.5)
    sim = ff.Simulation(POST, ground=Plane.slope(15.0, friction=0.01), objects=[box])
    sim.run(1.0)
    assert np.abs(sim.object("box").position - place).max() < 1e-3


@pytest.mark.parametrize(("hollow", "share"), [(False, 5 / 7), (True, 3 / 5)])
def test_a_ball_rolls_down_a_slope_by_its_inertia(hollow, share):
    place, R = on_slope(10.0, 0.11)
    ball = FreeBall(0.11, 0.43, place, hollow=hollow)
    sim = ff.Simulation(POST, ground=Plane.slope(10.0), objects=[ball])
    sim.run(0.2)
    before = sim.object("ball").velocity
    sim.run(0.5)
    after = sim.object("ball")
    assert (before - after.velocity) @ R[:, 0] / 0.5 == pytest.approx(share * G * np.sin(np.radians(10.0)), rel=2e-3)
    slip = after.velocity + np.cross(after.rotation @ after.omega, -0.11 * R[:, 2])
    assert np.abs(slip).max() < 1e-3


def test_a_ball_that_slides_ends_up_rolling_at_five_sevenths():
    sim = ff.Simulation(POST, ground=Plane(0.2), objects=[FreeBall(0.1, 2.0, (0, 0, 0.1), velocity=(1.4, 0, 0))])
    sim.run(1.0)
    assert sim.object("ball").velocity[0] == pytest.approx(1.0, rel=2e-3)


def test_a_pushed_box_costs_its_friction():
    servo = drive(velocity=0.3, kd=400.0)
    robot = cart(box=(0.4, 0.3, 0.4))  # its front at x = 0.2
    box = FreeBox((0.3, 0.3, 0.4), 4.0, (0.36, 0.0, 0.2), friction=0.35)
    sim = ff.Simulation(robot, servo, objects=[box])
    sim.run(1.5)
    assert sim.object("box").velocity[0] == pytest.approx(sim.v[0], abs=1e-4)
    on_ground = [contact.name == "box on the ground" for contact in sim.model.world.contacts]
    ground = sim.state.forces[on_ground].sum(axis=0)
    assert -ground[0] == pytest.approx(0.35 * ground[2], rel=2e-3)
    assert sim.state.motor[0] == pytest.approx(-ground[0], rel=2e-3)
    assert ground[2] == pytest.approx(4.0 * G, rel=0.05)  # the cart's front may carry a little of it, by friction


def test_a_payload_slips_on_what_accelerates_faster_than_its_friction():
    mu, mass, gentle, hard = 0.4, 2.5, 14.0, 60.0

    @ff.controller(rate=1000)
    def push(t, robot, sensed, asked, memory):
        return ff.JointCommand(torque=np.where(t < 0.25, gentle, hard) * np.ones(1)), memory

    load = FreeBox((0.2, 0.2, 0.1), mass, (0.2, 0.0, 0.55), friction=mu)
    sim = ff.Simulation(cart(), push, objects=[load])

    def accelerations() -> np.ndarray:
        """Of table and payload, over 0.15 s after 0.1 s."""
        speeds = []
        for duration in (0.1, 0.15):
            sim.run(duration)
            speeds.append(np.array([sim.v[0], sim.object("box").velocity[0]]))
        return (speeds[1] - speeds[0]) / 0.15

    assert accelerations() == pytest.approx(2 * [gentle / (5.0 + mass)], rel=3e-3)
    assert accelerations() == pytest.approx([(hard - mu * mass * G) / 5.0, mu * G], rel=3e-3)


def crate(mass: float = 3.0) -> ff.Robot:
    """A robot without joints: a box that floats."""
    size = np.array([0.4, 0.3, 0.2])
    inertia = mass / 12.0 * np.diag((size**2).sum() - size**2)
    return ff.Robot("crate", [ff.Link("crate", mass, inertia=inertia, box=tuple(size))])


def momentum(sim: ff.Simulation) -> np.ndarray:
    """Linear and angular momentum about the world's origin of a crate and a ball."""
    q, v, ball = sim.q, sim.v, sim.object("ball")
    R = ff.spatial.quaternion.to_rotation(q[3:7])
    inertia, m = sim.robot.links[0].inertia, sim.robot.mass
    p = m * (R @ v[3:6]), ball.body.mass * ball.velocity
    spin = R @ (inertia @ v[:3]) + ball.rotation @ (ball.body.robot.links[0].inertia @ ball.omega)
    return np.concatenate([p[0] + p[1], np.cross(q[:3], p[0]) + np.cross(ball.position, p[1]) + spin])


def test_what_a_robot_and_an_object_do_to_each_other_is_equal_and_opposite():
    ball = FreeBall(0.08, 1.1, (0.1, 0.05, 1.4), velocity=(0.3, -0.1, -2.0), omega=(3.0, 1.0, 5.0))
    start = (np.array([0, 0, 1.0, 1, 0, 0, 0]), np.array([0.2, 0, 0.1, 0.5, 0, 0]))
    sim = ff.Simulation(crate(), objects=[ball], gravity=(0, 0, 0), start=start, stop_on_fall=False)
    before = momentum(sim)
    sim.run(0.4)
    assert sim.object("ball").velocity[2] > -1.0  # they met
    assert momentum(sim) == pytest.approx(before, abs=2e-4)


def test_a_robot_that_hits_a_ball_loses_what_the_ball_gains():
    robot = ff.load("mini_cheetah")
    q, v = robot.state("stand")
    q[2] += 1.0
    ball = FreeBall(0.1, 2.0, (0.05, 0.02, q[2] + 0.3), velocity=(0.0, 0.0, -1.5))
    sim = ff.Simulation(robot, objects=[ball], gravity=(0, 0, 0), start=(q, v), stop_on_fall=False)
    rec = sim.run(0.4)
    u = sim.object("ball").velocity
    gained = ff.dynamics.momentum(robot, sim.q, sim.v)[3:]
    assert u[2] > -1.0
    assert gained == pytest.approx(2.0 * (np.array([0.0, 0.0, -1.5]) - u), abs=5e-3)
    alone = ff.Recording(robot, {key: rec[key] for key in ("time", "q", "v", "force")}, [], dict(rec.meta, objects=[]))
    seen, unseen = (np.asarray(picture(each, 0.2)) for each in (rec, alone))
    assert (seen != unseen).any(axis=2).sum() > 500  # the ball is in the picture


def test_a_robot_without_feet_has_a_picture():
    rec = ff.Simulation(crate(), start=(np.array([0, 0, 1.0, 1, 0, 0, 0]), np.zeros(6))).run(0.01)
    assert picture(rec).width == 640


@pytest.mark.slow
def test_boxes_stack_and_a_ball_lies_on_top():
    boxes = [FreeBox((0.2, 0.2, 0.2), 2.0, (0, 0, 0.1)), FreeBox((0.2, 0.2, 0.2), 1.0, (0, 0, 0.3))]
    sim = ff.Simulation(POST, objects=[*boxes, FreeBall(0.05, 0.3, (0, 0, 0.45))])
    sim.run(1.0)
    heights = [sim.object(name).position[2] for name in ("box", "box_2", "ball")]
    assert heights == pytest.approx([0.1, 0.3, 0.45], abs=1e-3)
    assert max(np.abs(sim.object(name).velocity).max() for name in ("box", "box_2", "ball")) < 1e-3


def test_objects_are_recorded_and_read_back(tmp_path):
    ball = FreeBall(0.1, 0.5, (0.0, 0.3, 0.1), velocity=(1.0, 0.0, 0.0), omega=(0.0, 10.0, 0.0), name="football")
    sim = ff.Simulation(POST, objects=[ball])
    path = tmp_path / "run.mcap"
    rec = sim.run(0.5, path)
    again = ff.Recording.load(path)
    assert [(body.name, body.radius) for body in again.objects] == [("football", 0.1)]
    assert again["object_pose"][:, 0] == pytest.approx(rec["object_pose"][:, 0])
    assert again["object_pose"][-1, 0, 0] == pytest.approx(0.5, abs=2e-3)


def test_a_box_reads_back_from_its_form():
    box = FreeBox((0.1, 0.2, 0.3), 1.3, (3.0, 0.0, 0.15), friction=0.3, name="crate")
    (again,) = objects_of(object_forms([box]))
    assert object_forms([again]) == object_forms([box])
    assert again.size == pytest.approx([0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="neither a ball nor a box"):
        objects_of([{"kind": "cone"}])


def test_a_checkpoint_keeps_the_objects(tmp_path):
    def made():
        return ff.Simulation(POST, objects=[FreeBall(0.1, 0.5, (0, 0, 0.5), velocity=(1.0, 0.3, 0.0))])

    sim, other = made(), made()
    sim.run(0.2)
    sim.checkpoint(tmp_path / "at.npz")
    sim.run(0.2)
    other.resume(tmp_path / "at.npz")
    other.run(0.2)
    assert np.array_equal(sim.state.objects, other.state.objects)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objects": [3]}, "a list of FreeBox and FreeBall"),
        ({"objects": [FreeBall(0.1, 1.0, (0, 0, 0.05))]}, "50.0 mm deep"),
        ({"objects": [FreeBall(0.1, 1.0, (0, 0, 1)), FreeBall(0.1, 1.0, (0.1, 0, 1))]}, "mm deep"),
        (
            {"objects": [FreeBall(0.1, 1, (0, 0, 1), name="a"), FreeBall(0.1, 1.0, (3, 0, 1), name="a")]},
            "two objects",
        ),
        ({"objects": [FreeBall(0.1, 1.0, (0, 0, 1))], "contact": "stance"}, "stance contact knows feet alone"),
        ({"objects": [FreeBall(0.1, 1.0, (0, 0, 1))], "integrator": "rk4"}, "linearly_implicit"),
    ],
)
def test_objects_that_cannot_be_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        ff.Simulation(POST, **options)


@pytest.mark.parametrize("made", [lambda: FreeBall(0.0, 1.0, (0, 0, 1)), lambda: FreeBox((1, 1), 1.0, (0, 0, 1)),
                                  lambda: FreeBox((1, 1, -1), 1.0, (0, 0, 1)), lambda: FreeBall(1.0, -1.0, (0, 0, 1)),
                                  lambda: FreeBall(1.0, 1.0, (0, 0, 1), rotation=np.ones((3, 3)))])  # fmt: skip
def test_bodies_that_cannot_be_are_refused(made):
    with pytest.raises(InputError):
        made()


ON_A_BOX = Boxes(Plane(0.8), [Box((0.0, 0.0, 0.1), (0.2, 0.4, 0.2))])
SMALL, PLANK = FreeBox((0.2, 0.2, 0.2), 5.0, (0.0, 0.0, 0.1), name="small"), (0.6, 0.1, 0.04)
ACROSS = {
    "wide tray": ("mini_cheetah trunk", "mini_cheetah", [FreeBox((0.2, 0.4, 0.04), 0.5, (0, 0, 0.37))], {}),
    "board": ("mini_cheetah trunk", "mini_cheetah", [FreeBox((0.6, 0.6, 0.04), 0.5, (0, 0, 0.37))], {}),
    "over ground": ("box 0 of the ground", POST, [FreeBox((0.6, 0.3, 0.04), 1.0, (0, 0, 0.25))], {"ground": ON_A_BOX}),
    "over a box": ("small", POST, [SMALL, FreeBox(PLANK, 1.0, (0, 0, 0.23), yaw=0.3)], {}),
}  # fmt: skip
OVER = {
    "small tray": [FreeBox((0.1, 0.09, 0.04), 0.5, (0, 0, 0.37))],
    "beside": [FreeBox((0.3, 0.3, 0.2), 1.0, (0.8, 0, 0.1))],
    "larger than a box": [replace(SMALL, position=(2, 0, 0.1)), FreeBox((0.6, 0.4, 0.04), 1.0, (2, 0, 0.23))],
}


@pytest.mark.parametrize("case", ACROSS)
def test_a_box_that_starts_across_something_is_warned_of(case):
    name, robot, objects, options = ACROSS[case]
    with pytest.warns(UserWarning, match=f"box starts across {name} and would fall through it") as said:
        ff.Simulation(ff.load(robot) if isinstance(robot, str) else robot, objects=objects, **options)
    assert said[0].filename == __file__


@pytest.mark.parametrize("case", OVER)
def test_a_box_with_corners_over_what_it_lies_on_is_not(case, recwarn):
    ff.Simulation(ff.load("mini_cheetah"), objects=OVER[case])
    assert not [w for w in recwarn if "starts across" in str(w.message)]
