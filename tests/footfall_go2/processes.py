"""``footfall serve`` in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from waiting import until

QUIET = {**os.environ, "PYTHONWARNINGS": "ignore"}


class Served:
    """``with Served("--domain", "7") as served: ...``; ``report`` afterwards."""

    def __init__(self, *options: str, robot: str = "go2") -> None:
        command = [sys.executable, "-m", "footfall", "serve", robot, *options, "--realtime", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET)
        self.said: list[str] = []
        self.report: dict[str, Any] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)

    def __enter__(self) -> Served:
        until(lambda: self.process.poll() is not None or any("serving" in line for line in self.said))
        assert self.process.poll() is None, "".join(self.said)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        out, _ = self.process.stdout.read(), self.process.wait(60)  # type: ignore[union-attr]
        self.report = json.loads(out) if out.strip() else {}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


def drive(*options: str, robot: str = "go2") -> subprocess.Popen[str]:
    """``footfall drive``, under way; it says one JSON object at its end."""
    command = [sys.executable, "-m", "footfall", "drive", robot, *options, "--realtime", "--json"]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=QUIET
    )
