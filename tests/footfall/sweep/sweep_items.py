"""Items for the tests of studies: each leaves a trace of having run in a file of its own."""

import os
import signal
import time
from pathlib import Path


def traced(k, folder, seconds=0.0, gate=""):
    """Sleeps, and waits while the number in the file ``gate`` is not above k; says in a file of its own when it starts
    and when it ends."""
    file = Path(folder) / f"{k}.log"
    with file.open("a") as log:
        log.write(f"start {os.getpid()}\n")
    time.sleep(seconds)
    while gate and k >= int(Path(gate).read_text() or 0):
        time.sleep(0.01)
    with file.open("a") as log:
        log.write("end\n")
    return {"square": k * k, "pair": [k, -k], "even": k % 2 == 0}


traced.units = {"square": "m²"}


def picky(k):
    """Raises at 2, takes its process down at 3."""
    if k == 2:
        raise ValueError("two is\nnot liked")
    if k == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(k)


def odd_answer(k):
    return {"it": object()} if k else {"it": 1.0}
