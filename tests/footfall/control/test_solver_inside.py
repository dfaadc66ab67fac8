"""Locomotion with its solvers inside: the walk that DAQP makes, safe fallbacks, many robots, C, derivatives."""

import dataclasses
import shutil
import subprocess

import numpy as np
import pytest

import footfall as ff
from footfall.compiling import Bound
from footfall.control.locomotion import convex_mpc, whole_body
from footfall.control.locomotion.locomotion_tick import QP_FAILURES
from footfall.control.locomotion.planner import plan_tick
from footfall.sim.rollouts import ground_inputs
from footfall.sim.tick import Inputs, tick
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp
from footfall_lab.verify.solver_referee import compared
from nptrace.ir.statements import all_loops
from nptrace.runtime.compiled import program


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


SOLVERS = {"inside": ff.control.Locomotion, "daqp": LocomotionByDaqp}


def walk(robot, solver, seconds=1.0, **options):
    controller = SOLVERS[solver]()
    start = ff.control.standing_state(robot)
    simulation = ff.Simulation(robot, controller, start=start, command=ff.Command(forward=0.5), **options)
    return simulation, simulation.run(seconds)


def test_walk_is_that_of_the_referee(cheetah):
    """Both solve the same programs: after a second of trot trunk and feet are within a hundredth of a millimetre.

    Solutions that differ by 1e-10 may let a joint slip out of its dry friction a tick earlier: 4e-5 rad, for a while.
    """
    inside, one = walk(cheetah, "inside")
    outside, other = walk(cheetah, "daqp")
    assert inside.controller_is_compiled
    assert not outside.controller_is_compiled
    np.testing.assert_allclose(one.q[-1][:7], other.q[-1][:7], atol=2e-6)
    feet = [ff.kinematics.foot_positions(cheetah, rec.q[-1]) for rec in (one, other)]
    np.testing.assert_allclose(feet[0], feet[1], rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(one.q[500], other.q[500], rtol=0.0, atol=1e-6)


def test_events_of_a_compiled_walk_are_those_of_one_in_python(cheetah):
    """Found from what was recorded: the same words at the same ticks."""
    push = [ff.sim.Push(start=0.3, duration=0.1, force=(0.0, 120.0, 0.0))]
    logs = [walk(cheetah, solver, 0.8, pushes=push)[0].controller.log for solver in ("inside", "daqp")]
    assert any("sidestep" in words for _, words in logs[0])
    assert [words for _, words in logs[0]] == [words for _, words in logs[1]]
    np.testing.assert_allclose([t for t, _ in logs[0]], [t for t, _ in logs[1]], atol=2e-3)


def test_gait_changes_while_compiled_code_runs(cheetah):
    simulation, _ = walk(cheetah, "inside", 0.2)
    simulation.controller.switch(ff.gait.walk(duty=0.75, period=0.8))
    simulation.run(1.5)
    np.testing.assert_allclose(simulation.state.memory.timing, [0.75, 0.8])
    assert simulation.stopped is None


@pytest.mark.parametrize("part", [whole_body, convex_mpc])
def test_program_that_is_not_solved_falls_back_to_a_safe_torque(cheetah, part, monkeypatch):
    """One step is not enough where bounds act: the memory says so, and torques stay within their limits."""
    monkeypatch.setattr(part, "_ITERATIONS", 1)
    controller = ff.control.Locomotion()
    memory = controller.start(cheetah)  # plain NumPy: nothing is compiled here
    q, v = ff.control.standing_state(cheetah)
    v[3:5] = [1.5, -1.5]
    sensed = ff.Sensed(q=q, v=v, forces=np.tile([0.0, 0.0, 20.0], (4, 1)))
    asked, after = controller(0.0, cheetah, sensed, ff.Command(), memory)
    assert QP_FAILURES[round(float(after.trouble[0 if part is convex_mpc else 1]))] == "iteration limit"
    assert (np.abs(asked.torque) <= controller.model.torque_limits).all()
    assert any("iteration limit" in words for _, words in controller.log)


def test_what_is_not_finite_is_never_passed_over(cheetah):
    simulation, _ = walk(cheetah, "inside", 0.1)
    simulation.state = dataclasses.replace(simulation.state, v=np.full(cheetah.nv, np.nan))
    simulation.run(0.01)
    assert simulation.stopped is not None
    assert simulation.stopped.kind == "diverged"


@pytest.mark.parametrize(
    ("sensor", "axis", "name"),
    [("position", 2, "encoder 'LF_knee'"), pytest.param("force", 4, "force sensor 'RF'", marks=pytest.mark.slow)],
)
def test_a_sensor_that_is_lost_for_a_moment_stops_no_compiled_walk(cheetah, sensor, axis, name):
    fault = ff.sensing.Fault(sensor=sensor, kind="missing", start=0.2, duration=0.003, value=0.0, axes=(axis,))
    simulation, recording = walk(cheetah, "inside", 0.5, sensors=ff.sensing.Sensors(faults=(fault,)))
    assert simulation.controller_is_compiled
    assert simulation.stopped is None
    assert np.isfinite(recording.torque).all()
    assert [event.message for event in recording.events] == [
        f"{name} is not finite; the feet that are down hold the weight"
    ]
    _, sound = walk(cheetah, "daqp", 0.5, sensors=ff.sensing.Sensors())  # the same walk, and nothing to compile
    np.testing.assert_allclose(recording.q[-1], sound.q[-1], atol=0.02)  # three ticks late


def test_another_friction_is_walked_on_by_the_same_machine_code(cheetah):
    """Numbers of the ground are inputs of a program that takes long to compile: each run has its own."""
    keys = set()
    for friction in (0.8, 0.07):
        simulation, recording = walk(cheetah, "inside", 0.6, ground=ff.contact.Plane(friction))
        normal, along = recording.force[..., 2], np.linalg.norm(recording.force[..., :2], axis=-1)
        ratio = np.max((along / np.maximum(normal, 1e-9))[normal > 5.0])
        assert ratio == pytest.approx(friction, rel=0.01)  # some foot slides for a moment in either
        inputs = Inputs(simulation.command_now, np.zeros(6))
        keys.add(Bound(tick, simulation.model, (simulation.state, inputs), ground_inputs(simulation.model), {}).key())
    assert len(keys) == 1
    assert None not in keys


@pytest.mark.slow
@pytest.mark.parametrize(("case", "programs"), [("pushed", 700), ("falling", 900), ("steps", 1200), ("weak", 700)])
def test_programs_of_walks_have_the_referees_solutions(case, programs):
    """Those of steps have one that leads predictor and corrector round in circles, those of falls heavy multipliers."""
    tally = compared(case, programs)
    assert len(tally.torque) > 300
    assert tally.active > 50
    assert tally.unsolved == 0
    assert tally.beyond == 0
    assert tally.spoilt >= 50
    assert tally.believed == 0
    assert tally.harmed == 0
    assert max(tally.torque) < 1e-4
    assert max(tally.force) < 1e-3


@pytest.mark.slow
def test_robots_of_a_batch_carry_loads_that_their_controllers_do_not_know_of(cheetah):
    free, start = ["trunk.mass", "ground.friction"], ff.control.standing_state(cheetah)
    with pytest.raises(ff.TraceError, match="FixedModel"):
        ff.Batch(cheetah, 4, ff.control.Locomotion(), free=free, start=start)
    batch = ff.Batch(cheetah, 4, ff.control.FixedModel(ff.control.Locomotion(), cheetah), free=free, start=start)
    loads = np.array([0.0, 2.0, 4.0, 40.0])  # [kg]
    batch.set({"trunk.mass": cheetah.parameter("trunk.mass") + loads})
    batch.set_command(forward=0.3)
    batch.run(1500)
    np.testing.assert_array_equal(batch.fallen() | (batch.q[:, 2] < 0.17), [False, False, False, True])
    np.testing.assert_allclose(batch.q[:3, 0], 0.45, atol=0.12)
    assert (np.diff(batch.q[:3, 2]) < 0.0).all()  # who carries more stands lower: nobody told them


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batch_of_walking_robots_is_so_many_single_ones(cheetah, dtype):
    start = ff.control.standing_state(cheetah)
    batch = ff.Batch(cheetah, 11, ff.control.Locomotion(), dtype=dtype, start=start)
    speeds = np.linspace(-0.3, 0.6, 11)
    batch.set_command(forward=speeds)
    batch.run(2000)
    assert not batch.fallen().any()
    np.testing.assert_allclose(batch.q[:, 0], 1.7 * speeds, atol=0.25)
    if dtype == np.float64:
        alone = ff.Simulation(cheetah, ff.control.Locomotion(), start=start, command=ff.Command(forward=speeds[-1]))
        alone.run(2.0)
        np.testing.assert_allclose(batch.q[-1], alone.q, atol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
def test_exported_controller_needs_no_heap_and_agrees(cheetah, tmp_path):
    from footfall.cli.export_controller import write_locomotion

    files = write_locomotion(cheetah, tmp_path)
    assert "alloc" not in "".join(file.read_text() for file in files)
    flags = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    for end in ("test", "main"):
        sources = [str(tmp_path / "locomotion.c"), str(tmp_path / f"locomotion_{end}.c")]
        subprocess.run([*flags, *sources, "-lm", "-o", str(tmp_path / end)], check=True)
    subprocess.run([str(tmp_path / "test")], check=True)
    q, v = ff.control.standing_state(cheetah)
    given = [*q, *v, *np.tile([0.0, 0.0, 22.0], 4), *np.zeros(6)]
    line = " ".join(map(repr, map(float, given)))
    said = subprocess.run(
        [str(tmp_path / "main")], input=f"{line}\n{line}\n", capture_output=True, text=True, check=True
    )
    rows = np.array([row.split() for row in said.stdout.splitlines()], float)
    controller = ff.control.Locomotion()
    memory, sensed = controller.start(cheetah), ff.Sensed(q=q, v=v, forces=np.tile([0.0, 0.0, 22.0], (4, 1)))
    for row in rows:
        asked, memory = controller(0.0, cheetah, sensed, ff.Command(), memory)
        np.testing.assert_allclose(row[-cheetah.nj :], asked.torque, atol=1e-6)
    for place in (9, cheetah.nq + 8, cheetah.nq + cheetah.nv + 2, len(given) - 6):  # encoder, rate, force, command
        spoilt = " ".join("nan" if k == place else word for k, word in enumerate(line.split()))
        text = f"{line}\n{spoilt}\n{line}\n"
        said = subprocess.run([str(tmp_path / "main")], input=text, capture_output=True, text=True, check=True)
        found = np.array([row.split() for row in said.stdout.splitlines()], float)
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found[[0, 2]], rows)


def walked_ticks(robot, seconds, dtype=np.float64):
    """(inputs, what our machine code answers, what it answers in another precision) of every tick of a walk."""
    from footfall import compiling
    from footfall.cli.export_controller import arrays_tick

    controller = ff.control.Locomotion()
    start, command = ff.control.standing_state(robot), ff.Command(forward=0.5, turn=0.3)
    simulation = ff.Simulation(robot, controller, start=start, command=command)
    numbers = np.array(dataclasses.astuple(command))
    memory = controller.start(simulation.robot)
    given = (simulation.q, simulation.v, np.zeros((4, 3)), numbers, memory)
    tick, other = (
        compiling.compile(arrays_tick, controller.model, *given, vectorize=False, dtype=kind)
        for kind in (np.float64, dtype)
    )
    rows = []
    for _ in range(round(1000 * seconds)):
        state = simulation.state
        given = (state.q, state.v, state.forces[:4], numbers)
        answer, after = tick(*given, memory)
        rows.append((given, (answer, after), other(*given, memory)))
        memory = after
        simulation.advance(1)
    assert simulation.stopped is None
    return controller, rows


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [["-mfma"], []], ids=["fused", "plain"])
def test_exported_controller_walks_bit_for_bit(cheetah, tmp_path, flags):
    """Over 5 s of walking on its own memory; without fused operations to 1e-6."""
    from footfall.cli.export_controller import write_locomotion
    from nptrace.runtime import machine

    if flags and not machine.host().has("fma"):
        pytest.skip("this processor has no fused multiply-add")
    write_locomotion(cheetah, tmp_path)
    sources = [str(tmp_path / f"locomotion{end}.c") for end in ("", "_main")]
    strict = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", *flags]
    subprocess.run([*strict, *sources, "-lm", "-o", str(tmp_path / "main")], check=True)
    _, rows = walked_ticks(cheetah, 5.0)
    text = "".join(" ".join(repr(float(x)) for part in given for x in np.ravel(part)) + "\n" for given, *_ in rows)
    said = subprocess.run([str(tmp_path / "main")], input=text, capture_output=True, text=True, check=True).stdout
    got = np.array([row.split() for row in said.splitlines()], float)
    ours = np.array([np.concatenate([np.ravel(x) for x in dataclasses.astuple(a)]) for _, (a, _), _ in rows])
    np.testing.assert_allclose(got, ours, rtol=0.0, atol=0.0 if flags else 1e-6)


@pytest.mark.slow
def test_single_precision_has_the_torques_of_double_precision(cheetah):
    """Within 2 % of the limit, wherever rounding does not move a foot's lift-off by a tick."""
    controller, rows = walked_ticks(cheetah, 3.0, np.float32)
    same = [(a, b) for _, (a, one), (b, other) in rows if np.array_equal(one.down, other.down)]
    assert len(same) >= 0.99 * len(rows)
    apart = [np.max(np.abs(np.asarray(b.torque, float) - a.torque) / controller.model.torque_limits) for a, b in same]
    assert max(apart) < 0.02


@pytest.mark.slow
def test_closed_loop_has_derivatives_by_its_whole_state_and_by_its_command(cheetah):
    """Of several ticks, an MPC among them, through plan, programs and contact, against differences of runs."""
    simulation, _ = walk(cheetah, "inside", 0.322)
    found = ff.sim.linearize_loop(simulation, ticks=6)
    model, state = simulation.model, simulation.state
    before = simulation.q.copy()

    def after(deviation, command):
        q = ff.dynamics.integrate(cheetah, state.q, deviation[: cheetah.nv], 1.0)
        now = dataclasses.replace(state, q=q, v=state.v + deviation[cheetah.nv :])
        for _ in range(6):
            now, _ = tick(model, now, Inputs(command, np.zeros(6)))
        return np.concatenate([ff.dynamics.difference(cheetah, found.q, now.q), now.v - found.v])

    size = 2 * cheetah.nv
    for k in (1, 5, 11, 20, 23, 31):
        step = 1e-6 * np.eye(size)[k]
        change = (after(step, simulation.command_now) - after(-step, simulation.command_now)) / 2e-6
        np.testing.assert_allclose(found.of_robot()[:, k], change, atol=1e-4 * np.abs(change).max())
    k, ahead = found.commands.index("forward"), []
    for speed in (0.5 + 1e-5, 0.5 - 1e-5):
        ahead.append(after(np.zeros(size), ff.Command(forward=speed)))
    change = (ahead[0] - ahead[1]) / 2e-5
    np.testing.assert_allclose(found.B[:size, k], change, atol=1e-4 * np.abs(change).max())
    assert len(found.states) == len(found.A) > size
    np.testing.assert_array_equal(simulation.q, before)


def test_gaits_and_reflexes_share_one_program(cheetah):
    """They are numbers in the memory, so that another gait or switch compiles nothing."""

    def digest(**options):
        return ff.Simulation(cheetah, ff.control.Locomotion(**options)).model.digest

    assert digest() == digest(gait=ff.gait.walk(), reflexes=["slip"])
    assert digest() != digest(friction=0.4)


def test_step_of_the_whole_body_program_is_small(cheetah):
    """Known zeros cost nothing: a dense program of this size takes four times as many operations."""
    controller = ff.control.Locomotion()
    memory, (q, v) = controller.start(cheetah), ff.control.standing_state(cheetah)
    weight, limits = controller.body.weight, controller.model.torque_limits

    def torque(sensed, command, memory):
        found, after = plan_tick(controller.model, sensed, command, memory)
        return whole_body.whole_body_torques(cheetah, weight, found, after.down, memory.forces, limits)[0]

    code = program(torque, ff.Sensed(q=q, v=v, forces=np.zeros((4, 3))), ff.Command(), memory)
    (loop,) = all_loops(code.body)
    assert dataclasses.replace(code, body=loop.body).live_operations <= 20_000
