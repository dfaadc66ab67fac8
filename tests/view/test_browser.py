"""The pages in a real browser: what a person would see."""

import io
import os
import time
from pathlib import Path

import numpy as np
import pytest

from footfall.control.interface import Command
from footfall.report.replay import Replay, embedded, replay_page
from footfall.report.server import Server
from footfall.robot import library
from footfall.simulate.recording import Recording
from footfall.simulate.simulation import Simulation
from footfall.view.playback import PlaybackPage

pytestmark = pytest.mark.browser
SIZE = {"width": 760, "height": 460}
SLOW = 60_000  # [ms]: software rendering on a busy machine
SHOTS = os.environ.get("FOOTFALL_SCREENSHOTS")  # a folder where pictures are kept, to be judged by eye


class Seen:
    """A page, what it asked for, and what it complained of."""

    def __init__(self, browser, address, **size):
        self.page = browser.new_page(viewport=size or SIZE)
        self.requests, self.errors = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda link: self.requests.append(link.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda text: self.errors.append(text.text) if text.type == "error" else None)
        self.page.goto(address, timeout=SLOW)

    def text(self, words):
        self.page.get_by_text(words).first.wait_for(timeout=SLOW)

    def picture(self, name=""):
        from PIL import Image

        data = self.page.screenshot(timeout=SLOW)
        if SHOTS and name:
            Path(SHOTS, f"{name}.png").write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)

    def scene(self, name=""):
        """The middle of the 3-D view, away from panels and notices."""
        return self.picture(name)[160:420, 60:430]


def until(what, seconds=40.0):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def moved(a, b):
    """Part of the picture that changed visibly."""
    return float((np.abs(a - b).max(axis=2) > 24).mean())


@pytest.fixture(scope="module")
def seen(browser, live):
    made = Seen(browser, live.server.address)
    made.text("real time")
    return made


def test_nothing_leaves_the_machine(seen, live):
    own = (f"http://127.0.0.1:{live.server.port}/", f"ws://127.0.0.1:{live.server.port}/", "data:", "blob:")
    assert seen.requests
    assert [url for url in seen.requests if not url.startswith(own)] == []


def test_the_robot_is_seen_to_move_when_a_speed_is_chosen(seen, live):
    still = seen.scene("standing")
    assert still.std() > 5  # there is a robot in the picture
    box = seen.page.locator("input[type=text]").first
    box.fill("0.4")
    box.press("Enter")
    until(lambda: live.driver.command.forward == pytest.approx(0.4))
    x = live.driver.sim.q[0]
    until(lambda: live.driver.sim.q[0] > x + 0.1)
    assert moved(still, seen.scene("walking")) > 0.01


def test_keys_and_buttons_act(seen, live):
    before = live.driver.command.turn
    seen.page.mouse.click(200, 350)
    seen.page.keyboard.press("j")
    until(lambda: live.driver.command.turn > before)
    seen.page.get_by_role("button", name="Stand still").click(timeout=SLOW)
    until(lambda: live.driver.command == Command())
    pushes = len(live.driver.sim.pushes)
    seen.page.get_by_role("button", name="Push").click(timeout=SLOW)
    until(lambda: len(live.driver.sim.pushes) > pushes)


def test_a_gait_is_switched_from_its_menu(seen, live):
    seen.page.get_by_role("textbox", name="gait").or_(seen.page.locator("input[value=trot]")).first.click(timeout=SLOW)
    seen.page.get_by_role("option", name="walk").click(timeout=SLOW)
    until(lambda: live.driver.choice.gait == "walk")


def test_plots_are_drawn(seen):
    seen.page.get_by_role("tab", name="Plots").click(timeout=SLOW)
    seen.text("trunk height [m]")
    seen.picture("plots")
    assert seen.page.locator(".uplot canvas").count() >= 5
    seen.page.get_by_role("tab", name="Drive").click(timeout=SLOW)


def test_a_recording_is_downloaded(seen, live, tmp_path):
    seen.page.get_by_role("button", name="Record", exact=True).click(timeout=SLOW)
    until(lambda: live.driver.recording is not None)
    until(lambda: sum(len(block["time"]) for block in live.driver.recorder.blocks) > 60)
    with seen.page.expect_download(timeout=SLOW) as download:
        seen.page.get_by_role("button", name="End recording").click(timeout=SLOW)
    file = tmp_path / "got.mcap"
    download.value.save_as(file)
    assert len(Recording.load(file)) > 50


def test_reset_begins_again(seen, live):
    until(lambda: live.driver.sim.time > 0.5)
    before = live.driver.sim.time
    seen.page.get_by_role("button", name="reset").click(timeout=SLOW)
    until(lambda: live.driver.sim.time < before)


def test_closing_the_page_stops_the_robot(seen, live):
    seen.page.mouse.click(200, 350)
    seen.page.keyboard.press("i")
    until(lambda: live.driver.sim.command.forward > 0)
    assert seen.errors == []
    seen.page.close()
    closed = time.monotonic()
    while live.driver.sim.command != Command() and time.monotonic() < closed + 5:
        time.sleep(0.005)
    assert time.monotonic() - closed < 0.5
    assert live.driver.command == Command()


# -- recordings --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def recording():
    return Simulation(library.load("mini_cheetah"), record_rate=100.0).run(0.6)


def test_a_recording_plays_with_a_timeline(browser, recording):
    server = Server()
    page = PlaybackPage(server, recording, "stand.mcap")
    page.begin()
    try:
        seen = Seen(browser, server.address)
        seen.text("stand.mcap")
        seen.text("time [s]")
        until(lambda: page.timeline.value > 0.1)
        seen.picture("recording")
        assert seen.errors == []
        seen.page.close()
    finally:
        page.stop()
        server.stop()


def test_a_report_with_its_replay_opens_from_the_file_system(browser, recording, tmp_path):
    replay = replay_page(Replay("a stand", {"footfall": recording}), frames=10.0)
    file = tmp_path / "report.html"
    file.write_text(f"<!DOCTYPE html><meta charset='utf-8'><title>r</title>{embedded(replay, 'a stand', 300)}")
    seen = Seen(browser, file.as_uri(), width=480, height=340)
    inside = seen.page.frame_locator("iframe")
    inside.locator("canvas[data-engine]").first.wait_for(timeout=SLOW)
    clock, times = inside.locator("input").first, set()
    until(lambda: times.add(clock.input_value(timeout=SLOW)) or len(times) > 1)  # it plays
    picture = seen.picture("replay")
    orange = (picture[..., 0] > 150) & (picture[..., 2] < 100)  # the right legs
    assert orange.sum() > 50
    assert seen.errors == []
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in seen.requests)
    seen.page.close()
