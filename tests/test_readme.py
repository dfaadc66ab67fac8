"""Every command of the README runs exactly as printed, and what it links to exists."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import interrupt

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
BLOCKS = [text for kind, text in FENCED if not kind]
LINES = [line.partition("#")[0].strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
COMMANDS = [line for line in LINES if line.startswith("footfall ")]
LONG = ("verify", "bench", "reproduce", "sweep", "compare")  # run by make test-all
SLOW = tuple(f"footfall {name}" for name in LONG)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all: a command may need what the one before it wrote."""
    made = tmp_path_factory.mktemp("readme")
    (made / "examples").symlink_to(ROOT / "examples")
    return made


def run(line: str, folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "footfall.cli.main", *shlex.split(line)[1:]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=seconds)


def test_the_commands_of_the_readme_run_as_printed_one_after_another(folder):
    for line in COMMANDS:
        if not line.startswith((*SLOW, "footfall view")):
            done = run(line, folder, 300.0)
            assert done.returncode == 0, (line, done.stderr)
            assert done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith(SLOW)])
def test_a_long_command_of_the_readme_runs_as_printed(line, folder):
    done = run(line, folder, 600.0)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def free(port: int) -> bool:
    """Whether nobody else on this machine listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_the_page_of_the_readme_is_served_until_ctrl_c(tmp_path):
    words = [sys.executable, "-m", "footfall.cli.main", "view", *(() if free(8080) else ("--port", "0"))]
    server = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert "http://127.0.0.1:" in server.stdout.readline()
        interrupt(server)
        assert server.returncode in (0, 130)
    finally:
        server.kill()


def test_the_readme_prints_the_commands_that_set_everything_up():
    targets = (ROOT / "Makefile").read_text()
    made = [line.split()[1] for line in LINES if line.startswith("make ")]
    assert made == ["demo", "test", "docs"]
    assert all(re.search(rf"^{name}:", targets, re.MULTILINE) for name in made)
    assert len(COMMANDS) >= 8


def test_what_the_readme_links_to_exists():
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / target).exists(), target
