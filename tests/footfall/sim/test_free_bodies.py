"""Free bodies beside a robot: against analytic motion, at the default step with the default contact."""

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Box, Boxes, FreeBall, FreeBox, Plane
from footfall.contact.edges import bearing_point
from footfall.draw.video import picture
from footfall.errors import InputError
from footfall.recording.object_form import object_forms, objects_of

G = 9.81
POST = ff.Robot(name="post", links=[ff.Link(name="post", mass=1.0, inertia=np.eye(3))], floating=False)


def cart(mass: float = 5.0, box: tuple[float, float, float] = (1.2, 0.6, 0.1)) -> ff.Robot:
    """A table on a rail along x, its top at height 0.5 m."""
    links = [
        ff.Link(name="rail", mass=1.0, inertia=np.eye(3)),
        ff.Link(name="table", mass=mass, com=np.array([0.0, 0.0, 0.5 - box[2] / 2]), inertia=np.eye(3), box=box),
    ]
    slide = ff.Joint(name="slide", kind="prismatic", parent="rail", child="table", axis=np.array([1.0, 0.0, 0.0]))
    return ff.Robot(name="cart", links=links, joints=[slide], actuators=[ff.Actuator(joint="slide")], floating=False)


def drive(**command: float):
    return ff.controller(rate=1000)(lambda t, robot, sensed, asked, memory: (ff.JointCommand(**command), memory))


def on_slope(degrees: float, height: float) -> tuple[np.ndarray, np.ndarray]:
    """(place over a slope through the origin, axes along it)."""
    R = Plane.slope(degrees).axes
    return height * R[:, 2], R


@pytest.mark.parametrize(("degrees", "mu"), [(25.0, 0.3), (12.0, 0.1)])
def test_a_box_slides_down_a_slope_as_coulomb_says(degrees, mu):
    place, R = on_slope(degrees, 0.06)
    box = FreeBox(size=(0.3, 0.2, 0.12), mass=1.7, position=place, rotation=R)
    sim = ff.Simulation(POST, ground=Plane.slope(degrees, friction=mu), objects=[box])
    sim.run(0.2)
    before = sim.object("box").velocity
    sim.run(0.5)
    found = (before - sim.object("box").velocity) @ R[:, 0] / 0.5
    angle = np.radians(degrees)
    assert found == pytest.approx(G * (np.sin(angle) - mu * np.cos(angle)), rel=2e-3)


def test_a_box_within_its_cone_stays_where_it_is():
    place, R = on_slope(15.0, 0.1)
    box = FreeBox(size=(0.2, 0.2, 0.2), mass=3.0, position=place, rotation=R, friction=0.5)
    sim = ff.Simulation(POST, ground=Plane.slope(15.0, friction=0.01), objects=[box])
    sim.run(1.0)
    assert np.abs(sim.object("box").position - place).max() < 1e-3


@pytest.mark.parametrize(("hollow", "share"), [(False, 5 / 7), (True, 3 / 5)])
def test_a_ball_rolls_down_a_slope_by_its_inertia(hollow, share):
    place, R = on_slope(10.0, 0.11)
    ball = FreeBall(radius=0.11, mass=0.43, position=place, hollow=hollow)
    sim = ff.Simulation(POST, ground=Plane.slope(10.0), objects=[ball])
    sim.run(0.2)
    before = sim.object("ball").velocity
    sim.run(0.5)
    after = sim.object("ball")
    assert (before - after.velocity) @ R[:, 0] / 0.5 == pytest.approx(share * G * np.sin(np.radians(10.0)), rel=2e-3)
    slip = after.velocity + np.cross(after.rotation @ after.omega, -0.11 * R[:, 2])
    assert np.abs(slip).max() < 1e-3


def test_a_ball_that_slides_ends_up_rolling_at_five_sevenths():
    sim = ff.Simulation(
        POST, ground=Plane(0.2), objects=[FreeBall(radius=0.1, mass=2.0, position=(0, 0, 0.1), velocity=(1.4, 0, 0))]
    )
    sim.run(1.0)
    assert sim.object("ball").velocity[0] == pytest.approx(1.0, rel=2e-3)


def test_a_pushed_box_costs_its_friction():
    servo = drive(velocity=0.3, kd=400.0)
    robot = cart(box=(0.4, 0.3, 0.4))  # its front at x = 0.2
    box = FreeBox(size=(0.3, 0.3, 0.4), mass=4.0, position=(0.36, 0.0, 0.2), friction=0.35)
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

    load = FreeBox(size=(0.2, 0.2, 0.1), mass=mass, position=(0.2, 0.0, 0.55), friction=mu)
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
    return ff.Robot(name="crate", links=[ff.Link(name="crate", mass=mass, inertia=inertia, box=tuple(size))])


def momentum(sim: ff.Simulation) -> np.ndarray:
    """Linear and angular momentum about the world's origin of a crate and a ball."""
    q, v, ball = sim.q, sim.v, sim.object("ball")
    R = ff.spatial.quaternion.to_rotation(q[3:7])
    inertia, m = sim.robot.links[0].inertia, sim.robot.mass
    p = m * (R @ v[3:6]), ball.body.mass * ball.velocity
    spin = R @ (inertia @ v[:3]) + ball.rotation @ (ball.body.robot.links[0].inertia @ ball.omega)
    return np.concatenate([p[0] + p[1], np.cross(q[:3], p[0]) + np.cross(ball.position, p[1]) + spin])


def test_what_a_robot_and_an_object_do_to_each_other_is_equal_and_opposite():
    ball = FreeBall(radius=0.08, mass=1.1, position=(0.1, 0.05, 1.4), velocity=(0.3, -0.1, -2.0), omega=(3.0, 1.0, 5.0))
    start = (np.array([0, 0, 1.0, 1, 0, 0, 0]), np.array([0.2, 0, 0.1, 0.5, 0, 0]))
    sim = ff.Simulation(crate(), objects=[ball], gravity=(0, 0, 0), start=start, stop_on_fall=False)
    before = momentum(sim)
    sim.run(0.4)
    assert sim.object("ball").velocity[2] > -1.0  # they met
    assert momentum(sim) == pytest.approx(before, abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("dt", "most"), [(1e-3, 1e-6), (4e-3, 2e-5)])
def test_boxes_that_spin_keep_their_angular_momentum_in_an_impact(dt, most):
    """Without gravity, about a fixed point; the impact's moments are 0.1 N m s. It was 1e-4 at 1 ms, of first order."""
    sizes, masses = ((0.3, 0.2, 0.1), (0.2, 0.25, 0.15)), (2.0, 1.5)
    boxes = [
        FreeBox(
            size=sizes[0], mass=2.0, position=(0, 0, 5.0), velocity=(0.5, 0, 0.0), omega=(2.0, -3.0, 4.0), name="a"
        ),
        FreeBox(
            size=sizes[1], mass=1.5, position=(0.5, 0.06, 5.03), velocity=(-0.6, 0.1, 0), omega=(-1, 5.0, 2), name="b"
        ),
    ]
    sim = ff.Simulation(POST, objects=boxes, gravity=(0, 0, 0), dt=dt)

    def angular_momentum():
        total = np.zeros(3)
        for name, (a, b, c), mass in zip("ab", sizes, masses):
            box, inertia = sim.object(name), np.array([b * b + c * c, a * a + c * c, a * a + b * b])
            spin = box.rotation @ (mass / 12.0 * inertia * box.omega)
            total += mass * np.cross(box.position - np.array([0, 0, 5.0]), box.velocity) + spin
        return total

    before, moved = angular_momentum(), sim.object("a").velocity
    sim.run(0.4)
    assert np.linalg.norm(sim.object("a").velocity - moved) > 0.3  # they met
    assert np.linalg.norm(angular_momentum() - before) < most


def test_a_robot_that_hits_a_ball_loses_what_the_ball_gains():
    robot = ff.load("mini_cheetah")
    q, v = robot.state("stand")
    q[2] += 1.0
    ball = FreeBall(radius=0.1, mass=2.0, position=(0.05, 0.02, q[2] + 0.3), velocity=(0.0, 0.0, -1.5))
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
    boxes = [
        FreeBox(size=(0.2, 0.2, 0.2), mass=2.0, position=(0, 0, 0.1)),
        FreeBox(size=(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.3)),
    ]
    sim = ff.Simulation(POST, objects=[*boxes, FreeBall(radius=0.05, mass=0.3, position=(0, 0, 0.45))])
    sim.run(1.0)
    heights = [sim.object(name).position[2] for name in ("box", "box_2", "ball")]
    assert heights == pytest.approx([0.1, 0.3, 0.45], abs=1e-3)
    assert max(np.abs(sim.object(name).velocity).max() for name in ("box", "box_2", "ball")) < 1e-3


def test_objects_are_recorded_and_read_back(tmp_path):
    ball = FreeBall(
        radius=0.1,
        mass=0.5,
        position=(0.0, 0.3, 0.1),
        velocity=(1.0, 0.0, 0.0),
        omega=(0.0, 10.0, 0.0),
        name="football",
    )
    sim = ff.Simulation(POST, objects=[ball])
    path = tmp_path / "run.mcap"
    rec = sim.run(0.5, path)
    again = ff.Recording.load(path)
    assert [(body.name, body.radius) for body in again.objects] == [("football", 0.1)]
    assert again["object_pose"][:, 0] == pytest.approx(rec["object_pose"][:, 0])
    assert again["object_pose"][-1, 0, 0] == pytest.approx(0.5, abs=2e-3)


def test_a_box_reads_back_from_its_form():
    box = FreeBox(size=(0.1, 0.2, 0.3), mass=1.3, position=(3.0, 0.0, 0.15), friction=0.3, name="crate")
    (again,) = objects_of(object_forms([box]))
    assert object_forms([again]) == object_forms([box])
    assert again.size == pytest.approx([0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="neither a ball nor a box"):
        objects_of([{"kind": "cone"}])


def test_a_checkpoint_keeps_the_objects(tmp_path):
    def made():
        return ff.Simulation(
            POST, objects=[FreeBall(radius=0.1, mass=0.5, position=(0, 0, 0.5), velocity=(1.0, 0.3, 0.0))]
        )

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
        ({"objects": [FreeBall(radius=0.1, mass=1.0, position=(0, 0, 0.05))]}, "50.0 mm deep"),
        (
            {
                "objects": [
                    FreeBall(radius=0.1, mass=1.0, position=(0, 0, 1)),
                    FreeBall(radius=0.1, mass=1.0, position=(0.1, 0, 1)),
                ]
            },
            "mm deep",
        ),
        (
            {
                "objects": [
                    FreeBall(radius=0.1, mass=1, position=(0, 0, 1), name="a"),
                    FreeBall(radius=0.1, mass=1.0, position=(3, 0, 1), name="a"),
                ]
            },
            "two objects",
        ),
        (
            {"objects": [FreeBall(radius=0.1, mass=1.0, position=(0, 0, 1))], "contact": "stance"},
            "stance contact supports only feet",
        ),
        ({"objects": [FreeBall(radius=0.1, mass=1.0, position=(0, 0, 1))], "integrator": "rk4"}, "linearly_implicit"),
    ],
)
def test_objects_that_cannot_be_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        ff.Simulation(POST, **options)


@pytest.mark.parametrize(
    "made",
    [
        lambda: FreeBall(radius=0.0, mass=1.0, position=(0, 0, 1)),
        lambda: FreeBox(size=(1, 1), mass=1.0, position=(0, 0, 1)),
        lambda: FreeBox(size=(1, 1, -1), mass=1.0, position=(0, 0, 1)),
        lambda: FreeBall(radius=1.0, mass=-1.0, position=(0, 0, 1)),
        lambda: FreeBall(radius=1.0, mass=1.0, position=(0, 0, 1), rotation=np.ones((3, 3))),
    ],
)
def test_bodies_that_cannot_be_are_refused(made):
    with pytest.raises(InputError):
        made()


# -- edges that lie across boxes ---------------------------------------------------------------------------------------
ON_A_BOX = Boxes(Plane(0.8), [Box((0.0, 0.0, 0.1), (0.2, 0.4, 0.2))])
SMALL, PLANK = FreeBox(size=(0.2, 0.2, 0.2), mass=5.0, position=(0.0, 0.0, 0.1), name="small"), (0.6, 0.1, 0.04)
ACROSS = {  # no corner of the one is over the other
    "over ground": (
        0.22,
        [FreeBox(size=(0.6, 0.3, 0.04), mass=1.0, position=(0, 0, 0.225), name="top")],
        {"ground": ON_A_BOX},
    ),
    "over a box": (0.22, [SMALL, FreeBox(size=PLANK, mass=1.0, position=(0, 0, 0.225), yaw=0.3, name="top")], {}),
    "a cube turned on a cube": (0.3, [SMALL, replace(SMALL, position=(0, 0, 0.305), yaw=np.pi / 4, name="top")], {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ACROSS)
def test_a_box_across_a_narrower_one_lies_on_it(case):
    height, objects, options = ACROSS[case]
    sim = ff.Simulation(POST, objects=objects, **options)
    sim.run(1.0)
    top = sim.object("top")
    assert top.position == pytest.approx([0.0, 0.0, height], abs=3e-4)
    assert np.abs(top.velocity).max() < 1e-4
    assert np.abs(top.omega).max() < 1e-3


@pytest.mark.slow
def test_a_plank_on_a_trestle_lies_where_it_does_in_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string("""<mujoco><option timestep="0.001"/><worldbody>
        <geom type="box" size="0.1 0.2 0.1" pos="0 0 0.1"/>
        <body pos="0.03 0 0.225"><freejoint/><geom type="box" size="0.3 0.15 0.02" mass="1"/></body>
        </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    plank = FreeBox(size=(0.6, 0.3, 0.04), mass=1.0, position=(0.03, 0.0, 0.225))
    sim = ff.Simulation(POST, objects=[plank], ground=ON_A_BOX)
    sim.run(1.0)
    assert sim.object("box").position == pytest.approx(data.qpos[:3], abs=1e-3)  # MuJoCo's contacts give way


@pytest.mark.slow
def test_a_plank_whose_middle_is_beside_its_support_tips_as_a_pendulum_does():
    beyond, mass, length = 0.05, 1.0, 0.6
    plank = FreeBox(size=(length, 0.3, 0.04), mass=mass, position=(0.1 + beyond, 0.0, 0.22 - 3e-5))
    sim = ff.Simulation(POST, objects=[plank], ground=ON_A_BOX)
    sim.run(0.1)
    # about the last line that bears it, 2 mm (its own rounding) within the edge, at its lower side
    arm = beyond + 2e-3
    inertia = mass * ((length**2 + 0.04**2) / 12.0 + arm**2 + 0.02**2)
    assert sim.object("box").omega[1] == pytest.approx(mass * G * arm / inertia * 0.1, rel=0.05)


def nearest_of_many(half, a, b):
    """Least distance of a segment from a box, by trying."""
    places = a + np.linspace(0.0, 1.0, 20001)[:, None] * (b - a)
    return np.sqrt((np.maximum(np.abs(places) - half, 0.0) ** 2).sum(axis=1)).min()


def test_crossed_edges_touch_where_they_are_nearest():
    random, half, radius, crossed = np.random.default_rng(2), np.array([0.1, 0.2, 0.1]), 2e-3, 0
    for _ in range(300):
        # past the edge of the box along y at x = z = 0.1, with a gap below the radius, in any direction
        way = random.normal(size=3)
        way[1] *= 0.5
        out = np.cross(way, [0.0, 1.0, 0.0])
        out *= np.sign(out[0]) / np.linalg.norm(out)
        if out[0] < 0.3 or out[2] < 0.3:  # it would meet a face
            continue
        at = np.array([0.1, random.uniform(-0.1, 0.1), 0.1]) + 0.8e-3 * out
        a, b = at - 0.4 * way / np.linalg.norm(way), at + 0.3 * way / np.linalg.norm(way)
        least = nearest_of_many(half, a, b)
        places = [a + bearing_point(half, radius, radius, a, b, last) * (b - a) for last in (False, True)]
        found = np.linalg.norm(np.maximum(np.abs(places) - half, 0.0), axis=1)
        assert found.min() == pytest.approx(least, abs=1e-5)
        crossed += 1
    assert crossed > 30


def test_an_edge_over_a_face_is_borne_where_it_enters_and_where_it_leaves():
    half, radius = np.array([0.1, 0.2, 0.1]), 2e-3
    a, b = np.array([-0.4, -0.05, 0.1011]), np.array([0.5, 0.1, 0.1012])
    first, last = (a + bearing_point(half, radius, radius, a, b, last) * (b - a) for last in (False, True))
    assert first[0] == pytest.approx(-(0.1 - radius), abs=1e-5)
    assert last[0] == pytest.approx(0.1 - radius, abs=1e-5)
