"""Names from MuJoCo, Pinocchio, Isaac and common sense are answered with what they are called here."""

import copy
import inspect
import pickle

import pytest

import footfall as ff

ROBOT = ff.load("mini_cheetah")
SIM = ff.Simulation(ROBOT)
REC = SIM.run(0.02)
OWNERS = {"sim": SIM, "rec": REC, "robot": ROBOT, "ff": ff, "dynamics": ff.dynamics, "kinematics": ff.kinematics}


@pytest.mark.parametrize(
    ("owner", "name", "here"),
    [
        ("sim", "qpos", "q"),
        ("sim", "qvel", "v"),
        ("sim", "mj_step", "step"),
        ("sim", "set_qpos", "set_state"),
        ("sim", "base_position", "q"),
        ("sim", "observation", "sensed"),
        ("sim", "stepp", "step"),
        ("rec", "base_position", "trunk_position"),
        ("rec", "base_velocity", "trunk_velocity"),
        ("rec", "foot_position", "foot_positions"),
        ("rec", "joint_torque", "torque"),
        ("rec", "grf", "force"),
        ("rec", "rpy", "trunk_euler"),
        ("rec", "troque", "torque"),
        ("robot", "total_mass", "mass"),
        ("robot", "base", "trunk"),
        ("robot", "num_dofs", "nv"),
        ("ff", "visualize", "show"),
        ("ff", "launch_passive", "viewer"),
        ("ff", "load_urdf", "load"),
        ("ff", "Simulator", "Simulation"),
        ("dynamics", "rnea", "inverse_dynamics"),
        ("dynamics", "crba", "mass_matrix"),
        ("dynamics", "aba", "forward_dynamics"),
        ("dynamics", "nonLinearEffects", "bias_terms"),
        ("kinematics", "forward_kinematics", "frame_pose"),
        ("kinematics", "getFrameJacobian", "frame_jacobian"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(owner, name, here):
    with pytest.raises(AttributeError) as caught:
        getattr(OWNERS[owner], name)
    assert here in str(caught.value).partition(repr(name))[2]
    of = REC if owner == "rec" else SIM if owner == "sim" else OWNERS[owner]
    assert hasattr(of, here) or here in dir(type(of))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ff.Simulation(ROBOT, friction=0.5), r"ground=ff\.contact\.Plane\(friction"),
        (lambda: ff.Simulation(ROBOT, controler=None), "did you mean 'controller'"),
        (lambda: ff.JointCommand(positions=1.0), "did you mean 'position'"),
        (lambda: ff.JointCommand(tau=1.0), "did you mean 'torque'"),
        (lambda: ff.Command(vx=1.0), "did you mean 'forward'"),
        (lambda: REC["grf"], "it is force"),
        (lambda: REC.plot("grf"), "it is 'contact'"),
    ],
)
def test_arguments_from_elsewhere_are_answered_with_ours(call, said):
    with pytest.raises(ff.InputError, match=said):
        call()


def test_a_signature_shows_what_a_record_takes():
    assert list(inspect.signature(ff.JointCommand).parameters) == ["position", "velocity", "kp", "kd", "torque"]
    assert "forward" in inspect.signature(ff.Command).parameters
    assert copy.deepcopy(SIM).robot.name == ROBOT.name


@pytest.mark.parametrize("name", ["trunk", "base"])
def test_trunk_and_base_are_one_link(name):
    batch = ff.Batch(ROBOT, 2, free=["trunk.mass"])
    batch.randomise({f"{name}.mass": (3.0, 4.0)}, seed=1)
    batch.set({f"{name}.mass": 3.5})
    assert (batch.parameters["trunk.mass"] == 3.5).all()
    assert ROBOT.replace({f"{name}.mass": 4.0}).parameter("trunk.mass") == 4.0
