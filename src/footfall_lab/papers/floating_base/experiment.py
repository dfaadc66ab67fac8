"""The lecture slides, statement by statement: floating bases, contact modes, the structure of the dynamics.

The slides print equations and facts, no numbers: a claim holds if it holds to rounding on every library robot with open
chains, in random states; the note tells how it was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from footfall.control.joint.joint_pd import Hold
from footfall.dynamics.formalisms.contact_sets import contact_set
from footfall.dynamics.formalisms.modes import all_modes, mode_name
from footfall.dynamics.random_states import States, random_states
from footfall.recording.recording import Recording
from footfall.robot import Robot, library
from footfall.sim.simulation import Simulation
from footfall.spatial import rotation
from footfall_lab.papers.claims import Claim, Outcome, Table
from footfall_lab.papers.floating_base import equations
from footfall_lab.papers.floating_base.facts import (
    NAME,
    energy,
    fact1,
    fact2,
    fact4,
    fact5,
    fact6,
    fact7,
    gravity,
    jcb_structure,
    momentum_rows,
    skew_property,
)
from footfall_lab.papers.floating_base.modes import (
    base_coordinates,
    biped_modes,
    embedded,
    foot_takes_six,
    gimbal_lock,
    minimal_dynamics,
    one_legged,
    quadruped_modes,
    quaternion_regular,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Modelling legged robots on a floating base (lecture slides)"

Progress = Callable[[str, int, int], None]

CLAIMS: tuple[Callable[[Sequence[Robot], Sequence[States]], Claim], ...] = (
    fact1,
    fact2,
    fact4,
    fact5,
    fact6,
    fact7,
    jcb_structure,
    quadruped_modes,
    biped_modes,
    gimbal_lock,
    quaternion_regular,
    gravity,
    momentum_rows,
    skew_property,
    energy,
    one_legged,
    base_coordinates,
    foot_takes_six,
    embedded,
    minimal_dynamics,
    *equations.CLAIMS,
)

_SUMMARY = (
    "The slides compare two ways to model a robot that touches the ground, minimal coordinates of each contact mode and"
    " excess coordinates with constraints, and list what the equations of a floating base have in common. Each"
    " statement is measured on every robot of the library."
)
_CAPTION = (
    "Largest over smallest singular value of the map from rates to angular velocity, along pitch: Euler angles of"
    " either order lose a direction at 90 degrees, the quaternion none."
)

_FLIGHT = (
    "Facts 1 and 2: without weight and off the ground the legs swing, which rotates the base against them; the centre"
    " of mass does not move."
)


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """Assess all claims on every library robot. ``quick``: two states each instead of ten."""
    del workers  # takes only seconds
    # with open chains, as in the slides: a closed leg has joints without motors
    robots = [robot for robot in map(library.load, library.names()) if not robot.loops]
    states = [random_states(robot, 2 if quick else 10, seed=11) for robot in robots]
    claims = []
    for k, claim in enumerate(CLAIMS):
        if progress is not None:
            progress(claim.__name__.replace("_", " "), k, len(CLAIMS))
        claims.append(claim(robots, states))
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=_SUMMARY,
        claims=tuple(claims),
        figures={"gimbal_lock": _figure()},
        captions={"gimbal_lock": _CAPTION},
        tables=(_modes_table(robots[0]),),
        settings={
            "robots": ", ".join(robot.name for robot in robots),
            "states": f"{len(states[0])} random ones of each robot, seed 11",
        },
        replays={_FLIGHT: {robots[0].name: flight(robots[0])}},
    )


def flight(robot: Robot) -> Recording:
    """Simulate legs that swing back without weight or ground: they move the base, but not the centre of mass."""
    q, v = robot.state("stand", height=0.42)
    q[7:] += np.tile([0.0, 1.2, 0.0], 4)  # all four forwards, knees bent as before
    controller = Hold("stand", kp=8.0, kd=0.3)
    sim = Simulation(robot, controller, start=(q, v), gravity=(0.0, 0.0, 0.0), integrator="rk4", stop_on_fall=False)
    return sim.run(1.5)


def _modes_table(robot: Robot) -> Table:
    """Return a table of the contact modes of one quadruped, standing."""
    q, rows = robot.state("stand")[0], []
    for mode in all_modes(robot):
        found = contact_set(robot, q, mode)
        values = (found.rows, found.rank, found.mobility, found.internal)
        rows.append((mode_name(robot, mode), *map(str, values), f"{found.conditioning:.1f}"))
    header = ("feet down", "contact rows", "rank", "degrees of freedom", "internal forces", "conditioning")
    return Table(f"Contact modes of {robot.name}, standing", header, tuple(rows))


def _figure() -> Figure:
    """Draw the condition number of the rate maps over pitch."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.0), layout="constrained")
    axes = figure.subplots()
    pitch = np.linspace(0.0, 89.95, 400)
    for order, color in (("zyx", "#0072b2"), ("xyz", "#d55e00")):
        values = [
            np.linalg.cond(rotation.euler_rates_to_body(np.array([0.1, np.radians(p), 0.2]), order)) for p in pitch
        ]
        axes.semilogy(pitch, values, color=color, ls="-" if order == "zyx" else "--", label=f"Euler angles {order}")
    axes.semilogy(pitch, np.ones_like(pitch), color="#009e73", label="quaternion")
    axes.set(xlabel="middle angle [deg]", ylabel="condition number", xlim=(0, 90))
    axes.grid(True, color="#dddddd", lw=0.6)
    axes.legend(frameon=False)
    return figure
