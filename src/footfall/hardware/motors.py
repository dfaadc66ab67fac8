"""What motors bear for long.

The torque-speed limits themselves are in ``simulate.actuators``. Yan et al. 2021 rate XiLing's motors by a continuous
and a peak torque: the peak limits every step, the continuous one is a matter of heat. Losses in the windings go with
the square of the torque, so that the root mean square over a run is held against it.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.robot.model.description import Robot


def overheating(robot: Robot, mean_square: Float[ndarray, "nj"]) -> str | None:
    """A sentence about the motors whose root-mean-square torque is more than they can give for ever, if there are."""
    rms = dict(zip(robot.joint_names, np.sqrt(mean_square)))
    hot = [a for a in robot.actuators if rms[a.joint] > a.continuous_torque]
    if not hot:
        return None
    worst = max(hot, key=lambda a: rms[a.joint] / a.continuous_torque)
    others = f" (and {len(hot) - 1} more)" if len(hot) > 1 else ""
    return (
        f"the motor at '{worst.joint}'{others} gave {rms[worst.joint]:.3g} N m (root mean square over the run), more"
        f" than its {worst.continuous_torque:.3g} N m continuous"
    )
