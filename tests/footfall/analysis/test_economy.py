"""Laws of strides, duty, Froude number and cost of transport."""

import math

import numpy as np
import pytest
from stepping_feet import stepping

from footfall import gait
from footfall.analysis.walking_economy import economy, plot_economy, strides
from footfall.errors import InputError


def test_speed_is_stride_length_times_frequency():
    g = gait.trot(period=0.5)
    found = economy(stepping(g), 1.0)
    assert math.isclose(found.speed, 0.4, rel_tol=1e-9)
    assert math.isclose(found.stride_frequency, 2.0, rel_tol=0.01)
    assert math.isclose(found.stride_length * found.stride_frequency, found.speed)
    assert all(abs(duty - 0.5) < 0.05 for duty in found.duty.values())


def test_froude_number_is_speed_squared_over_gravity_and_leg():
    found = economy(stepping(gait.trot()), leg_length=0.25)
    assert math.isclose(found.froude, 0.16 / (9.81 * 0.25), rel_tol=1e-6)


def test_cost_of_transport_is_power_over_weight_and_speed():
    rec = stepping(gait.trot())
    v = rec.v.copy()
    v[:, 6:] = 2.0  # 1 N m at 2 rad/s, 12 joints
    rec.columns["v"] = v
    found = economy(rec)
    assert math.isclose(found.power, 24.0, rel_tol=1e-9)
    assert math.isclose(found.cost_of_transport, 24.0 / (rec.robot.mass * 9.81 * 0.4), rel_tol=1e-6)


def test_every_stride_is_a_cycle():
    g = gait.walk(period=0.8)
    found = strides(stepping(g, seconds=6.0))
    assert len(found.time) == 6
    assert np.abs(found.duration - 0.8).max() < 0.005
    assert np.abs(found.duty - g.duty).max() < 0.01
    assert np.abs(found.speed - 0.4).max() < 0.01


def test_figure_names_its_units():
    labels = {axis.get_ylabel() for axis in plot_economy(stepping(gait.trot())).axes}
    assert {"stride length [m]", "duty [1]", "speed [m/s]", "cost of transport [1]"} <= labels


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: economy(stepping(gait.trot()), leg_length=-1.0), "leg_length of a Froude number must be positive"),
        (lambda: strides(stepping(gait.trot()), "XX"), "unknown foot 'XX'"),
        (lambda: plot_economy(stepping(gait.trot(), seconds=0.3)), "no complete stride"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
