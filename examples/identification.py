"""# What weighs the robot?

Half a kilogramme was put on the trunk; a recording of a trot tells.
"""

# %% A recording of a robot that is heavier than we believe
import footfall as ff
from footfall.analysis import identify

believed = ff.load("mini_cheetah")
real = believed.replace({"trunk.mass": 3.3 + 0.5})
tuned = ff.gait.for_robot(believed, "trot")
rec = ff.Simulation(real, ff.control.JointPD(gait=tuned.gait, kp=tuned.kp, kd=tuned.kd)).run(2.0)

# %% Say what is unknown
found = identify(rec, prior=believed, parameters=["trunk.mass"])
mass, deviation = found.values["trunk.mass"], found.deviations["trunk.mass"]
print(f"{mass:.1f} kg, known to {deviation:.2f} kg")

# %% The steps of a simulation are known exactly: then the mass is, too
exact = identify(rec, prior=believed, parameters=["trunk.mass"], acceleration="step")
print(f"{exact.values['trunk.mass']:.3f} kg; vertical force unexplained: {exact.before[5]:.0f} N before,", end=" ")
print(f"{exact.residual[5]:.0f} N after")
