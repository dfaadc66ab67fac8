"""# First walk

A robot of the library trots, is looked at from three sides, and walks on command.
"""

# %% A robot, a gait and a run of three seconds
import footfall as ff

robot = ff.load("mini_cheetah")
trot = ff.control.JointPD.tuned(robot, "trot")
rec = ff.Simulation(robot, trot).run(3.0)
print(rec)

# %% What came of it: speed and cost after the start
print(f"{rec.mean_speed(after=1.5):.1f} m/s, cost of transport {rec.cost_of_transport(after=1.5):.1f}")

# %% As a figure and as a table
figure = rec.plot("contact", between=(2.0, 3.0))
print(rec.to_pandas().loc[2.0:3.0, ["q.x", "q.z", "force.LF.z"]].mean().round(1))

# %% Heavier, side by side with the first
heavy = ff.Simulation(robot.replace({"trunk.mass": 4.3}), trot).run(3.0)
print(f"with another kilogramme its height differs by up to {1e3 * rec.compare(heavy)['trunk z'].largest:.0f} mm")
together = rec.plot("trunk", heavy)

# %% On command: a schedule of speeds
schedule = ff.sim.Schedule.parse("0: forward=0.3; 1.5: forward=0.3, turn=0.5")
walk = ff.Simulation(robot, ff.control.Locomotion(), command=schedule).run(3.0)
print(f"turned by {walk.trunk_euler()[-1, 0]:.1f} rad")
path = walk.plot("trunk")
