"""Controllers of users' own classes, with the base or without, and wrappers around them."""

from dataclasses import fields

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import AdaptedController, Controller, ControllerInfo, ControllerWrapper, as_controller
from footfall.errors import InputError
from footfall.sensing.emergency_stop import EmergencyStop, EmergencyStopWrapper
from footfall.sensing.sensors import Sensors, SensorWrapper
from footfall.spatial.gravity import GRAVITY
from footfall_lab.verify.daqp_locomotion import LocomotionByDaqp

ROBOT = ff.load("mini_cheetah")


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
    """All that a user's class may declare: the members of controllers, and the facts about one by their own names."""
    members = {name for name in vars(Controller) if not name.startswith("_")}
    return sorted((members - {"info", "log"}) | {"rate"} | {f.name for f in fields(ControllerInfo)})


def answers(controller, name):
    """What a controller answers to one member of the protocol, which is called where it is a function."""
    flag = name in {f.name for f in fields(ControllerInfo)}
    member = getattr(as_controller(controller).info if flag else controller, name)
    arguments = {
        "start": (ROBOT,),
        "set_horizon": (dict,),
        "prepare": (ROBOT, ff.compile),
        "posture": (ROBOT,),
        "command_limits": (ROBOT,),
        "refresh_memory": ({"phase": 0.3},),
        "gait_phase": ({"phase": 0.3}, 0.5),
        "log_ticks": (np.zeros(1), ff.Command(), {}, {}),
        "limit_reasons": (ROBOT,),
        "memory_of_robots": ({"phase": 0.3}, np.arange(2)),
        "nominal_command": (ROBOT,),
    }
    return member(*arguments[name]) if callable(member) else member


@pytest.mark.parametrize("name", declared_members())
@pytest.mark.parametrize("wrapped", [False, True], ids=["adapted", "wrapped"])
def test_whatever_a_users_class_says_to_a_member_of_the_protocol_is_heard(name, wrapped):
    """Every member answers something that is no default; neither the adapter nor a wrapper may put its own there."""

    class Nothing(Controller):
        rate = 1000.0

        def start(self, robot):
            return {}

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(), memory

    class Around(ControllerWrapper):
        def __init__(self, inner):
            self.inner = inner

        __call__ = Nothing.__call__

    class Own:
        """A user's own class that has the member that is asked for, and what no controller can do without."""

        rate = 250.0

        def start(self, robot):
            return {"phase": 0.1}

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(), memory

    heard = []
    own = {
        "name": "of my own",
        "traceable": False,
        "needs_sensors": True,
        "follows_command": True,
        "uses_foot_forces": True,
        "long_to_compile": True,
        "estimates": object(),
        "logs": [[(0.0, "hello")]],
        "rate": 250.0,
        "start": Own.start,
        "prepare": lambda self, *given: heard.append(given),
        "set_horizon": lambda self, *given: heard.append(given),
        "log_ticks": lambda self, *given: heard.append(given),
        "posture": lambda self, robot: np.full(robot.nj, 0.2),
        "command_limits": lambda self, robot: {"forward": 0.7},
        "refresh_memory": lambda self, memory: {"phase": 0.9},
        "gait_phase": lambda self, memory, t: (memory["phase"], t),
        "limit_reasons": lambda self, robot: {"forward": "short legs"},
        "memory_of_robots": lambda self, memory, numbers: {"phase": 0.1 + len(numbers)},
        "nominal_command": lambda self, robot: ff.Command(forward=0.3),
    }
    assert sorted(own) == declared_members()
    setattr(Own, name, own[name])
    mine, defaults = Own(), Nothing()
    if wrapped and name == "name":
        pytest.skip("a wrapper is called by its own name")
    asked = Around(mine) if wrapped else as_controller(mine)
    answer = answers(asked, name)
    if name in ("set_horizon", "prepare", "log_ticks"):
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
        ff.control.GravityCompensation(mine),
        ff.control.ComputedTorque(mine),
        ff.control.FootImpedance(mine),
        ff.control.Estimated(mine),
        SensorWrapper(mine, Sensors(), GRAVITY),
        EmergencyStopWrapper(mine, EmergencyStop()),
    ]
    for wrapper in wrappers:
        assert isinstance(wrapper, ControllerWrapper)
        assert wrapper.inner is mine
        assert (wrapper.rate, wrapper.info.traceable) == (500.0, False)
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
    assert not SensorWrapper(inner, Sensors(), GRAVITY).info.needs_sensors


def test_a_wrapped_controller_that_runs_in_python_is_prepared_and_does_not_warn(recwarn):
    walking = ff.control.GravityCompensation(LocomotionByDaqp())
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


def test_a_base_alone_is_no_controller():
    class Half(Controller):
        rate = 100.0

    with pytest.raises(TypeError, match="start"):
        Half()


def test_a_class_without_a_rate_is_no_controller():
    class Rateless(Controller):
        def start(self, robot):
            return {}

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(), memory

    with pytest.raises(InputError, match="rate"):
        as_controller(Rateless())


def test_a_fact_beside_the_info_is_refused():
    with pytest.raises(InputError, match=r"info = ControllerInfo\(traceable=...\)"):
        type("Loose", (Controller,), {"traceable": False})
