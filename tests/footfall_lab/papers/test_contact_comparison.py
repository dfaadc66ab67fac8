"""The contact comparison: every expectation holds, every scene has a table and a figure."""

from __future__ import annotations

import numpy as np
import pytest
from on_record import changed, unjudged

from footfall_lab.papers.contact_comparison import experiment as comparison


@pytest.fixture(scope="module")
def outcome():
    return comparison.run(quick=True)


def test_every_expectation_holds(outcome):
    assert [claim.id for claim in outcome.claims if claim.verdict != "holds"] == []
    assert all(claim.ours for claim in outcome.claims)
    assert unjudged(outcome) == set()
    assert changed(outcome) == []
    assert len({claim.id for claim in outcome.claims}) == len(outcome.claims)


def test_every_scene_has_a_row_for_every_model_and_a_figure(outcome):
    keys = [scene.key for scene in comparison.scenes()]
    assert list(outcome.figures) == keys
    for table in outcome.tables:
        assert [row[0] for row in table.rows] == [comparison.LABELS[m] for m in (*comparison.MODELS, "mujoco")]
        assert all(len(row) == len(table.header) for row in table.rows)


def test_mujoco_trots_about_as_far_as_hard_contact(outcome):
    trot = {row[0]: float(row[1].split(",")[0]) for row in outcome.tables[-1].rows}
    assert trot["MuJoCo, stiff"] == pytest.approx(trot["complementarity"], rel=0.1)
    assert np.isfinite(list(trot.values())).all()


def test_runs_are_kept_for_replays(outcome):
    assert len(outcome.replays) == 2
    assert all(rec.duration > 0.5 for shown in outcome.replays.values() for rec in shown.values())
