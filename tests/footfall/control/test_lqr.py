"""Linear-quadratic regulation: the Riccati equation is solved, and what it gives stands better than joint PD."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import footfall as ff
from footfall.cli import main as cli
from footfall.control.joint.joint_pd import Hold
from footfall.control.optimal.lqr import LqrStand, StandWeights, observable_directions, regulate, stand_regulator
from footfall.dynamics.coordinates import difference
from footfall.errors import FootfallError, InputError
from footfall.robot import library
from footfall.sim.joints import JointModel
from footfall.sim.linearization import LinearStep
from footfall.sim.standing_lqr import lqr_stand

CHEETAH = library.load("mini_cheetah")
MOVING = JointModel(dry_friction=False)  # joints that dry friction holds would seem locked


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), m=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_regulator_is_scipys_and_brings_every_state_to_rest_at_the_promised_cost(seed, n, m):
    random = np.random.default_rng(seed)
    A, B = random.normal(size=(n, n)), random.normal(size=(n, m))
    A *= random.uniform(0.5, 1.2) / np.abs(np.linalg.eigvals(A)).max()  # a step's; wild ones are refused, see below
    root = random.normal(size=(n, n))
    Q, R = root @ root.T + 0.1 * np.eye(n), np.diag(random.uniform(0.1, 2.0, m))
    found = regulate(A, B, Q, R)
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    assert np.abs(found.P - P).max() < 1e-6 * np.abs(P).max()
    closed = A - B @ found.K
    assert np.abs(np.linalg.eigvals(closed)).max() < 1.0
    x, spent = random.normal(size=n), 0.0
    promised = x @ found.P @ x
    for _ in range(2000):
        u = -found.K @ x
        spent += x @ Q @ x + u @ R @ u
        x = closed @ x
    assert spent == pytest.approx(promised, rel=1e-6)


def test_no_other_gain_costs_less():
    random = np.random.default_rng(4)
    A, B = random.normal(size=(4, 4)), random.normal(size=(4, 2))
    found = regulate(A, B, np.eye(4), np.eye(2))
    for _ in range(20):
        other = found.K + 1e-2 * random.normal(size=found.K.shape)
        cost = scipy.linalg.solve_discrete_lyapunov((A - B @ other).T, np.eye(4) + other.T @ other)
        assert np.linalg.eigvalsh(cost - found.P).min() > -1e-9 * np.abs(found.P).max()


def test_what_no_input_can_bring_back_is_refused_unless_it_costs_nothing():
    A, B = np.diag([1.0, 0.9]), np.array([[0.0], [1.0]])
    with pytest.raises(FootfallError, match="cannot be stabilised"):
        regulate(A, B, np.eye(2), np.eye(1))
    assert regulate(A, B, np.diag([0.0, 1.0]), np.eye(1)).K[0, 0] == 0.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"A": np.full((2, 2), np.nan)}, "A of a regulator has a value that is not finite"),
        ({"Q": np.eye(3)}, r"Q of a regulator must have shape \(2, 2\)"),
        ({"Q": -np.eye(2)}, "Q of a regulator must be symmetric and positive"),
        ({"R": np.zeros((1, 1))}, "R of a regulator must be symmetric and positive"),
    ],
)
def test_bad_matrices_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        regulate(**{"A": np.eye(2), "B": np.ones((2, 1)), "Q": np.eye(2), "R": np.eye(1), **change})


# -- standing ----------------------------------------------------------------------------------------------------------
@functools.cache
def stand(name="mini_cheetah"):
    return lqr_stand(library.load(name))


def as_stiff_pd(controller):
    """Joint PD with the stiffness and damping that LQR gives its stiffest joint, and the same torques fed forward."""
    nv = len(controller.q) - 1
    kp = controller.kp + np.abs(np.diag(controller.gain[:, 6:nv])).max()
    kd = controller.kd + np.abs(np.diag(controller.gain[:, nv + 6 :])).max()
    return Hold(controller.q[7:], kp=kp, kd=kd, torque=controller.torque)


def excursion(controller, start, force, robot=CHEETAH):
    """(largest tilt [rad], largest shift of the trunk [m], still standing) after a push of 0.1 s."""
    sim = ff.Simulation(
        robot, controller, start=(start, np.zeros(robot.nv)), pushes=[ff.Push(start=0.1, duration=0.1, force=force)]
    )
    rec = sim.run(2.0)
    away = np.array([difference(robot, start, q) for q in rec.q])
    return np.abs(away[:, :2]).max(), np.linalg.norm(away[:, 3:5], axis=1).max(), sim.stopped is None


def test_all_directions_that_the_ground_feels_come_to_rest_and_the_three_others_stay():
    controller = stand()
    N = observable_directions(CHEETAH, controller.q)
    command = ff.JointCommand(controller.q[7:], 0.0, controller.kp, controller.kd, controller.torque)
    at = LinearStep(ff.Simulation(CHEETAH, controller, joints=MOVING))(controller.q, np.zeros(18), command)
    closed = at.A - at.B @ controller.gain
    speeds = np.sort(np.abs(np.linalg.eigvals(N.T @ closed @ N)))[::-1]
    assert speeds[0] < 1.0
    assert (speeds[:5] > 0.9999).all()  # feet creep towards each other on viscous friction: slowly, but they do
    assert speeds[5] < 0.996  # all else within a second
    unfelt = np.linalg.svd(N.T)[2][N.shape[1] :].T
    assert np.abs(N.T @ at.A @ unfelt).max() < 1e-4  # what the ground does not feel stays among itself
    assert np.abs(controller.gain @ unfelt).max() < 1e-12
    every = np.sort(np.abs(np.linalg.eigvals(closed)))[::-1]
    assert np.abs(every[:3] - 1.0).max() < 1e-5


def test_riccati_of_the_standing_robot_agrees_with_scipy():
    controller = stand()
    N = observable_directions(CHEETAH, controller.q)
    command = ff.JointCommand(controller.q[7:], 0.0, controller.kp, controller.kd, controller.torque)
    at = LinearStep(ff.Simulation(CHEETAH, controller, joints=MOVING))(controller.q, np.zeros(18), command)
    found = stand_regulator(CHEETAH, at.A, at.B, controller.q)
    cost = np.diag(np.repeat([50.0, 100.0, 20.0, 1.0, 5.0, 0.05], [3, 3, 12, 3, 3, 12]))
    effort = 20.0 / (0.5 * 9.81 * CHEETAH.mass) ** 2 * np.eye(12)
    P = scipy.linalg.solve_discrete_are(N.T @ at.A @ N, N.T @ at.B, N.T @ cost @ N, effort)
    assert np.abs(found.P - P).max() < 1e-5 * np.abs(P).max()
    assert found.residual < 1e-10


def test_lqr_leans_and_shifts_less_under_a_push_than_joint_pd_of_the_same_stiffness():
    controller = stand()
    weight = 9.81 * CHEETAH.mass
    for force in ((0.0, 0.4 * weight, 0.0), (0.5 * weight, 0.0, 0.0)):
        tilt, shift, stands = excursion(controller, controller.q, force)
        pd_tilt, pd_shift, pd_stands = excursion(as_stiff_pd(controller), controller.q, force)
        assert stands
        assert pd_stands
        assert tilt < 0.7 * pd_tilt
        assert shift < 0.9 * pd_shift


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spined", "xiling", "dynakat"])
def test_every_robot_of_the_library_stands_by_lqr_and_leans_less(name):
    robot, controller = library.load(name), stand(name)
    force = (0.0, 0.25 * 9.81 * robot.mass, 0.0)
    tilt, shift, stands = excursion(controller, controller.q, force, robot)
    pd_tilt, pd_shift, _ = excursion(as_stiff_pd(controller), controller.q, force, robot)
    assert stands
    assert tilt < 0.7 * pd_tilt
    assert shift < 0.9 * pd_shift


def test_where_it_stands_and_which_way_it_looks_makes_no_difference():
    controller = stand()
    turn = np.array([np.cos(1.2), 0.0, 0.0, np.sin(1.2)])
    from footfall.spatial.quaternion import multiply, to_rotation

    tilted = controller.q.copy()
    tilted[3:7] = multiply(np.array([np.cos(0.05), np.sin(0.05), 0.0, 0.0]), tilted[3:7])
    elsewhere = np.concatenate(
        [to_rotation(turn) @ tilted[:3] + [5.0, 2.0, 0.0], multiply(turn, tilted[3:7]), tilted[7:]]
    )
    asked = [
        controller(0.0, CHEETAH, ff.Sensed(q=q, v=np.zeros(18), forces=np.zeros((4, 3))), ff.Command(), {})[0].torque
        for q in (tilted, elsewhere)
    ]
    assert np.abs(asked[0] - asked[1]).max() < 1e-10
    assert np.abs(asked[0] - controller.torque).max() > 1.0


def test_it_is_compiled_with_the_physics_and_has_a_name_on_the_command_line(capsys):
    assert ff.Simulation(CHEETAH, stand()).controller_is_compiled
    assert cli.run(["simulate", "mini_cheetah", "--controller", "lqr", "--duration", "0.3", "--json"]) == 0
    assert '"fell": false' in capsys.readouterr().out
    assert cli.run(["simulate", "mini_cheetah", "--controller", "lqr", "--kp", "3"]) == 2
    assert "takes no kp" in capsys.readouterr().err


def test_a_stand_for_another_robot_or_with_senseless_weights_is_refused():
    with pytest.raises(InputError, match="made for a robot other than 'spined'"):
        stand().start(library.load("spined"))
    with pytest.raises(InputError, match="tilt of the weights of a stand must not be negative"):
        StandWeights(tilt=-1.0)
    with pytest.raises(InputError, match="must be positive"):
        StandWeights(joints=0.0)
    assert isinstance(stand(), LqrStand)
