"""Gamepads: a dead zone, buttons once, junk refused, silence means nothing is asked for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.view.gamepad import BUTTONS, DEAD_ZONE, FULL, SILENCE, Gamepad, beyond_dead_zone, understood

sticks = st.floats(-1.0, 1.0)


def message(axes=(0.0, 0.0, 0.0, 0.0), down=()):
    return json.dumps({"axes": list(axes), "buttons": [k in down for k in range(17)]})


class Desk:
    """Keeps what a gamepad asks for."""

    def __init__(self):
        self.moves, self.presses, self.ends = [], [], 0
        self.pad = Gamepad(lambda _, c: self.moves.append(c), lambda _, b: self.presses.append(b), self.end)

    def end(self, pad):
        self.ends += 1


@given(a=sticks, b=sticks)
def test_a_stick_is_odd_monotone_and_still_in_its_dead_zone(a, b):
    assert beyond_dead_zone(-a) == -beyond_dead_zone(a)
    assert (beyond_dead_zone(a) == 0.0) == (abs(a) <= DEAD_ZONE)
    assert abs(beyond_dead_zone(a)) <= 1.0
    if a < b:
        assert beyond_dead_zone(a) <= beyond_dead_zone(b)


def test_there_is_no_jump_at_the_edge_of_the_dead_zone():
    assert beyond_dead_zone(DEAD_ZONE + 1e-6) < 1e-5
    assert beyond_dead_zone(1.0) == 1.0


def test_sticks_point_the_way_the_robot_goes():
    seen = understood(message((-1.0, -1.0, -1.0, 0.0)))  # left stick to the left and up, right stick to the left
    assert seen.command == FULL
    assert understood(message((0.05, -0.05, 0.1, 0.0))).at_rest


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "[]",
        "{}",
        "null",
        "x",
        "[" * 1999,
        '{"axes": 1, "buttons": []}',
        '{"axes": ["1"], "buttons": []}',
        '{"axes": [NaN], "buttons": []}',
        '{"axes": [1e999], "buttons": []}',
        '{"axes": [], "buttons": [1]}',
        '{"axes": [0,0,0,0,0], "buttons": []}',
        '{"axes": [true], "buttons": []}',
        message() + " " * 2000,
        None,
    ],
)
def test_junk_is_no_gamepad(junk):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it is, it is one
        understood(junk)


def test_a_gamepad_at_rest_leaves_the_sliders_alone():
    desk = Desk()
    for _ in range(3):
        desk.pad.hear(message())
    assert desk.moves == []
    desk.pad.hear(message((0, -1, 0, 0)))
    desk.pad.hear(message())
    desk.pad.hear(message())
    assert [m["forward"] for m in desk.moves] == [1.0, 0.0]  # and zero once, when the stick is let go


def test_a_button_acts_once_until_it_is_let_go():
    desk = Desk()
    for down in ((0,), (0,), (), (0, 9)):
        desk.pad.hear(message(down=down))
    assert desk.presses == ["push", "push", "reset"]
    assert set(BUTTONS.values()) == {"push", "halt", "pause", "reset", "higher", "lower"}


def test_a_silent_or_ended_gamepad_is_lost():
    desk = Desk()
    desk.pad.hear(message())
    assert not desk.pad.lost
    desk.pad.heard -= SILENCE + 0.01
    assert desk.pad.lost
    desk.pad.hear(message())
    desk.pad.end()
    assert desk.pad.lost
    assert desk.ends == 1
