"""A worker process of a local study: reads groups of items as lines of JSON, and writes results as lines of JSON.

It does not outlive the sweep: when its standard input ends, it exits at once, even in the middle of an item, so that a
killed sweep leaves no process that would run an item a second time.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading

from nptrace._types import Json

READY = {"ready": True}


def main() -> None:
    """Evaluate items until standard input ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of an item must not mix with the results
    inbox: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()

    from footfall.sweep.item import evaluate_together

    def say(answer: Json) -> None:
        out.write(json.dumps(answer, allow_nan=False) + "\n")
        out.flush()

    say(READY)
    while True:
        task = json.loads(inbox.get())
        say(evaluate_together(**task))


def _listen(inbox: queue.Queue[str]) -> None:
    for line in sys.stdin:
        inbox.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
