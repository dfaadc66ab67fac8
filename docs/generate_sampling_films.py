"""Films of the tasks of predictive control by sampling: ``docs/figures/sampling-TASK.gif``, each below 1 MB.

    python docs/generate_sampling_films.py            # all
    python docs/generate_sampling_films.py jump       # one

The runs are those of ``studies/sampling_control.py``: a robot, a ground and noise that the planner does not know.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "studies"))
study = import_module("sampling_control")

FILMS = {  # trial: (seed, start and end [s], robot)
    "push": (1, 1.6, 4.4, "mini_cheetah"),
    "get_up": (101, 0.0, 2.4, "mini_cheetah"),
    "hind_legs": (100, 0.3, 4.3, "mini_cheetah"),
    "hop": (0, 0.5, 2.5, "mini_cheetah"),
    "jump": (101, 0.4, 2.4, "mini_cheetah"),
    "flip": (0, 0.4, 2.4, "mini_cheetah"),
    "reach": (0, 0.2, 3.0, "mini_cheetah"),
    "dance": (0, 0.5, 4.5, "mini_cheetah"),
}
MOST = 1_000_000  # bytes


def main() -> None:
    for name in sys.argv[1:] or FILMS:
        seed, start, end, robot = FILMS[name]
        run, _, _, rec = study.run_once(name, robot, seed)
        path = ROOT / "docs" / "figures" / f"sampling-{name.replace('_', '-')}.gif"
        rec.save_video(path, fps=12.5, width=320, start=start, end=end)
        fine, figures = study.TRIALS[name].judge(run)
        print(path.name, path.stat().st_size, "done" if fine else "not done", figures, flush=True)
        if path.stat().st_size > MOST:
            raise SystemExit(f"{path.name} has {path.stat().st_size} bytes, more than {MOST}")


if __name__ == "__main__":
    main()
