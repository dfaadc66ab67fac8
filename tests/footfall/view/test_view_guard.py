"""The server trusts nobody: loopback, Host, Origin, token, junk, silence."""

import gzip
import json
import os
import re
import urllib.request

import msgspec
import pytest
from raw_links import ask, frame, status
from waiting import PATIENCE, finish, until

from footfall.control.interface import Command
from footfall.errors import FootfallError, InputError
from footfall.view.gamepad import PROTOCOL
from footfall.view.server import Server


@pytest.fixture(scope="module")
def server():
    made = Server()
    made.script = "/* ours */"
    yield made
    made.stop()


def test_it_listens_on_loopback_alone(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.port}/?token={server.token}"


def test_own_host_is_served_with_a_policy_that_lets_nothing_out(server):
    line, answer, link = ask(server)
    link.close()
    assert " 200 " in line
    assert "connect-src 'self'" in answer
    assert status(server, Host=f"localhost:{server.port}") == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", ""]
)
def test_foreign_host_is_refused(server, host):
    assert status(server, Host=host.format(port=server.port)) in (400, 403)
    assert status(server, "/", True, Host=host.format(port=server.port)) in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", None, "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_foreign_null_and_missing_origin_cannot_open_a_link(server, origin):
    assert status(server, "/", True, Origin=origin and origin.format(port=server.port)) == 403


def test_own_origin_opens_a_link(server):
    assert status(server, "/", True) == 101


def test_paths_do_not_climb(server):
    assert status(server, "/../../pyproject.toml") == 404
    assert status(server, "/%2e%2e/%2e%2e/etc/passwd") == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_a_token_is_needed_here_and_elsewhere_and_kept_in_a_cookie(host):
    server = Server(host=host)
    try:
        assert len(server.token) >= 16
        assert server.token in server.address
        assert status(server, Cookie=None) == 403
        assert status(server, "/?token=wrong", Cookie=None) == 403
        line, answer, link = ask(server, f"/?token={server.token}", Cookie=None)
        link.close()
        assert " 200 " in line
        cookie = next(row for row in answer.split("\r\n") if row.startswith("Set-Cookie")).split(": ")[1].split(";")[0]
        assert status(server, "/", True, Cookie=None) == 403
        assert status(server, f"/?token={server.token}", True, Cookie=None) == 403
        assert status(server, "/", True, Cookie=cookie) == 101
        assert status(server, "/", True, Cookie=cookie, Origin="http://evil.example") == 403
    finally:
        server.stop()


def test_our_script_is_in_the_page_packed_or_not(server):
    for packing in (None, "gzip"):
        request = urllib.request.Request(server.address, headers={"Accept-Encoding": packing} if packing else {})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            body = answer.read()
        page = gzip.decompress(body) if packing else body
        assert len(re.findall(rb'<script nonce="[\w-]+">/\* ours \*/</script>', page)) == 1
        assert b"<title>footfall</title>" in page


# -- links of our own: gamepads ----------------------------------------------------------------------------------------
PAD = {"Sec_WebSocket_Protocol": PROTOCOL}


def test_a_gamepads_link_needs_the_same_host_and_origin(live):
    assert status(live.server, "/gamepad", True, **PAD) == 101
    for origin in ("http://evil.example", "null", None, "http://127.0.0.1:1"):
        assert status(live.server, "/gamepad", True, Origin=origin, **PAD) == 403
    assert status(live.server, "/gamepad", True, Host="evil.example", **PAD) in (400, 403)
    assert status(live.server, "/gamepad", True, Sec_WebSocket_Protocol="other") == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_a_gamepads_link_needs_the_token_as_the_page_does(host):
    server = Server(host=host)
    server.links[PROTOCOL] = lambda: None
    try:
        assert status(server, "/gamepad", True, Cookie=None, **PAD) == 403
        assert status(server, f"/gamepad?token={server.token}", True, Cookie=None, **PAD) == 403
        assert status(server, "/gamepad", True, Cookie=f"{server.cookie}={server.token}", **PAD) == 101
    finally:
        server.stop()


def test_a_page_without_a_robot_takes_no_gamepad(server):
    assert status(server, "/gamepad", True, **PAD) == 403


@pytest.mark.parametrize("ending", ["close", "silence", "junk"])
def test_a_gamepad_drives_and_its_end_or_silence_or_junk_is_a_zero_command(live, clock, ending):
    _, _, link = ask(live.server, "/gamepad", True, **PAD)
    link.sendall(frame(json.dumps({"axes": [0, -1, 0, 0], "buttons": []}).encode(), 1))
    until(lambda: live.driver.sim.command.forward == 1.0)
    if ending == "close":
        link.close()
    elif ending == "junk":
        link.sendall(frame(b"{", 1))
    else:
        clock.now += 0.3
        finish(live.driver)
        assert live.driver.sim.command.forward == 1.0  # a hiccup is no end
        clock.now += 0.19  # half a second, less what it takes to look
    until(lambda: live.driver.sim.command == Command())
    link.close()
    until(lambda: live.driver.command == Command())


def test_a_closed_server_serves_nobody():
    server = Server(closed=True)
    try:
        assert status(server) == 403
    finally:
        server.stop()


def test_a_port_in_use_is_named(server):
    with pytest.raises(FootfallError, match=f"port {server.port} is in use"):
        Server(port=server.port)
    with pytest.raises(InputError, match="between 0 and 65535"):
        Server(port=70000)


@pytest.mark.parametrize("junk", [b"", b"\xff" * 100, os.urandom(2000), b"\x81\xa4type\xa3xyz"])
def test_junk_costs_nobody_else_anything(server, junk):
    for opcode in (1, 2):
        _, _, link = ask(server, "/", True)
        link.sendall(frame(junk, opcode))
        link.close()
    assert status(server) == 200
    assert status(server, "/", True) == 101


def test_forged_messages_change_nothing_that_is_not_offered_and_fill_no_terminal(live, capfd):
    _, _, link = ask(live.server, "/", True)
    menus, sliders = live.page.menus, live.page.sliders
    until(lambda: live.server.viser._websock_server._live_connections)

    def forge(handle, value):
        message = {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}}
        link.sendall(frame(msgspec.msgpack.encode(message)))

    for value in ("../../etc/passwd", "", None, [1], {"a": 1}):
        forge(menus["robot"], value)
        forge(sliders["forward"], value)
    forge(sliders["turn"], float("nan"))
    forge(sliders["forward"], 1e300)
    forge(sliders["turn"], 0.3)  # the last, which is taken
    until(lambda: sliders["turn"].value == 0.3)
    finish(live.driver)
    assert menus["robot"].value == live.driver.choice.robot == "mini_cheetah"
    assert sliders["forward"].value == 0.0
    link.close()
    until(lambda: live.driver.command == Command())
    assert "Traceback" not in capfd.readouterr().err


def test_a_browser_that_falls_silent_is_followed_by_a_zero_command_within_half_a_second(live, clock):
    links = live.server.viser._websock_server._live_connections
    until(lambda: not links)
    _, _, link = ask(live.server, "/", True)  # open, and answers no question
    until(lambda: links)
    live.page.commander = next(iter(links))
    live.driver.set_command(forward=0.4)
    until(lambda: live.driver.sim.command.forward == 0.4)
    clock.now += 0.3
    finish(live.driver)
    assert live.driver.sim.command.forward == 0.4  # a hiccup is no silence
    clock.now += 0.19  # half a second, less what it takes to look
    until(lambda: live.driver.sim.command == Command())
    link.close()
    until(lambda: not links)
    until(lambda: live.driver.command == Command())
