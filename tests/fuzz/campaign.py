"""The fuzzing campaign: ``make fuzz``. Every kind of input is spoiled by seeds, in processes of their own.

A case is lost when the process dies, hangs, or raises anything but a FootfallError of one line; also when what was
accepted is not finite, or not what was written, and when nptrace does not compute what NumPy does. The same models are
given to MuJoCo and Pinocchio, as a measure.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# cases of each kind in the whole campaign, and where they are made
KINDS = {
    "programs of nptrace": ("programs:programs", 500),
    "programs of many shapes": ("shaped_programs:shaped", 500),
    "models": ("models:models", 7000),
    "meshes": ("models:meshes", 3000),
    "recordings": ("files:recordings", 3000),
    "policies": ("files:policies", 2000),
    "policies in ONNX": ("onnx_files:cases", 2000),
    "checkpoints": ("files:checkpoints", 2000),
    "training checkpoints": ("files:training_checkpoints", 1000),
    "joint angles and motors": ("files:motors", 2000),
    "studies": ("files:studies", 3000),
    "page messages": ("page:messages", 2000),
    "controllers": ("controllers:controllers", 200),
}
REFEREES = {"MuJoCo": ("models:mujoco", 7000), "Pinocchio": ("models:pinocchio", 7000)}
PATIENCE = 20.0  # [s] of a process's own time for one case
SILENCE = 300.0  # [s] without any answer, on a machine that may be busy
MEMORY = 6 << 30  # [bytes] that a process may take: what wants more is lost
_MOST_WORDS = 3000  # of a sentence


# -- in a process of its own -------------------------------------------------------------------------------------------
def work(place: str, first: int, last: int, folder: Path) -> None:
    """Run cases and say what came of each, a line before and a line after."""
    module, _, name = place.partition(":")
    sys.path.insert(0, str(HERE))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no answer
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    case = getattr(__import__(module), name)(folder)
    from footfall.errors import FootfallError

    signal.signal(signal.SIGPROF, _too_long)
    for seed in range(first, last):
        print(json.dumps([seed, None]), file=answers)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            said, why = case(seed), ""
        except FootfallError as error:
            said, why = "refused", str(error)
            if "\n" in why.strip() or len(why) > _MOST_WORDS or not why.strip():
                said, why = "lost", f"{len(why)} characters, {why.count(chr(10)) + 1} lines: {why[:200]}"
        except Exception as error:
            said, why = "lost", f"{type(error).__name__}: {str(error)[:300]} {_where(error)}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(json.dumps([seed, said, why if said == "lost" else ""]), file=answers)
    answers.flush()
    os._exit(0)  # threads of a page have nothing more to say


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"it took more than {PATIENCE:g} s")


def _where(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"at {place}"


# -- over all of them --------------------------------------------------------------------------------------------------
class Tally:
    """Cases of one kind: how many of each answer, and those that were lost."""

    def __init__(self) -> None:
        self.answers: collections.Counter[str] = collections.Counter()
        self.lost: list[tuple[int, str]] = []

    @property
    def cases(self) -> int:
        return sum(count for said, count in self.answers.items() if said != "not asked")


def run(place: str, first: int, count: int, until: float = float("inf")) -> Tally:
    """Cases from a seed on, in a process that is started again where it dies; fewer when time is up."""
    tally, seed = Tally(), first
    with tempfile.TemporaryDirectory(prefix="footfall-fuzz-") as folder:
        while seed < first + count and time.monotonic() < until:
            seed = _one_process(place, seed, first + count, Path(folder), tally, until)
    return tally


def _one_process(place: str, seed: int, last: int, folder: Path, tally: Tally, until: float) -> int:
    """The seed to go on from."""
    import selectors

    command = [sys.executable, str(HERE / "campaign.py"), "--work", place, str(seed), str(last), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False)
    assert process.stdout is not None
    assert process.stderr is not None
    said, begun, words, why = b"", -1, b"", "died"
    with selectors.DefaultSelector() as ears, process:
        for stream in (process.stdout, process.stderr):
            ears.register(stream, selectors.EVENT_READ)
        heard = time.monotonic()
        while ears.get_map():
            ready = ears.select(1.0)
            heard = time.monotonic() if ready else heard
            if time.monotonic() > min(until, heard + SILENCE):
                why = "no time left" if time.monotonic() > until else "hung"
                process.kill()
                break
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    ears.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    words = (words + data)[-4000:]
                else:
                    said += data
            *lines, said = said.split(b"\n")
            for line in lines:
                number, answer, *more = json.loads(line)
                begun = number if answer is None else -1
                seed = number if answer is None else number + 1
                if answer is not None:
                    tally.answers[answer] += 1
                    if answer == "lost":
                        tally.lost.append((number, *more))
    if begun >= 0 and why != "no time left":
        end = f"{why}, signal {-process.returncode}" if process.returncode < 0 else f"{why}, {process.returncode}"
        tally.answers["lost"] += 1
        tally.lost.append((begun, f"{end}: {words.decode(errors='replace')[-300:]}"))
        return begun + 1
    if begun < 0 and process.returncode != 0 and why == "died":
        raise RuntimeError(f"{place} does not start: {words.decode(errors='replace')}")
    return seed


def campaign(part: float, seconds: float, first: int, only: str, jobs: int, say: Any) -> dict[str, Tally]:
    """The given part of all cases of all kinds, some kinds side by side, until they are done or time is up."""
    chosen = {name: entry for name, entry in {**KINDS, **REFEREES}.items() if only in name}
    began = time.monotonic()

    def one(name: str) -> Tally:
        place, count = chosen[name]
        tally = run(place, first, max(1, round(part * count)), began + seconds)
        counts = ", ".join(f"{count} {said}" for said, count in sorted(tally.answers.items()))
        lines = [f"{name:14} {tally.cases:6} cases: {counts} ({time.monotonic() - began:.0f} s)"]
        lines += [f"    seed {seed}: {' '.join(why.split())[:400]}" for seed, why in tally.lost[:5]]
        say("\n".join(lines))
        return tally

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(chosen, pool.map(one, chosen)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=1200.0, help="of the whole campaign")
    parser.add_argument("--part", type=float, default=1.0, help="of the cases")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--only", default="", help="kinds whose names hold this")
    parser.add_argument("--jobs", type=int, default=2, help="kinds at a time")
    parser.add_argument("--least", type=int, default=0, help="cases that must have been run, else exit status 1")
    parser.add_argument("--json", help="file for the counts")
    given = parser.parse_args()
    if given.work:
        place, first, last, folder = given.work
        work(place, int(first), int(last), Path(folder))
    found = campaign(
        given.part, given.seconds, given.first, given.only, given.jobs, lambda text: print(text, flush=True)
    )
    ours = {name: tally for name, tally in found.items() if name in KINDS}
    lost = sum(len(tally.lost) for tally in ours.values())
    cases = sum(t.cases for t in ours.values())
    print(f"{cases} cases, {lost} lost")
    if given.json:
        Path(given.json).parent.mkdir(parents=True, exist_ok=True)
        Path(given.json).write_text(
            json.dumps({n: {"answers": t.answers, "lost": t.lost} for n, t in found.items()}, indent=1)
        )
    idle = [name for name, tally in ours.items() if not tally.cases]
    if idle:
        print(f"time was up before a case of: {', '.join(idle)}; give it more with --seconds")
    if cases < given.least:
        print(f"time was up after {cases} of at least {given.least} cases: give it more with --seconds")
    return 1 if lost or idle or cases < given.least else 0


if __name__ == "__main__":
    sys.exit(main())
