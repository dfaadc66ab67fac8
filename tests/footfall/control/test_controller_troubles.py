"""What may go wrong with a controller: commands beyond the robot, programs without a solution, NaN, exceptions.

What is not finite is an error, or flagged within one step, whatever input it comes by. A degenerate whole-body
program never hangs, and the next tick has a safe torque.
"""

import copy
import dataclasses
import functools

import numpy as np
import pytest
from waiting import within

import footfall as ff
from footfall.control.joint.foot_impedance import FootImpedance
from footfall.control.joint.joint_level import ComputedTorque
from footfall.control.joint.joint_pd import JointPD
from footfall.control.locomotion import locomotion_tick
from footfall.control.locomotion.planner import plan_tick
from footfall.control.locomotion.whole_body import LocomotionGains, WholeBodyQP
from footfall.control.named import COMMAND_CONTROLLERS, GAIT_CONTROLLERS, NAMES, on_command, schedule
from footfall.errors import InputError
from footfall.sensing.emergency_stop import EmergencyStop
from footfall.sim.runfile import options_of
from footfall.sim.runfile import plan as planned
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp

SOLVERS = {"inside": ff.control.Locomotion, "daqp": LocomotionByDaqp}
LEGGED = tuple(name for name in NAMES if name != "wheels")  # for which the robot of these tests has no use
NOT_FINITE = (np.nan, np.inf, -np.inf)
ROBOT = ff.load("mini_cheetah")
FIRST = ROBOT.joint_names[0]


@functools.cache
def by_name(name):
    return planned(ROBOT, options_of({"robot": "mini_cheetah", "controller": name})).simulation.controller


# -- the log is in the recording ---------------------------------------------------------------------------------------
def test_every_excursion_of_a_command_is_an_event_once_and_in_the_file(tmp_path):
    controller = on_command("balance")
    simulation = ff.Simulation(ROBOT, controller)
    path = tmp_path / "run.mcap"
    said = []
    for forward in (0.0, 9.0, 9.5, 0.2, -9.0):
        simulation.command = ff.Command(forward=forward)
        said.append([event for event in simulation.run(0.05, path).events if event.kind == "controller"])
    assert [len(events) for events in said] == [0, 1, 0, 0, 1]
    most = controller.command_limits(ROBOT)["forward"]
    assert said[1][0].message == f"the command forward = 9 is clipped to ±{most:.3g}"
    assert said[1][0].time == pytest.approx(0.05)
    assert said[4][0].time == pytest.approx(0.2)
    assert simulation.state.memory.velocity[0] >= -most
    assert ff.Recording.load(path).events[-1].message == said[4][0].message


@pytest.mark.parametrize("key", ["forward", "sideways", "turn", "height", "roll", "pitch"])
def test_each_part_of_a_command_is_clipped_to_its_limit(key):
    controller, q, v = on_command("balance"), *ff.control.standing_state(ROBOT)
    memory = controller.start(ROBOT)
    sensed = ff.Sensed(q=q, v=v, forces=np.tile([0.0, 0.0, 20.0], (4, 1)))
    most = controller.command_limits(ROBOT)[key]
    beyond, _ = controller(0.0, ROBOT, sensed, ff.Command(**{key: 50.0}), memory)
    assert [words for _, words in controller.log] == [f"the command {key} = 50 is clipped to ±{most:.3g}"]
    memory = controller.start(ROBOT)
    at_limit, _ = controller(0.0, ROBOT, sensed, ff.Command(**{key: most}), memory)
    assert controller.log == []
    np.testing.assert_array_equal(beyond.torque, at_limit.torque)


def test_programs_without_a_solution_are_events_when_they_begin(monkeypatch):
    from footfall_lab.verify import daqp_locomotion

    solve, ticks = daqp_locomotion.solve_bounded, []

    def sometimes(*arguments):
        ticks.append(1)
        return solve(arguments[0] * np.nan, *arguments[1:]) if 20 < len(ticks) <= 40 else solve(*arguments)

    monkeypatch.setattr(daqp_locomotion, "solve_bounded", sometimes)
    simulation = ff.Simulation(ROBOT, LocomotionByDaqp(gait=schedule("trot")))
    events = [event for event in simulation.run(0.1).events if event.kind == "controller"]
    assert simulation.stopped is None
    assert [event.message for event in events] == ["whole-body QP: not finite; the feet that are down hold the weight"]
    assert events[0].time == pytest.approx(0.02)


# -- a controller that fails -------------------------------------------------------------------------------------------
def gives_nan(answer, t, robot):
    """Torques that are no numbers from 0.02 s on."""
    asked, after = answer
    torque = asked.broadcast(robot.nj).torque + np.where(t > 0.0195, np.nan, 0.0)
    return dataclasses.replace(asked, torque=torque), after


def throws(answer, t, robot):
    if t > 0.0195:
        raise ValueError("no idea what to do")
    return answer


def failing(controller, how):
    """The same controller, of the same name, that fails from 0.02 s on."""
    kind = type(controller)

    def call(self, t, robot, sensed, command, memory):
        return how(kind.__call__(self, t, robot, sensed, command, memory), t, robot)

    bad = copy.copy(controller)
    object.__setattr__(bad, "__class__", type(kind.__name__, (kind,), {"__call__": call}))
    return bad


_COMPILED = [
    pytest.param(n, None, marks=() if n == "impedance" else pytest.mark.slow) for n in ("hold", *GAIT_CONTROLLERS)
]


@pytest.mark.parametrize(
    ("name", "compiled"),
    [*(pytest.param(name, False, marks=pytest.mark.slow if name == "nmpc" else ()) for name in LEGGED), *_COMPILED],
)
def test_a_controller_that_gives_nan_stops_the_run_with_its_name_time_and_tick(name, compiled, tmp_path):
    inner = by_name(name)
    simulation = ff.Simulation(ROBOT, failing(inner, gives_nan), compile_controller=compiled)
    recording = simulation.run(0.1, tmp_path / "run.mcap")
    assert simulation.controller_is_compiled == (compiled is None)
    message = simulation.stopped.message
    tick = round(0.02 * inner.rate)
    where = "at 0.0210 s" if compiled is None else "at 0.0200 s"  # a compiled tick is looked at when it is over
    for words in (f"controller {type(inner).__name__} ", f"(tick {tick})", where, f"not finite at joint '{FIRST}'"):
        assert words in message
    assert len(recording) == tick
    assert len(ff.Recording.load(tmp_path / "run.mcap")) == tick
    assert recording.events[-1].message == message


@pytest.mark.parametrize("name", LEGGED)
def test_a_controller_that_throws_stops_the_run_with_its_name_time_and_tick(name, tmp_path):
    inner = by_name(name)
    simulation = ff.Simulation(ROBOT, failing(inner, throws), compile_controller=False)
    recording = simulation.run(0.1, tmp_path / "run.mcap")
    assert simulation.stopped.kind == "error"
    tick = round(0.02 * inner.rate)
    wanted = f"controller {type(inner).__name__} at 0.0200 s (tick {tick}) raised ValueError: no idea what to do"
    assert simulation.stopped.message == wanted
    assert len(recording) == tick
    assert len(ff.Recording.load(tmp_path / "run.mcap")) == tick


def test_sensors_and_switches_before_a_controller_do_not_hide_its_name():
    bad = failing(by_name("pd"), throws)
    simulation = ff.Simulation(ROBOT, bad, emergency_stop=EmergencyStop(), compile_controller=False)
    simulation.run(0.1)
    assert simulation.stopped.message.startswith("controller JointPD at 0.0200 s (tick 20) raised")


# -- what is not finite ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", NOT_FINITE)
def test_numbers_that_are_not_finite_are_refused_by_every_setting(value):
    gait = ff.gait.trot()
    for f in dataclasses.fields(LocomotionGains):
        usual = np.array(f.default, dtype=float)
        bad = value if usual.shape == () else (value, *usual[1:])
        with pytest.raises(InputError, match=f.name):
            LocomotionGains(**{f.name: bad})
    for key in ("rate", "mpc_rate", "friction", "clearance", "hip_height", "joint_kd"):
        with pytest.raises(InputError):
            ff.control.Locomotion(**{key: value})
    for key in ("duty", "period", "stride", "height", "hip_height", "depth", "ramp", "foot_pitch"):
        with pytest.raises(InputError, match=key):
            gait.replace(**{key: value})
    with pytest.raises(InputError, match="delays"):
        gait.replace(delays=(0.0, 0.5, value, 0.0))
    for key in ("kp", "kd", "rate", "coupling", "spine_kp", "spine_kd", "speed_feedback"):
        with pytest.raises(InputError):
            JointPD(gait=gait, **{key: value})
    for key in ("stiffness", "damping", "joint_kd"):
        with pytest.raises(InputError, match=key):
            FootImpedance(JointPD(gait=gait), **{key: value})
    with pytest.raises(InputError, match="bandwidth"):
        ComputedTorque(JointPD(gait=gait), bandwidth=value)
    with pytest.raises(InputError):
        ff.controller(rate=value)
    for key in ("forward", "sideways", "turn", "height", "roll", "pitch"):
        with pytest.raises(InputError, match=key):
            ff.Simulation(ROBOT, on_command("mpc"), command=ff.Command(**{key: value}))


# hold and pd look at no state: their gains act in the physics, which the next test watches
JOINT, JOINT_RATE, LOAD = ("q", 9), ("v", 8), ("forces", 2)
LOOKED_AT = {
    "gravity": (JOINT, LOAD),
    "computed_torque": (JOINT, JOINT_RATE, LOAD),
    "impedance": (JOINT, JOINT_RATE, LOAD),
    "lqr": (JOINT, JOINT_RATE, ("q", 2), ("v", 0)),
}
WALKED_BY = (JOINT, JOINT_RATE, LOAD, ("q", 2), ("q", 4), ("v", 0))


@pytest.mark.parametrize("name", LOOKED_AT)
def test_what_is_sensed_must_be_finite_or_the_torque_is_not(name):
    controller = by_name(name)
    q, v = ff.control.standing_state(ROBOT)
    good = {"q": q, "v": v, "forces": np.tile([0.0, 0.0, 20.0], (4, 1))}
    for value in NOT_FINITE:
        for key, place in LOOKED_AT[name]:
            if key == "forces" and np.isinf(value):
                continue  # above or below any load: a foot that is down, or up
            bad = {k: array.copy() for k, array in good.items()}
            bad[key].flat[place] = value
            assert _fails(controller, ff.Sensed(**bad)), (name, key, place, value)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", COMMAND_CONTROLLERS)
def test_locomotion_that_senses_no_numbers_holds_the_weight_waits_and_says_which_sensor(name, solver):
    """The next good tick is as if nothing had been, whatever the sensor said; 1e9 is no joint's angle either."""
    controller = SOLVERS[solver](gait=schedule("trot"), stage=name)
    q, v = ff.control.standing_state(ROBOT)
    loads = np.tile([0.0, 0.0, ROBOT.mass * 9.81 / 4], (4, 1))
    good, command = {"q": q, "v": v, "forces": loads}, ff.Command(forward=0.3)
    standing, _ = controller(0.0, ROBOT, ff.Sensed(**good), ff.Command(), controller.start(ROBOT))
    _, walking = controller(0.0, ROBOT, ff.Sensed(**good), command, controller.start(ROBOT))
    wanted, _ = controller(0.001, ROBOT, ff.Sensed(**good), command, walking)
    for value in (*NOT_FINITE, 1e9):
        for key, place in WALKED_BY:
            bad = {k: array.copy() for k, array in good.items()}
            bad[key].flat[place] = value
            asked, blind = controller(0.001, ROBOT, ff.Sensed(**bad), command, walking)
            asked = asked.broadcast(ROBOT.nj)
            np.testing.assert_allclose(asked.torque, standing.torque, atol=0.25 * np.abs(standing.torque).max())
            assert all(np.isfinite(getattr(asked, f.name)).all() for f in dataclasses.fields(asked))
            assert controller.log[-1] == (
                0.001,
                f"{_name(key, place)} is not finite; the feet that are down hold the weight",
            )
            again, _ = controller(0.001, ROBOT, ff.Sensed(**good), command, blind)
            np.testing.assert_array_equal(again.broadcast(ROBOT.nj).torque, wanted.broadcast(ROBOT.nj).torque)
    assert len(controller.log) == (len(NOT_FINITE) + 1) * len(WALKED_BY)


def _name(key, place):
    """Of a sensor."""
    if key == "forces":
        return f"force sensor '{ROBOT.foot_names[place // 3]}'"
    if place < (7 if key == "q" else 6):
        return {("q", 2): "position of the base", ("q", 4): "orientation of the base"}.get(
            (key, place), "angular velocity of the base"
        )
    return f"encoder '{ROBOT.joint_names[place - 7]}'" if key == "q" else f"joint rate '{ROBOT.joint_names[place - 6]}'"


def _fails(controller, sensed):
    """An error, or a command that is not finite, which stops the run at this tick."""
    try:
        with np.errstate(all="ignore"):
            asked, _ = controller(0.0, ROBOT, sensed, ff.Command(), controller.start(ROBOT))
    except (InputError, FloatingPointError):
        return True
    asked = asked.broadcast(ROBOT.nj)
    return not all(np.isfinite(getattr(asked, f.name)).all() for f in dataclasses.fields(asked))


@pytest.mark.parametrize("name", LEGGED)
def test_a_state_that_is_not_finite_stops_the_run_within_one_tick(name):
    simulation = ff.Simulation(ROBOT, by_name(name))
    simulation.run(0.01)
    last, state = simulation.time, simulation.state
    v = state.v.copy()
    v[8] = np.nan
    simulation.state = dataclasses.replace(state, v=v)
    recording = simulation.run(0.05)
    assert simulation.stopped is not None
    assert simulation.stopped.kind in ("diverged", "error")
    assert simulation.stopped.time <= last + simulation.model.period + 1e-9
    assert len(recording) <= 1


# -- degenerate whole-body programs ------------------------------------------------------------------------------------
def _spoil(program: WholeBodyQP, how: str) -> WholeBodyQP:
    H, A = program.H.copy(), program.A.copy()
    low, high = program.low.copy(), program.high.copy()
    if how == "nan Hessian":
        H[3, 3] = np.nan
    elif how == "infinite Hessian":
        H[3, 3] = np.inf
    elif how == "negative Hessian":
        H = -H
    elif how == "no Hessian":
        H = 0.0 * H
    elif how == "rank one Hessian":
        H = np.ones_like(H)
    elif how == "no dynamics":
        A = 0.0 * A
    elif how == "twice the same row":
        A[1] = A[0]
    elif how == "crossed bounds":
        low[len(H) + 10], high[len(H) + 10] = 1.0, -1.0
    elif how == "contradiction":
        A[1], low[len(H) + 1], high[len(H) + 1] = A[0], low[len(H)] + 5.0, high[len(H)] + 5.0
    elif how == "huge numbers":
        H, A = 1e200 * H, 1e200 * A
    elif how == "tiny numbers":
        H, A = 1e-200 * H, 1e-200 * A
    return dataclasses.replace(program, H=H, A=A, low=low, high=high)


SPOILT = (
    "nan Hessian",
    "infinite Hessian",
    "negative Hessian",
    "no Hessian",
    "rank one Hessian",
    "no dynamics",
    "twice the same row",
    "crossed bounds",
    "contradiction",
    "huge numbers",
    "tiny numbers",
)


def ticking(solver="daqp"):
    """(controller, sensed, memory) of a robot that stands."""
    controller = SOLVERS[solver](gait=schedule("trot"))
    q, v = ff.control.standing_state(ROBOT)
    forces = np.tile([0.0, 0.0, ROBOT.mass * 9.81 / 4], (4, 1))
    return controller, ff.Sensed(q=q, v=v, forces=forces), controller.start(ROBOT)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("how", SPOILT)
def test_a_degenerate_program_neither_hangs_nor_hurts(how, solver, monkeypatch):
    controller, sensed, memory = ticking(solver)
    usual, after = controller(0.0, ROBOT, sensed, ff.Command(), memory)

    def spoilt(*arguments):
        found, memory = plan_tick(*arguments)
        return dataclasses.replace(found, qp=_spoil(found.qp, how)), memory

    monkeypatch.setattr(locomotion_tick, "plan_tick", spoilt)
    monkeypatch.setattr(controller, "_plan", lambda *arguments: spoilt(controller.model, *arguments), raising=False)
    with within(5.0):  # no hang
        asked, after = controller(0.001, ROBOT, sensed, ff.Command(), after)
    assert np.isfinite(asked.torque).all()
    assert (np.abs(asked.torque) <= controller.model.torque_limits + 1e-9).all()
    if any("whole-body QP" in words for _, words in controller.log):
        # the fallback carries the weight like the usual torque does
        np.testing.assert_allclose(asked.torque, usual.torque, atol=0.25 * np.abs(usual.torque).max())
    else:
        solvable = ("no Hessian", "rank one Hessian", "twice the same row", "no dynamics", "tiny numbers")
        assert how in (*solvable, *(("huge numbers",) if solver == "inside" else ())), how
    monkeypatch.undo()
    again, _ = controller(0.002, ROBOT, sensed, ff.Command(), after)
    np.testing.assert_allclose(again.torque, usual.torque, atol=0.25 * np.abs(usual.torque).max())


def test_no_time_left_means_the_safe_torque(monkeypatch):
    from footfall_lab.verify import daqp_locomotion
    from footfall_lab.verify.daqp import solve_bounded

    rng = np.random.default_rng(1)  # hundreds of iterations, more than a microsecond allows
    n, m = 150, 600
    A, x = rng.normal(size=(m, n)), rng.normal(size=n)
    late = solve_bounded(np.eye(n), 100 * rng.normal(size=n), A, A @ x - 1e-3, A @ x + 1e-3, time_limit=1e-6)
    assert (late.x, late.status) == (None, "time limit")
    monkeypatch.setattr(daqp_locomotion, "solve_bounded", lambda *_: late)
    controller, sensed, memory = ticking()
    asked, _ = controller(0.0, ROBOT, sensed, ff.Command(), memory)
    assert np.isfinite(asked.torque).all()
    assert controller.log == [(0.0, "whole-body QP: time limit; the feet that are down hold the weight")]


def test_a_robot_of_almost_no_mass_is_controlled_or_refused_but_never_hangs():
    weightless = {f"{link.name}.mass": 1e-9 for link in ROBOT.links} | {
        f"{link.name}.inertia": 1e-12 * np.eye(3) for link in ROBOT.links
    }
    robot = ROBOT.replace(weightless)
    controller = on_command("whole_body")
    q, v = ff.control.standing_state(robot)
    sensed = ff.Sensed(q=q, v=v, forces=np.tile([0.0, 0.0, robot.mass * 9.81 / 4], (4, 1)))
    with within(5.0):
        asked, _ = controller(0.0, robot, sensed, ff.Command(forward=0.3), controller.start(robot))
    assert np.isfinite(asked.torque).all()
    assert np.abs(asked.torque).max() < robot.mass * 9.81  # its rotors, which are no links, are all that weighs


def test_a_walker_behind_sensors_walks():
    from footfall.sensing.sensors import Sensors

    robot = ff.load("mini_cheetah")
    sim = ff.Simulation(
        robot, ff.control.Locomotion(), sensors=Sensors.realistic(seed=1), command=ff.Command(forward=0.3)
    )
    sim.run(0.6)
    assert sim.stopped is None
