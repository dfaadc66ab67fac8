"""A robot that lies on the ground has not stood, wherever it was put; one that is dropped and stands has not fallen."""

import json

import pytest

import footfall as ff
from footfall.cli import main as cli


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


def folded(robot):
    """Legs folded under the trunk: the base is 5 cm over the ground, and stands at 27."""
    joints = robot.poses["stand"].joints.copy()
    joints[1::3], joints[2::3] = -2.3, 2.6
    return on_its_feet(robot, joints)


def on_its_feet(robot, joints):
    lowest = min(
        p[2] - f.radius for p, f in zip(ff.kinematics.foot_positions(robot, robot.state(joints)[0]), robot.feet)
    )
    return robot.state(joints, height=-float(lowest))


def test_a_robot_put_down_on_its_belly_is_not_said_to_stand(cheetah):
    q, v = folded(cheetah)
    assert q[2] < 0.3 * cheetah.poses["stand"].height
    limp = ff.Simulation(cheetah, ff.control.Hold(q[7:], kp=60, kd=2), start=(q, v))
    rec = limp.run(0.3)
    assert rec.meta["fell"]
    assert any("lies on the ground" in event.message for event in rec.events)
    assert limp.stopped is None  # it may still get up
    assert rec.time[-1] == pytest.approx(0.3)


def test_a_robot_that_gets_up_has_not_fallen(cheetah):
    q, v = folded(cheetah)
    rec = ff.Simulation(cheetah, ff.control.Hold("stand", kp=20, kd=3), start=(q, v)).run(1.5)
    assert not rec.meta["fell"]
    assert rec.q[-1, 2] > 0.8 * cheetah.poses["stand"].height


def test_a_robot_that_is_dropped_onto_its_feet_has_not_fallen(cheetah):
    q, v = cheetah.state("stand", height=cheetah.poses["stand"].height + 0.1)
    rec = ff.Simulation(cheetah, ff.control.Hold("stand", kp=80, kd=3), start=(q, v)).run(1.0)
    assert not rec.meta["fell"]


def flat(path):
    """A file whose legs turn about a vertical axis first, which no closed form knows, and lie level at zero."""
    mass = '<inertial><mass value="{}"/><inertia ixx="1e-2" iyy="1e-2" izz="1e-2"/></inertial>'
    parts = f'<link name="base">{mass.format(5)}</link>'
    for leg, x, y in (("FL", 1, 1), ("FR", 1, -1), ("RL", -1, 1), ("RR", -1, -1)):
        at, parent = f"{0.2 * x} {0.1 * y} 0", "base"
        for part, axis in (("hip", "0 0 1"), ("thigh", "0 1 0"), ("calf", "0 1 0")):
            parts += f"""<joint name="{leg}_{part}_joint" type="revolute"><origin xyz="{at}"/><parent link="{parent}"/>
              <child link="{leg}_{part}"/><axis xyz="{axis}"/><limit lower="-2" upper="2" effort="50"/></joint>
              <link name="{leg}_{part}">{mass.format(0.5)}</link>"""
            at, parent = "0.2 0 0", f"{leg}_{part}"
        parts += f"""<joint name="{leg}_fix" type="fixed"><origin xyz="0.2 0 0"/><parent link="{leg}_calf"/>
          <child link="{leg}_foot"/></joint><link name="{leg}_foot"><collision><geometry><sphere radius="0.02"/>
          </geometry></collision></link>"""
    path.write_text(f'<robot name="flat">{parts}</robot>')
    return path


def test_a_file_without_a_stand_that_lies_on_its_belly_ends_with_status_1(tmp_path, capsys):
    status = cli.run(
        ["simulate", str(flat(tmp_path / "flat.urdf")), "--controller", "hold", "--duration", "0.2", "--json"]
    )
    out, err = capsys.readouterr()
    assert status == 1
    assert json.loads(out)["fell"]
    assert "lies on the ground" in err


def test_a_robot_that_is_let_down_below_half_its_height_has_fallen_after_a_second(cheetah):
    """Above the 30 % of its height at which a fall is seen at once, and judged by its feet alone."""
    stands = cheetah.poses["stand"].height
    low = ff.control.standing_joints(cheetah, 0.45 * stands)

    @ff.controller(rate=500)
    def carried(t, robot, sensed, command, memory):  # springs of no stiffness: torques hold it low
        return ff.JointCommand(kd=2.0, torque=60.0 * (low - sensed.q[7:])), memory

    sim = ff.Simulation(cheetah, carried, start=on_its_feet(cheetah, low), compile_controller=False, dt=2e-3)
    rec = sim.run(1.5)
    assert rec.meta["fell"]
    assert sim.stopped.time == pytest.approx(1.0, abs=0.01)
    assert "below half" in rec.meta["stopped"]
    meant = ff.Simulation(cheetah, ff.control.Hold(low, kp=60, kd=2), start=on_its_feet(cheetah, low))
    assert not meant.run(1.5).meta["fell"]  # it is where it is told to be


def test_a_robot_that_its_trunk_carries_has_fallen_after_a_second(cheetah):
    joints = cheetah.poses["stand"].joints.copy()
    joints[1::3], joints[2::3] = -2.3, 2.6
    q, v = cheetah.state("stand")
    corners = ff.contact.trunk_corners(cheetah, radius=0.4 * cheetah.poses["stand"].height)  # it lies high

    @ff.controller(rate=500)
    def limp(t, robot, sensed, command, memory):
        return ff.JointCommand(kd=1.0, torque=40.0 * (joints - sensed.q[7:])), memory

    sim = ff.Simulation(cheetah, limp, start=(q, v), touching=corners, compile_controller=False, dt=2e-3)
    rec = sim.run(2.5)
    assert rec.q[-1, 2] > 0.5 * cheetah.poses["stand"].height
    assert rec.meta["fell"]
    assert "links other than its feet" in rec.meta["stopped"]


def test_a_safe_stop_is_what_stopped_a_run_that_goes_on_after_falls(cheetah):
    from footfall.analysis.run_summary import stopped

    q, v = cheetah.state("stand")
    q[3:7] = [0.7071067811865476, 0.7071067811865476, 0.0, 0.0]  # on its side
    sim = ff.Simulation(cheetah, ff.control.Locomotion(), start=(q, v), stop_on_fall=False)
    rec = sim.run(0.1)
    assert not rec.meta["fell"]
    assert stopped(rec).startswith("safe stop")
