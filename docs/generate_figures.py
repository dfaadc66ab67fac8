"""Make the pictures of the documentation that no study makes.

python docs/generate_figures.py [FOLDER]

FOLDER is docs/figures unless given. picture.png: a Mini Cheetah that trots under whole-body control; trot.gif: the two
commands of the README; learning-curve.png, from docs/measured/learning-cpu.csv; learned-trot.png, the shipped policy.
"""

from __future__ import annotations

import sys
from pathlib import Path

import footfall as ff
from footfall.learn.figures import curve_figure, read_curve, stills_figure

DOCS = Path(__file__).parent


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "figures"
    robot = ff.load("mini_cheetah")

    fast = ff.Simulation(robot, ff.control.on_command("whole_body"), command=ff.Command(forward=0.8)).run(4.0)
    picture = fast.picture(3.53, width=960, height=480)
    picture.quantize(128).save(folder / "picture.png", optimize=True)

    trot = ff.Simulation(robot, ff.control.JointPD.tuned(robot, "trot")).run(2.5)
    trot.save_video(folder / "trot.gif", width=400, start=0.5, end=2.5)

    curve_figure(read_curve(DOCS / "measured" / "learning-cpu.csv")).savefig(folder / "learning-curve.png", dpi=110)
    policy = ff.control.Policy.load("mini_cheetah")
    learned = ff.Simulation(robot, policy, command=ff.Command(forward=0.4)).run(6.0)
    stills_figure(learned, policy.gait).savefig(folder / "learned-trot.png", dpi=110)


if __name__ == "__main__":
    main()
