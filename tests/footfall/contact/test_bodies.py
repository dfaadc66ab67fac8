"""Links that collide: which spheres stand for them, and how a fallen robot lies on them, beside MuJoCo."""

import warnings

import numpy as np
import pytest

import footfall as ff
from footfall.contact.bodies import body_spheres, part_of
from footfall.errors import FootfallError
from footfall.robot.library import load

G = 9.81
LIMP = ff.control.Hold(kp=0.0, kd=0.2)
POSES = {
    "back": (0.0, 1.0, 0.0, 0.0),
    "side": (1.0, 1.0, 0.0, 0.0),
    "nose": (1.0, 0.0, 1.0, 0.0),
    "anyhow": (0.3, 0.5, -0.7, 0.2),
}
LEGS = {"FL": (0.24, 0.1), "FR": (0.24, -0.1), "RL": (-0.24, 0.1), "RR": (-0.24, -0.1)}


def made_up_model() -> str:
    """A robot of boxes and capsules whose springs hold its legs; only the floor is touched."""
    leg = """
    <body name="{name}_thigh" pos="{x} {y} 0">
      <joint name="{name}_hip" axis="0 1 0" stiffness="60" springref="0.7" damping="3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.025" mass="0.6"/>
      <body name="{name}_shank" pos="0 0 -0.2">
        <joint name="{name}_knee" axis="0 1 0" stiffness="60" springref="-1.3" damping="3"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.18" size="0.015" mass="0.2"/>
        <geom name="{name}_foot" type="sphere" pos="0 0 -0.2" size="0.02" mass="0.05"/>
      </body>
    </body>"""
    legs = "".join(leg.format(name=name, x=x, y=y) for name, (x, y) in LEGS.items())
    return f"""<mujoco model="boxer"><compiler angle="radian"/>
  <option timestep="0.0005" cone="elliptic" integrator="implicitfast"/>
  <default><geom contype="1" conaffinity="2" friction="0.8" solref="0.002 1" solimp="0.99 0.999 0.0001"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" contype="2" conaffinity="1"/>
    <body name="trunk" pos="0 0 0.5"><freejoint/>
      <geom type="box" size="0.28 0.09 0.06" mass="7.3"/>{legs}
    </body>
  </worldbody></mujoco>"""


@pytest.fixture(scope="module")
def boxer(tmp_path_factory):
    file = tmp_path_factory.mktemp("models") / "boxer.xml"
    file.write_text(made_up_model())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ff.load(file)


def turned(robot, pose, height):
    q, v = robot.state()
    q[2], q[3:7] = height, np.array(POSES[pose]) / np.linalg.norm(POSES[pose])
    return q, v


# -- which spheres -----------------------------------------------------------------------------------------------------
def test_a_box_is_its_corners_and_a_capsule_its_ends(boxer):
    found = body_spheres(boxer)
    corners = sorted(tuple(f.position) for f in found if f.link == "trunk")
    assert np.allclose(
        corners, sorted((0.28 * x, 0.09 * y, 0.06 * z) for x in (1, -1) for y in (1, -1) for z in (1, -1))
    )
    thigh = sorted((f.position[2], f.radius) for f in found if f.link == "FL_thigh")
    assert np.allclose(thigh, [(-0.2, 0.025), (0.0, 0.025)])
    shank = [(f.position[2], f.radius) for f in found if f.link == "FL_shank"]
    assert np.allclose(shank, [(0.0, 0.015)])  # its other end lies within the foot


@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "dynakat"])
def test_spheres_of_the_library_reach_as_far_as_its_boxes_and_joints(name):
    robot = load(name)
    found = body_spheres(robot)
    half = np.array(robot.link(robot.trunk).box) / 2
    trunk = np.array([f.position for f in found if part_of(robot, robot.tree.frames[f.link][0]) == "trunk"])
    assert np.allclose(np.ptp(trunk, axis=0), 2 * half)
    knees = [f for f in found if part_of(robot, robot.tree.frames[f.link][0]) == "knees"]
    assert len({f.link[:2] for f in knees}) == 4


def test_parts_and_links_by_name_collide(boxer):
    assert {f.link for f in body_spheres(boxer, "trunk")} == {"trunk"}
    assert {f.link for f in body_spheres(boxer, "trunk, FL_*")} == {"trunk", "FL_thigh", "FL_shank"}
    assert {f.link for f in body_spheres(boxer, ["shanks"])} == {f"{leg}_shank" for leg in LEGS}


@pytest.mark.parametrize(
    ("wrong", "words"), [("tail", "part that collides 'tail'"), (3, "must be True"), ([], "no shapes")]
)
def test_what_cannot_collide_is_refused_in_a_sentence(wrong, words):
    with pytest.raises(FootfallError, match=words):
        body_spheres(load("mini_cheetah"), wrong)


def test_without_the_option_nothing_but_feet_touches():
    assert len(ff.Simulation(load("mini_cheetah")).model.world.spheres) == 4


# -- lying -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("pose", POSES)
def test_a_fallen_robot_lies_at_rest_with_its_weight_on_its_links_within_the_cone(pose):
    robot = load("mini_cheetah")
    sim = ff.Simulation(robot, LIMP, start=turned(robot, pose, 0.5), collisions=True, stop_on_fall=False)
    sim.run(3.0)
    forces = sim.state.forces
    assert forces[:, 2].sum() == pytest.approx(robot.mass * G, rel=1e-5)
    assert forces[:, 2].min() >= 0.0
    assert (np.hypot(forces[:, 0], forces[:, 1]) <= 1.005 * 0.8 * forces[:, 2] + 1e-9).all()
    assert np.abs(sim.v).max() < 5e-3
    assert forces[4:, 2].sum() > 0.3 * robot.mass * G  # not on its feet


@pytest.mark.parametrize("pose", ["back", "side", "nose"])
def test_a_fallen_robot_lies_as_high_as_in_mujoco(boxer, pose):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(made_up_model())
    data = mujoco.MjData(model)
    q, v = turned(boxer, pose, 0.45)
    data.qpos[:7] = q[:7]
    mujoco.mj_step(model, data, 8000)
    sim = ff.Simulation(boxer, ff.control.Hold(kp=0.0, kd=0.0), start=(q, v), collisions=True, stop_on_fall=False)
    sim.run(4.0)
    assert sim.q[2] == pytest.approx(data.qpos[2], abs=1.5e-3)
    theirs = {model.joint(k).name: data.qpos[model.jnt_qposadr[k]] for k in range(1, model.njnt)}
    ours = dict(zip(boxer.joint_names, sim.q[7:]))
    assert max(abs(ours[name] - theirs[name]) for name in theirs) < 0.02
    assert sim.state.forces[:, 2].sum() == pytest.approx(boxer.mass * G, rel=1e-4)


def test_links_touch_any_ground_and_robots_of_a_batch_fall_as_one_alone():
    robot = load("mini_cheetah")
    ground = ff.contact.terrain.named("stairs:0.08")
    q, v = turned(robot, "anyhow", 0.7)
    options = {"collisions": "trunk,knees", "ground": ground, "stop_on_fall": False}
    alone = ff.Simulation(robot, LIMP, start=(q, v), **options)
    alone.run(1.0)
    batch = ff.Batch(robot, 5, LIMP, start=(q, v), threads=1, **options)
    batch.run(1000)
    assert np.isfinite(batch.q).all()
    assert (batch.q == batch.q[0]).all()
    assert np.abs(batch.q[0] - alone.q).max() < 1e-9


def test_the_gpu_source_of_colliding_links_runs_a_thread_for_each_leg():
    from footfall.sim.gpu import TickSource

    source = TickSource(load("mini_cheetah"), LIMP, collisions=True, threads=4, stop_on_fall=False)
    assert source.threads == 4
