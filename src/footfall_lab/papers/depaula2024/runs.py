"""The runs behind de Paula et al. 2024: Table I as printed, its readings, and the same run in MuJoCo.

All choices that the paper leaves open are here. A run is a ``Job`` of plain values, so that jobs can be distributed
among processes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.control.joint.joint_pd import Hold, JointPD
from footfall.errors import unknown
from footfall.gait.pattern import Gait
from footfall.gait.tuned import for_robot
from footfall.recording.metrics import wall_seconds
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.joints import JointModel
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall_lab.papers.registered import setup
from footfall_lab.processes import Progress, run_all
from nptrace._types import Given

ROBOT = "mini_cheetah"
_SETUP = setup("depaula2024")  # registered before the runs
GRAVITY = (0.0, 0.0, -_SETUP["gravity"])
DT, DURATION, KP, KD = _SETUP["dt"], 10.0, _SETUP["kp"], _SETUP["kd"]  # Table I
FRICTION, MUJOCO_FRICTION = _SETUP["friction_coefficient"], _SETUP["mujoco_friction"]  # Table I: they differ
STIFFNESS, FIRST_STIFFNESS = _SETUP["stiffness"], _SETUP["first_stiffness"]  # [N/mm^2.2]
RATE = _SETUP["target_rate"]  # [Hz], rate of joint targets; feedback acts at every step in both simulators
CHOICE, READING = _SETUP["gait_set"], _SETUP["integrator"]
ADMITTED_SPEED = _SETUP["family_admission"]  # [m/s], least speed of a gait of the family, in MuJoCo
SETS = ("A", "B", "C", "D", "E")  # our gait constants: the paper's are not published


@dataclass(frozen=True)
class Reading:
    """One way to read "explicit 2nd-order Euler" and "10 N/(m/s)"."""

    key: str
    label: str
    integrator: str
    damping: float  # c_max [N s/m]


READINGS = {
    r.key: r
    for r in (
        Reading("heun", "Heun, 10 N s/m", "heun", 10.0),
        Reading("explicit", "semi-implicit Euler, 10 N s/m", "semi_implicit_euler", 10.0),
        Reading("implicit_soft", "linearly implicit, 10 N s/m", "linearly_implicit", 10.0),
        Reading("implicit", "linearly implicit, 10 N s/mm", "linearly_implicit", 1e4),
        Reading("explicit_damped", "semi-implicit Euler, 10 N s/mm", "semi_implicit_euler", 1e4),
    )
}
MUJOCO = {"mujoco": "MuJoCo, Table I", "mujoco_stiff": "MuJoCo, stiff contact"}


@dataclass(frozen=True)
class Form:
    """The robot and the friction model of a run."""

    label: str
    rotors: str
    friction: str


FORMS = {
    "printed": Form("13 bodies, friction per axis", _SETUP["rotors"], _SETUP["friction"]),
    "round": Form("13 bodies, friction isotropic", _SETUP["rotors"], "isotropic"),
    "rotors": Form("with rotors, friction isotropic", "armature", "isotropic"),
}


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run: a scheme (a key of READINGS or MUJOCO), and a set of gait constants, ``family 7``, or ``drop``.

    ``form``: a key of FORMS; ``printed`` is that of the paper. ``stiffness``: by default that of Table I in its printed
    unit, N/m, with the penetration in millimetres; ``FIRST_STIFFNESS`` was registered first.
    """

    scheme: str
    choice: str
    duration: float = DURATION
    dt: float = DT
    rate: float = RATE
    form: str = "printed"
    stiffness: float = STIFFNESS  # K [N/mm^2.2]
    damping: float | None = None  # c_max [N s/m], if not that of the reading
    kd: float = KD  # [N m s/rad] of the joints

    @property
    def label(self) -> str:
        scheme = READINGS[self.scheme].label if self.scheme in READINGS else MUJOCO[self.scheme]
        what = "drop" if self.choice == "drop" else f"set {self.choice}"
        return f"{what}, {scheme}, {FORMS[self.form].label}, K {self.stiffness:g} N/mm^2.2, dt {self.dt:g} s"


KNEES = {"behind": 1, "front": -1, "inward": (1, 1, -1, -1)}


def gait_of(choice: str) -> Gait:
    """Return the trot of a set, or of a member of the family: ``family 7`` is the eighth that is drawn."""
    if not choice.startswith("family "):
        return for_robot(ROBOT, "trot", choice).gait
    ranges = _SETUP["family"]
    random = np.random.default_rng(_SETUP["family_seed"])
    for _ in range(int(choice.split()[1]) + 1):
        drawn = {key: random.uniform(*ends) for key, ends in ranges.items() if key != "knees"}
        knees = KNEES[ranges["knees"][int(random.integers(len(ranges["knees"])))]]
    stride = 2.0 * drawn.pop("half_stride")
    return for_robot(ROBOT, "trot", CHOICE).gait.replace(stride=stride, knees=knees, **drawn)


def simulation(job: Job, **others: object) -> Simulation:
    """Return the simulation of a job, which also gives a MuJoCo job its robot, controller and initial state.

    ``others`` are options of Simulation that replace the job's.
    """
    if job.scheme not in (*READINGS, *MUJOCO):
        raise unknown("scheme", job.scheme, (*READINGS, *MUJOCO))
    reading = READINGS.get(job.scheme, READINGS["explicit"])
    form = FORMS[job.form]
    robot, ground = library.load(ROBOT, rotors=form.rotors), Plane(friction=FRICTION)
    if job.choice == "drop":
        controller: Hold | JointPD = Hold("stand", KP, job.kd, rate=job.rate)
    else:
        controller = JointPD(gait=gait_of(job.choice), kp=KP, kd=job.kd, rate=job.rate)
    damping = reading.damping if job.damping is None else job.damping
    contact = Compliant(stiffness=job.stiffness * 1e3**2.2, damping=damping, friction=form.friction)
    start = standing_start(robot, controller, ground, clearance=5e-3 if job.choice == "drop" else 0.0)
    options: dict[str, Given] = {
        "contact": contact,
        "ground": ground,
        "dt": job.dt,
        "integrator": reading.integrator,
        "joints": JointModel.ideal(),
        "gravity": GRAVITY,
        "start": start,
        "record_rate": min(job.rate, 1000.0),
    }
    return Simulation(robot, controller, **(options | others))


def perform(job: Job) -> Recording:
    """Run a job. A recording may end early, if the robot fell or the run diverged: its ``meta`` says so.

    ``meta["core_share"]`` is the fraction of the time in which this process had a core.
    """
    began = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():  # steps that damp a contact are taken on purpose, for comparison
        warnings.filterwarnings("ignore", ".* contact is damped by the step")
        rec = _run(job)
    spent = time.process_time() - began[0], time.perf_counter() - began[1]
    rec.meta["core_share"] = min(spent[0] / spent[1], 1.0)
    return rec


def core_seconds(rec: Recording) -> float:
    """Return the time spent in the steps of a run, less that taken by other processes [s]."""
    return wall_seconds(rec) * float(rec.meta["core_share"])


TIMED = 9  # runs


def own_seconds(job: Job) -> float:
    """Return the time of one of our jobs [s]: the median of a few runs.

    A run lasts only a few time slices, so that on a busy machine the core share of a single run is inaccurate.
    """
    return float(np.median([core_seconds(perform(job)) for _ in range(TIMED)]))


def _run(job: Job) -> Recording:
    sim = simulation(job)
    if job.scheme in READINGS:
        return sim.run(job.duration)
    from footfall.mujoco.run import STIFF_CONTACT, mujoco_model, run_mujoco

    stiff = job.scheme == "mujoco_stiff"
    model = mujoco_model(
        sim,
        friction=MUJOCO_FRICTION,
        contact=STIFF_CONTACT if stiff else None,
        options={"impratio": 100} if stiff else {},
    )
    return run_mujoco(sim, job.duration, model)


def perform_all(jobs: Iterable[Job], progress: Progress | None = None, workers: int = 1) -> dict[Job, Recording]:
    """Run jobs, each once, in ``workers`` processes."""
    todo = list(dict.fromkeys(jobs))
    if workers > 1:
        todo.sort(key=lambda job: -job.duration / job.dt)
    return run_all(perform, todo, lambda job: job.label, progress, workers)


# -- properties of a trot ----------------------------------------------------------------------------------------------
def stands(rec: Recording, duration: float = DURATION) -> bool:
    """Return whether the robot stayed on its feet to the end."""
    if rec.meta.get("fell") or rec.meta.get("diverged") or rec.time[-1] < duration - 0.01:
        return False
    return bool(np.abs(np.degrees(rec.trunk_euler()[:, 1:])).max() < 45.0)


def stances(rec: Recording, foot: int = 0, gap: float = 0.03) -> list[tuple[float, float]]:
    """Return the stances of a foot: contacts closer than ``gap`` [s] are merged, and shorter ones dropped."""
    from footfall.analysis.plots import spans

    merged: list[tuple[float, float]] = []
    for start, end in spans(rec.time, rec.contact[:, foot]):
        if merged and start - merged[-1][1] < gap:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return [(start, end) for start, end in merged if end - start >= gap]


def short_contacts(rec: Recording, foot: int = 0, shorter: float = 0.01) -> int:
    """Return the number of contacts that last less than ``shorter`` [s]."""
    from footfall.analysis.plots import spans

    return sum(end - start < shorter for start, end in spans(rec.time, rec.contact[:, foot]))
