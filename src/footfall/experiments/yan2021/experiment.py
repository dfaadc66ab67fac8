"""Yan, Pan, Che, Yu, Han 2021: whole-body models and motion plans of XiLing; figures 9 to 14 and their claims.

The paper gives neither dimensions nor masses of its robot, and no numbers beside its curves: shapes and orders are
measured on the library's XiLing. Its prototype is replaced by simulation, its sensors by ideal ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.compiling import compile as compiled
from footfall.control.joint.plan_follower import planned_joints, weight_torques
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.screw_system import screw_inverse_dynamics
from footfall.experiments.claims import Claim, Outcome, Table, duration, shape
from footfall.experiments.yan2021 import yan_figures
from footfall.experiments.yan2021.yan_runs import (
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
    held_angles,
    perform,
    planned_torques,
    sensed_torques,
    slip,
    steps_of,
    switches,
    timed,
    xiling,
)  # fmt: skip
from footfall.gait.pattern import LEGS
from footfall.gait.planner import LIMITS, Plan
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import branches
from footfall.robot.model.description import Robot

NAME = "yan2021"
TITLE = "Motion plans and whole-body models of XiLing (Yan et al. 2021)"
CONTINUOUS, PEAK, KNEE_PEAK = 40.0, 108.0, 216.0  # [N m]: Table 1, and the knee behind its 1:2 belt
REPLAYS = {"walk": "The walk.", "trot": "The trot: the same way in half the time.", "postures": "Roll, pitch and yaw."}
REACHED = 0.5  # [deg]: a posture this near to the one asked for is reached


def run(quick: bool = False, progress: Progress | None = None, workers: int = 1) -> Outcome:
    """All claims. ``quick`` looks at fewer samples."""
    robot = xiling()
    runs = perform(robot, progress, cycles=4 if quick else 6)
    found = Findings(robot, runs, 100 if quick else 1000)
    if progress:
        progress("XiLing: models", len(runs), len(runs))
    claims = tuple(found.claims())
    return Outcome(NAME, TITLE, SUMMARY, claims, found.figures(), dict(CAPTIONS), found.tables(), dict(SETTINGS),
                   {caption: {robot.name: runs[key].rec} for key, caption in REPLAYS.items()})  # fmt: skip


class Findings:
    """What the runs and the models say."""

    def __init__(self, robot: Robot, runs: dict[str, Run], samples: int) -> None:
        self.robot, self.runs, self.samples = robot, runs, samples
        walk = runs["walk"]
        begins, cycle = walk.plan.rest, 4.0 * SWING_TIME  # type: ignore[attr-defined]
        self.times = np.arange(begins + 0.5 * cycle, begins + 2.5 * cycle, 4e-3 if samples > 500 else 8e-3)
        self.model = planned_torques(walk, self.times)[:, walk.joint(KNEE)]
        self.simulated = np.interp(self.times, walk.rec.time, walk.rec.torque[:, walk.joint(KNEE)])
        foot = LEGS.index(KNEE[:2])
        self.swinging = walk.plan.stands(self.times)[foot] < 0.5  # type: ignore[attr-defined]
        self.rows = np.arange(600, len(walk.rec) - 2, 17 if samples > 500 else 53)
        self.sensed, _ = sensed_torques(walk.rec, self.rows)

    def claims(self) -> list[Claim]:
        return [
            self._branches(), self._continuous(), self._half_time(), self._matches(), self._jump(), self._postures(),
            self._yaw(), self._tracking(), self._loop(), self._within_motor(), self._from_sensors(),
        ]  # fmt: skip

    # -- kinematics and plans ------------------------------------------------------------------------------------------
    def _branches(self) -> Claim:
        worst, count, printed = 0.0, 0, []
        rng = np.random.default_rng(0)
        for _ in range(self.samples):
            leg = LEGS[int(rng.integers(4))]
            geometry = leg_geometry(self.robot, leg)
            joints = rng.uniform(-0.7, 0.7, size=3) + np.array([0.0, 0.0, rng.choice([-1.2, 1.2])])
            q = self.robot.state(_placed(self.robot, geometry.joints, joints))[0]
            target = foot_positions(self.robot, q)[self.robot.foot_index(leg)]
            for pose in branches(self.robot, leg, target):
                at = self.robot.state(_placed(self.robot, geometry.joints, pose.joints))[0]
                worst = max(worst, _apart(foot_positions(self.robot, at)[self.robot.foot_index(leg)], target))
                count += 1
            printed.append(as_printed(geometry.thigh.length, geometry.shank.length, float(joints[2])))
        return shape(
            "ik_all_branches", "closed-form inverse kinematics of a leg, every branch", "exact",
            worst, worst < 1e-9, "m",
            f"{count} solutions for {self.samples} reachable targets: knee behind and in front, leg below and above "
            "the roll axis. Erratum: eq. (6) prints the interior angle of the knee where the joint's angle is pi "
            f"minus it; taken literally the foot is off by {np.median(printed):.2f} m (median), {max(printed):.2f} m "
            "at most.",
        )  # fmt: skip

    def _continuous(self) -> Claim:
        steps = {name: steps_of(self.runs[name].plan) for name in ("walk", "trot")}
        ratio = max(fine / coarse for coarse, fine in steps.values())
        worst = max(coarse for coarse, _ in steps.values())
        speed = STEP / (2.0 * SWING_TIME)
        return shape(
            "fig9_paths_continuous", "paths of body and feet are continuous with their velocities",
            "continuous", worst, ratio < 0.6, "m/s",
            f"the largest change of any velocity from one millisecond to the next; it falls to {ratio:.2f} of it "
            "when the time between samples is halved, as it must without a jump (a jump would stay). Erratum: the "
            "third row of eq. (24) as printed decelerates four times too fast, and the body's speed would jump from "
            f"{speed:.3f} to {4 * speed:.3f} m/s; derived again from eq. (22) it does not.",
        )  # fmt: skip

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
        return shape(
            "fig10_trot_same_distance_half_time", "a trot takes half the time of a walk for the same distance",
            0.5, ratio,
            abs(ratio - 0.5) < 0.1, "",
            f"simulated, {far:.3f} m: walk {simulated['walk']:.2f} s, trot {simulated['trot']:.2f} s (planned "
            f"{planned['walk']:.2f} and {planned['trot']:.2f} s). With equal steps of equal duration it is a half "
            "exactly in even motion, since two feet step at once; a walk also takes longer to start.",
        )  # fmt: skip

    # -- dynamics ------------------------------------------------------------------------------------------------------
    def _matches(self) -> Claim:
        off, span = self.model - self.simulated, float(np.ptp(self.simulated))
        part = _rms(off) / span
        return shape(
            "fig11_knee_torque_matches_simulation", "knee torque of the whole-body model against simulation, walk",
            "extremely close", 100.0 * part, part < 0.15, "% of the range",
            f"root mean square difference over {len(off)} instants of two cycles: {_rms(off[self.swinging]):.2f} N m "
            f"while the foot swings, {_rms(off[~self.swinging]):.2f} N m while it stands, of a range of {span:.1f} N "
            f"m; correlation {np.corrcoef(self.model, self.simulated)[0, 1]:.3f}. The model knows the plan alone. "
            "While three feet stand, horizontal foot forces are not determined by the motion (erratum of eq. 19): "
            "the model takes none, the simulation has what friction and the joints' stiffness make. Given the foot "
            "forces the two agree to rounding: see joint_torque_from_imu_and_foot_force.",
        )  # fmt: skip

    def _jump(self) -> Claim:
        walk = self.runs["walk"]
        rec, knee = walk.rec, walk.joint(KNEE)
        when = switches(walk)
        window = 15e-3
        jumps = [np.ptp(rec.between(t - window, t + window).torque[:, knee]) for t in when]
        landings = [np.ptp(rec.between(t - window, t + window).torque[:, knee]) for t in when[1::2]]
        elsewhere = [t for t in np.arange(1.0, rec.time[-1] - 1.0, 0.05) if min(abs(t - s) for s in when) > 0.1]
        quiet = np.median([np.ptp(rec.between(t - window, t + window).torque[:, knee]) for t in elsewhere])
        return shape(
            "fig11_jump_at_switch", "torque of the swing leg's knee jumps at the switch between swing and support",
            "jumps", float(np.median(landings)), float(np.median(landings)) > 10.0, "N m",
            f"median change within {2e3 * window:.0f} ms of {len(landings)} touchdowns of {KNEE[:2]}; at lift-offs "
            f"{np.median(jumps[0::2]):.1f} N m, since the plan has unloaded that foot before. The median of such "
            f"changes at other times is {quiet:.1f} N m. Cause, as the paper says: the foot's force comes and goes.",
        )  # fmt: skip

    def _within_motor(self) -> Claim:
        peaks, above = {}, {}
        for name in ("walk", "trot", "postures", "yaw"):
            rec = self.runs[name].rec
            knees = np.abs(rec.torque[:, [self.robot.joint_names.index(f"{leg}_knee") for leg in LEGS]])
            peaks[name], above[name] = float(knees.max()), float(100.0 * (knees > CONTINUOUS).mean())
        highest = max(peaks.values())
        words = ", ".join(f"{name} {peaks[name]:.0f} N m ({above[name]:.1f} % of the time above 40)" for name in peaks)
        return shape(
            "knee_torque_within_motor", "knee torque within the motor's: 216 N m at most, else below 40 N m",
            KNEE_PEAK, highest, highest < KNEE_PEAK and above["walk"] < 5.0, "N m",
            f"peaks: {words}; judged by the walk, which the paper's figure shows. The belt doubles the motor's "
            f"torque at the knee, so that even the peaks ask less than its continuous {2 * CONTINUOUS:.0f} N m "
            "there. Masses and lengths are chosen, so this shows that the published motors fit a robot of that "
            "size, not that they fit XiLing.",
        )  # fmt: skip

    def _from_sensors(self) -> Claim:
        walk = self.runs["walk"].rec
        torque = walk.torque[self.rows]
        error, peak = np.abs(self.sensed - torque), float(np.abs(torque).max())
        central, _ = sensed_torques(walk, self.rows, central=True)
        center, left = sensed_torques(walk, self.rows, at_center=True)
        screw = [
            _apart(self._screw(walk, int(k)), value) for k, value in zip(self.rows[:: max(len(self.rows) // 20, 1)],
                                                                      center[:: max(len(self.rows) // 20, 1)])
        ]  # fmt: skip
        return shape(
            "joint_torque_from_imu_and_foot_force", "joint torques from IMU, encoders and foot forces", "accurate",
            float(error.max()), float(error.max()) < 0.01 * peak, "N m",
            f"largest error over {len(self.rows)} instants and 12 joints of a walk, torques up to {peak:.0f} N m, "
            "sensors ideal and accelerations from one step. From central differences of 2 ms, root mean square "
            f"{_rms(central - torque):.2f} N m (impacts are not differentiable). With forces at the foot's centre, "
            f"the paper's spherical joint, it is {_rms(center - torque):.2f} N m, and "
            f"{np.abs(left[:, :3]).max():.1f} N m are missing on the base: a ball of 25 mm touches at its bottom. "
            f"The screw system, eq. (19) with measured forces, gives the same torques to {max(screw):.0e} N m.",
        )  # fmt: skip

    def _screw(self, rec: Any, k: int) -> Float[ndarray, "nj"]:
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
        system = timed(lambda: screw_inverse_dynamics(self.robot, q, v, a[6:], forces, a[:6]), 20)
        return duration(
            "loop_under_1ms", "one control loop, plan to torques", 1.0, 1e3 * float(np.median(times)),
            "plan, inverse kinematics of four legs, weight torques and whole-body inverse dynamics with measured "
            f"forces, compiled, median of {len(times)} calls; 99th percentile {1e3 * np.percentile(times, 99):.3f} "
            "ms. The screw system as printed, 168 equations assembled and solved in plain Python, takes "
            f"{1e3 * np.median(system):.1f} ms.",
            unit="ms",
        )  # fmt: skip

    # -- standing ------------------------------------------------------------------------------------------------------
    def _postures(self) -> Claim:
        held, worst = held_angles(self.runs["postures"])
        small, _ = held_angles(self.runs["small_feet"])
        near = all(abs(value / float(key.split()[1]) - 1.0) < 0.1 for key, value in held.items())
        reached = ", ".join(
            f"{min(abs(held[f'{k} +{v:.0f}']), abs(held[f'{k} -{v:.0f}'])):.1f}" for k, v in LIMITS.items()
        )
        words = ", ".join(f"{key}: {value:.2f}" for key, value in held.items())
        yaw = 0.5 * (abs(small["yaw +20"]) + abs(small["yaw -20"]))
        return shape(
            "fig12_postures", "standing postures: roll, pitch and yaw either way", "5, 10, 20", reached, near, "deg",
            f"the smaller of both ways, within a tenth of what is asked. Held: {words} deg; largest error "
            f"{worst:.2f} deg. The yaw goes too far since balls of 25 mm roll as the shanks lean (feet move "
            f"{1e3 * slip(self.runs['postures']):.1f} mm); with feet of {1e3 * SMALL_FOOT:.0f} mm it is {yaw:.2f} "
            "deg. The paper's spherical joints do not roll.",
        )  # fmt: skip

    def _yaw(self) -> Claim:
        taken, settled, ends = self._yaw_time()
        return duration(
            "fig13_yaw_15_in_0.9s", "yaw from -15 to 15 degrees", 0.9, taken,
            f"from the start of the plan's transition until the simulated body is at most {REACHED} degrees short of "
            f"15; it stood at {ends[0]:.2f} before and stands at {ends[1]:.2f} degrees after, having settled within "
            f"{REACHED} degrees of that after {settled:.2f} s.",
        )  # fmt: skip

    def _yaw_time(self) -> tuple[float, float, tuple[float, float]]:
        run = self.runs["yaw"]
        begins = 2 * run.plan.hold + run.plan.move  # type: ignore[attr-defined]
        yaw, t = np.degrees(run.rec.trunk_euler()[:, 0]), run.rec.time
        after = begins + run.plan.move + run.plan.hold  # type: ignore[attr-defined]
        ends = (float(np.interp(begins, t, yaw)), float(np.interp(after, t, yaw)))
        there = (t > begins) & (yaw > 15.0 - REACHED)
        off = (t > begins) & (t < after) & (np.abs(yaw - ends[1]) > REACHED)
        return float(t[there][0]) - begins, float(t[off][-1]) - begins, ends

    def _tracking(self) -> Claim:
        run = self.runs["yaw"]
        rec, knee = run.rec, run.joint(KNEE)
        off = np.degrees(rec.joint_position[:, knee] - rec["command_position"][:, knee])
        speed_off = rec.joint_velocity[:, knee] - commanded_rate(run, KNEE)
        travel = float(np.degrees(np.ptp(rec["command_position"][:, knee])))
        top = float(np.abs(commanded_rate(run, KNEE)).max())
        return shape(
            "fig14_tracking", "knee position and velocity follow their references in the yaw movement",
            "fast and accurate", _rms(off), _rms(off) < 0.05 * travel and _rms(speed_off) < 0.2 * top, "deg",
            f"root mean square of {KNEE}'s position error; {np.abs(off).max():.3f} deg at most, of {travel:.2f} deg "
            f"travelled; velocity {_rms(speed_off):.4f} rad/s of {top:.3f}. The paper's burrs come from backlash and "
            "the belt, which are not modelled here.",
        )  # fmt: skip

    # -- figures and tables --------------------------------------------------------------------------------------------
    def figures(self) -> dict[str, Any]:
        return {
            "fig9": yan_figures.paths({name: self.runs[name].plan for name in ("trot", "walk")}),
            "fig10": yan_figures.progress({name: self.runs[name] for name in ("trot", "walk")}),
            "fig11": yan_figures.knee_torque(self.times, self.model, self.simulated, self.swinging, KNEE),
            "fig12": yan_figures.postures(self.runs["postures"]),
            "fig13_14": yan_figures.yaw(self.runs["yaw"], KNEE),
            "sensed": yan_figures.sensed(self.runs["walk"], self.rows, self.sensed, "RH"),
        }

    def tables(self) -> tuple[Table, ...]:
        rows = []
        for name, run in self.runs.items():
            rec = run.rec
            end = run.plan.at(run.plan.duration).position
            moved = rec.trunk_position[-1] - rec.trunk_position[0]
            lean = np.degrees(np.abs(rec.trunk_euler()[:, 1:] - run.euler[:, 1:]).max())
            first = run.plan.at(0.0).position
            rows.append(
                (name, f"{run.plan.duration:.1f}", f"{end[0] - first[0]:.3f}", f"{moved[0]:.3f}",
                 f"{1e3 * moved[1]:.0f}", f"{lean:.2f}", f"{np.abs(rec.torque).max():.0f}",
                 "yes" if rec.meta["fell"] else "no")
            )  # fmt: skip
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
        return (Table("Plans followed in simulation", header, tuple(rows)),)


def control_loop(
    robot: Robot, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"],
    forces: Float[ndarray, "nf 3"], plan: Plan,
) -> tuple[ndarray, ndarray, ndarray]:  # fmt: skip
    """What the paper does in a millisecond: joint targets of the plan, torques of the weight, torques of the motion."""
    placed = plan.at(t)
    joints = planned_joints(robot, placed)
    J = feet_jacobian(robot, q, "contact", np.eye(3))
    pushed = sum((J[k, 3:].T @ forces[k] for k in range(robot.nf)), start=np.zeros(robot.nv))
    return joints, weight_torques(robot, placed, joints), (inverse_dynamics(robot, q, v, a) - pushed)[6:]


# -- pieces ------------------------------------------------------------------------------------------------------------
def _placed(robot: Robot, joints: tuple[int, ...], angles: ndarray) -> Float[ndarray, "nj"]:
    out = np.zeros(robot.nj)
    out[list(joints)] = angles
    return out


def _apart(a: ndarray, b: ndarray) -> float:
    return float(np.abs(a - b).max())


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
    "control": f"inverse kinematics and joint PD, {KP:g} N m/rad and {KD:g} N m s/rad, 1 kHz, weight fed forward",
    "simulation": "compliant contact, friction 0.8, linearly implicit, 1 ms",
    "sensors": "ideal, from the recording",
}
CAPTIONS = {
    "fig9": "Paths of body and feet in the plan, from the side and over time (figure 9).",
    "fig10": "The same steps as a trot and as a walk: way of the body over time (figure 10).",
    "fig11": "Knee torque of the right hind leg in a walk: whole-body model on the plan, and simulation (figure 11).",
    "fig12": "Standing postures: body angles asked for and simulated (figure 12).",
    "fig13_14": "Yaw from -15 to 15 degrees in 0.9 s, and the knee's position and velocity (figures 13, 14).",
    "sensed": "Joint torques from IMU, encoders and foot forces beside those that acted.",
}
