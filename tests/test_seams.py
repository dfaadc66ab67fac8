"""Seams are declared, not guessed: no file finds out by itself what an object has, and users' classes need no base."""

import ast
import functools

import numpy as np
import pytest
from sources import ROOT, trees

import footfall as ff
from footfall.contact.model import ContactModelBase
from footfall.contact.points import spheres_of
from footfall.control.interface import AdaptedController, Controller, ControllerBase, ControllerWrapper, as_controller
from footfall.dynamics.factor import factor, solve_factored
from footfall.errors import InputError
from footfall.hardware.emergency_stop import EmergencyStop, EmergencyStopWrapper
from footfall.hardware.sensors import Sensors, SensorWrapper
from footfall.identity import first_name
from footfall.simulate.tick import SimulationModel
from footfall.simulate.world import World

ROBOT = ff.load("mini_cheetah")

# How often a file may find out what an object has, by hasattr or by a getattr with a default, and why.
MAY_LOOK = {
    "seams.py": (3, "adapts users' own classes: the one place"),
    "cli.py": (2, "errors of click, of which typer has its own copy"),
    "compiling.py": (5, "a user's function may be any callable, and its constant of any class"),
    "numeric.py": (1, "a nest of users' classes"),
    "identity.py": (1, "a dataclass may leave fields out of its digest"),
    "control/joint_command.py": (2, "a user's command may be a tensor of any learning framework"),
    "hardware/dds/domain.py": (1, "messages of strangers, of any type"),
    "hardware/dds/fixed.py": (2, "annotations of a message's fields"),
    "experiments/reality/motors_mujoco.py": (1, "versions of MuJoCo's system identification"),
    "compare/file_reading.py": (3, "shapes of Pinocchio's library of collisions"),
    "compare/pinocchio.py": (1, "another project owns the name pinocchio on PyPI"),
    "sweep/item.py": (2, "a study names a function of a user's file"),
    "view/replay.py": (1, "viser has two kinds of cameras"),
    "view/show.py": (1, "whether Python is interactive"),
    "bench/timing.py": (1, "what the operating system has"),
    "cores.py": (1, "what the operating system has"),
    "recording/stored_columns.py": (1, "what the operating system has"),
    "sweep/journal.py": (1, "what the operating system has"),
    "trace/runtime/cache.py": (4, "what the operating system has"),
    "trace/compiled.py": (1, "an argument may be a number or an array"),
    "trace/differentiate.py": (1, "a thread's own buffers"),
    "trace/written_jacobian.py": (1, "a thread's own buffers"),
    "trace/face/array.py": (1, "views of arrays lose the attribute"),
    "trace/face/constructors.py": (1, "modules of NumPy"),
    "trace/face/dispatch.py": (4, "functions of NumPy, of any version"),
    "trace/face/functions.py": (1, "functions of NumPy, of any version"),
    "trace/face/scalar.py": (1, "what a number has and a trace lacks is refused"),
    "trace/face/signature.py": (2, "a user's function may be any callable"),
    "trace/face/tree.py": (7, "a nest of users' classes"),
    "trace/verification/contents.py": (3, "looks into users' objects"),
    "trace/verification/effects.py": (2, "looks into users' objects"),
    "trace/verification/look.py": (3, "looks into users' objects"),
    "trace/verification/surroundings.py": (1, "looks into users' objects"),
    "trace/verification/verify.py": (1, "a user's function may be any callable"),
    "trace/verification/whose.py": (1, "looks into users' objects"),
}


@functools.cache
def looks(path):
    """Lines in which a file asks what an object has."""
    text = path.read_text()
    if "hasattr" not in text and "getattr" not in text:
        return []
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
    named = [(n, n.func.id) for n in calls if isinstance(n.func, ast.Name)]
    return sorted(n.lineno for n, name in named if name == "hasattr" or (name == "getattr" and len(n.args) > 2))


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_behaviour_is_declared_not_found_out(path):
    most, _ = MAY_LOOK.get(path.relative_to(ROOT).as_posix(), (0, ""))
    lines = looks(path)
    assert len(lines) <= most, f"lines {lines} ask what an object has: declare it in the seam's protocol and base"


def test_every_permission_is_used():
    used = {name: len(looks(ROOT / name)) for name in MAY_LOOK}
    assert used == {name: count for name, (count, _) in MAY_LOOK.items()}


def test_nobody_outside_touches_private_fields_of_a_run():
    """Of simulations, recorders and engines, by the names that they go under."""
    owners = ("sim", "simulation", "recorder", "engine")
    for file, tree in trees(*owners):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
                assert owner not in owners, f"{file}:{node.lineno}"


# -- controllers -------------------------------------------------------------------------------------------------------
class Plain:
    """A user's own controller: it knows nothing of footfall's classes."""

    rate = 500.0

    def __init__(self):
        self.log, self.prepared, self.gain = [], 0, 60.0

    def start(self, robot):
        return {"ticks": 0.0}

    def prepare(self, robot, compile, gravity=None):
        self.prepared += 1

    def posture(self, robot):
        return robot.poses["stand"].joints + 0.01

    def __call__(self, t, robot, sensed, command, memory):
        if memory["ticks"] == 3:
            self.log.append((t, "the fourth tick"))
        position = robot.poses["stand"].joints
        return ff.JointCommand(position, kp=self.gain, kd=2.0), {"ticks": memory["ticks"] + 1.0}


def test_a_users_class_without_the_base_runs_as_it_is():
    mine = Plain()
    sim = ff.Simulation(ROBOT, mine)
    rec = sim.run(0.05)
    assert sim.controller is mine
    assert mine.prepared == 1
    assert [event.message for event in rec.events] == ["the fourth tick"]
    assert rec.meta["controller"] == "Plain"
    np.testing.assert_allclose(sim.model.parameter("ground.friction"), 0.8)
    sim.reset()
    np.testing.assert_array_equal(sim.q[7:], mine.posture(ROBOT))


def declared_members():
    """All that the protocol of controllers declares, by its own names."""
    return sorted(name for name in vars(Controller) if not name.startswith("_"))


def answers(controller, name):
    """What a controller answers to one member of the protocol, which is called where it is a function."""
    member = getattr(controller, name)
    arguments = {
        "start": (ROBOT,), "take_step": (dict,), "prepare": (ROBOT, ff.compile), "posture": (ROBOT,),
        "command_limits": (ROBOT,),
        "renewed": ({"phase": 0.3},), "beat": ({"phase": 0.3}, 0.5), "observe": (np.zeros(1), ff.Command(), {}, {}),
    }  # fmt: skip
    return member(*arguments[name]) if callable(member) else member


@pytest.mark.parametrize("name", declared_members())
@pytest.mark.parametrize("wrapped", [False, True], ids=["adapted", "wrapped"])
def test_whatever_a_users_class_says_to_a_member_of_the_protocol_is_heard(name, wrapped):
    """Every member answers something that is no default; neither the adapter nor a wrapper may put its own there."""

    class Own:
        """A user's own class that has the member that is asked for, and what no controller can do without."""

        rate = 250.0

        def start(self, robot):
            return {"phase": 0.1}

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(), memory

    heard = []
    own = {
        "name": "of my own", "traceable": False, "needs_sensors": True, "follows_command": True,
        "uses_foot_forces": True, "long_to_compile": True, "estimates": object(), "logs": [[(0.0, "hello")]],
        "rate": 250.0, "start": Own.start, "prepare": lambda self, *given: heard.append(given),
        "take_step": lambda self, *given: heard.append(given),
        "observe": lambda self, *given: heard.append(given), "posture": lambda self, robot: np.full(robot.nj, 0.2),
        "command_limits": lambda self, robot: {"forward": 0.7}, "renewed": lambda self, memory: {"phase": 0.9},
        "beat": lambda self, memory, t: (memory["phase"], t),
    }  # fmt: skip
    assert sorted(own) == declared_members()
    setattr(Own, name, own[name])
    mine, defaults = Own(), ControllerBase()
    if wrapped and name == "name":
        pytest.skip("a wrapper is called by its own name")
    asked = ControllerWrapper.__new__(ControllerWrapper) if wrapped else as_controller(mine)
    if wrapped:
        asked.inner = mine
    answer = answers(asked, name)
    if name in ("take_step", "prepare", "observe"):
        assert len(heard) == 1
        return
    np.testing.assert_equal(answer, answers(mine, name))
    if name not in ("rate", "start"):  # for which there is no default
        assert not np.array_equal(answer, answers(defaults, name))


def test_estimates_are_found_through_a_wrapper():
    estimated = ff.control.Estimated(ff.control.Hold("stand", 60.0, 2.0))
    assert as_controller(ff.control.GravityCompensation(estimated)).estimates is estimated
    assert as_controller(Plain()).estimates is None


def test_every_wrapper_forwards_what_it_does_not_change():
    mine = Plain()
    wrappers = [
        ff.control.GravityCompensation(mine), ff.control.ComputedTorque(mine), ff.control.FootImpedance(mine),
        ff.control.Estimated(mine), SensorWrapper(mine, Sensors(), ff.gravity.GRAVITY),
        EmergencyStopWrapper(mine, EmergencyStop()),
    ]  # fmt: skip
    for wrapper in wrappers:
        assert isinstance(wrapper, ControllerWrapper)
        assert wrapper.inner is mine
        assert (wrapper.rate, wrapper.traceable) == (500.0, False)
        assert any(log is mine.log for log in wrapper.logs)
        np.testing.assert_array_equal(wrapper.posture(ROBOT), mine.posture(ROBOT))
        before = mine.prepared
        wrapper.start(ROBOT)
        wrapper.prepare(ROBOT, ff.compile)
        assert mine.prepared == before + 1


def test_a_users_wrapper_needs_no_more_than_its_call():
    class Late(ControllerWrapper):
        def __init__(self, inner):
            self.inner = inner

        def __call__(self, t, robot, sensed, command, memory):
            return self.inner(t - 0.1, robot, sensed, command, memory)

    mine = Plain()
    sim = ff.Simulation(ROBOT, Late(mine))
    rec = sim.run(0.02)
    assert mine.prepared == 1
    assert [(event.time, event.message) for event in rec.events] == [(pytest.approx(0.006 - 0.1), "the fourth tick")]


def test_an_estimate_inside_another_wrapper_still_needs_sensors():
    inner = ff.control.GravityCompensation(ff.control.Estimated(ff.control.Hold("stand", 60.0, 2.0)))
    with pytest.raises(InputError, match="needs sensors"):
        ff.Simulation(ROBOT, inner)
    assert not SensorWrapper(inner, Sensors(), ff.gravity.GRAVITY).needs_sensors


def test_a_wrapped_controller_that_runs_in_python_is_prepared_and_does_not_warn(recwarn):
    walking = ff.control.GravityCompensation(ff.control.Locomotion(solver="daqp"))
    sim = ff.Simulation(ROBOT, walking)
    assert not sim.controller_is_compiled
    assert walking.inner._compile is not None
    assert not [w for w in recwarn if "runs in Python" in str(w.message)]


@pytest.mark.parametrize(
    "wrong", [3.0, "walk", lambda *arguments: None, Plain], ids=["number", "name", "function", "class"]
)
def test_what_is_no_controller_is_refused_in_one_sentence(wrong):
    with pytest.raises(InputError, match="controller"):
        as_controller(wrong)


def test_parameters_of_a_users_own_dataclass_are_its_own():
    import dataclasses

    @dataclasses.dataclass(frozen=True)
    class Springs:
        kp: float = 50.0
        rate: float = 1000.0

        def start(self, robot):
            return {}

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(robot.poses["stand"].joints, kp=self.kp, kd=2.0), memory

    batch = ff.Batch(ROBOT, 2, Springs(), free=["controller.kp"])
    assert isinstance(batch.simulation.model.controller, AdaptedController)
    batch.set({"controller.kp": np.array([20.0, 80.0])})
    batch.run(200)
    assert batch.q[0, 2] < batch.q[1, 2] - 1e-3  # the softer one sinks


# -- contact models ----------------------------------------------------------------------------------------------------
class Cushion:
    """A user's own contact model without the base: a vertical spring under every sphere."""

    implicit = False

    def start(self, spheres):
        return {}

    def respond(self, robot, M, force, points, v, dt, memory):
        forces = [p.R_BC[:, 2] * np.maximum(-2e4 * p.distance - 100.0 * (p.R_BC[:, 2] @ (p.J @ v)), 0.0)
                  * (p.distance < 0.0) for p in points]  # fmt: skip
        total = sum((p.J.T @ f for p, f in zip(points, forces)), start=force)
        return solve_factored(robot, *factor(robot, M), total), forces, memory


def test_a_users_contact_model_without_the_base_has_the_defaults_and_runs():
    sim = ff.Simulation(ROBOT, contact=Cushion(), integrator="semi_implicit_euler", dt=2.5e-4)
    model = sim.model.world.contact
    assert isinstance(model, ContactModelBase)
    assert (model.hard, model.modes(4), model.columns({}, 4)) == (False, {}, {})
    rec = sim.run(0.3)
    assert rec.meta["contact"] == "Cushion"
    assert sim.stopped is None
    assert rec.force[-1, :, 2].sum() == pytest.approx(ROBOT.mass * 9.81, rel=0.1)


def test_an_own_law_in_a_world_is_adapted_too():
    world = World(ROBOT, contact=Cushion())
    assert world.contact.start(spheres_of(ROBOT)) == {}
    with pytest.raises(InputError, match="Cushion is taken at the start"):
        SimulationModel(world, None, "linearly_implicit", 1e-3, 1)
    with pytest.raises(InputError, match="needs implicit and start and respond"):
        World(ROBOT, contact=object())


# -- a run, tick by tick -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ticks", [1, 7, 250, 613])
def test_advancing_in_pieces_is_the_run(ticks):
    push = ff.Push(0.1003, 0.05, (20.0, 0.0, 0.0))
    whole, pieces = (
        ff.Simulation(ROBOT, ff.control.JointPD.tuned(ROBOT, "trot"), pushes=[push], record_rate=250.0)
        for _ in range(2)
    )
    rec = whole.run(ticks * 1e-3)
    recorder, done = pieces.recorder(every=4), 0
    while done < ticks:
        done += pieces.advance(min(97, ticks - done), recorder)
    np.testing.assert_array_equal(pieces.q, whole.q)
    assert done == ticks
    np.testing.assert_array_equal(recorder.finish().time, rec.time)


def test_advancing_stops_where_the_run_does_and_says_how_far_it_came():
    sim = ff.Simulation(ROBOT, ff.control.Hold("stand", 40.0, 1.0), pushes=[ff.Push(0.05, 0.2, (0.0, 400.0, 0.0))])
    taken = sim.advance(3000)
    assert sim.stopped is not None
    assert sim.stopped.kind == "fell"
    assert 0 < taken < 3000
    assert sim.time == pytest.approx(taken * 1e-3)
    assert sim.advance(10) == 0
    for wrong in (-1, 2.5, True):
        with pytest.raises(InputError, match="whole number of ticks"):
            sim.advance(wrong)


def test_what_changes_between_two_advances_counts():
    gain = {"kp": 60.0}

    @ff.controller(rate=1000)
    def springs(t, robot, sensed, command, memory):
        return ff.JointCommand(robot.poses["stand"].joints, kp=gain["kp"], kd=2.0), memory

    sim = ff.Simulation(ROBOT, springs)
    sim.advance(300)
    high = sim.q[2]
    gain["kp"] = 15.0
    sim.advance(300)
    assert sim.q[2] < high - 0.01
    sim.command = "fast"
    with pytest.raises(InputError, match="must be a Command"):
        sim.advance(1)


def test_rows_are_handed_on_as_they_come():
    sim, heights = ff.Simulation(ROBOT), []
    recorder = sim.recorder(on_rows=lambda columns: heights.extend(columns["q"][:, 2]))
    sim.advance(30, recorder)
    assert (len(heights), recorder.rows) == (30, 30)
    assert heights[-1] == sim.q[2]


# -- names that files know ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "first"), [
    (ff.Robot, "footfall.robot.description Robot"),
    (ff.control.JointPD, "footfall.control.joint_pd JointPD"),
    (ff.control.Locomotion, "footfall.control.locomotion Locomotion"),
    (ff.control.Estimated, "footfall.control.estimated Estimated"),
    (ff.control.GravityCompensation, "footfall.control.joint_level GravityCompensation"),
    (SensorWrapper, "footfall.simulate.sensors Measured"),
    (Sensors, "footfall.simulate.sensors Sensors"),
    (EmergencyStopWrapper, "footfall.simulate.motors Stoppable"),
    (EmergencyStop, "footfall.simulate.motors EmergencyStop"),
    (SimulationModel, "footfall.simulate.tick Rig"),
    (ff.contact.Compliant, "footfall.contact.compliant Compliant"),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_checkpoints_know_classes_by_their_first_names(kind, first):
    assert " ".join(first_name(kind)) == first


def test_a_base_alone_is_no_controller():
    class Half(ControllerBase):
        rate = 100.0

    with pytest.raises(InputError, match="start"):
        as_controller(Half())
