"""Recordings whose feet touch as a gait says."""

import numpy as np

from footfall import gait
from footfall.recording.recording import Recording
from footfall.robot import library


def stepping(g, seconds=6.0, rate=500.0, noise=0.0):
    """A recording whose feet touch as a gait says, with short bounces where asked."""
    robot = library.load("mini_cheetah")
    time = np.arange(round(seconds * rate)) / rate
    contact = np.array([gait.clock_phase(g, t) < g.duty for t in time])
    if noise:
        contact &= np.random.default_rng(0).uniform(size=contact.shape) > noise
    q = np.tile(robot.state("stand")[0], (len(time), 1))
    q[:, 0] = 0.4 * time
    v = np.zeros((len(time), robot.nv))
    v[:, 3] = 0.4
    columns = {
        "time": time,
        "q": q,
        "v": v,
        "contact": contact,
        "torque": np.ones((len(time), 12)),
        "force": np.zeros((len(time), 4, 3)),
    }
    return Recording(robot, columns)
