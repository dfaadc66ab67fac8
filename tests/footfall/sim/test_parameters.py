"""Numbers of a world and of a controller by name: free inputs of a compiled tick, and refused by the nearest name."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.errors import FootfallError
from footfall.sim.batch import Batch

ROBOT = ff.load("mini_cheetah")
TROT = ff.control.JointPD.tuned("mini_cheetah", "trot", open_loop=True)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("controller.gait.period", (0.35, 0.5)),
        ("controller.gait.stride", (0.04, 0.1)),
        ("controller.gait.duty", (0.5, 0.6)),
        ("controller.gait.hip_height", (0.26, 0.29)),
        ("controller.kp", (40.0, 60.0)),
    ],
)
def test_a_free_number_of_the_controller_acts_like_one_that_was_written(path, values):
    batch = Batch(ROBOT, len(values), TROT, free=[path], start="stand")
    batch.set({path: np.array(values)})
    batch.run(600)
    for k, value in enumerate(values):
        key = path.rpartition(".")[2]
        gait = TROT.gait.replace(**{key: value}) if ".gait." in path else TROT.gait
        kp = value if key == "kp" else TROT.kp
        alone = ff.Simulation(ROBOT, ff.control.JointPD(gait=gait, kp=kp, kd=TROT.kd), start="stand")
        np.testing.assert_allclose(batch.state.q[k], alone.run(0.6).q[-1], atol=1e-8)


@pytest.mark.parametrize("path", ["controller.gait.periode", "controller.kpp", "ground.frction", "contact.stifness"])
def test_an_unknown_parameter_is_refused_with_the_nearest(path):
    rig = ff.Simulation(ROBOT, TROT).model
    for ask in (rig.parameter, lambda name: rig.with_parameters({name: 1.0})):
        with pytest.raises(FootfallError, match=r"did you mean|has") as found:
            ask(path)
        assert path in str(found.value)


def test_a_changed_copy_leaves_the_old_one_alone():
    rig = ff.Simulation(ROBOT, TROT).model
    other = rig.with_parameters({"controller.gait.period": 0.3, "ground.friction": 0.2, "trunk.mass": 5.0})
    assert (other.parameter("controller.gait.period"), other.parameter("ground.friction")) == (0.3, 0.2)
    assert other.parameter("trunk.mass") == 5.0
    assert rig.parameter("controller.gait.period") == TROT.gait.period
    assert rig.parameter("ground.friction") == 0.8
