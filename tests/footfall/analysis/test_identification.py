"""Identification from recordings, and joint torques from IMU, encoders and foot forces."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import footfall as ff
from footfall.analysis.consistent_inertia import nearest_pseudo_inertia
from footfall.analysis.identification import Identified, identify, samples
from footfall.analysis.sensed_torques import foot_terms, joint_torques_from_sensors
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.passive import damping_torques, friction_torques, joint_values
from footfall.dynamics.regressor import parameters, pseudo_inertia, regressor
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_jacobian
from footfall.recording.recording import Recording
from footfall.robot import Robot, library
from footfall.sim.joints import JointModel, joint_forces
from footfall.spatial import cross
from footfall.spatial.quaternion import rotated, to_rotation

CHEETAH = library.load("mini_cheetah")
STICK_RATE = 1e-4  # [rad/s], of every simulation
NOISE = {"q": 2e-4, "v": 5e-3, "torque": 0.05, "force": 0.5}  # [rad], [rad/s, m/s], [N m], [N]
BOUNDS = {"m": 0.03, "h": 4e-3, "J": 4e-3, "damping": 6e-3, "dry_friction": 0.02}  # as the docstring states


def fourier(rng: np.random.Generator, t: np.ndarray, n: int, size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random Fourier series of five harmonics of 0.3 Hz, and its two derivatives."""
    w = 2 * np.pi * 0.3 * np.arange(1, 6)
    A, B = rng.normal(size=(2, 5, n)) * size / np.sqrt(5)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return s @ A + c @ B, (c * w) @ A - (s * w) @ B, -(s * w * w) @ A - (c * w * w) @ B


@cache
def exciting(noise: float, seconds: float = 10.0, rate: float = 200.0, seed: int = 0) -> Recording:
    """A Mini Cheetah that moves at will, held by measured forces at its feet."""
    rng = np.random.default_rng(seed)
    n, fine = int(seconds * rate), 10
    t = np.arange(n) / rate
    joints, joint_v, joint_a = fourier(rng, t, 12, 0.6)
    V, A, _ = fourier(rng, np.arange(n * fine) / (rate * fine), 6, np.array([1.5] * 3 + [0.7] * 3))
    attitude = [np.array([1.0, 0.0, 0.0, 0.0])]
    for k in range(n * fine - 1):
        attitude.append(rotated(attitude[-1], (V[k, :3] + V[k + 1, :3]) / (2 * rate * fine)))
    turned = np.array(attitude[::fine])
    q = np.concatenate([np.zeros((n, 3)), turned, joints + CHEETAH.poses["stand"].joints], axis=1)
    v, a = np.concatenate([V[::fine], joint_v], axis=1), np.concatenate([A[::fine], joint_a], axis=1)
    needed = ff.compile(inverse_dynamics, CHEETAH, target="batch")(q, v, a)
    losses = joint_values(CHEETAH, "damping") * joint_v
    losses = losses + joint_values(CHEETAH, "dry_friction") * np.clip(joint_v / STICK_RATE, -1.0, 1.0)
    torque, force = np.zeros((n, 12)), np.zeros((n, 4, 3))
    for k in range(n):
        J = feet_jacobian(CHEETAH, q[k], "contact", np.eye(3))[:, 3:].reshape(12, 18)
        f = np.linalg.pinv(J[:, :6].T) @ needed[k, :6]
        torque[k], force[k] = needed[k, 6:] - J[:, 6:].T @ f + losses[k], f.reshape(4, 3)
    off = {key: noise * size for key, size in NOISE.items()}
    q[:, 3:7] = [rotated(x, off["q"] * e) for x, e in zip(turned, rng.normal(size=(n, 3)))]
    q[:, 7:] += off["q"] * rng.normal(size=(n, 12))
    columns = {
        "time": t,
        "q": q,
        "v": v + off["v"] * rng.normal(size=v.shape),
        "torque": torque + off["torque"] * rng.normal(size=torque.shape),
        "force": force + off["force"] * rng.normal(size=force.shape),
    }
    return Recording(CHEETAH, columns if noise else {**columns, "a": a})


def wrong_prior() -> Robot:
    """30 % too heavy, and without losses."""
    without = {f"{joint.name}.{key}": 0.0 for joint in CHEETAH.joints for key in ("damping", "dry_friction")}
    return CHEETAH.replace({**{f"{link.name}.mass": 1.3 * link.mass for link in CHEETAH.links}, **without})


@cache
def from_noise() -> Identified:
    return identify(exciting(1.0), prior=wrong_prior())


def errors(found: Identified, values: np.ndarray) -> dict[str, float]:
    """The largest error of every kind of base parameter."""
    wrong = np.abs(values - found.base.of(parameters(CHEETAH, found.base.joint_columns)))
    kinds: dict[str, float] = {}
    for k, error in zip(found.base.independent, wrong):
        kind = found.base.names[k].rpartition(".")[2].split("_")[0].replace("dry", "dry_friction")
        kinds[kind] = max(kinds.get(kind, 0.0), float(error))
    return kinds


# -- from made-up motions --------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_base_parameters_come_back_from_noise_within_the_stated_bounds() -> None:
    found = from_noise()
    assert found.base.count == 94 + 24
    for values in (found.values, found.physical_values):
        wrong = errors(found, values)
        assert set(wrong) == set(BOUNDS)
        assert all(wrong[kind] <= BOUNDS[kind] for kind in BOUNDS), wrong
    true = found.base.of(parameters(CHEETAH, found.base.joint_columns))
    assert np.abs((found.values - true) / found.deviations).max() < 5.0


def test_every_identified_body_can_exist() -> None:
    found = from_noise()
    assert found.least_eigenvalue > 0
    assert sum(inertia.m for inertia in found.inertias) == pytest.approx(CHEETAH.mass, abs=0.03)
    np.testing.assert_allclose(found.joint("dry_friction"), 0.2, atol=0.02)
    with pytest.raises(InputError, match="unknown joint column 'armature'"):
        found.joint("armature")


def test_identified_parameters_foretell_another_motion() -> None:
    found, other = from_noise(), exciting(0.0, seconds=1.0, seed=5)
    rows = samples(other)
    scale = np.sqrt(np.mean(rows.torque**2))
    for k in range(0, len(rows), 40):
        Y = regressor(CHEETAH, rows.q[k], rows.v[k], rows.a[k], (0, 0, -9.81), ("armature",))
        theta = np.concatenate([found.theta[:130], parameters(CHEETAH, ["armature"])[-12:]])
        rubs = np.clip(rows.rates[k] / STICK_RATE, -1.0, 1.0)
        losses = found.joint("damping") * rows.rates[k] + found.joint("dry_friction") * rubs
        foretold = (Y @ theta - foot_terms(CHEETAH, rows.q[k], rows.force[k]))[6:] + losses
        np.testing.assert_allclose(foretold, rows.torque[k], atol=0.02 * scale)


def test_without_noise_base_parameters_and_armature_are_exact() -> None:
    found = identify(
        exciting(0.0, seconds=3.0), prior=wrong_prior(), joint_columns=("damping", "dry_friction", "armature")
    )
    assert max(errors(found, found.values).values()) < 1e-7
    assert max(errors(found, found.physical_values).values()) < 1e-3
    np.testing.assert_allclose(found.joint("armature"), [b.armature for b in CHEETAH.tree.bodies[1:]], atol=1e-4)


def test_a_body_that_cannot_exist_serves_as_prior() -> None:
    P = pseudo_inertia(np.array([1.0, 0.5, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1]))
    assert np.linalg.eigvalsh(P)[0] < 0 < np.linalg.eigvalsh(nearest_pseudo_inertia(P))[0]
    fine = np.eye(4)
    assert nearest_pseudo_inertia(fine) is fine


# -- from simulations ------------------------------------------------------------------------------------------------
@cache
def dancing(seed: int = 4, dry_friction: bool = True, integrator: str = "linearly_implicit") -> Recording:
    """Two seconds on four feet, every joint on its own sines, with all losses unless told otherwise."""
    rng = np.random.default_rng(seed)
    phase, rate = (
        rng.uniform(0, 6.28, (3, 12)),
        2 * np.pi * rng.uniform([[0.5], [1.5], [3.0]], [[1.0], [2.5], [5.0]], (3, 12)),
    )
    stand, sizes = CHEETAH.poses["stand"].joints, np.array([[0.12], [0.08], [0.05]])

    @ff.controller(rate=1000)
    def dance(t, robot, sensed, command, memory):
        grown = np.minimum(t / 0.3, 1.0)
        return ff.JointCommand(
            position=stand + grown * np.sum(sizes * np.sin(rate * t + phase), axis=0), kp=60.0, kd=1.0
        ), memory

    joints = JointModel(dry_friction=dry_friction)
    return ff.Simulation(CHEETAH, dance, joints=joints, start="stand", integrator=integrator).run(2.0)


def test_a_simulated_run_gives_back_its_robot() -> None:
    rec = dancing(dry_friction=False)
    assert rec.contact.any(axis=1).mean() > 0.5
    found = identify(rec, prior=wrong_prior(), joint_columns=("damping",), acceleration="step", most_rows=1000)
    assert found.condition < 500
    assert max(errors(found, found.values).values()) < 1e-9
    assert max(errors(found, found.physical_values).values()) < 1e-3
    assert found.least_eigenvalue > 0


@pytest.mark.parametrize("seed", [4, 7])
def test_a_simulated_run_gives_back_its_dry_friction(seed: int) -> None:
    """Simulation and identification have one law with one parameter, which the recording tells."""
    rec = dancing(seed)
    assert rec.meta["stick_rate"] == STICK_RATE
    found = identify(rec, prior=wrong_prior(), acceleration="step", most_rows=2000)
    wrong = errors(found, found.values)
    assert wrong["dry_friction"] < 0.02 * 0.2
    assert wrong["damping"] < 1.5e-3
    assert max(wrong[kind] for kind in ("m", "h", "J")) < 1e-4


def test_dry_friction_does_not_drive_a_joint() -> None:
    """What a step leaves unexplained is dry friction: against the rate it ends with, but for steps that run out of
    turns, fewer than one in a thousand."""
    driven = seen = 0
    for seed in (4, 5):
        rows = samples(dancing(seed), "step")
        needed = np.asarray(ff.compile(inverse_dynamics, CHEETAH, target="batch")(rows.q, rows.v, rows.a))
        feet = np.array([foot_terms(CHEETAH, rows.q[k], rows.force[k]) for k in range(len(rows))])
        rubs = rows.torque - joint_values(CHEETAH, "damping") * rows.rates - (needed - feet)[:, 6:]
        moves = np.abs(rows.rates) > STICK_RATE
        driven, seen = driven + int((moves & (rubs * rows.rates < 0.0)).sum()), seen + int(moves.sum())
        assert np.abs(rubs).max() < 0.2 + 1e-6
    assert driven < 1e-3 * seen


def test_a_run_of_explicit_steps_tells_the_wider_reversal_of_its_dry_friction() -> None:
    joints = ff.Simulation(CHEETAH, start="stand", integrator="rk4", dt=1e-4).run(1e-3).meta["stick_rate"]
    assert joints == 0.05


@pytest.mark.parametrize("rate", [3e-5, 0.04, -2.0])
def test_dry_friction_has_one_law_in_simulation_regressor_and_inverse(rate: float) -> None:
    """Of a joint at a rate, by the explicit force law of a step, the torques of the model, and the regressor."""
    q, v = CHEETAH.state("stand")
    v[8] = rate
    for width in (1e-4, 0.07):
        model = JointModel(stick_rate=width, damping=False, springs=False, end_stops=False)
        alone = friction_torques(CHEETAH, v, width)[2]
        assert alone == pytest.approx(-0.2 * np.clip(rate / width, -1.0, 1.0), rel=1e-12)
        Y = regressor(CHEETAH, q, v, np.zeros(18), joint_columns=["dry_friction"], stick_rate=width)
        assert -0.2 * Y[8, 130 + 2] == alone
        slides = np.zeros(12) if abs(rate) < width else np.sign(v[6:])
        modes = {"saturated": np.zeros(12), "piece": np.zeros(12), "slides": slides}
        implicit = joint_forces(CHEETAH, model, q[7:], v[6:], ff.JointCommand().broadcast(12), 1e-3, modes)
        assert implicit.passive[2] == pytest.approx(alone, rel=1e-12)
        explicit = joint_forces(CHEETAH, model, q[7:], v[6:], ff.JointCommand().broadcast(12), 0.0)
        assert explicit.passive[2] == pytest.approx(-0.2 * np.clip(rate / max(width, 0.05), -1.0, 1.0), rel=1e-12)


@pytest.mark.slow
def test_filtered_rates_of_a_simulated_run_nearly_give_its_robot() -> None:
    """Contact forces change within a window of 55 ms: that costs 0.01 to 0.09 in SI units, where steps cost nothing."""
    found = [identify(dancing(seed), most_rows=2000) for seed in range(6)]
    wrong = [errors(each, each.values) for each in found]
    for key in ("m", "h", "J"):
        sizes = [each[key] for each in wrong]
        assert np.median(sizes) < 0.05, key
        assert max(sizes) < 0.15, key
    assert np.median([each["dry_friction"] for each in wrong]) < 0.05  # of 0.2: joints that stick in a window cost most


def joint_losses(robot: Robot, v: np.ndarray) -> np.ndarray:
    return damping_torques(robot, v) + friction_torques(robot, v)


@pytest.mark.parametrize("p_BI", [(0.0, 0.0, 0.0), (0.1, -0.03, 0.05)])
def test_imu_encoders_and_foot_forces_give_the_recorded_torques(p_BI: tuple[float, float, float]) -> None:
    rec, robot = dancing(), CHEETAH
    rows, R_BI, g = (
        samples(rec, "step"),
        to_rotation(rotated(np.array([1.0, 0, 0, 0]), np.array([0.3, -0.5, 0.8]))),
        9.81,
    )
    p = np.array(p_BI)
    fast = ff.compile(
        joint_torques_from_sensors,
        robot,
        imu_position=np.zeros(3),
        imu_rotation=np.eye(3),
        target="interpret",
        cache=False,
    )
    for k in range(100, len(rows), 150):
        if rows.reverses[k].any():
            continue
        q, v, a = rows.q[k], rows.v[k], rows.a[k]
        omega, alpha = v[:3], a[:3]
        origin = a[3:6] + cross(omega, v[3:6]) + g * to_rotation(q[3:7])[2]
        specific = R_BI.T @ (origin + cross(alpha, p) + cross(omega, cross(omega, p)))
        unknown_speed = np.concatenate([v[:3], [9.0, -9.0, 9.0], v[6:]])
        measured = (q, unknown_speed, a[6:], specific, R_BI.T @ alpha, rows.force[k], p, R_BI)
        sensed = joint_torques_from_sensors(robot, *measured)
        # implicit steps lose what belongs to the rate they end with
        ends = np.concatenate([np.zeros(6), rows.rates[k]])
        late = joint_losses(robot, v) - joint_losses(robot, ends)
        np.testing.assert_allclose(sensed.motor + late, rows.torque[k], atol=1e-7)
        np.testing.assert_allclose(sensed.unexplained, 0.0, atol=1e-6)
        np.testing.assert_allclose(fast(*measured)[0], sensed.motor, atol=1e-9)


# -- refusals --------------------------------------------------------------------------------------------------------
def test_a_recording_without_excitation_is_refused_in_one_sentence() -> None:
    q, v = CHEETAH.state("stand")
    still = {
        "time": np.arange(50) / 100,
        "q": np.tile(q, (50, 1)),
        "v": np.tile(v, (50, 1)),
        "torque": np.ones((50, 12)),
    }
    with pytest.raises(InputError, match=r"does not excite robot 'mini_cheetah' enough.*condition number"):
        identify(Recording(CHEETAH, still))


def test_standing_still_is_refused() -> None:
    rec = ff.Simulation(CHEETAH, start="stand", joints=JointModel(dry_friction=False)).run(0.5)
    with pytest.raises(InputError, match="does not excite"):
        identify(rec, acceleration="step", most_rows=300)


def test_what_cannot_be_identified_is_refused() -> None:
    rec = exciting(0.0, seconds=1.0, seed=5)
    columns = dict(rec.columns)
    with pytest.raises(InputError, match="needs the joint torques"):
        identify(Recording(CHEETAH, {key: columns[key] for key in ("time", "q", "v")}))
    with pytest.raises(InputError, match="unknown kind of acceleration 'guess'"):
        identify(rec, acceleration="guess")
    with pytest.raises(InputError, match="unknown joint column 'rust'"):
        identify(rec, joint_columns=("rust",))
    with pytest.raises(InputError, match="has other joints than"):
        identify(rec, prior=library.load("spined"))
    with pytest.raises(InputError, match="spread"):
        identify(rec, spread=0.0)
    with pytest.raises(InputError, match="external forces must have shape"):
        identify(rec, external=np.zeros((3, 18)))
    with pytest.raises(InputError, match="one constant time step"):
        samples(Recording(CHEETAH, {**columns, "time": columns["time"] ** 2}), "step")
    with pytest.raises(InputError, match="not finite"):
        samples(Recording(CHEETAH, {**columns, "torque": np.full_like(rec.torque, np.nan)}))
    with pytest.raises(InputError, match="window"):
        samples(rec, "smooth", window=2.0)
    fixed = CHEETAH.replace(floating=False)
    nothing = (np.zeros(12), np.zeros(12), np.zeros(12), np.zeros(3), np.zeros(3), np.zeros((4, 3)))
    with pytest.raises(InputError, match="fixed base"):
        joint_torques_from_sensors(fixed, *nothing)
