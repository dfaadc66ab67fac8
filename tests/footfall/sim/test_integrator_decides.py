"""Whether contact is taken at the end of a step is said by the integrator, and by nothing else."""

import dataclasses

import numpy as np
import pytest

import footfall as ff
from footfall.contact import Complementarity, Compliant, Stance
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.sim.equations_of_motion import State
from footfall.sim.step import INTEGRATORS, integrate_step
from footfall.sim.tick import SimulationModel
from footfall.sim.world import World

CHEETAH = ff.load("mini_cheetah")
SOFT = {"damping": 30.0, "stiffness": 2e8}


def stepped(integrator, contact):
    q, v = CHEETAH.state("stand")
    q[2] -= 1e-3
    v[3:6] = 0.2, -0.1, -0.3
    command = JointCommand(q[7:], 0.0, 33.0, 0.7, 0.0)
    after, _, _ = integrate_step(
        integrator, World(robot=CHEETAH, contact=contact), State(q, v), command, np.zeros(6), 1e-3
    )
    return after.v


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_step_is_its_integrators_whatever_the_law_says(integrator):
    either = [stepped(integrator, Compliant(implicit=implicit, **SOFT)) for implicit in (True, False)]
    np.testing.assert_array_equal(*either)


def test_implicit_and_explicit_steps_differ():
    contact = Compliant(**SOFT)
    assert np.abs(stepped("linearly_implicit", contact) - stepped("semi_implicit_euler", contact)).max() > 1e-3


@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler"])
@pytest.mark.parametrize("contact", [Compliant(), Complementarity(), Stance()], ids=lambda law: type(law).__name__)
def test_a_rig_holds_one_truth(contact, integrator):
    for implicit in (True, False):
        world = World(robot=CHEETAH, contact=dataclasses.replace(contact, implicit=implicit))
        rig = SimulationModel(world, None, integrator, 1e-3, 1)
        assert rig.world.contact.implicit == (integrator == "linearly_implicit")


def test_an_explicit_law_under_the_implicit_integrator_is_refused_not_changed():
    with pytest.raises(InputError, match=r"explicit.*linearly_implicit is not.*semi_implicit_euler, heun, rk4"):
        ff.Simulation(CHEETAH, contact=Compliant(implicit=False))
    sim = ff.Simulation(CHEETAH, contact=Compliant.as_printed(), integrator="heun", dt=1e-4)
    assert sim.model.world.contact.implicit is False


class Bouncy:
    """A law of one's own that knows implicit steps alone."""

    implicit = True

    def start(self, spheres):
        return {}

    def respond(self, robot, M, force, points, v, dt, memory):
        return np.linalg.solve(M, force), [np.zeros(3) for _ in points], memory


def test_a_law_that_cannot_be_taken_otherwise_says_so():
    with pytest.raises(InputError, match=r"Bouncy.*cannot be semi_implicit_euler"):
        ff.Simulation(CHEETAH, contact=Bouncy(), integrator="semi_implicit_euler")
