"""The pages in a real browser: what a person would see."""

import io
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from waiting import finish, until

from footfall.contact.terrain import named
from footfall.control.interface import Command
from footfall.control.posture import standing_joints
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.files.urdf_mjcf import load_model
from footfall.sim.simulation import Simulation
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import to_euler
from footfall.view.gamepad import PROTOCOL, Gamepad
from footfall.view.playback import PlaybackPage
from footfall.view.server import Server
from footfall_lab import report
from footfall_lab.papers.claims import Claim, Outcome

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("clock")]
SIZE = {"width": 900, "height": 560}
SLOW = 180_000  # [ms]: software rendering on a busy machine
OUT = Path(__file__).parents[3] / "out" / "screenshots"
SHOTS = Path(os.environ.get("FOOTFALL_SCREENSHOTS", OUT))  # where pictures are kept, to be judged by eye


class Seen:
    """A page, what it asked for, and what it complained of."""

    def __init__(self, browser, address, **size):
        self.browser = browser
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
        if name:
            SHOTS.mkdir(parents=True, exist_ok=True)
            (SHOTS / f"{name}.png").write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)

    def choose(self, menu, name):
        """An entry of a menu, by its label's input."""
        row = self.page.get_by_text(menu, exact=True).last.locator("xpath=ancestor::div[.//input][1]")
        row.locator("input").first.click(timeout=SLOW)
        self.page.get_by_role("option", name=name, exact=True).click(timeout=SLOW)

    def press(self, key):
        self.page.mouse.click(200, 350)  # the scene, so that no field takes the key
        self.page.keyboard.press(key)

    def type(self, box, text):
        """Into a box of the panel, by its number. A browser that is too busy to answer loses its command."""
        place = self.page.locator("input[type=text]").nth(box)
        place.fill(text, timeout=SLOW)
        place.press("Enter", timeout=SLOW)

    def scene(self, name=""):
        """The middle of the 3-D view, away from panels and notices."""
        return self.picture(name)[160:420, 60:430]


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
    until(lambda: seen.scene("standing").std() > 5)  # there is a robot in the picture
    still = seen.scene("standing")
    seen.type(0, "0.4")
    until(lambda: live.driver.command.forward == pytest.approx(0.4))
    x = live.driver.sim.q[0]
    until(lambda: live.driver.sim.q[0] > x + 0.1, again=lambda: seen.type(0, "0.4"))
    until(lambda: moved(still, seen.scene("walking")) > 0.01)


def test_keys_and_buttons_act(seen, live):
    before = live.driver.command.turn
    seen.press("j")
    until(lambda: live.driver.command.turn > before)
    seen.press("l")
    until(lambda: live.driver.command.turn == before)
    seen.page.get_by_role("button", name="Stand still").click(timeout=SLOW)
    until(lambda: live.driver.command == Command())
    pushes = len(live.driver.sim.pushes)
    seen.page.get_by_role("button", name="Push").click(timeout=SLOW)
    until(lambda: len(live.driver.sim.pushes) > pushes)


def test_posture_leans_the_trunk(seen, live):
    pitch = 5  # forward, sideways, turn, height, roll, pitch
    seen.type(pitch, "0.2")
    until(lambda: live.driver.command.pitch == pytest.approx(0.2))
    until(lambda: to_euler(to_rotation(live.driver.sim.q[3:7]), "zyx")[1] > 0.08, again=lambda: seen.type(pitch, "0.2"))
    seen.picture("posture")
    seen.press("t")
    until(lambda: live.driver.command.pitch < 0.2)
    seen.page.get_by_role("button", name="reset").click(timeout=SLOW)
    until(lambda: live.driver.command == Command())


PAD = """() => {
  window.pad = {connected: true, axes: [0, 0, 0, 0], buttons: Array.from({length: 17}, () => ({pressed: false}))};
  navigator.getGamepads = () => [null, window.pad];
}"""


def test_a_gamepad_drives_and_stops_when_let_go_or_lost(seen, live):
    seen.page.evaluate(PAD)
    seen.page.evaluate("window.pad.axes = [0, -0.1, 0.1, 0]")  # within the dead zone
    until(lambda: any(link.subprotocol == PROTOCOL for link in live.server.heard))
    finish(live.driver)
    assert live.driver.command == Command()
    seen.page.evaluate("window.pad.axes = [0, -0.6, 0.5, 0]")
    until(lambda: live.driver.sim.command.forward > 0.4)
    assert live.driver.command.turn < -0.3
    assert isinstance(live.page.commander, Gamepad)
    until(lambda: float(live.page.sliders["forward"].value) > 0.4)
    seen.picture("gamepad")
    seen.page.evaluate("window.pad.axes = [0, 0, 0, 0]")
    until(lambda: live.driver.sim.command == Command())
    pushes = len(live.driver.sim.pushes)
    seen.page.evaluate("window.pad.buttons[0].pressed = true")
    until(lambda: len(live.driver.sim.pushes) > pushes)
    seen.page.evaluate(PAD)
    seen.page.evaluate("window.pad.axes = [-1, 0, 0, 0]")
    until(lambda: live.driver.sim.command.sideways > 0.3)
    seen.page.evaluate("window.pad = null")  # the page says so: by the clock that stands still nobody is silent
    until(lambda: live.driver.sim.command == Command())
    until(lambda: live.page.commander is None)


def test_a_gait_is_switched_from_its_menu(seen, live):
    seen.choose("gait", "walk")
    until(lambda: live.driver.choice.gait == "walk")


def test_ground_pause_step_and_slow_motion(seen, live):
    seen.choose("ground", "slope:10")
    until(lambda: live.driver.choice.ground == "slope:10")
    until(lambda: live.driver.sim.time > 0.3)
    slope = seen.scene("slope")
    seen.choose("ground", "rough:0.06")
    until(lambda: live.driver.choice.ground == "rough:0.06")
    until(lambda: live.driver.sim.time > 0.3)
    seen.picture("rough")
    seen.choose("time runs", "1/4")
    until(lambda: live.driver.pace == 0.25)
    seen.page.get_by_role("button", name="pause").click(timeout=SLOW)
    until(lambda: live.driver.paused)
    seen.text("paused")
    finish(live.driver)
    held = live.driver.sim.time
    seen.page.get_by_role("button", name="step").click(timeout=SLOW)
    until(lambda: live.driver.sim.time > held)
    assert live.driver.sim.time == pytest.approx(held + 0.01)
    seen.page.get_by_role("button", name="go on").click(timeout=SLOW)
    seen.choose("time runs", "real time")
    seen.choose("ground", "plane")
    until(lambda: live.driver.choice.ground == "plane" and not live.driver.paused)
    until(lambda: live.driver.sim.time > 0.3)
    until(lambda: moved(slope, seen.scene("plane again")) > 0.01)


def test_plots_are_drawn(seen):
    seen.page.get_by_role("tab", name="Plots").click(timeout=SLOW)
    titles = ("trunk height [mm]", "vertical force, mean over 10 ms [N]", "support margin [mm]", "energy [J]")
    for title in (*titles, "cost of transport"):
        seen.text(title)
    seen.picture("plots")
    until(lambda: seen.page.locator(".uplot canvas").count() >= 9)
    seen.page.get_by_role("tab", name="Help").click(timeout=SLOW)
    seen.text("pause or continue")
    seen.picture("help")
    seen.page.get_by_role("tab", name="Drive").click(timeout=SLOW)


def test_a_recording_is_downloaded(seen, live, tmp_path):
    seen.page.get_by_role("button", name="Record", exact=True).click(timeout=SLOW)
    until(lambda: live.driver.recording is not None)
    until(lambda: live.driver.recorder.rows > 60)  # a run to a file keeps only its last block
    with seen.page.expect_download(timeout=SLOW) as download:
        seen.page.get_by_role("button", name="End recording").click(timeout=SLOW)
    file = tmp_path / "got.mcap"
    download.value.save_as(file)
    assert len(Recording.load(file)) > 50


def test_reset_begins_again(seen, live):
    until(lambda: live.driver.sim.time > 0.5)
    before, live.driver.pace = live.driver.sim.time, 0.01  # it shall not be there again before we look
    seen.page.get_by_role("button", name="reset").click(timeout=SLOW)
    until(lambda: live.driver.sim.time < before)
    live.driver.pace = 1.0


def test_closing_the_page_stops_the_robot(seen, live):
    seen.text("real time")
    seen.press("i")
    until(lambda: live.driver.sim.command.forward > 0, again=lambda: seen.press("i"))
    assert seen.errors == []
    seen.page.close()  # seen at once: by the clock that stands still nobody is silent
    until(lambda: live.driver.sim.command == Command())
    until(lambda: live.driver.command == Command())


# -- recordings --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def recording():
    ground = named("rough:0.05", seed=4)
    return Simulation(library.load("mini_cheetah"), ground=ground, record_rate=100.0).run(0.6)


def test_a_recording_plays_with_a_timeline_on_its_own_ground(browser, recording):
    server = Server()
    page = PlaybackPage(server, recording, "stand.mcap")
    page.begin()
    try:
        seen = Seen(browser, server.address)
        seen.text("stand.mcap")
        seen.text("time [s]")
        until(lambda: page.timeline.value > 0.1)
        seen.picture("recording")
        seen.press("Space")
        until(lambda: not page.playing.value)
        seen.type(0, "0.5")
        until(lambda: page.timeline.value == pytest.approx(0.5, abs=0.01))
        seen.text("0.50 of")
        assert seen.errors == []
        seen.page.close()
    finally:
        page.stop()
        server.stop()


def test_a_robot_is_drawn_from_its_meshes(browser, third_party_file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = load_model(third_party_file("go2"), name="go2")
    q, v = robot.state(standing_joints(robot), height=0.3)
    rec = Recording(robot, {"time": np.array([0.0, 1.0]), "q": np.stack([q, q]), "v": np.stack([v, v])})
    server = Server()
    page = PlaybackPage(server, rec, "go2")
    try:
        seen = Seen(browser, server.address)
        seen.text("its ground is not in the recording")
        until(lambda: (seen.scene("meshes").max(axis=2) < 30).mean() > 0.001)  # black feet: Go2's own colours
        assert seen.errors == []
        seen.page.close()
    finally:
        page.stop()
        server.stop()


def test_a_report_opens_from_the_file_system_with_its_replay_playing(browser, recording, tmp_path):
    figure = recording.plot("trunk")
    level = Recording(recording.robot, recording.columns)  # quicker to draw in software than rough ground
    claims = (
        Claim(
            id="stands",
            claim="the robot stands",
            printed="yes",
            measured=True,
            unit="",
            verdict="holds",
            note="for 0.6 s",
        ),
    )
    outcome = Outcome(
        experiment="standing",
        title="A robot stands",
        summary="It was asked whether it stands. It does.",
        claims=claims,
        figures={"trunk": figure},
        captions={"trunk": "Trunk."},
        tables=(),
        settings={"robot": "mini_cheetah"},
        replays={"A stand.": {"footfall": level}},
    )
    written = report.write([outcome], tmp_path, "footfall reproduce standing", took=2.0)
    seen = Seen(browser, written.report.as_uri(), width=560, height=420)
    for words in ("A robot stands", "for 0.6 s", "footfall reproduce standing", "processor", "holds"):
        seen.text(words)
    seen.picture("report")
    frame = seen.page.locator("iframe")
    frame.scroll_into_view_if_needed(timeout=SLOW)
    inside = seen.page.frame_locator("iframe")
    inside.locator("canvas[data-engine]").first.wait_for(timeout=SLOW)
    clock, times = inside.locator("input").first, set()
    until(lambda: times.add(clock.input_value(timeout=SLOW)) or len(times) > 1)  # it plays

    def orange():
        picture = seen.picture("replay")
        return ((picture[..., 0] > 150) & (picture[..., 2] < 100)).sum()

    until(lambda: orange() > 50)  # the right legs
    assert seen.errors == []
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in seen.requests)
    seen.page.close()
