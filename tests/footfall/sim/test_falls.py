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
