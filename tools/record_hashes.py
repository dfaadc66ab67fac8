"""Record hashes of results that must not change while the code is restructured.

    python tools/record_hashes.py before.json                     # on the commit before
    python tools/record_hashes.py after.json --compare before.json  # after the change: status 1 if a key differs

The keys are operation counts, SHA-256 sums of the raw bytes of results (simulations, batches, a training, functions and
their derivatives) and of exported C, and the exception types of what is refused. Bits depend on the machine: compare
files of one machine, with the same versions of NumPy and llvmlite.

Most of it runs through the command line and the names on the front page; what does not is imported in one place below.
Everything is compiled anew, in a cache of its own, unless --cache names a folder. The full record takes about five
minutes on one core, --quick about half a minute; --only records the groups that it names.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import footfall as ff

# Everything that is not on the front page of footfall.
from footfall_lab.bench.subject import operations  # of forward_dynamics, explicit, implicit

COMMAND = (sys.executable, "-m", "footfall", "--debug")
WALKERS = ("mini_cheetah", "spined", "xiling", "dynakat", "fivebar")
OTHERS = ("one_leg", "biped")  # have no gaits: both controllers refuse them, and 'hold' does not
CONTACTS = ("compliant", "complementarity", "stance")
CONTROLLERS = ("pd", "whole_body")
SECONDS = 2.0
MORE_RUNS = {  # parts that the runs above do not reach, by name
    "learned": "mini_cheetah --controller learned",
    "mpc_estimate_push": "mini_cheetah --controller mpc --estimate --ground rough:0.02 --push '1, 0.1, 0, 40, 0'",
    "reflexes_steps": "mini_cheetah --controller pd --reflexes all --ground steps:0.03",
    "gravity_walk_slope": "xiling --controller gravity --gait walk --ground slope:5",
    "rk4": "mini_cheetah --controller pd --integrator rk4 --dt 2e-4",
    "heun_hopf": "mini_cheetah --controller pd --oscillator hopf --integrator heun --dt 2e-4",
    "lqr": "mini_cheetah --controller lqr --duration 0.5",
    "plan": "mini_cheetah --controller plan --inverse fabrik",
    "objects_then": "mini_cheetah --then walk:1 --objects 'ball radius=0.1 mass=0.4 position=0.6,0,0.1'",
}
DIFFERING = (("trunk.mass", (3.0, 5.0)), ("ground.friction", (0.4, 1.0)))  # parameters of a batch, and their ranges
FUNCTIONS = {  # called with the leading ones of (q, v, tau)
    "kinematics.foot_positions": 1, "kinematics.feet_jacobian": 1, "dynamics.mass_matrix": 1,
    "dynamics.coriolis_matrix": 2, "dynamics.bias_terms": 2, "dynamics.inverse_dynamics": 3,
    "dynamics.articulated_body": 3, "dynamics.forward_dynamics": 3,
}  # fmt: skip

Found = Iterator[tuple[str, str | int]]  # keys and what is recorded under them


def sha(*arrays: Any) -> str:
    """Return the SHA-256 of arrays: their types, shapes and raw bytes."""
    total = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def command(*arguments: str) -> tuple[dict[str, Any] | None, str]:
    """Run a ``footfall`` command with --json; return its JSON, or None and the type of the exception that ended it."""
    done = subprocess.run([*COMMAND, *arguments, "--json"], capture_output=True, text=True)
    if done.stdout.strip():
        return json.loads(done.stdout), ""
    last = [line for line in done.stderr.splitlines() if re.match(r"[A-Za-z_][\w.]*(: |$)", line)]
    return None, last[-1].split(":")[0].rpartition(".")[2] if last else f"status {done.returncode}"


# -- what is recorded --------------------------------------------------------------------------------------------------
def counts(quick: bool, folder: Path) -> Found:
    """Operation counts of the Mini Cheetah's dynamics and steps."""
    for name, count in operations().items():
        yield name, int(count)
    if not quick:
        for name in WALKERS:
            yield f"forward_dynamics/{name}", ff.program(ff.dynamics.forward_dynamics, ff.load(name)).live_operations


def functions(quick: bool, folder: Path) -> Found:
    """Functions of a robot as NumPy, as machine code and in lanes, and derivatives, at random states."""
    rng = np.random.default_rng(0)
    for name in WALKERS[:1] if quick else (*WALKERS, *OTHERS):
        robot = ff.load(name)
        q = np.concatenate([rng.normal(size=robot.nq - robot.nj), rng.uniform(-1, 1, robot.nj)])
        if robot.floating:
            q[3:7] /= np.linalg.norm(q[3:7])
        point = (q, rng.normal(size=robot.nv), rng.normal(size=robot.nj))
        for path, arguments in FUNCTIONS.items():
            package, _, key = path.partition(".")
            function = getattr(getattr(ff, package), key)
            given = list(point[:arguments])
            if key == "inverse_dynamics":
                given[2] = np.linspace(-1.0, 1.0, robot.nv)
            yield f"{name}/{key}/numpy", outcome(function, robot, *given)
            if not quick or key == "forward_dynamics":
                yield f"{name}/{key}/native", outcome(compiled, function, robot, *given)
        if name == "mini_cheetah":
            yield from derivatives(robot, point)


def derivatives(robot: ff.Robot, point: Sequence[np.ndarray]) -> Found:
    """The Jacobian of the forward dynamics, the gradient of the kinetic energy, and lanes in both precisions."""
    forward = ff.dynamics.forward_dynamics
    yield f"{robot.name}/jacobian", sha(ff.jacobian(forward, robot, wrt="q")(*point))
    yield f"{robot.name}/gradient", sha(ff.gradient(ff.dynamics.kinetic_energy, robot, wrt="v")(*point[:2]))
    for dtype in (np.float64, np.float32):
        lanes = ff.compile(forward, robot, target="batch", dtype=dtype)
        many = [np.stack([x * (1.0 + 0.01 * k) for k in range(16)]).astype(dtype) for x in point]
        yield f"{robot.name}/lanes/{np.dtype(dtype).name}", sha(lanes(*many))


def compiled(function: Callable[..., Any], robot: ff.Robot, *arrays: np.ndarray) -> Any:
    """Evaluate a function of a robot as machine code."""
    return ff.compile(function, robot)(*arrays)


def outcome(function: Callable[..., Any], *arguments: Any) -> str:
    """Return the hash of what a function gives, or the type of the exception that it raises."""
    try:
        return sha(function(*arguments))
    except ff.FootfallError as error:
        return f"refused: {type(error).__name__}"


def simulations(quick: bool, folder: Path) -> Found:
    """Two seconds of every library robot, contact model and controller; a refusal by its type."""
    if not quick:
        listed, _ = command("robots")
        names = sorted(row["name"] for row in listed["robots"]) if listed else []
        yield "robots", " ".join(names)
    for name in WALKERS[:1] if quick else (*WALKERS, *OTHERS):
        for contact in CONTACTS[:1] if quick else CONTACTS:
            for controller in (*CONTROLLERS, *(("hold",) if name in OTHERS else ())):
                options = ("--contact", contact, "--controller", controller)
                yield from simulated(f"{name}/{contact}/{controller}", (name, *options), folder)
    for key, words in MORE_RUNS.items() if not quick else ():
        yield from simulated(f"more/{key}", shlex.split(words), folder)


def simulated(key: str, arguments: Sequence[str], folder: Path) -> Found:
    """Positions, velocities, forces and torques of one run of ``footfall simulate``."""
    path = folder / f"{key.replace('/', '-')}.mcap"
    length = () if "--duration" in arguments else ("--duration", str(SECONDS))
    result, refusal = command("simulate", *arguments, *length, "--out", str(path))
    if result is None:
        yield f"{key}/refused", refusal
        return
    recording = ff.Recording.load(path)
    yield f"{key}/rows", len(recording)
    for column in ("q", "v", "force", "torque"):
        yield f"{key}/{column}", sha(recording[column])
    path.unlink()


def batches(quick: bool, folder: Path) -> Found:
    """Half a second of 16 robots that differ in mass, friction, speed and push, in f64 and f32."""
    robot = ff.load("mini_cheetah")
    gait = ff.gait.trot(period=0.5, stride=0.1, height=0.05)
    controllers: dict[str, Any] = {"pd": ff.control.JointPD(gait=gait, kp=40, kd=1)}
    if not quick:
        controllers["whole_body"] = ff.control.on_command("whole_body")
    for name, controller in controllers.items():
        for dtype in (np.float64, np.float32):
            free = dict(DIFFERING if name == "pd" else DIFFERING[1:])  # the other plans with the mass
            batch = ff.Batch(robot, 16, controller, free=list(free), dtype=dtype, threads=1)
            batch.randomise(free, seed=1)
            if name != "pd":  # which follows no command
                batch.set_command(forward=np.linspace(0.0, 0.5, 16))
            batch.set_push(force=np.linspace(-5.0, 5.0, 48).reshape(16, 3))
            batch.run(round(0.5 / batch.period))
            for key in ("q", "v"):
                yield f"{name}/{np.dtype(dtype).name}/{key}", sha(getattr(batch, key))


def training(quick: bool, folder: Path) -> Found:
    """Three iterations of the task walk on the processor, and how the policy moves the robot."""
    path = folder / "policy.npz"
    options = ("--task", "walk", "--device", "cpu", "--robots", "32", "--iterations", "3", "--seed", "0")
    result, refusal = command("train", "mini_cheetah", *options, "--out", str(path))
    if result is None:
        yield "refused", refusal
        return
    for key in ("reward", "score", "samples"):
        yield key, repr(result[key])
    policy: Any = ff.control.Policy.load(path)
    yield "weights", sha(*(array for layer in policy.weights for array in layer))
    yield "normalisation", sha(policy.mean, policy.spread)
    if not quick:
        yield from simulated("walking", ("mini_cheetah", "--controller", str(path), "--duration", "0.5"), folder)


def exports(quick: bool, folder: Path) -> Found:
    """Exported C: its text without comments and names, and what it computes once it is compiled."""
    for what in ("forward_dynamics",) if quick else ("forward_dynamics", "step", "inverse_kinematics", "whole_body"):
        out = folder / what
        result, refusal = command("export", "mini_cheetah", what, "--out", str(out))
        if result is None:
            yield f"{what}/refused", refusal
            continue
        header, source, test = (Path(file) for file in result["files"])
        for part, file in (("h", header), ("c", source), ("test", test)):
            yield f"{what}/text/{part}", hashlib.sha256(anonymous(file.read_text()).encode()).hexdigest()
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            continue
        program = out / "test"
        subprocess.run([compiler, "-std=c99", "-O2", test, source, "-lm", "-o", program], check=True, cwd=out)
        yield f"{what}/test_prints", subprocess.run([program], capture_output=True, text=True, check=True).stdout
        if what == "forward_dynamics":
            yield f"{what}/numbers", sha(called(compiler, source, out))


def called(compiler: str, source: Path, out: Path) -> np.ndarray:
    """Return what the exported forward dynamics gives at random states, called in a shared library."""
    library = out / "forward_dynamics.so"
    flags = ["-std=c99", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, source, "-lm", "-o", library], check=True, cwd=out)
    function = ctypes.CDLL(str(library))[source.stem]
    pointer = ctypes.POINTER(ctypes.c_double)
    rng, rows = np.random.default_rng(2), []
    for _ in range(20):
        arrays = [rng.normal(size=n) for n in (19, 18, 12)] + [np.zeros(18)]
        arrays[0][3:7] /= np.linalg.norm(arrays[0][3:7])
        function(*(array.ctypes.data_as(pointer) for array in arrays))
        rows.append(arrays[-1])
    return np.array(rows)


C_WORDS = {  # which keep their names
    "break", "ceil", "char", "const", "cos", "define", "do", "double", "else", "endif", "exp", "fabs", "float", "floor",
    "fma", "for", "if", "ifdef", "ifndef", "include", "inline", "int", "log", "long", "pragma", "restrict", "return",
    "signed", "sin", "sizeof", "sqrt", "static", "struct", "tan", "typedef", "union", "unsigned", "void", "while",
}  # fmt: skip


def anonymous(text: str) -> str:
    """Return C without comments, literals and layout, its names numbered in the order of their first appearance."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"", " ", text, flags=re.DOTALL)
    names: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        word = match[0]
        return word if word in C_WORDS else names.setdefault(word, f"n{len(names)}")

    return " ".join(re.sub(r"(?<![\w.])[A-Za-z_]\w*", numbered, text).split())


GROUPS: dict[str, Callable[[bool, Path], Found]] = {
    "counts": counts, "functions": functions, "batches": batches, "exports": exports, "training": training,
    "simulations": simulations,
}  # fmt: skip


# -- files -------------------------------------------------------------------------------------------------------------
def record(quick: bool, only: Sequence[str]) -> dict[str, str | int]:
    """Return everything recorded, by key; progress goes to standard error."""
    found: dict[str, str | int] = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for group in only or GROUPS:
            for key, value in GROUPS[group](quick, Path(folder)):
                found[f"{group}/{key}"] = value
                seconds = time.perf_counter() - began
                print(f"{seconds:6.1f} s  {group}/{key}  {str(value)[:40].strip()}", file=sys.stderr)
    return found


def differences(now: dict[str, Any], before: dict[str, Any], partial: bool) -> list[str]:
    """Return a line for each key that differs; of a partial record, keys that it has not are left out."""
    keys = [key for key in {**before, **now} if key in now or not partial]
    return [f"{key}: {before.get(key)} -> {now.get(key)}" for key in keys if before.get(key) != now.get(key)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=Path("out/hashes.json"), help="what is written")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="print what differs from an earlier record")
    parser.add_argument("--quick", action="store_true", help="one robot, one contact model")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=[], help="these groups alone")
    parser.add_argument("--cache", type=Path, help="folder of compiled code to use; an empty one unless given")
    options = parser.parse_args()
    before = json.loads(options.compare.read_text()) if options.compare else None
    with tempfile.TemporaryDirectory() as empty:
        os.environ["XDG_CACHE_HOME"] = str(options.cache.resolve() if options.cache else empty)
        found = record(options.quick, options.only)
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(json.dumps(found, indent=1) + "\n")
    if before is None:
        return 0
    lines = differences(found, before, options.quick or bool(options.only))
    print("\n".join(lines) or f"all {len(found)} keys agree")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
