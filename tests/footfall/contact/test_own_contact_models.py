"""Contact models of users' own classes, without the base."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact.model import ContactModel
from footfall.contact.points import spheres_of
from footfall.dynamics.factor import factor, solve_factored
from footfall.errors import InputError
from footfall.sim.tick import SimulationModel
from footfall.sim.world import World

ROBOT = ff.load("mini_cheetah")


class Cushion:
    """A user's own contact model without the base: a vertical spring under every sphere."""

    implicit = False

    def start(self, spheres):
        return {}

    def respond(self, robot, M, force, points, v, dt, memory):
        forces = [
            p.R_BC[:, 2] * np.maximum(-2e4 * p.distance - 100.0 * (p.R_BC[:, 2] @ (p.J @ v)), 0.0) * (p.distance < 0.0)
            for p in points
        ]
        total = sum((p.J.T @ f for p, f in zip(points, forces)), start=force)
        return solve_factored(robot, *factor(robot, M), total), forces, memory


def test_a_users_contact_model_without_the_base_has_the_defaults_and_runs():
    sim = ff.Simulation(ROBOT, contact=Cushion(), integrator="semi_implicit_euler", dt=2.5e-4)
    model = sim.model.world.contact
    assert isinstance(model, ContactModel)
    assert (model.hard, model.modes(4), model.columns({}, 4)) == (False, {}, {})
    rec = sim.run(0.3)
    assert rec.meta["contact"] == "Cushion"
    assert sim.stopped is None
    assert rec.force[-1, :, 2].sum() == pytest.approx(ROBOT.mass * 9.81, rel=0.1)


def test_an_own_law_in_a_world_is_adapted_too():
    world = World(robot=ROBOT, contact=Cushion())
    assert world.contact.start(spheres_of(ROBOT)) == {}
    with pytest.raises(InputError, match="Cushion is evaluated at the start"):
        SimulationModel(world, None, "linearly_implicit", 1e-3, 1)
    with pytest.raises(InputError, match="needs implicit and start and respond"):
        World(robot=ROBOT, contact=object())
