"""Laws of footfall diagrams."""

import math

import pytest
from stepping_feet import stepping

from footfall import gait
from footfall.analysis import gait_diagram as diagram
from footfall.errors import InputError


@pytest.mark.parametrize("name", gait.names())
def test_feet_stand_for_their_duty(name):
    g = gait.named(name)
    for spans in diagram.stances_of_gait(g, 3.0).values():
        assert math.isclose(sum(end - start for start, end in spans), 3.0 * g.duty)
        assert all(0.0 <= start < end <= 3.0 for start, end in spans)


@pytest.mark.parametrize("name", gait.names())
def test_delays_of_a_recording_are_those_of_its_gait(name):
    g = gait.named(name)
    measured = diagram.phases_of_recording(stepping(g, noise=0.02))
    for leg, delay in zip(gait.LEGS, g.delays):
        off = measured[leg] - delay
        assert abs(off - round(off)) < 0.02


def test_short_bounces_are_one_stance():
    g = gait.walk()
    clean, rough = (diagram.stances_of_recording(stepping(g, noise=n)) for n in (0.0, 0.1))
    assert [len(spans) for spans in clean.values()] == [len(spans) for spans in rough.values()]


def test_diagrams_show_every_foot_with_units():
    figure = diagram.footfall_diagram()
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert len(shown) == len(gait.names())
    assert "time [cycles]" in {axis.get_xlabel() for axis in shown}
    single = diagram.footfall_diagram_of(stepping(gait.trot()), (1.0, 3.0), gait.trot()).axes[0]
    assert [label.get_text() for label in single.get_yticklabels()] == list(diagram.ORDER)
    assert single.get_xlabel() == "time [s]"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: diagram.footfall_diagram("moonwalk"), "unknown gait 'moonwalk'"),
        (lambda: diagram.footfall_diagram("trot", cycles=math.nan), "at most 100 cycles"),
        (lambda: diagram.footfall_diagram([]), "at least one gait"),
        (lambda: diagram.phases_of_recording(stepping(gait.trot(), seconds=0.4)), "two touchdowns"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
