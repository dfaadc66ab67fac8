"""Wheels: a torus touches where it should and rolls as it must; a robot on wheels follows its command, over a step."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact.ground import Plane
from footfall.contact.points import contact_points, spheres_of
from footfall.contact.steps import Steps
from footfall.control.joint.wheels import Wheels
from footfall.control.locomotion.rolling import rolling, wheels_of
from footfall.errors import InputError
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.robot.files.export import to_mjcf, to_urdf
from footfall.robot.model.description import Actuator, Foot, Joint, Link, Robot
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from footfall.robot.model.shapes import cylinder_inertia
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import about_axis

RADIUS, TYRE = 0.11, 0.03


def lone_wheel(mass=1.3):
    """A wheel on a light axle that does not turn with it."""
    axle = Link(name="axle", mass=0.01, com=np.zeros(3), inertia=cylinder_inertia(0.01, 0.01, 0.1, "y"))
    wheel = Link(name="w", mass=mass, com=np.zeros(3), inertia=cylinder_inertia(mass, RADIUS, 0.05, "y"))
    foot = Foot(name="tread", link="w", position=np.zeros(3), radius=RADIUS, axis=(0.0, 1.0, 0.0), tyre=TYRE)
    return Robot(
        name="wheel",
        links=[axle, wheel],
        joints=[Joint(name="spin", kind="revolute", parent="axle", child="w", axis=np.array([0.0, 1.0, 0.0]))],
        feet=[foot],
    )


def wheeled(radius=0.075):
    """Mini Cheetah with a wheel in place of every foot."""
    robot = ff.load("mini_cheetah")
    links, joints, feet = list(robot.links), list(robot.joints), []
    for foot in robot.feet:
        links.append(
            Link(
                name=f"{foot.name}_tyre", mass=0.25, com=np.zeros(3), inertia=cylinder_inertia(0.25, radius, 0.03, "y")
            )
        )
        joints.append(
            Joint(
                name=f"{foot.name}_wheel",
                kind="revolute",
                parent=foot.link,
                child=f"{foot.name}_tyre",
                origin=foot.position,
                axis=np.array([0.0, -1.0 if foot.name[0] == "R" else 1.0, 0.0]),
            )
        )
        feet.append(
            Foot(
                name=foot.name,
                link=f"{foot.name}_tyre",
                position=np.zeros(3),
                radius=radius,
                axis=(0.0, 1.0, 0.0),
                tyre=0.02,
            )
        )
    actuators = [
        *robot.actuators,
        *(Actuator(joint=f"{foot.name}_wheel", torque_limit=12.0, speed_limit=60.0) for foot in feet),
    ]
    order = {joint.name: joint for joint in joints}
    legs = [order[f"{leg}_{part}"] for leg in ("LF", "RF", "LH", "RH") for part in ("abad", "hip", "knee", "wheel")]
    changed = robot.replace(name="wheeled", links=links, joints=legs, feet=feet, actuators=actuators, poses={})
    stand = np.tile([0.0, -0.8, 1.6, 0.0], 4)
    height = float(-ff.kinematics.foot_positions(changed, changed.state(stand)[0])[:, 2].min()) + radius
    return changed.replace(poses={"stand": ff.robot.Pose(stand, height)})


@pytest.mark.parametrize("camber", [0.0, 0.4, -1.1])
@pytest.mark.parametrize("turned", [0.0, 0.8])
def test_a_tilted_wheel_touches_with_the_lowest_point_of_its_tyre(camber, turned):
    robot = lone_wheel()
    R = about_axis(np.array([0.0, 0.0, 1.0]), turned) @ about_axis(np.array([1.0, 0.0, 0.0]), camber)
    q = np.concatenate([[0.3, -0.2, 0.5], from_rotation(R), [2.1]])
    X = joint_transforms(robot, q)
    (point,) = contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot), Plane())
    # every point of the torus: none is lower
    a, b = np.meshgrid(np.linspace(0, 2 * np.pi, 721), np.linspace(0, 2 * np.pi, 361))
    ring = (RADIUS - TYRE) + TYRE * np.cos(b)
    surface = np.stack([ring * np.cos(a), TYRE * np.sin(b), ring * np.sin(a)])
    lowest = 0.5 + np.einsum("i,ijk->jk", R[2], surface).min()
    assert point.distance == pytest.approx(lowest, abs=2e-6)


def test_a_wheel_rolls_down_a_slope_as_its_inertia_says():
    """g sin θ / (1 + I / m r²), without slip: within a part in a thousand after two seconds."""
    robot, degrees = lone_wheel(), 6.0
    ground = Plane.slope(-degrees)
    start = np.concatenate([RADIUS * ground.normal, [1.0, 0.0, 0.0, 0.0, 0.0]])
    free = ff.control.Hold(np.zeros(1), kp=0.0, kd=0.0)
    recording = ff.Simulation(robot, controller=free, ground=ground, start=(start, np.zeros(7))).run(2.0)
    spin = robot.links[1].inertia[1, 1] / (robot.mass * RADIUS**2)
    expected = 0.5 * 9.81 * np.sin(np.deg2rad(degrees)) / (1 + spin) * 2.0**2
    travelled = np.linalg.norm(recording.q[-1][:3] - start[:3])
    assert travelled == pytest.approx(expected, rel=2e-3)
    v, omega = recording.v[-1][3:6], recording.v[-1][1] + recording.v[-1][6]
    assert np.linalg.norm(v) == pytest.approx(omega * RADIUS, rel=1e-3)


def test_a_wheels_own_joint_is_no_joint_of_its_leg():
    robot = wheeled()
    for leg in robot.foot_names:
        assert [robot.joint_names[j] for j in leg_geometry(robot, leg).joints] == [
            f"{leg}_{part}" for part in ("abad", "hip", "knee")
        ]
    assert robot_from_json(robot_to_json(robot)).digest == robot.digest


@pytest.mark.parametrize("speed", [1.5, -0.7])
def test_wheels_roll_at_the_commanded_speed(speed):
    recording = ff.Simulation(wheeled(), controller=Wheels(), command=ff.control.Command(forward=speed)).run(3.0)
    assert recording.v[-500:, 3].mean() == pytest.approx(speed, abs=0.02)
    assert np.abs(recording.q[:, 4:6]).max() < 0.05


def test_wheels_steer():
    command = ff.control.Command(forward=0.5, turn=0.6)
    recording = ff.Simulation(wheeled(), controller=Wheels(), command=command).run(6.0)
    assert recording.v[-3000:, 2].mean() == pytest.approx(0.6, abs=0.12)
    assert 0.3 < recording.v[-3000:, 3].mean() < 0.8  # wheels that skid push less surely


@pytest.mark.parametrize("speed", [0.6, 1.5])
def test_wheels_climb_a_step_of_5_cm_and_the_trunk_is_level_again(speed):
    ground = Steps(np.array([0.0, 0.05]), tread=3.0, start=0.9)
    sim = ff.Simulation(wheeled(0.08), controller=Wheels(), ground=ground, command=ff.control.Command(forward=speed))
    recording = sim.run(5.0)
    assert recording.q[-1][0] > 1.5
    assert recording.q[-1][2] - recording.q[0][2] == pytest.approx(0.05, abs=0.015)
    assert np.abs(recording.q[-500:, 4:6]).max() < 0.03
    assert np.abs(recording.q[:, 4:6]).max() < 0.15


@pytest.mark.parametrize(("ending", "write"), [("xml", to_mjcf), ("urdf", to_urdf)])
def test_wheels_are_written_as_cylinders_and_read_back(tmp_path, ending, write):
    robot, path = wheeled(), tmp_path / f"wheeled.{ending}"
    path.write_text(write(robot))
    with pytest.warns(UserWarning, match="a cylinder about its axis"):
        again = ff.load(path, lock_wheels=False)
    for foot, other in zip(robot.feet, again.feet):
        assert (other.radius, other.tyre) == pytest.approx((foot.radius, foot.tyre))
        assert np.abs(np.array(other.axis)) == pytest.approx(np.array(foot.axis))


# -- within the whole-body program -------------------------------------------------------------------------------------
def test_the_contact_of_a_wheel_that_rolls_stands_still_and_sticks_sideways():
    """Rolled by its joint it has no velocity, dragged sideways or with a locked wheel it has that of the trunk."""
    robot = wheeled()
    q, v = robot.state("stand")
    wheels, speed = wheels_of(robot), 0.9
    J, rate = ff.kinematics.feet_jacobian(robot, q), ff.kinematics.feet_bias_acceleration(robot, q, v)
    up = np.array([0.0, 0.0, 1.0])
    found = rolling(wheels, J[:, 3:], J[:, :3], rate[:, 3:], rate[:, :3], v, up, np.array([1.0, 1.0, 1.0, 0.0]))
    v[3] = speed
    locked = found.J @ v
    for wheel in wheels:
        v[6 + wheel.joint] = wheel.sense * speed / wheel.radius
    assert found.J[:3] @ v == pytest.approx(np.zeros((3, 3)), abs=1e-12)
    assert locked == pytest.approx(np.tile([speed, 0.0, 0.0], (4, 1)), abs=1e-12)
    assert found.J[3] @ v == pytest.approx([speed, 0.0, 0.0], abs=1e-12)  # of one that is up it is the centre
    v[3:5] = 0.0, speed
    assert (found.J @ v)[:3, 1] == pytest.approx(3 * [speed])


def test_balance_and_mpc_know_no_wheels():
    with pytest.raises(InputError, match="driving on wheels needs the whole-body QP"):
        ff.Simulation(wheeled(), controller=ff.control.on_command("mpc"))


@pytest.mark.slow
def test_the_whole_body_program_rolls_and_steers():
    command = ff.sim.Schedule([(0.0, ff.Command(forward=1.5)), (3.0, ff.Command(forward=0.6, turn=0.5))])
    sim = ff.Simulation(wheeled(), controller=ff.control.on_command("whole_body"), command=command)
    ahead, around = sim.run(3.0), sim.run(4.0)
    assert ahead.v[-500:, 3].mean() == pytest.approx(1.5, rel=0.02)
    assert ahead["contact"][100:].all()
    assert around.v[-2000:, 2].mean() == pytest.approx(0.5, rel=0.05)
    assert around.v[-2000:, 3].mean() == pytest.approx(0.6, rel=0.1)
    assert np.abs(around.q[:, 4:6]).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.8, 1.5])
def test_the_whole_body_program_climbs_a_step_of_5_cm_on_wheels(speed):
    ground, controller = Steps(np.array([0.0, 0.05]), tread=5.0, start=0.9), ff.control.on_command("whole_body")
    sim = ff.Simulation(wheeled(0.08), controller=controller, ground=ground, command=ff.Command(forward=speed))
    recording = sim.run(6.0)
    assert recording.q[-1][0] > 2.0
    assert not recording.meta["fell"]
    assert recording.q[-1][2] - recording.q[0][2] == pytest.approx(0.05, abs=0.02)


def test_rolling_without_wheels_is_refused():
    with pytest.raises(InputError, match="rolling needs a floating robot with wheels"):
        ff.Simulation(ff.load("mini_cheetah"), controller=Wheels()).reset()
