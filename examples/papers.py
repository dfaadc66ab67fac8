"""# From the papers

The equations of a paper beside each other, and one of its claims measured.
"""

# %% Two formalisms for the same accelerations (`footfall verify mini_cheetah` compares them all)
import numpy as np

import footfall as ff

robot = ff.load("mini_cheetah")
random = np.random.default_rng(0)
q, v = robot.state("stand")
v = v + 0.3 * random.normal(size=robot.nv)
tau = random.normal(size=robot.nj)
recursive = ff.dynamics.forward_dynamics(robot, q, v, tau)
articulated = ff.dynamics.articulated_body(robot, q, v, tau)
print("Algorithm 5 and articulated bodies agree:", np.allclose(recursive, articulated))

# %% Algorithms 2, 3 and 4 of de Paula et al. 2024 add up to inverse dynamics
a = random.normal(size=robot.nv)
parts = ff.dynamics.velocity_terms(robot, q, v) + ff.dynamics.gravity_terms(robot, q)
parts = parts + ff.dynamics.mass_matrix(robot, q) @ a
print("the split terms add up:", np.allclose(parts, ff.dynamics.inverse_dynamics(robot, q, v, a)))

# %% How many operations the compiled function takes, a figure that no noise touches
print(f"{ff.program(ff.dynamics.forward_dynamics, robot).live_operations} operations")

# %% The claims of five papers, and what of them holds (`footfall reproduce depaula2024` measures them again)
from collections import Counter

from footfall_lab.papers import recorded

for paper, verdicts in recorded.record().verdicts.items():
    print(f"{paper}: " + ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts.values()).items()))
