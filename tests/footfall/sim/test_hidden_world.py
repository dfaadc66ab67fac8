"""State that a ground or a contact law of one's own keeps is told, not frozen; what is changed between runs counts."""

import itertools
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

import footfall as ff
from footfall.contact import ForceLaw, StickSlip
from footfall.errors import TraceMismatch

CHEETAH = ff.load("mini_cheetah")
SETTINGS = {"friction": 0.6}


class Flat:
    """A level ground that does nothing wrong."""

    friction = 0.6

    def distance(self, p):
        return p[2]

    def frame(self, p):
        return np.eye(3)

    def friction_at(self, p):
        return self.friction


class Counting(Flat):
    def __init__(self):
        self.asked = 0

    def friction_at(self, p):
        self.asked += 1
        return 0.6 / (1.0 + 0.001 * self.asked)


class Drawing(Flat):
    chance = np.random.default_rng(3)

    def distance(self, p):
        return p[2] + 1e-6 * self.chance.random()


class Sinking(Flat):
    def distance(self, p):
        return p[2] + 1e-9 * time.perf_counter()


class Drawn(Flat):
    def __init__(self):
        self.numbers = itertools.count(1.0)

    def friction_at(self, p):
        return 0.5 + 1e-3 * next(self.numbers)


class Once(Flat):
    """Keeps what it has computed, always the same."""

    def __init__(self):
        self.kept = {}

    def friction_at(self, p):
        self.kept.setdefault("friction", 0.6)
        return self.kept["friction"]


class Remote(Flat):
    def friction_at(self, p):
        return SETTINGS["friction"]


@dataclass(frozen=True)
class Tiring(ForceLaw):
    """A spring that weakens whenever it is asked."""

    worn: list = field(default_factory=lambda: [0.0])

    def law(self, depth, v_C, friction, dt):
        self.worn[0] += 1e-3
        k = np.where(depth > 0.0, 3e4, 0.0)
        return np.stack([0.0, 0.0, k * depth]), np.stack([0.0, 0.0, k * dt])

    def __hash__(self):
        return 0


@dataclass(frozen=True)
class Leafy(StickSlip):
    """A spring and a damper with nothing hidden."""

    def normal(self, depth, dt):
        touches = np.where(depth > 0.0, 1.0, 0.0)
        return 4e4 * depth, touches * (700.0 + dt * 4e4)


@pytest.mark.parametrize("made", [Counting, Drawing, Sinking, Drawn])
@pytest.mark.parametrize("compiled", [None, False], ids=["compiled", "controller in Python"])
def test_hidden_state_of_a_ground_is_told(made, compiled):
    with pytest.raises(TraceMismatch, match=made.__name__):
        ff.Simulation(CHEETAH, ground=made(), compile_controller=compiled).run(0.01)


@pytest.mark.parametrize("made", [Counting, Drawn])
def test_hidden_state_of_a_ground_is_told_to_a_batch(made):
    with pytest.raises(TraceMismatch, match=made.__name__):
        ff.Batch(CHEETAH, 2, ff.control.Hold(), ground=made())


def test_hidden_state_of_a_contact_law_is_told():
    with pytest.raises(TraceMismatch, match="Tiring changes"):
        ff.Simulation(CHEETAH, contact=Tiring()).run(0.01)


@pytest.mark.parametrize(
    "parts", [{"ground": Flat()}, {"ground": Once()}, {"contact": Leafy()}], ids=["ground", "kept once", "law"]
)
def test_what_hides_nothing_runs(parts):
    sim = ff.Simulation(CHEETAH, **parts)
    assert sim.run(0.3).force[-1, :, 2].sum() == pytest.approx(9.81 * CHEETAH.mass, rel=0.2)


@pytest.mark.parametrize("compiled", [None, False], ids=["compiled", "controller in Python"])
def test_a_ground_that_is_changed_between_runs_is_the_changed_one(compiled, monkeypatch):
    monkeypatch.setitem(SETTINGS, "friction", 0.9)
    pushes = [ff.Push(start=0.0, duration=9.0, force=(40.0, 0.0, 0.0))]
    sim = ff.Simulation(CHEETAH, ground=Remote(), pushes=pushes, compile_controller=compiled)
    sim.run(0.2)
    held = sim.q[0]
    monkeypatch.setitem(SETTINGS, "friction", 0.1)
    sim.run(0.2)
    assert sim.q[0] - held > 0.02  # 40 N against 9 N of friction
