"""A server in this process, a browser beside it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

from footfall.view import gamepad, server
from footfall.view.driver import SimulationThread
from footfall.view.live import LivePage
from footfall.view.server import Server

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Live:
    """A live page with all its parts."""

    def __init__(self) -> None:
        self.server = Server()
        self.driver = SimulationThread()
        self.page = LivePage(self.server, self.driver)
        self.driver.start()

    def stop(self) -> None:
        self.driver.stop()
        self.server.stop()


class StillClock:
    """What a browser's or a gamepad's silence is measured by: it moves when told, however busy the machine is."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def clock() -> Iterator[StillClock]:
    made = StillClock()
    with pytest.MonkeyPatch.context() as patch:
        for module in (server, gamepad):
            patch.setattr(module, "time", made)
        yield made


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    made = Live()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium with software rendering."""
    if CHROMIUM is None:
        pytest.skip("the browser tests were skipped: no chromium is installed (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()
