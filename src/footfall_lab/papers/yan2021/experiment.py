"""Yan, Pan, Che, Yu, Han 2021: whole-body models and motion plans of XiLing; figures 9 to 14 and their claims.

The paper gives neither dimensions nor masses of its robot, and only curves: their shapes and orders are measured on the
library's XiLing. Simulation replaces its prototype.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.compiling import compile as compiled
from footfall.dynamics.formalisms.screw_system import screw_inverse_dynamics
from footfall.gait.pattern import LEGS
from footfall.gait.planner import POSTURE_LIMITS_DEG
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import branches, leg_inverse
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors
from footfall_lab.papers.claims import Claim, Outcome, Table, assess, range_of
from footfall_lab.papers.registered import setup
from footfall_lab.papers.yan2021 import drives, equations, figures, further
from footfall_lab.papers.yan2021.runs import (
    HEIGHT,
    KD,
    KNEE,
    KP,
    SMALL_FOOT,
    STEP,
    SWING_TIME,
    Progress,
    Run,
    as_printed,
    base_acceleration,
    commanded_rate,
    control_loop,
    filtered_torques,
    given_torques,
    held_angles,
    noisy_torques,
    perform,
    planned_torques,
    registered_sensing,
    sensed_torques,
    slip,
    steps_of,
    switches,
    timed,
    xiling,
)
from nptrace.array_types import Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "yan2021"
TITLE = "Motion plans and whole-body models of XiLing (Yan et al. 2021)"
CONTINUOUS = 40.0  # [N m]: Table 1
REPLAYS = {
    "walk": "The walk.",
    "trot": "The trot: the same distance in half the time.",
    "postures": "Roll, pitch and yaw.",
}
SETTLED = setup(NAME)["settled"]  # of a step


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """Assess all claims. ``quick``: fewer samples."""
    robot = xiling()
    runs = perform(robot, progress, cycles=4 if quick else 6)
    found = WalkFindings(robot, runs, 100 if quick else 1000)
    if progress:
        progress("XiLing: drives, controllers and models", len(runs), len(runs))
    claims, replays = tuple(found.claims()), {REPLAYS[key]: {robot.name: runs[key].rec} for key in REPLAYS}
    return Outcome(
        experiment=NAME,
        title=TITLE,
        summary=SUMMARY,
        claims=claims,
        figures=found.figures(),
        captions=dict(CAPTIONS),
        tables=found.tables(),
        settings=dict(SETTINGS),
        replays=replays,
    )


class WalkFindings:
    """The results of the runs and the models."""

    def __init__(self, robot: Robot, runs: dict[str, Run], samples: int) -> None:
        self.robot, self.runs, self.samples, walk = robot, runs, samples, runs["walk"]
        begins, cycle = walk.plan.rest, 4.0 * SWING_TIME  # type: ignore[attr-defined]
        self.times = np.arange(begins + 0.5 * cycle, begins + 2.5 * cycle, 4e-3 if samples > 500 else 8e-3)
        spot = runs["on the spot"]
        self.model = given_torques(spot, self.times)[:, walk.joint(KNEE)]
        self.simulated = np.interp(self.times, spot.rec.time, spot.rec.torque[:, walk.joint(KNEE)])
        self.swinging = spot.plan.stands(self.times)[LEGS.index(KNEE[:2])] < 0.5  # type: ignore[attr-defined]
        self.planned = planned_torques(walk, self.times)[:, walk.joint(KNEE)]
        self.walked = np.interp(self.times, walk.rec.time, walk.rec.torque[:, walk.joint(KNEE)])
        self.by_mass = further.knee_torques(robot, 3)
        self.rows = np.arange(600, len(walk.rec) - 2, 17 if samples > 500 else 53)
        self.sensed, _ = sensed_torques(walk.rec, self.rows)
        requested = {name: run.plan for name, run in runs.items()}
        self.drives = drives.perform_with_drives(robot, requested["yaw"])
        self.burrs = drives.burr_range(robot, requested["yaw"])
        self.driven_walks = drives.perform_with_drives(robot, requested["walk"], drives.BOTH)
        self.controlled = drives.perform(robot, requested, runs)

    def claims(self) -> list[Claim]:
        return [
            *self._branches(),
            *self._continuous(),
            self._half_time(),
            self._half_steps(),
            self._three_feet(),
            assess(NAME, "coordinates_are_simplified", None),
            assess(NAME, "more_stable_movements", None),
            self._matches(),
            self._jump(),
            self._cause(),
            self._postures(),
            self._yaw(),
            self._tracking(),
            drives.burrs(self.drives, self.driven_walks, self.burrs),
            drives.eliminated(self.robot, self.runs["yaw"].plan),
            self._loop(),
            *self._within_motor(),
            *self._from_sensors(),
            drives.improves(self.controlled),
            *further.claims(self.robot, self.runs["walk"], self.rows),
            *equations.claims(self.robot),
        ]

    # -- kinematics and plans ------------------------------------------------------------------------------------------
    def _branches(self) -> list[Claim]:
        worst, solutions, printed = 0.0, set[int](), []
        rng = np.random.default_rng(0)
        for _ in range(self.samples):
            leg = LEGS[int(rng.integers(4))]
            geometry = leg_geometry(self.robot, leg)
            joints = rng.uniform(-0.7, 0.7, size=3) + np.array([0.0, 0.0, rng.choice([-1.2, 1.2])])
            target = self._foot(leg, geometry.joints, joints)
            for pose in branches(self.robot, leg, target):
                worst = max(worst, _apart(self._foot(leg, geometry.joints, pose.joints), target))
            below = [leg_inverse(self.robot, leg, target, knee) for knee in (1, -1)]
            apart = _apart(below[0].joints, below[1].joints) > 1e-6
            solutions.add(sum(bool(pose.reachable) for pose in below) - (0 if apart else 1))
            printed.append(as_printed(geometry.thigh.length, geometry.shank.length, float(joints[2])))
        number = float(max(solutions)) if len(solutions) == 1 and worst < 1e-9 else float("nan")
        return [
            assess(
                NAME,
                "ik_all_branches",
                number,
                f"{self.samples} reachable targets, with eq. (6) corrected: knee behind and in front. The leg's plane"
                " above the roll axis, which eq. (1) excludes, gives two more.",
            ),
            assess(
                NAME,
                "eq6_knee_angle",
                float(np.median(printed)),
                "The cosine rule gives the interior angle of the knee. Home positions, eq. (8), hang straight down,"
                " so that the joint's angle is π minus it: as printed, a straight leg has q3 = π. Taken literally, the"
                f" foot is off by {max(printed):.2f} m at most.",
                holds=max(printed) <= 1e-9,
            ),
            assess(NAME, "closed_form_is_exact", worst, f"{self.samples} targets, up to four solutions each."),
        ]

    def _foot(self, leg: str, joints: tuple[int, ...], angles: ndarray) -> Float[ndarray, "3"]:
        q = self.robot.state(_placed(self.robot, joints, angles))[0]
        return foot_positions(self.robot, q)[self.robot.foot_index(leg)]

    def _continuous(self) -> list[Claim]:
        steps = {name: steps_of(self.runs[name].plan) for name in ("walk", "trot")}
        ratio = max(fine / coarse for coarse, fine in steps.values())
        worst = max(coarse for coarse, _ in steps.values())
        even = STEP / (2.0 * SWING_TIME)  # end of row 1 and all of row 2
        third = 2.0 * STEP / SWING_TIME  # row 3, -L (t - (2n - 1) T)² / T², at its beginning T before its end
        return [
            assess(
                NAME,
                "fig9_paths_continuous",
                worst,
                "The largest change of any velocity from one millisecond to the next, with eq. (24) derived again"
                f" from eq. (22); it falls to {ratio:.2f} of it when the time between samples is halved, as it must"
                " without a jump (a jump would remain).",
                holds=ratio < 0.6,
            ),
            assess(
                NAME,
                "eq24_body_path",
                third - even,
                f"Row 1 ends at L / 2T = {even:.3f} m/s. Row 3 begins at 2 L / T = {third:.3f} m/s, since it lacks"
                " the factor 1/4 of row 1. Row 2 has t - T in the denominator and row 3 (2n - 1) / T² for a time,"
                " which may be an error of our copy, converted to text; it is read so that the units are correct.",
                holds=abs(third - even) < 1e-9,
            ),
        ]

    def _half_time(self) -> Claim:
        far = (self.runs["walk"].plan.cycles - 1.5) * STEP  # type: ignore[attr-defined]
        planned, simulated = {}, {}
        for name in ("walk", "trot"):
            run = self.runs[name]
            grid = np.linspace(0.0, run.plan.duration, 4001)
            x = run.plan.at(grid).position[0]
            rest = run.plan.rest  # type: ignore[attr-defined]
            planned[name] = float(grid[np.argmax(x > x[0] + far)]) - rest
            moved = run.rec.trunk_position[:, 0] - run.rec.trunk_position[0, 0]
            simulated[name] = float(run.rec.time[np.argmax(moved > far)]) - rest if moved.max() > far else float("nan")
        ratio = simulated["trot"] / simulated["walk"]
        return assess(
            NAME,
            "fig10_trot_same_distance_half_time",
            ratio,
            f"Simulated, {far:.3f} m: walk {simulated['walk']:.2f} s, trot {simulated['trot']:.2f} s (planned "
            f"{planned['walk']:.2f} and {planned['trot']:.2f} s). With equal steps of equal duration it is exactly"
            " half in uniform motion, since two feet step at once; a walk also takes longer to start.",
        )

    def _half_steps(self) -> Claim:
        """Assess the displacement of the body in the swings of the trot, by its plan."""
        plan, swing = self.runs["trot"].plan, SWING_TIME
        begins, ends = plan.rest, plan.duration - plan.rest  # type: ignore[attr-defined]
        count = round((ends - begins) / swing)
        x = plan.at(np.linspace(begins, ends, count + 1)).position[0]
        ways = np.diff(x) / np.median(np.diff(x))
        worst = max((ways[0], ways[-1]), key=lambda way: abs(way - 0.5))
        return assess(
            NAME,
            "half_step_in_the_same_time",
            float(worst),
            f"{count} swings of {swing:g} s: {', '.join(f'{way:.2f}' for way in ways)}. From rest to uniform speed at"
            f" constant acceleration it is exactly a half.",
        )

    def _three_feet(self) -> Claim:
        walk = self.runs["walk"]
        planned = np.array(walk.plan.stands(np.linspace(0.0, walk.plan.duration, 2001)))  # type: ignore[attr-defined]
        fewest = (planned > 0.0).sum(axis=0).min()
        touching = 100.0 * float((walk.rec.contact.sum(axis=1) >= 3).mean())
        return assess(
            NAME,
            "walk_keeps_three_feet_down",
            float(fewest),
            f"Simulated, three or four feet touch {touching:.1f} % of the time. The body is at rest meanwhile, as in"
            " the text, only when stepping on the spot: by (24) it moves on uniformly.",
        )

    # -- dynamics ------------------------------------------------------------------------------------------------------
    def _matches(self) -> Claim:
        off, span = self.model - self.simulated, float(np.ptp(self.simulated))
        part = _rms(off) / span
        moving, walked = self.planned - self.walked, float(np.ptp(self.walked))
        return assess(
            NAME,
            "fig11_knee_torque_matches_simulation",
            100.0 * part,
            f"Stepping on the spot, the body at rest, foot forces given. Root mean square difference over {len(off)}"
            f" instants of two cycles: {_rms(off[self.swinging]):.2f} N m while the foot swings,"
            f" {_rms(off[~self.swinging]):.2f} N m while it stands, of a range of {span:.1f} N m; correlation"
            f" {np.corrcoef(self.model, self.simulated)[0, 1]:.3f}. For comparison, walking {STEP:g} m per step, from"
            f" the plan alone: {100.0 * _rms(moving) / walked:.1f} % of the range, since horizontal foot forces of"
            " three"
            " standing feet are not determined by the motion (erratum of eq. 19).",
        )

    def _jump(self) -> Claim:
        walk = self.runs["walk"]
        rec, knee = walk.rec, walk.joint(KNEE)
        when = switches(walk)
        window = 15e-3
        jumps = [np.ptp(rec.between(t - window, t + window).torque[:, knee]) for t in when]
        elsewhere = [t for t in np.arange(1.0, rec.time[-1] - 1.0, 0.05) if min(abs(t - s) for s in when) > 0.1]
        quiet = float(np.median([np.ptp(rec.between(t - window, t + window).torque[:, knee]) for t in elsewhere]))
        lifts, lands = float(np.median(jumps[0::2])), float(np.median(jumps[1::2]))
        return assess(
            NAME,
            "fig11_jump_at_switch",
            min(lifts, lands) / quiet,
            f"Median change within {2e3 * window:.0f} ms: {lands:.1f} N m at {len(when[1::2])} touchdowns of"
            f" {KNEE[:2]}, {lifts:.1f} N m at lift-offs, {quiet:.1f} N m at other times. Our plan unloads a foot"
            " before it lifts; the contact forces in the paper vanish instantly.",
        )

    def _cause(self) -> Claim:
        """Assess the change of torque at contact switches without the contribution of the foot's force."""
        walk = self.runs["walk"]
        rec, knee, foot = walk.rec, walk.joint(KNEE), self.robot.foot_index(KNEE[:2])
        shares, apart, width = [], 10e-3, 5e-3
        for t in switches(walk):
            rows = np.flatnonzero(np.abs(np.abs(rec.time - t) - apart - 0.5 * width) <= 0.5 * width)
            after = rec.time[rows] > t
            J = [feet_jacobian(self.robot, rec.q[k], "contact", np.eye(3))[foot, 3:, 6 + knee] for k in rows]
            external = -np.einsum("kj,kj->k", np.array(J), rec.force[rows, foot])
            torque = rec.torque[rows, knee]
            change, left = (float(x[after].mean() - x[~after].mean()) for x in (torque, torque - external))
            shares.append(abs(left / change))
        lifts, lands = float(np.median(shares[0::2])), float(np.median(shares[1::2]))
        return assess(
            NAME,
            "switch_jumps_by_external_forces",
            max(lifts, lands),
            f"The remaining change without the force of the foot: {lands:.2f} at touchdowns, {lifts:.2f} at"
            " lift-offs. The impact between, a few milliseconds long, is balanced by accelerations and hardly by the"
            " motor: the torque changes because the foot carries load.",
            holds=max(lifts, lands) <= 0.5,
        )

    def _within_motor(self) -> list[Claim]:
        peaks, usual, above = {}, {}, {}
        for name in ("walk", "trot", "postures", "yaw"):
            rec = self.runs[name].rec
            knees = np.abs(rec.torque[:, [self.robot.joint_names.index(f"{leg}_knee") for leg in LEGS]])
            peaks[name], above[name] = float(knees.max()), float(100.0 * (knees > CONTINUOUS).mean())
            usual[name] = float(np.percentile(knees, 95, axis=0).max())
        words = ", ".join(f"{name} {usual[name]:.0f} N m ({above[name]:.1f} % of the time above 40)" for name in peaks)
        motor = next(actuator for actuator in self.robot.actuators if actuator.joint == KNEE)
        chosen = (
            "Masses and lengths are chosen: this is a robot of that size, not XiLing. Behind the belt of 1:2 the"
            f" motor gives half of the torque: its continuous 40 N m are {motor.continuous_torque:g} N m at the knee."
        )
        ranges = [
            range_of(
                [values[k] for values in self.by_mass.values()],
                None,
                "robots of 0.7 to 1.3 times the masses",
                (0, 100),
            )
            for k in (0, 1)
        ]
        return [
            assess(
                NAME,
                "knee_torque_within_motor",
                max(usual.values()),
                f"At the joint, the worst knee of each run: {words}. {chosen}",
                spread=ranges[0],
            ),
            assess(
                NAME,
                "knee_torque_peak",
                max(peaks.values()),
                f"Peaks: {', '.join(f'{name} {value:.0f} N m' for name, value in peaks.items())}. {chosen}",
                spread=ranges[1],
            ),
        ]

    def _from_sensors(self) -> list[Claim]:
        walk = self.runs["walk"].rec
        torque, span = walk.torque[self.rows], np.ptp(walk.torque, axis=0)
        error, peak = np.abs(self.sensed - torque), float(np.abs(torque).max())
        sensors = getattr(Sensors, setup(NAME)["sensors"])(setup(NAME)["sensor_seed"])
        off = noisy_torques(walk, self.rows, sensors) - torque
        shares = 100.0 * np.sqrt(np.mean(off**2, axis=0)) / span
        worst = int(np.argmax(shares))
        central, _ = sensed_torques(walk, self.rows, central=True)
        filtered = {
            share: float(self._filtered_shares(further.noisier(sensors, share))[0][0].max()) for share in further.NOISES
        }
        center, left = sensed_torques(walk, self.rows, at_center=True)
        few = slice(None, None, max(len(self.rows) // 20, 1))
        screw = [_apart(self._screw(walk, int(k)), value) for k, value in zip(self.rows[few], center[few])]
        return [
            assess(
                NAME,
                "joint_torque_from_imu_and_foot_force",
                filtered[1.0],
                f"Through filters of {setup(NAME)['filter']:g} Hz, over {len(self.rows)} instants. By noise, of the"
                " chosen:"
                f" {', '.join(f'{share:g} x {value:.1f} %' for share, value in filtered.items())}; without noise, the"
                " delay of the filter remains. Without a filter, rates differentiated over 2 ms:"
                f" {float(shares[worst]):.1f} % at {self.robot.joint_names[worst]}, median of the joints"
                f" {np.median(shares):.1f} %; with ideal sensors differentiated in this way"
                f" {_rms(central - torque):.2f} N m remain (impacts are not differentiable). The paper prints neither"
                " noise nor filter.",
                spread=range_of(filtered.values(), None, "amounts of noise, none to twice the chosen", (0, 100)),
            ),
            assess(
                NAME,
                "ideal_sensors_give_torques",
                float(error.max()),
                f"Of up to {peak:.0f} N m, accelerations over the step in which the forces acted. With forces at the"
                f" foot's centre, the paper's spherical joint, {_rms(center - torque):.2f} N m, and"
                f" {np.abs(left[:, :3]).max():.1f} N m are missing at the base: a ball of 25 mm touches at its bottom."
                " The screw system, eq. (19) with measured forces, gives the same torques to"
                f" {max(screw):.0e} N m.",
                holds=float(error.max()) < 0.01 * peak,
            ),
            self._filtered(sensors),
        ]

    def _filtered_shares(self, sensors: Sensors) -> tuple[list[ndarray], float]:
        """Return ([joint errors in % of range, also against torques a delay earlier], error of all joints [N m])."""
        walk = self.runs["walk"].rec
        found, span = filtered_torques(walk, sensors, registered_sensing())[self.rows], np.ptp(walk.torque, axis=0)
        shares = [
            100.0 * np.sqrt(np.mean((found - walk.torque[self.rows - late]) ** 2, axis=0)) / span
            for late in (0, round(1e3 * np.sqrt(2.0) / (2.0 * np.pi * setup(NAME)["filter"])))
        ]
        return shares, _rms(found - walk.torque[self.rows])

    def _filtered(self, sensors: Sensors) -> Claim:
        shares, together = self._filtered_shares(sensors)
        return assess(
            NAME,
            "filtered_sensors_give_torques",
            float(shares[0].max()),
            f"Median of the joints {np.median(shares[0]):.1f} %, all joints together {together:.2f} N m. Most of it is"
            " the delay of the filter: against the torques delayed by the same time,"
            f" {shares[1].max():.1f} % at worst. Without the filter, noise dominates.",
        )

    def _screw(self, rec: Recording, k: int) -> Float[ndarray, "nj"]:
        dt = float(rec.time[k] - rec.time[k - 1])
        joints = (rec.v[k, 6:] - rec.v[k - 1, 6:]) / dt
        base = base_acceleration(rec, k, dt)
        return screw_inverse_dynamics(self.robot, rec.q[k - 1], rec.v[k - 1], joints, rec.force[k], base).torques

    def _loop(self) -> Claim:
        plan = self.runs["walk"].plan
        rec = self.runs["walk"].rec
        q, v, forces = rec.q[1500], rec.v[1500], rec.force[1500]
        a = np.zeros(self.robot.nv)
        fast = compiled(control_loop, self.robot, 1.5, q, v, a, forces, plan=plan)
        times = timed(lambda: fast(1.5, q, v, a, forces), 2000)
        solve = compiled(screw_inverse_dynamics, self.robot, q, v, a[6:], forces, a[:6])
        system = timed(lambda: solve(q, v, a[6:], forces, a[:6]), 2000)
        return assess(
            NAME,
            "loop_under_1ms",
            1e3 * float(np.median(system)),
            "The screw system of all 13 links, solved by its structure and compiled, all joint reactions included. The"
            " same torques by recursive Newton-Euler, with plan, inverse kinematics of four legs and gravity torques,"
            f" compiled: {1e3 * float(np.median(times)):.4f} ms, median of {len(times)} calls.",
        )

    # -- standing ------------------------------------------------------------------------------------------------------
    def _postures(self) -> Claim:
        large, _ = held_angles(self.runs["postures"])
        held, worst = held_angles(self.runs["small_feet"])
        ratio = _farthest(value / float(key.split()[1]) for key, value in held.items())
        reached = ", ".join(
            f"{min(abs(held[f'{k} +{v:.0f}']), abs(held[f'{k} -{v:.0f}'])):.1f}" for k, v in POSTURE_LIMITS_DEG.items()
        )
        words = ", ".join(f"{key}: {value:.2f}" for key, value in held.items())
        yaw = 0.5 * (abs(large["yaw +20"]) + abs(large["yaw -20"]))
        return assess(
            NAME,
            "fig12_postures",
            reached,
            f"Feet of {1e3 * SMALL_FOOT:.0f} mm, the smaller of both. Held: {words} deg; largest error"
            f" {worst:.2f} deg."
            f" On XiLing's chosen balls of 25 mm the yaw is {yaw:.2f} deg, since they roll as the shanks tilt (feet"
            " move"
            f" {1e3 * slip(self.runs['postures']):.1f} mm); the paper's spherical joints do not roll.",
            compared=ratio,
        )

    def _yaw(self) -> Claim:
        settled, ends = self._yaw_time()
        there = all(1.0 / 1.05 <= abs(end) / 15.0 <= 1.05 for end in ends)
        return assess(
            NAME,
            "fig13_yaw_15_in_0.9s",
            settled,
            f"The plan moves for 0.9 s. The body stood at {ends[0]:.2f} degrees before and stands at {ends[1]:.2f}"
            " after:"
            " feet of 25 mm roll as the shanks tilt.",
            compared=settled if there else float("inf"),
        )

    def _yaw_time(self) -> tuple[float, tuple[float, float]]:
        """Return (time from the start of the motion until the yaw has settled; yaw before and after)."""
        run = self.runs["yaw"]
        begins = 2 * run.plan.hold + run.plan.move  # type: ignore[attr-defined]
        yaw, t = np.degrees(run.rec.trunk_euler()[:, 0]), run.rec.time
        after = begins + run.plan.move + run.plan.hold  # type: ignore[attr-defined]
        ends = (float(np.interp(begins, t, yaw)), float(np.interp(after, t, yaw)))
        off = (t > begins) & (t < after) & (np.abs(yaw - ends[1]) > SETTLED * (ends[1] - ends[0]))
        return float(t[off][-1]) - begins, ends

    def _tracking(self) -> Claim:
        run = self.runs["yaw"]
        rec, knee = run.rec, run.joint(KNEE)
        wanted, rate = rec["command_position"][:, knee], commanded_rate(run, KNEE)
        off, speed_off = np.degrees(rec.joint_position[:, knee] - wanted), rec.joint_velocity[:, knee] - rate
        travel, span = float(np.degrees(np.ptp(wanted))), float(np.ptp(rate))
        shares = 100.0 * _rms(off) / travel, 100.0 * _rms(speed_off) / span
        return assess(
            NAME,
            "fig14_tracking",
            max(shares),
            f"{KNEE}: position {shares[0]:.2f} % of {travel:.2f} deg travelled, velocity {shares[1]:.2f} % of"
            f" {span:.2f} rad/s.",
        )

    # -- figures and tables --------------------------------------------------------------------------------------------
    def figures(self) -> dict[str, Figure]:
        return {
            "fig9": figures.paths({name: self.runs[name].plan for name in ("trot", "walk")}),
            "fig10": figures.progress({name: self.runs[name] for name in ("trot", "walk")}),
            "fig11": figures.knee_torque(self.times, self.model, self.simulated, self.swinging, KNEE),
            "fig12": figures.postures(self.runs["postures"]),
            "fig13_14": figures.yaw(self.runs["yaw"], KNEE),
            "drives": figures.drives(self.drives, KNEE, drives.turn_of(self.runs["yaw"].plan)),
            "response": figures.responses(drives.curves(self.controlled), KNEE),
            "sensed": figures.sensed(self.runs["walk"], self.rows, self.sensed, "RH"),
        }

    def tables(self) -> tuple[Table, ...]:
        rows = []
        for name, run in self.runs.items():
            rec, plan = run.rec, run.plan
            first, end = plan.at(0.0).position, plan.at(plan.duration).position
            moved = rec.trunk_position[-1] - rec.trunk_position[0]
            lean = np.degrees(np.abs(rec.trunk_euler()[:, 1:] - run.euler[:, 1:]).max())
            rows.append(
                (
                    name,
                    f"{plan.duration:.1f}",
                    f"{end[0] - first[0]:.3f}",
                    f"{moved[0]:.3f}",
                    f"{1e3 * moved[1]:.0f}",
                    f"{lean:.2f}",
                    f"{np.abs(rec.torque).max():.0f}",
                    "yes" if rec.meta["fell"] else "no",
                )
            )
        header = (
            "run",
            "time [s]",
            "planned x [m]",
            "x [m]",
            "y [mm]",
            "tilt error [deg]",
            "peak torque [N m]",
            "fell",
        )
        return Table("Plans followed in simulation", header, tuple(rows)), drives.table(self.controlled)


# -- helpers -----------------------------------------------------------------------------------------------------------
def _placed(robot: Robot, joints: tuple[int, ...], angles: ndarray) -> Float[ndarray, "nj"]:
    out = np.zeros(robot.nj)
    out[list(joints)] = angles
    return out


def _apart(a: ndarray, b: ndarray) -> float:
    return float(np.abs(a - b).max())


def _farthest(ratios: Iterable[float]) -> float:
    """Return the ratio farthest from one."""
    return max(ratios, key=lambda ratio: abs(np.log(ratio)) if ratio > 0.0 else np.inf)


def _rms(x: ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(x))))


SUMMARY = (
    "The paper plans body and feet together, turns the plan into joint angles, and checks its whole-body model "
    "against ADAMS and a prototype. Here the plans (with eqs. 23 and 24 set right) are followed by joint PD in "
    "simulation, and the model is held against the torques that acted."
)
SETTINGS = {
    "robot": "XiLing of the library: published motors, chosen dimensions and masses, 41.2 kg",
    "steps": f"{STEP:g} m long, {HEIGHT:g} m high, {SWING_TIME:g} s each; walk with three feet down (duty 3/4)",
    "control": f"inverse kinematics and joint PD, {KP:g} N m/rad and {KD:g} N m s/rad, 1 kHz, gravity feedforward",
    "simulation": "compliant contact, friction 0.8, linearly implicit, 1 ms",
    "sensors": "typical noise of the library, and ideal sensors; Butterworth filters of 40 Hz where stated",
    "drives": "rigid, except for the burrs: there with rotors behind gears and the knee's belt, with chosen numbers",
}
CAPTIONS = {
    "fig9": "Paths of body and feet in the plan, from the side and over time (figure 9).",
    "fig10": "The same steps as a trot and as a walk: motion of the body over time (figure 10).",
    "fig11": "Knee torque of the right hind leg in a walk: whole-body model on the plan, and simulation (figure 11).",
    "fig12": "Standing postures: commanded and simulated body angles (figure 12).",
    "fig13_14": "Yaw from -15 to 15 degrees in 0.9 s, and the knee's position and velocity (figures 13, 14).",
    "drives": "The knee's velocity of figure 14 with rigid drives, and with belt, play and friction.",
    "response": "Position error of a knee under joint PD, with gravity feedforward, and with screw torques.",
    "sensed": "Joint torques from IMU, encoders and foot forces, and those applied.",
}
