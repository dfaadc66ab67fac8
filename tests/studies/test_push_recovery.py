"""Push-recovery maps: the same every time, mirror images where the robot is one, and reflexes raise them."""

import json

import numpy as np
import push_recovery
import pytest
from push_recovery import CONTROLLERS, PushMap, figure, push_map, stands

import footfall as ff
from footfall.errors import InputError


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


def test_a_compiled_controller_is_mapped_in_a_batch_and_agrees_with_single_runs(cheetah):
    found = push_map(cheetah, "pd", directions=4, phases=2, halvings=4)
    assert found.impulse.shape == (2, 4)
    assert (found.impulse > 0).all()
    again = push_map(cheetah, "pd", directions=4, phases=2, halvings=4)
    assert (found.impulse == again.impulse).all()
    # one push alone, in a simulation of its own: what the map says is survived is, and one step more is not
    from footfall.sim.runfile import options_of, plan

    direction, phase = 1, 0
    for more, survives in ((0.0, True), (found.resolution, False)):
        planned = plan(cheetah, options_of({"robot": "mini_cheetah", "controller": "pd"}))
        simulation, gait = planned.simulation, planned.gait
        steady = np.ceil(max(push_recovery.STEADY, gait.ramp + gait.period) / gait.period) * gait.period
        impulse = found.impulse[phase, direction] + more
        simulation.run(steady)
        height = float(simulation.q[2])
        simulation.pushes = [
            ff.Push(start=simulation.time, duration=push_recovery.PUSH, force=(0.0, impulse / push_recovery.PUSH, 0.0))
        ]
        simulation.run(push_recovery.PUSH + push_recovery.AFTER)
        assert (simulation.stopped is None and stands(simulation.q, height)) == survives


def test_a_robot_that_lies_or_leans_does_not_stand():
    q = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0])
    assert stands(q, 0.3)
    assert not stands(np.array([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]), 0.3)
    assert not stands(np.array([0.0, 0.0, 0.3, np.cos(0.5), np.sin(0.5), 0.0, 0.0]), 0.3)
    assert not stands(np.full(7, np.nan), 0.3)


def test_a_figure_has_a_panel_for_every_controller():
    maps = [
        PushMap(
            robot="robot",
            controller=name,
            reflexes=on,
            directions=(0.0, 90.0),
            phases=(0.0,),
            impulse=np.array([[3.0, 2.0 + on]]),
            resolution=0.5,
        )
        for name in CONTROLLERS
        for on in (False, True)
    ]
    drawn = figure(maps)
    assert len(drawn.axes) == len(CONTROLLERS)
    assert json.loads(json.dumps(maps[0].data()))["impulse"] == [[3.0, 2.0]]
    assert "worst 2.0 N s" in str(maps[0])


def test_bad_requests_say_what_is_wrong(cheetah):
    with pytest.raises(InputError, match="did you mean 'whole_body'"):
        push_map(cheetah, "whole_bdy")
    with pytest.raises(InputError, match="directions"):
        push_map(cheetah, "pd", directions=0)


@pytest.mark.slow
def test_reflexes_raise_the_impulse_survived(cheetah):
    options = {"directions": 4, "phases": 2, "halvings": 4}
    off, on = (push_map(cheetah, "whole_body", reflexes, **options) for reflexes in (False, True))
    assert on.mean > 1.1 * off.mean
    assert on.impulse.min() >= off.impulse.min()
