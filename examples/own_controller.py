"""# A controller of one's own

Plain NumPy, compiled with the physics: a stand that keeps its trunk level under pushes, and its gradient.
"""

# %% Hold the feet where they are, and push back with the trunk's tilt
import numpy as np

import footfall as ff

robot = ff.load("mini_cheetah")
q_stand, _ = ff.control.standing_state(robot)
stand = q_stand[7:]


@ff.controller(rate=500)
def level(t, robot, sensed, command, memory):
    w, x, y, z = sensed.q[3:7]
    roll, pitch = 2.0 * (w * x + y * z), 2.0 * (w * y - x * z)
    J = ff.kinematics.feet_jacobian(robot, sensed.q)[:, 3:, 6:].reshape(12, 12)  # of the feet by the joints
    lift = np.zeros(12)
    for k, (ahead, left) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):  # LF, RF, LH, RH
        lift[3 * k + 2] = 150.0 * (left * roll - ahead * pitch)  # [N], down where the trunk hangs low
    return ff.JointCommand(position=stand, kp=60.0, kd=2.0, torque=J.T @ lift), memory


# %% It is compiled, and stands a push on one leg's hip
push = ff.Push(start=0.3, duration=0.1, force=(0.0, 40.0, 0.0), link="LF_abad_link")
sim = ff.Simulation(robot, level, pushes=[push])
rec = sim.run(1.0)
print(sim)
print("compiled with the physics:", sim.controller_is_compiled)

# %% Does the feedback help?
plain = ff.Simulation(robot, ff.control.Hold(stand, 60.0, 2.0), pushes=[push]).run(1.0)
lean = [float(np.abs(r.trunk_euler()[:, 2]).max()) for r in (rec, plain)]
print("leans less than a plain hold:", lean[0] < lean[1])
together = rec.plot("trunk", plain)

# %% A batch of 64 that differ in mass
batch = ff.Batch(robot, 64, level, free=["trunk.mass"])
batch.set({"trunk.mass": np.linspace(2.5, 5.0, 64)})
batch.run(500)
print("standing:", int((~batch.fallen()).sum()))
