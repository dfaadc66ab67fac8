"""Gaits that scale with a robot: where its mass lies says how long two feet may carry it."""

import numpy as np
import pytest

import footfall as ff
from footfall.gait.tuned import distance_off_diagonal, hip_height_of, scaled
from footfall.robot import library

XILING = library.load("xiling")


def with_heavy_head(share):
    """The robot with its trunk's mass so far ahead that the centre of mass lies this share of H off the diagonals."""
    at = XILING.link("trunk").com
    off = [distance_off_diagonal(XILING.replace({"trunk.com": at + np.array([x, 0.0, 0.0])})) for x in (0.2, 0.3)]
    ahead = 0.2 + 0.1 * (share * hip_height_of(XILING) - off[0]) / (off[1] - off[0])
    return XILING.replace({"trunk.com": at + np.array([ahead, 0.0, 0.0])})


def test_the_distance_from_the_diagonals_is_that_of_the_nearer_of_plane_geometry():
    q, _ = XILING.state("stand")
    feet = dict(zip(XILING.foot_names, ff.kinematics.foot_positions(XILING, q)[:, :2]))
    center = ff.kinematics.center_of_mass(XILING, q)[:2]
    off = []
    for front, hind in (("LF", "RH"), ("RF", "LH")):
        along = (feet[front] - feet[hind]) / np.linalg.norm(feet[front] - feet[hind])
        away = center - feet[hind]
        off.append(np.linalg.norm(away - along * (along @ away)))
    assert distance_off_diagonal(XILING) == pytest.approx(max(off), rel=1e-12)


def test_a_trot_is_quicker_by_the_root_of_how_far_the_mass_lies_off_and_as_fast():
    usual = scaled(XILING, "trot").gait
    assert scaled(with_heavy_head(0.1), "trot").gait == usual
    for share in (0.22, 0.44):
        gait = scaled(with_heavy_head(share), "trot").gait
        assert gait.period == pytest.approx(usual.period * np.sqrt(0.11 / share), rel=1e-6)
        assert gait.speed == pytest.approx(usual.speed, rel=1e-9)
        assert scaled(with_heavy_head(share), "walk").gait.period == scaled(XILING, "walk").gait.period
