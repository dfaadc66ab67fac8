"""Scripts in recordings, names and file names, in a real browser: none of them runs."""

import socket

import numpy as np
import pytest
from waiting import until

from footfall.recording.recording import Recording
from footfall.recording.recording_writer import Event
from footfall.robot import library
from footfall.sim.run_options import page_options
from footfall.view.driver import SimulationThread
from footfall.view.live import LivePage
from footfall.view.playback import PlaybackPage
from footfall.view.server import Server

pytestmark = pytest.mark.browser
SLOW = 180_000  # [ms]: software rendering on a busy machine
ATTACKS = {
    "frame": '<iframe srcdoc="<script>top.X=1</script>"></iframe>',
    "image": '<img src="data:," onerror="top.X=1">',
    "picture": '<svg onload="top.X=1"><script>top.X=1</script></svg>',
    "refresh": '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:{port}/">',
    "navigation": '<iframe srcdoc="<script>top.location=`http://127.0.0.1:{port}/`</script>"></iframe>',
    "fetch": '<img src="http://127.0.0.1:{port}/x.png"><link rel="stylesheet" href="http://127.0.0.1:{port}/x.css">',
    "markdown": "![x](http://127.0.0.1:{port}/x.png) [click](javascript:top.X=1)",
}


@pytest.fixture
def listener():
    """Somebody outside who waits for a page to call."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        made.listen()
        made.setblocking(False)
        yield made


def called(listener):
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def with_name(robot, name):
    """A robot with a name that no loader lets through: the page must not depend on that."""
    made = robot.replace(name="plain")
    object.__setattr__(made, "name", name)
    return made


def harmless(page, listener, words):
    """The words are seen as they are, and nothing came of them."""
    page.get_by_text(words, exact=False).first.wait_for(timeout=SLOW)
    page.wait_for_timeout(1500)
    assert page.evaluate("window.X") is None
    assert page.locator("iframe, meta[http-equiv=refresh], img[src^=http]").count() == 0
    assert page.get_by_role("link").count() == 0
    assert not called(listener)


def recording(robot, message):
    q, v = robot.state("stand")
    columns = {"time": np.array([0.0, 1.0]), "q": np.stack([q, q]), "v": np.stack([v, v])}
    return Recording(robot, columns, [Event(0.0, message, message)])


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_in_a_recording_its_name_or_its_robots_runs_on_its_page(browser, listener, attack):
    text = ATTACKS[attack].format(port=listener.getsockname()[1])
    server = Server()
    page = PlaybackPage(server, recording(with_name(library.load("dynakat"), text), text), text)
    try:
        seen = browser.new_page()
        seen.goto(server.address, timeout=SLOW)
        harmless(seen, listener, text[:9])
        assert seen.locator("body").inner_text(timeout=SLOW).count(text[:9]) == 4  # title, robot, kind and message
        seen.close()
    finally:
        page.stop()
        server.stop()


@pytest.mark.parametrize("attack", ["frame", "refresh", "navigation"])
def test_nothing_in_the_name_or_the_status_of_a_live_robot_runs(browser, listener, attack):
    text = ATTACKS[attack].format(port=listener.getsockname()[1])
    server = Server()
    driver = SimulationThread(
        choice=page_options(robot=text, controller="pd"), own=with_name(library.load("dynakat"), text)
    )
    LivePage(server, driver)
    driver.start()
    try:
        seen = browser.new_page()
        seen.goto(server.address, timeout=SLOW)
        seen.get_by_text("real time").first.wait_for(timeout=SLOW)
        driver.do(lambda: driver._say(text + "again"))
        harmless(seen, listener, text[:9])
        seen.close()
    finally:
        driver.stop()
        server.stop()


def test_the_policy_stops_a_script_that_came_through_all_the_same(browser, listener):
    server = Server()
    try:
        for attack in ("frame", "image", "picture", "navigation"):
            server.viser.gui.add_html(ATTACKS[attack].format(port=listener.getsockname()[1]))
        server.viser.gui.add_markdown(ATTACKS["frame"] + " it is here")
        seen = browser.new_page()
        violations = []
        seen.on("console", lambda said: violations.append(said.text) if "Content Security Policy" in said.text else 0)
        seen.goto(server.address, timeout=SLOW)
        seen.get_by_text("it is here").first.wait_for(timeout=SLOW)
        until(lambda: seen.wait_for_timeout(100) or violations)
        assert seen.evaluate("window.X") is None
        assert seen.url == server.address
        assert not called(listener)
        seen.close()
    finally:
        server.stop()


def test_without_the_token_a_browser_sees_no_page_and_a_reload_keeps_it(browser):
    server = Server()
    try:
        context = browser.new_context()
        seen = context.new_page()
        seen.goto(server.address.partition("?")[0], timeout=SLOW)
        assert "needs its token" in seen.content()
        seen.goto(server.address, timeout=SLOW)
        until(lambda: server.viser.get_clients() or seen.wait_for_timeout(100))
        seen.goto(server.address.partition("?")[0], timeout=SLOW)  # the cookie knows it
        assert "needs its token" not in seen.content()
        context.close()
    finally:
        server.stop()
