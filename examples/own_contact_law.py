"""# A contact law of one's own

A spring and damper with stick-slip friction, checked, compiled and differentiated like those of the library.
"""

# %% The law: force and slopes, in contact axes, normal last
from dataclasses import dataclass

import numpy as np

import footfall as ff


@dataclass(frozen=True)
class Mat(ff.contact.ForceLaw):
    """A soft mat: linear spring and damper; viscous friction up to the cone."""

    stiffness: float = 8e3  # [N/m]
    damping: float = 120.0  # [N s/m]

    def law(self, depth, v_C, friction, dt):
        touches = depth > 0.0
        n = np.where(touches, np.maximum(self.stiffness * (depth - dt * v_C[2]) - self.damping * v_C[2], 0.0), 0.0)
        slope = np.where(n > 0.0, self.stiffness * dt + self.damping, 0.0)
        speed = np.sqrt(v_C[0] ** 2 + v_C[1] ** 2 + 1e-12)
        drag = np.minimum(300.0, friction * n / speed)  # [N s/m]
        return np.stack([-drag * v_C[0], -drag * v_C[1], n]), np.stack([drag, drag, slope])


# %% A robot stands on it, and the energy audit closes
robot = ff.load("mini_cheetah")
sim = ff.Simulation(robot, contact=Mat())
rec = sim.run(1.0)
print(rec)
print("energy is off by less than 1 %:", rec.energy_residual() < 0.01)

# %% How the stand moves with the mat's stiffness
hold = ff.JointCommand(robot.poses["stand"].joints, kp=40.0, kd=1.0)
slope = ff.linearize(sim, sim.q, sim.v, hold, by="contact.stiffness").B[robot.nv + 5, 0]
print("a stiffer mat lifts the trunk:", slope > 0)
