"""Gallops, bounds and half-bounds under a velocity command; who cannot do them says so."""

import dataclasses

import numpy as np
import pytest
from third_party_models import walker

import footfall as ff
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.named import GAITS_WITH_FLIGHT, nmpc, on_command, schedule
from footfall.control.posture import with_stand
from footfall.errors import InputError
from footfall.sim.run_options import RunOptions
from footfall.sim.runfile import plan

GALLOPS, PAIRS = ("rotary_gallop", "transverse_gallop"), ("half_bound", "bound")
RUNS = [
    *[("mini_cheetah", g, v, "whole_body") for g in GALLOPS for v in (1.5, 2.5)],
    *[("go2", g, v, "whole_body") for g in GALLOPS for v in (1.5, 2.5)],
    *[("spined", g, 1.0, "whole_body") for g in GALLOPS],
    *[(name, g, 1.0, "whole_body") for name in ("mini_cheetah", "go2", "spined") for g in PAIRS],
    *[("spined", "half_bound", v, "whole_body") for v in (0.8, 1.2)],
    *[("mini_cheetah", g, v, "mpc") for g in GALLOPS for v in (1.5, 2.0)],
    *[("go2", g, 1.5, "mpc") for g in GALLOPS],
    *[("spined", g, 1.0, "mpc") for g in GALLOPS],
    *[(name, g, 1.0, "mpc") for name in ("mini_cheetah", "go2", "spined") for g in PAIRS],
]


def run(name, gait, speed, controller="whole_body", seconds=10.0):
    made = plan(with_stand(walker(name)), RunOptions(robot=name, gait=gait, speed=speed, controller=controller))
    return made.simulation.run(seconds), made


@pytest.mark.slow
@pytest.mark.parametrize(("name", "gait", "speed", "controller"), RUNS)
def test_gallops_and_bounds_keep_their_speed(name, gait, speed, controller):
    rec, made = run(name, gait, speed, controller)
    assert not rec.meta["fell"]
    assert rec.mean_velocity(made.ramp)[0] == pytest.approx(speed, rel=0.1)
    # fore feet about together, hind feet about together, the pairs in turn
    LF, RF, LH, RH = rec.contact[rec.time > 5.0].T
    pairs, across = min((LF == RF).mean(), (LH == RH).mean()), max((LF == LH).mean(), (RF == RH).mean())
    assert pairs > across + 0.1


def landings(rec, foot):
    """When a foot lands after it was up for a tenth of a second, past the start [s]: feet that bounce land once."""
    down = rec.contact[:, foot].astype(bool)
    at = rec.time[1:][down[1:] & ~down[:-1]]
    at = at[np.diff(at, prepend=-1.0) > 0.1]
    return at[at > 3.0]


def behind(rec, left, right):
    """How long a right foot lands after the left foot of its pair, or before it if negative: the median [s]."""
    lefts, rights = landings(rec, left), landings(rec, right)
    after = np.array([rights[np.argmin(np.abs(rights - at))] - at for at in lefts])
    assert len(after) > 8
    assert (np.sign(after) == np.sign(np.median(after))).mean() > 0.8  # cycle after cycle
    return float(np.median(after))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "speed"), [("mini_cheetah", 1.5), ("mini_cheetah", 2.5), ("spined", 1.0)])
def test_hind_feet_land_in_the_order_of_the_fore_feet_in_a_transverse_gallop_only(name, speed):
    """In a rotary gallop they land against it, so that the landings go round the body."""
    leads = {}
    for gait in GALLOPS:
        rec, _ = run(name, gait, speed, seconds=7.0)
        assert not rec.meta["fell"]
        fore, hind = behind(rec, 0, 1), behind(rec, 2, 3)
        assert min(abs(fore), abs(hind)) > 0.005  # one after the other
        assert max(abs(fore), abs(hind)) < 0.1  # but as a pair
        leads[gait] = np.sign(fore * hind)
    assert leads == {"rotary_gallop": -1.0, "transverse_gallop": 1.0}


@pytest.mark.parametrize("gait", GAITS_WITH_FLIGHT)
@pytest.mark.parametrize("controller", ["pd", "gravity", "computed_torque", "impedance", "balance"])
def test_a_controller_that_does_not_plan_ahead_refuses_gaits_that_fly(controller, gait):
    with pytest.raises(InputError, match=f"controller '{controller}' does not plan ahead and cannot .*whole_body can"):
        plan(ff.load("mini_cheetah"), RunOptions(robot="mini_cheetah", gait=gait, controller=controller))


@pytest.mark.parametrize("gait", ["pace", "canter"])
def test_a_controller_that_does_not_steer_says_that_it_loses_its_heading(gait):
    with pytest.warns(UserWarning, match=f"'pd' does not steer, and a {gait} loses its heading"):
        plan(ff.load("mini_cheetah"), RunOptions(robot="mini_cheetah", gait=gait, controller="pd"))
    with pytest.raises(InputError, match=f"'spined' falls in a {gait} under controller 'pd': mpc and whole_body"):
        plan(ff.load("spined"), RunOptions(robot="spined", gait=gait, controller="pd"))


def test_short_stances_are_planned_more_often_and_fast_gallops_have_shorter_ones():
    assert on_command("mpc", "trot").mpc_rate == 40.0
    assert on_command("whole_body", "rotary_gallop").mpc_rate == 200.0
    assert on_command("whole_body", "rotary_gallop", rate=100.0).mpc_rate == 100.0
    stances = [g.duty * g.period for g in (schedule("transverse_gallop", v) for v in (0.5, 1.5, 2.0, 2.5))]
    assert stances == sorted(stances, reverse=True)
    assert stances[-1] < 0.11


@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "spined", "dynakat"])
def test_a_speed_limit_follows_the_gait_and_the_robot(name):
    robot = ff.load(name)
    gaits = ("walk", "trot", "rotary_gallop")
    walk, trot, gallop = (on_command("whole_body", g, 2.5).command_limits(robot)["forward"] for g in gaits)
    assert 2.0 * walk < trot < 0.6 * gallop
    taller = on_command("whole_body", "rotary_gallop", 2.5).command_limits(ff.load("xiling"))["forward"]
    assert taller >= gallop
    assert nmpc("trot").command_limits(robot)["forward"] == pytest.approx(trot)
    controller = on_command("whole_body", "rotary_gallop", 2.5)
    controller.start(robot)
    controller._check_command(0.0, ff.Command(forward=0.99 * gallop))
    assert not controller.log
    controller._check_command(0.1, ff.Command(forward=99.0))
    assert "clipped" in controller.log[0][1]


def test_a_speed_limit_is_that_of_the_fastest_gear_where_speed_chooses_the_gait():
    robot, gear = ff.load("mini_cheetah"), GEARS[-1]
    walking = on_command("whole_body", "walk", reflexes=["speed_gait"]).command_limits(robot)["forward"]
    assert walking == pytest.approx(Locomotion(gait=gear).command_limits(robot)["forward"])
    assert walking > 3.0 * on_command("whole_body", "walk").command_limits(robot)["forward"]


@pytest.mark.slow
@pytest.mark.parametrize("gait", ["walk", "trot"])
@pytest.mark.parametrize(
    "name", ["mini_cheetah", "go2", "a1", "anymal_c", "hyq", "solo12", "spined", "xiling", "dynakat"]
)
def test_every_robot_walks_and_trots_at_its_speed_limit_and_is_clipped_to_it(name, gait):
    """Told at once, from a stand; beside it a command that is a little lower, and one that is far too high."""
    limit = on_command("whole_body", gait).command_limits(with_stand(walker(name)))["forward"]
    robot, speeds = with_stand(walker(name)), (0.9 * limit, limit, 1.5 * limit)
    made = [plan(robot, RunOptions(robot=name, gait=gait, speed=v, controller="whole_body")) for v in speeds]
    for one, v, rec in zip(made, speeds, ff.sim.run_batched([m.simulation for m in made], 10.0)):
        assert not rec.meta["fell"]
        assert rec.mean_velocity(one.ramp)[0] == pytest.approx(min(v, limit), rel=0.1)


def test_a_speed_limit_knows_how_fast_motors_turn_and_whether_a_file_says_how_strong_they_are():
    robot = ff.load("mini_cheetah")

    def limit(gait="trot", **motor):
        other = robot.replace(actuators=[dataclasses.replace(a, **motor) for a in robot.actuators])
        return on_command("whole_body", gait).command_limits(other)["forward"]

    usual = limit()
    assert limit(speed_limit=np.inf) == usual  # here legs reach no further
    slow, slower = (limit(speed_limit=rate) for rate in (10.0, 5.0))
    assert slow == pytest.approx(2.0 * slower)
    assert slow < usual
    assert limit(torque_limit=1000.0) == pytest.approx(0.7 * usual)
    assert limit("walk", speed_limit=5.0) < 0.5 * slower * 1.01  # a swing of a walk has less of the cycle
