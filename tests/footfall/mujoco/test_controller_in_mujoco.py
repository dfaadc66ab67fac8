"""A controller runs beside MuJoCo as it runs in footfall: compiled where it can be, and with the same result."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.mujoco import run
from footfall.sim.runfile import options_of, plan


@pytest.mark.parametrize("controller", ["pd", "whole_body", "learned"])
def test_controllers_of_the_library_are_compiled(controller: str) -> None:
    robot = ff.load("mini_cheetah")
    simulation = plan(robot, options_of({"robot": robot.name, "controller": controller})).simulation
    asked = run.CompiledController(simulation)
    assert asked.compiled is not None
    q, v, memory = simulation.q, simulation.v, simulation.state.memory
    force = np.zeros((4, 3))
    command, _ = asked(0.0, q, v, force, memory)
    asked.compiled = None
    plain, _ = asked(0.0, q, v, force, memory)
    for name in ("position", "velocity", "kp", "kd", "torque"):
        np.testing.assert_allclose(getattr(command, name), getattr(plain, name), rtol=1e-9, atol=1e-7)


def test_a_controller_with_hidden_state_runs_in_python() -> None:
    robot = ff.load("mini_cheetah")
    stand, seen = robot.poses["stand"].joints, []

    @ff.controller(rate=1000)
    def counting(t, robot, sensed, command, memory):
        seen.append(t)
        return ff.JointCommand(position=stand + 1e-3 * len(seen), kp=40.0, kd=1.0), memory

    assert run.CompiledController(ff.Simulation(robot, counting)).compiled is None
