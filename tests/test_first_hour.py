"""A sceptic's first hour: README's ten lines and the environment on robots of other makers (friction F2)."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from third_party_models import THIRD_PARTY, third_party_path

import footfall as ff

README = (Path(__file__).parents[1] / "README.md").read_text()
(TEN_LINES,) = re.findall(r"## Ten lines\n\n```python\n(.*?)```", README, re.DOTALL)
QUICK = "solo12"
ROBOTS = [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in THIRD_PARTY]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_ten_lines_of_the_readme_run_on_a_file_of_another_maker(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = TEN_LINES.replace('"mini_cheetah"', repr(str(third_party_path(name))))
    assert code != TEN_LINES
    space: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an import assumed
        exec(compile(code, "README.md", "exec"), space)
    rec, robot = space["rec"], space["robot"]
    assert not rec.meta["fell"], rec
    assert len(rec) == 2000
    assert np.abs(rec.q[:, 2] / rec.q[0, 2] - 1.0).max() < 0.15  # it sways on its feet
    assert np.ptp(rec.q[:, 1]) > 0.01
    assert (tmp_path / "sway.png").stat().st_size > 1000
    q, v = robot.state("stand")
    tau = np.zeros(robot.nj)
    np.testing.assert_allclose(
        space["fd"](q, v, tau), ff.dynamics.forward_dynamics(robot, q, v, tau), rtol=1e-8, atol=1e-8
    )
    assert space["J"](q, v, tau).shape == (robot.nv, robot.nq)


@pytest.mark.slow
@pytest.mark.parametrize("name", THIRD_PARTY)
def test_the_environment_takes_a_file_of_another_maker(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ff.learn.WalkEnv(str(third_party_path(name)))
    seen, _ = env.reset(seed=0)
    for _ in range(10):
        seen, _, fell, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
    assert np.isfinite(seen).all()
    assert not fell
