"""Gradients that take what a solver settled on, in loops too: those of the solution, without its turns."""

import numpy as np
import pytest

import footfall as ff
import nptrace
import nptrace as trace
from footfall.control.interface import Command
from footfall.sim.tick import Inputs


def chained(a):
    """Five roots, each of a sum with the one before; solved by Newton's method in a loop within the loop."""

    def link(_, x):
        aim = a[0] + a[1] * x

        def newton(_, inner):
            guess, aim = inner
            return 0.5 * (guess + aim / guess), aim

        start = (1.0 + 0.0 * x, aim)
        found, _ = nptrace.repeat(12, newton, start, until=lambda y: np.abs(y[0] * y[0] - y[1]) < 1e-13 * y[1])
        return nptrace.custom_fixed_point(found, lambda y: y - (y * y - aim) / (2.0 * y), always=False)

    return nptrace.repeat(5, link, 1.0)


def derivative(a):
    """By hand: 2 x dx = da_0 + x_before da_1 + a_1 dx_before."""
    x, slope = 1.0, np.zeros(2)
    for _ in range(5):
        new = np.sqrt(a[0] + a[1] * x)
        x, slope = new, (np.array([1.0, x]) + a[1] * slope) / (2.0 * new)
    return slope


def test_a_settled_gradient_is_that_of_the_solution():
    a = np.array([1.7, 2.3])
    settled = trace.gradient(chained, a, settled=True, cache=False)
    np.testing.assert_allclose(settled(a), derivative(a), rtol=1e-12)
    np.testing.assert_allclose(settled(a), trace.gradient(chained, a, cache=False)(a), rtol=1e-9)


def test_it_does_not_go_back_through_the_turns():
    a = np.ones(2)
    loops = [trace.gradient(chained, a, settled=s, cache=False).statistics["loops"] for s in (False, True)]
    assert loops[1] < loops[0]


@pytest.mark.slow
def test_a_settled_gradient_of_ticks_in_contact_is_that_of_finite_differences():
    """A robot that is let fall by a millimetre and lands on sticking feet; its height after 10 ms by its state."""
    sim = ff.Simulation(ff.load("mini_cheetah"), dt=1e-3)
    inputs = Inputs(Command(), np.zeros(6))

    def height(model, q, v):
        state = ff.sim.tick.RunState(
            tick=0.0,
            q=q,
            v=v,
            motor=sim.state.motor,
            forces=sim.state.forces,
            work=sim.state.work,
            impulse=sim.state.impulse[:0],
            contact=sim.state.contact,
            memory=sim.state.memory,
        )
        return ff.sim.summed_cost(model, state, inputs, 5, lambda q, v, command: q[2] + 0.1 * v[5])

    q, v = sim.state.q + np.eye(19)[2] * 1e-3, sim.state.v
    gradient = ff.gradient(height, sim.model, q, v, wrt="v", settled=True)
    value = ff.compile(height, sim.model, q, v, verify=False)
    found, step = gradient(q, v), 1e-6
    measured = [(value(q, v + step * e) - value(q, v - step * e)) / (2.0 * step) for e in np.eye(len(v))]
    np.testing.assert_allclose(found, measured, atol=2e-3 * np.abs(measured).max())
