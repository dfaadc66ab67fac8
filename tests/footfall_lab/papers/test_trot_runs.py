"""The runs of de Paula et al. 2024, shortened."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.errors import InputError
from footfall.kinematics.forward import body_poses
from footfall_lab import papers as experiments
from footfall_lab.papers.depaula2024.runs import Job, perform, perform_all, simulation, stances, stands


def test_unknown_experiments_and_schemes_list_the_known() -> None:
    with pytest.raises(InputError, match=r"unknown experiment 'depaula'.*depaula2024"):
        experiments.run("depaula")
    with pytest.raises(InputError, match="unknown scheme"):
        simulation(Job(scheme="leapfrog", choice="A"))


@pytest.mark.parametrize("choice", ["A", "B", "C", "D", "E"])
def test_every_set_starts_with_its_feet_on_the_ground(choice: str) -> None:
    sim = simulation(Job(scheme="explicit", choice=choice))
    robot, poses = sim.robot, body_poses(sim.robot, sim.q)
    heights = [
        poses[body].point(p)[2] - foot.radius
        for foot, body, p in zip(robot.feet, robot.tree.feet, robot.tree.foot_positions)
    ]
    np.testing.assert_allclose(heights, 0.0, atol=1e-12)
    assert not sim.v.any()


def test_the_drop_starts_five_millimetres_up() -> None:
    assert simulation(Job(scheme="explicit", choice="drop")).q[2] == pytest.approx(
        simulation(Job(scheme="explicit", choice="drop")).robot.state("stand")[0][2] + 5e-3, abs=2e-3
    )


def test_both_simulators_begin_alike() -> None:
    runs = perform_all(
        [Job(scheme="implicit", choice="B", duration=0.1), Job(scheme="mujoco", choice="B", duration=0.1)]
    )
    ours, theirs = runs.values()
    assert len(ours) == len(theirs) == 100
    np.testing.assert_allclose(ours.time, theirs.time)
    np.testing.assert_allclose(ours["command_position"], theirs["command_position"], atol=1e-9)
    assert np.abs(ours.trunk_position[:20] - theirs.trunk_position[:20]).max() < 2e-3
    assert np.abs(ours.trunk_position - theirs.trunk_position).max() < 1e-2


def test_a_run_repeats_bit_for_bit() -> None:
    a, b = (
        perform(Job(scheme="explicit", choice="B", duration=0.2)),
        perform(Job(scheme="explicit", choice="B", duration=0.2)),
    )
    assert (a.q == b.q).all()
    assert (a.force == b.force).all()


def test_damping_read_per_millimetre_throws_the_explicit_scheme_over() -> None:
    rec = perform(Job(scheme="explicit_damped", choice="B", duration=1.0))
    assert not stands(rec, 1.0)


def test_close_contacts_are_one_stance_and_short_ones_none() -> None:
    rec = perform(Job(scheme="implicit", choice="B", duration=0.05))
    touching = np.zeros(len(rec), dtype=bool)
    touching[[*range(5, 10), 45]] = True
    rec.columns["contact"][:, 0] = touching
    assert stances(rec, 0, gap=0.03) == []
    assert len(stances(rec, 0, gap=0.004)) == 1
