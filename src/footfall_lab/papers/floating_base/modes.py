"""The machines of the slides, and the claims about their modes and transitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall import dynamics
from footfall.dynamics import coordinates
from footfall.dynamics.formalisms.constrained import constrained_dynamics, contact_jacobian, impact_map
from footfall.dynamics.formalisms.contact_sets import contact_set
from footfall.dynamics.formalisms.modes import all_modes, single_transitions, transitions
from footfall.dynamics.formalisms.reduced import ModeCoordinates, reduced_dynamics, reduced_system
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.random_states import States, random_states
from footfall.kinematics import feet_jacobian
from footfall.kinematics.forward import foot_positions
from footfall.robot import Joint, Link, Robot
from footfall.robot.library.biped import biped
from footfall.robot.library.one_leg import LegNumbers, one_leg
from footfall.spatial import rotation
from footfall.spatial.gravity import weight_of
from footfall.spatial.quaternion import rate, rotated
from footfall_lab.papers.claims import Claim
from footfall_lab.papers.floating_base.facts import ROUNDING, assess, error, every, worst
from nptrace.array_types import Float

_, _Y, _Z = np.eye(3)


class OneLeg(LegNumbers):
    """The planar library machine in both sets of coordinates of the slides."""

    def flight(self) -> Robot:
        """The machine in flight, q = (x_hip, z_hip, θ_torso, θ_hip, θ_knee), with one foot at the end of the shank."""
        return one_leg(self)

    def stance(self, anchor: Float[ndarray, "3"]) -> Robot:
        """Return the machine in stance, q = (θ_ankle, θ_knee, θ_hip): links upside down, pinned at ``anchor``."""
        links = [Link.massless("world"), *self.links(from_hip=False)]
        joints = [
            Joint(name="ankle", kind="revolute", parent="world", child="shank", origin=anchor, axis=_Y),
            Joint(name="knee", kind="revolute", parent="shank", child="thigh", origin=self.shank * _Z, axis=-_Y),
            Joint(name="hip", kind="revolute", parent="thigh", child="torso", origin=self.thigh * _Z, axis=-_Y),
        ]
        return Robot(name="one-legged machine in stance", links=links, joints=joints, floating=False)

    # -- conversion ----------------------------------------------------------------------------------------------------
    def to_flight(self, q: Float[ndarray, "3"], anchor: Float[ndarray, "3"]) -> Float[ndarray, "5"]:
        """Return the flight coordinates of a stance, which lift-off does not change."""
        ankle, knee, hip = q
        x = anchor[0] + self.shank * np.sin(ankle) + self.thigh * np.sin(ankle - knee)
        z = anchor[2] + self.shank * np.cos(ankle) + self.thigh * np.cos(ankle - knee)
        return np.array([x, z, ankle - knee - hip, hip, knee])

    def jacobian(self, q: Float[ndarray, "3"]) -> Float[ndarray, "5 3"]:
        """Return N with dq_flight/dt = N dq_stance/dt, derived by hand."""
        ankle, knee, _ = q
        s, c = self.shank * np.sin(ankle), self.shank * np.cos(ankle)
        t, d = self.thigh * np.sin(ankle - knee), self.thigh * np.cos(ankle - knee)
        return np.array(
            [[c + d, -d, 0.0], [-s - t, t, 0.0], [1.0, -1.0, -1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
        )

    def jacobian_rate(self, q: Float[ndarray, "3"], v: Float[ndarray, "3"]) -> Float[ndarray, "5"]:
        """Return dN/dt dq_stance/dt: the centripetal accelerations of the hip."""
        ankle, knee, _ = q
        shank, thigh = self.shank * v[0] ** 2, self.thigh * (v[0] - v[1]) ** 2
        x = -shank * np.sin(ankle) - thigh * np.sin(ankle - knee)
        z = -shank * np.cos(ankle) - thigh * np.cos(ankle - knee)
        return np.array([x, z, 0.0, 0.0, 0.0])

    def to_stance(self, q: Float[ndarray, "5"]) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """Return (stance coordinates, anchor) for flight coordinates with the foot on the ground."""
        return np.array([q[2] + q[3] + q[4], q[4], q[3]]), foot_positions(self.flight(), q)[0]

    def touchdown(
        self, q: Float[ndarray, "5"], v: Float[ndarray, "5"]
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"], Float[ndarray, "3"]]:
        """Return (q, v⁺, anchor) in stance coordinates: the foot stops, the momentum in stance coordinates is kept."""
        stance, anchor = self.to_stance(q)
        N, M = self.jacobian(stance), mass_matrix(self.flight(), q)
        return stance, np.linalg.solve(N.T @ M @ N, N.T @ (M @ v)), anchor

    def liftoff(
        self, q: Float[ndarray, "3"], v: Float[ndarray, "3"], anchor: Float[ndarray, "3"]
    ) -> tuple[Float[ndarray, "5"], Float[ndarray, "5"]]:
        """Return (q, v) in flight coordinates, both continuous."""
        return self.to_flight(q, anchor), self.jacobian(q) @ v


def quadruped_modes(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    errors, counts, freedoms = [], set(), set()
    for robot, q, v, _, tau in every(robots, states):
        counts.add(len(all_modes(robot)))
        for mode in all_modes(robot):
            x, f = constrained_dynamics(robot, q, v, tau, mode)
            y, g = reduced_dynamics(robot, q, v, tau, mode)
            errors += [error(y, x), float(np.abs(g - f).max() / weight_of(robot.mass))]
            freedoms.add(robot.nv - contact_set(robot, q, mode).mobility - 3 * int(mode.sum()))
    sound = len(counts) == 1 and freedoms == {0} and worst(errors) <= ROUNDING
    return assess(
        "quadruped_16_modes",
        float(max(counts)) if sound else float("nan"),
        "every mode of every quadruped of the library takes three degrees of freedom per foot; reduced equations in its"
        f" coordinates agree with the KKT system in excess coordinates to {worst(errors):.1e} (relative accelerations,"
        " forces relative to the weight)",
    )


def biped_modes(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    two = biped()
    few = random_states(two, 5, seed=12)
    modes, pairs, single = all_modes(two), list(transitions(two)), list(single_transitions(two))
    errors = []
    for q, v, tau in zip(few.q, few.v, few.tau):
        for before, after in pairs:
            start = impact_map(two, q, v, before)[0]
            end, impulse = impact_map(two, q, start, after)
            J = contact_jacobian(two, q)
            errors.append(float(np.abs(J[np.repeat(after, 3) > 0] @ end).max(initial=0.0)))
            errors.append(error(dynamics.mass_matrix(two, q) @ (end - start) + 1.0, J.T @ impulse.reshape(-1) + 1.0))
            landing = after * (1 - before)
            if not landing.any():  # lift-off: q and v are continuous
                errors.append(float(np.abs(end - start).max()))
        for mode in modes:
            errors.append(
                error(reduced_dynamics(two, q, v, tau, mode)[0], constrained_dynamics(two, q, v, tau, mode)[0])
            )
    sizes = [len(reduced_system(two, few.q[0], few.v[0], few.tau[0], mode).force) for mode in modes]
    return assess(
        "biped_4_modes_12_transitions",
        f"{len(modes)}, {len(pairs)}" if worst(errors) <= ROUNDING else "not sound",
        f"a biped of {two.nv} degrees of freedom: {', '.join(map(str, sizes))} in its modes. The slides' 12 count every"
        f" ordered pair of modes; one foot changes in {len(single)} of them. Each transition was made from five states:"
        " landing feet stop, only they transfer momentum, lift-off changes nothing"
        f" (to {worst(errors):.1e}). {_hopper()}",
    )


def one_legged(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    machine = OneLeg()
    counts = machine.stance(np.zeros(3)).nv, machine.flight().nv
    return assess("one_leg_3_and_5_coordinates", f"{counts[0]}, {counts[1]}", _hopper())


def embedded(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    """Assess the velocities of standing feet for random velocities in the minimal coordinates of every mode."""
    rng, errors = np.random.default_rng(13), [0.0]
    for robot, q, *_ in every(robots, states):
        J = contact_jacobian(robot, q)
        for mode in all_modes(robot):
            N = ModeCoordinates.at(robot, q, mode).basis(q)
            v = N @ rng.normal(size=N.shape[1])
            if mode.any():
                errors.append(float(np.abs(J[np.repeat(mode, 3) > 0] @ v).max() / np.abs(J @ v).max(initial=1.0)))
    return assess(
        "constraints_are_embedded",
        worst(errors),
        "a random velocity in the coordinates of every mode; velocities of the standing feet, relative to the largest"
        " of all feet, or 1 m/s",
    )


def foot_takes_six(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    two = biped()
    ranks = {
        int(np.linalg.matrix_rank(J, tol=1e-9)) for q in random_states(two, 5, seed=12).q for J in feet_jacobian(two, q)
    }
    return assess(
        "foot_takes_six",
        float(max(ranks)) if len(ranks) == 1 else float("nan"),
        "the twist of a foot that lies flat; a point takes three, which is what the robots of the library stand on",
    )


def base_coordinates(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    counts = {(robot.nq - robot.nj, robot.nv - robot.nj) for robot in robots}
    words = "; ".join(f"{q}, {v}" for q, v in sorted(counts))
    return assess("base_in_R7_and_R6", words, "of every robot of the library: position and quaternion, twist")


def minimal_dynamics(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    return assess(
        "minimal_dynamics",
        _hopper_error(),
        "20 random states; joint torques are mapped by the derivative of one set of coordinates by the other",
    )


def _hopper_error() -> float:
    """Compare accelerations of the one-legged machine of the slides in both of its sets of coordinates."""
    machine, rng, errors = OneLeg(), np.random.default_rng(3), []
    flight = machine.flight()
    for _ in range(20):
        q, v, anchor = rng.uniform(-0.8, 0.8, 3), rng.normal(size=3), np.array([rng.normal(), 0.0, 0.0])
        stance, torques = machine.stance(anchor), np.array([0.0, 0.0, 0.0, *rng.normal(size=2)])
        N, q_flight = machine.jacobian(q), machine.to_flight(q, anchor)
        own = dynamics.forward_dynamics(stance, q, v, N.T @ torques)
        mapped = N @ own + machine.jacobian_rate(q, v)
        errors.append(error(reduced_dynamics(flight, q_flight, N @ v, torques, np.ones(1))[0], mapped))
    return worst(errors)


def _hopper() -> str:
    return (
        "The one-legged machine with 3 stance and 5 flight coordinates, its stance coordinates derived by hand, moves"
        f" alike in both to {_hopper_error():.1e}"
    )


def gimbal_lock(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    pole = np.array([0.3, np.pi / 2, -0.2])
    G = rotation.euler_rates_to_world(pole, "zyx")
    apart = float(np.degrees(np.arccos(min(1.0, abs(float(G[:, 0] @ G[:, 2]))))))
    near = np.array([0.3, np.radians(89.9), -0.2])
    robot = robots[0]
    x = np.concatenate([np.zeros(3), near, robot.poses["stand"].joints])
    virtual = coordinates.with_virtual_joints(robot)
    growth = np.linalg.cond(dynamics.mass_matrix(virtual, x)) / np.linalg.cond(
        dynamics.mass_matrix(virtual, np.concatenate([np.zeros(6), robot.poses["stand"].joints]))
    )
    level = [np.linalg.cond(rotation.euler_rates_to_body(np.array([0.3, np.radians(d), 0.1]))) for d in (0.0, 89.9)]
    rank = int(np.linalg.matrix_rank(G, tol=1e-9))
    return assess(
        "gimbal_lock_of_euler_base",
        apart,
        f"the map of Euler rates has rank {rank} there; its condition number is {level[0]:.0f} when level and"
        f" {level[1]:.0f} at 89.9 deg, where the mass matrix of {robot.name} on virtual joints is {growth:.0f} times"
        " worse conditioned. Within 0.5 deg footfall rejects Euler coordinates and suggests the quaternion or the"
        " other order",
        holds=apart < 1e-6 and rank == 2,
    )


def quaternion_regular(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    spread, errors = [], []
    for pitch in np.radians([0.0, 45.0, 89.9, 90.0, 120.0]):
        quat = rotated(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, pitch, 0.0]))
        W = np.stack([rate(quat, axis) for axis in np.eye(3)], axis=1)
        spread.append(np.linalg.cond(W))
        for robot, few in zip(robots, states):
            q = np.concatenate([few.q[0][:3], quat, few.q[0][7:]])
            level = np.concatenate([few.q[0][:3], [1.0, 0.0, 0.0, 0.0], few.q[0][7:]])
            given = (few.v[0], few.tau[0], (0.0, 0.0, 0.0))
            errors.append(
                error(dynamics.forward_dynamics(robot, q, *given), dynamics.forward_dynamics(robot, level, *given))
            )
    return assess(
        "quaternion_no_singularity",
        float(max(spread)),
        "of the map from angular velocity to quaternion rates, at pitches from 0 to 120 deg; without gravity the"
        f" accelerations at all of them are those of the level robot to {worst(errors):.1e}",
        holds=max(spread) < 1 + 1e-9 and worst(errors) <= ROUNDING,
    )
