"""Calls as people from other libraries would type them: each ends in one sentence of ours, none in a bare error."""

import numpy as np
import pytest

import footfall as ff
from footfall.cli.main import run
from footfall.errors import FootfallError
from footfall.hints import MissingAttribute

ROBOT = ff.load("mini_cheetah")
Q, V = ROBOT.state("stand")
STAND = ROBOT.poses["stand"].joints


@pytest.fixture(scope="module")
def sim():
    return ff.Simulation(ROBOT)


@pytest.fixture(scope="module")
def rec():
    return ff.Simulation(ROBOT).run(0.05)


CALLS = {
    "a constructor of other libraries": lambda sim, rec: ff.Robot.from_urdf("go2.urdf"),
    "load dict": lambda sim, rec: ff.load({"robot": "mini_cheetah"}),
    "load missing": lambda sim, rec: ff.load("robots/spot.urdf"),
    "load None": lambda sim, rec: ff.load(None),
    "mj_step style": lambda sim, rec: sim.step(ROBOT, Q),
    "step string": lambda sim, rec: sim.step("0.1"),
    "step list of lists": lambda sim, rec: sim.step([[0.0] * 12]),
    "step dict action": lambda sim, rec: sim.step({"LF_hip": 1.0}),
    "step float n": lambda sim, rec: sim.step(n=1.5),
    "step torch-like wrong": lambda sim, rec: sim.step(np.zeros((1, 12))),
    "set_state qpos of mujoco freejoint names": lambda sim, rec: sim.set_state(qpos=Q),
    "set_state degrees string": lambda sim, rec: sim.set_state("standing"),
    "set_state short v": lambda sim, rec: sim.set_state(Q, np.zeros(12)),
    "set_state None quat zero": lambda sim, rec: sim.set_state(np.zeros(19)),
    "set_command positional": lambda sim, rec: sim.set_command(0.4),
    "set_command list": lambda sim, rec: sim.set_command([0.4, 0, 0]),
    "set_command vx": lambda sim, rec: sim.set_command(vx=0.4),
    "Command vx": lambda sim, rec: ff.Command(vx=0.4),
    "run string": lambda sim, rec: sim.run("10"),
    "run None": lambda sim, rec: sim.run(None),
    "run steps kw": lambda sim, rec: sim.run(steps=1000),
    "dt as ms": lambda sim, rec: ff.Simulation(ROBOT, dt=1),
    "dt string": lambda sim, rec: ff.Simulation(ROBOT, dt="1e-3"),
    "gravity scalar": lambda sim, rec: ff.Simulation(ROBOT, gravity=-9.81),
    "ground unknown": lambda sim, rec: ff.Simulation(ROBOT, ground="stairs"),
    "controller lambda": lambda sim, rec: ff.Simulation(ROBOT, lambda t, q, v: np.zeros(12)).run(0.01),
    "controller wrong signature": lambda sim, rec: ff.Simulation(ROBOT, ff.controller(rate=1000)(lambda q, v: 0)),
    "controller rate 0": lambda sim, rec: ff.controller(rate=0)(lambda t, r, s, c, m: (ff.JointCommand(), m)),
    "JointCommand kp string": lambda sim, rec: sim.step(ff.JointCommand(position=STAND, kp="40")),
    "JointCommand dict": lambda sim, rec: sim.step(ff.JointCommand(position={"LF_hip": 0.1})),
    "JointCommand q": lambda sim, rec: ff.JointCommand(q=STAND),
    "JointCommand None": lambda sim, rec: sim.step(ff.JointCommand(position=None, kp=1.0)),
    "JointPD no gait": lambda sim, rec: ff.control.JointPD(kp=40, kd=1),
    "JointPD tuned gait wrong": lambda sim, rec: ff.control.JointPD.tuned(ROBOT, "gallop_fast"),
    "tuned swapped": lambda sim, rec: ff.control.JointPD.tuned("trot", ROBOT),
    "mass_matrix swapped": lambda sim, rec: ff.dynamics.mass_matrix(Q, ROBOT),
    "mass_matrix short q": lambda sim, rec: ff.dynamics.mass_matrix(ROBOT, STAND),
    "mass_matrix list": lambda sim, rec: ff.dynamics.mass_matrix(ROBOT, [0.0] * 18),
    "mass_matrix None": lambda sim, rec: ff.dynamics.mass_matrix(ROBOT, None),
    "foot_positions string": lambda sim, rec: ff.kinematics.foot_positions(ROBOT, "stand"),
    "kinematics.forward call": lambda sim, rec: ff.kinematics.forward(ROBOT, Q),
    "inverse wrong leg": lambda sim, rec: ff.kinematics.inverse(ROBOT, "FL", np.zeros(3)),
    "jacobian wrt": lambda sim, rec: ff.jacobian(ff.dynamics.forward_dynamics, ROBOT, wrt="qpos"),
    "compile not function": lambda sim, rec: ff.compile("forward_dynamics", ROBOT),
    "compile no robot": lambda sim, rec: ff.compile(ff.dynamics.mass_matrix),
    "Batch zero": lambda sim, rec: ff.Batch(ROBOT, n=0),
    "Batch string": lambda sim, rec: ff.Batch(ROBOT, n="4096"),
    "rec['qpos']": lambda sim, rec: rec["qpos"],
    "rec[0]": lambda sim, rec: rec[0],
    "rec.plot list": lambda sim, rec: rec.plot(["trunk", "torque"]),
    "Recording.load csv": lambda sim, rec: ff.Recording.load("run.csv"),
    "Recording.load None": lambda sim, rec: ff.Recording.load(None),
    "robot.foot FX": lambda sim, rec: ROBOT.foot("FX"),
    "robot.state pose": lambda sim, rec: ROBOT.state("home"),
    "replace unknown": lambda sim, rec: ROBOT.replace({"torso.mass": 3.0}),
    "replace string": lambda sim, rec: ROBOT.replace({"trunk.mass": "3 kg"}),
    "Push vector kw": lambda sim, rec: ff.Push(t=1.0, force=(0, 0, 10)),
    "Push force scalar": lambda sim, rec: ff.Push(start=1.0, duration=0.1, force=50.0),
    "lqr": lambda sim, rec: ff.sim.lqr_stand(ROBOT, Q=1.0),
    "learn env": lambda sim, rec: ff.learn.WalkEnv("mini_cheetah", num_envs=4),
    "base_height": lambda sim, rec: rec.base_height,
    "gait call": lambda sim, rec: ff.gait.trot(period="0.5"),
    "gait unknown": lambda sim, rec: ff.gait.gallop,
    "compare other": lambda sim, rec: rec.compare("other.mcap"),
    "step action": lambda sim, rec: sim.step(action=np.zeros(12)),
    "step gains": lambda sim, rec: sim.step(position=STAND, kp=40.0),
    "reset seed": lambda sim, rec: sim.reset(seed=0),
    "reset to": lambda sim, rec: sim.reset(Q),
    "assign qpos": lambda sim, rec: setattr(sim, "qpos", Q),
    "assign ctrl": lambda sim, rec: setattr(sim, "ctrl", np.zeros(12)),
    "contacts": lambda sim, rec: sim.contacts,
    "body": lambda sim, rec: sim.body("trunk"),
    "get_foot_positions": lambda sim, rec: sim.get_foot_positions(),
    "close": lambda sim, rec: sim.close(),
    "num_envs": lambda sim, rec: ff.Batch(ROBOT, num_envs=4096),
    "device": lambda sim, rec: ff.Batch(ROBOT, 4, device="cuda"),
    "batch step": lambda sim, rec: ff.Batch(ROBOT, 2).step(np.zeros((2, 12))),
    "batch seconds": lambda sim, rec: ff.Batch(ROBOT, 2).run(2.0),
    "batch randomise without seed": lambda sim, rec: ff.Batch(ROBOT, 2).randomise({"trunk.mass": (3, 5)}),
    "assign mass": lambda sim, rec: setattr(ROBOT, "mass", 10.0),
    "set_mass": lambda sim, rec: ROBOT.set_mass(10.0),
    "robot fk": lambda sim, rec: ROBOT.fk(Q),
    "state of q": lambda sim, rec: ROBOT.state("stand", Q),
    "Robot of a file": lambda sim, rec: ff.Robot("spot.urdf"),
    "fd of a name": lambda sim, rec: ff.dynamics.forward_dynamics("mini_cheetah", Q, V, np.zeros(12)),
    "jacobian module": lambda sim, rec: ff.kinematics.jacobian(ROBOT, Q, "FL"),
    "frame reference by place": lambda sim, rec: ff.kinematics.frame_jacobian(ROBOT, Q, "LF", "LOCAL"),
    "frame swapped": lambda sim, rec: ff.kinematics.frame_pose(ROBOT, "LF", Q),
    "PD": lambda sim, rec: ff.control.PD(40, 1),
    "MPC": lambda sim, rec: ff.control.MPC(),
    "Locomotion speed": lambda sim, rec: ff.control.Locomotion(speed=0.4),
    "gains of a name": lambda sim, rec: ff.control.stand_gains("mini_cheetah"),
    "Hold eleven gains": lambda sim, rec: ff.Simulation(ROBOT, ff.control.Hold("stand", kp=np.ones(11))),
    "Plane mu": lambda sim, rec: ff.contact.Plane(mu=0.5),
    "gait frequency": lambda sim, rec: ff.gait.trot(frequency=2.0),
    "Push by place": lambda sim, rec: ff.Push(1.0, 0.1, (0, 80, 0)),
    "Command by place": lambda sim, rec: ff.Command(0.5),
    "jacobian without wrt": lambda sim, rec: ff.jacobian(ff.dynamics.mass_matrix, ROBOT),
    "conversion without robot": lambda sim, rec: ff.conversions.to_mujoco(Q, V),
    "ff.simulate": lambda sim, rec: ff.simulate(ROBOT, 2.0),
    "to_c": lambda sim, rec: ff.export.to_c(sim),
    "export of a robot": lambda sim, rec: ff.export.of_controller(ROBOT, "mine"),
    "sweep of a dict": lambda sim, rec: ff.sweep.run({"grid": {}}, "out"),
    "rec['foot_positions']": lambda sim, rec: rec["foot_positions"],
    "rec['q.x']": lambda sim, rec: rec["q.x"],
    "rec.to_csv": lambda sim, rec: rec.to_csv("run.csv"),
    "rec.mean_speed": lambda sim, rec: rec.mean_speed(1.0, 2.0),
    "env step before reset": lambda sim, rec: ff.learn.WalkEnv("mini_cheetah").step(np.zeros(12)),
    "env reset by place": lambda sim, rec: ff.learn.WalkEnv("mini_cheetah").reset(0),
}


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_call_ends_in_a_sentence(what, sim, rec):
    with pytest.raises((FootfallError, MissingAttribute, AttributeError)) as found:
        CALLS[what](sim, rec)
    assert isinstance(found.value, FootfallError | MissingAttribute) or "this recording has" in str(found.value)
    said = str(found.value)
    assert 20 < len(said) < 600
    assert "\n" not in said


LINES = """\
simulate
simulate mini_cheeta
simulate robots/spot.urdf
simulate mini_cheetah --gait galop
simulate mini_cheetah --controller mpc2
simulate mini_cheetah --controller pd --kp forty
simulate mini_cheetah --speed 0.4m/s
simulate mini_cheetah --speed nan
simulate mini_cheetah --duration 10s
simulate mini_cheetah --duration -1
simulate mini_cheetah --dt 0.1
simulate mini_cheetah --ground stairs
simulate mini_cheetah --ground slope:steep
simulate mini_cheetah --out run.txt
simulate mini_cheetah --out /nope/run.mcap
simulate mini_cheetah --controller my_module:Ctrl
simulate mini_cheetah --controller policy.onnx
simulate mini_cheetah --vx 0.4
simulate mini_cheetah --like missing.mcap
simulate mini_cheetah --push 10
simulate mini_cheetah --schedule 0:0.4
verify
verify nope.urdf
compare mini_cheetah --against isaac
compare a.mcap b.mcap
convert missing.mcap
view nope
view mini_cheetah --rerun --foxglove
train mini_cheetah --robots many
train mini_cheetah --task walkk
sweep missing.toml
export mini_cheetah forward
export mini_cheetah
video missing.mcap
policy info nope.npz
bench stepp
reproduce all2
walk mini_cheetah
"""


@pytest.mark.parametrize("line", LINES.splitlines())
def test_a_wrong_command_line_ends_in_a_sentence(line, capsys):
    assert run(line.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith("footfall: error: ")
    assert len(said.strip().splitlines()) <= 4
