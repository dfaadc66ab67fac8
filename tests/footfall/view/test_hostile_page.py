"""Messages, names and clicks that are made to harm the page or whoever serves it."""

import asyncio
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from raw_links import ask, frame, status
from waiting import PATIENCE, until

from footfall.control.interface import Command
from footfall.robot import library
from footfall.sim.run_options import page_options
from footfall.view.driver import SimulationThread
from footfall.view.safe_text import as_text, file_stem
from footfall.view.server import MOST_A_SECOND, Server, admitted
from footfall.view.stage import viser


@pytest.fixture
def forge(live):
    """Sends messages that no page would send, over a link of its own."""
    _, _, link = ask(live.server, "/", True)
    until(lambda: live.server.viser._websock_server._live_connections)
    yield lambda message: link.sendall(frame(msgspec.msgpack.encode(message)))
    link.close()
    until(lambda: not live.server.viser._websock_server._live_connections)
    until(lambda: live.driver.command == live.page._told == Command())  # and the sliders show it


def update(handle, **updates):
    return {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": updates}


def controls(live):
    return list(live.server.viser.gui._gui_input_handle_from_uuid.values())


def button(live, label):
    return next(handle for handle in controls(live) if getattr(handle, "label", "") == label)


# -- forged messages ---------------------------------------------------------------------------------------------------
def test_stand_still_cannot_be_disarmed(live, forge):
    halt = button(live, "Stand still")
    callbacks = list(halt._impl.update_cb)
    assert callbacks
    for field, value in (("update_cb", []), ("removed", True), ("uuid", "x"), ("is_button", False), ("sync_cb", None)):
        forge(update(halt, **{field: value}))
    live.page.commander = next(iter(live.server.viser._websock_server._live_connections))
    live.driver.set_command(turn=0.3)
    forge(update(halt, value=True))  # and here it is pressed
    until(lambda: live.driver.command == Command())
    assert halt._impl.update_cb == callbacks
    assert not halt._impl.removed


def test_of_a_message_only_the_value_counts(live, forge):
    slider = live.page.sliders["turn"]
    callbacks = list(slider._impl.update_cb)
    forge(update(slider, value=0.25, update_cb=[], update_timestamp=1e9, visible=False))
    until(lambda: slider.value == 0.25)
    assert slider._impl.update_cb == callbacks
    assert slider._impl.update_timestamp != 1e9


def test_every_control_keeps_its_fields_whatever_is_forged(live, forge):
    before = {h._impl.uuid: (list(h._impl.update_cb), h._impl.value, h._impl.props) for h in controls(live)}
    for handle in controls(live):
        for field in ("update_cb", "props", "gui_api", "parent_container_id", "hold_cbs_from_freq"):
            forge(update(handle, **{field: []}))
        for value in ("no such choice", 1e9, float("nan"), -1e9, [], {}, None, 2**63):
            forge(update(handle, value=value))
    forge(update(live.page.sliders["pitch"], value=0.05))  # the last, which is taken
    until(lambda: live.page.sliders["pitch"].value == 0.05)
    for handle in controls(live):
        callbacks, value, props = before[handle._impl.uuid]
        assert handle._impl.update_cb == callbacks
        assert handle._impl.props is props
        if isinstance(handle, viser().GuiSliderHandle):
            assert handle.min <= handle.value <= handle.max  # the page may have moved it itself
        else:
            assert handle._impl.value == value


@pytest.mark.parametrize("kind", ["ShareUrlRequest", "ShareUrlDisconnect", "FileTransferStartUpload"])
def test_no_browser_can_open_a_tunnel_or_upload(live, forge, kind):
    import viser._messages as messages

    heard = []
    websockets = live.server.viser._websock_server
    websockets._incoming_handlers = {**websockets._incoming_handlers, getattr(messages, kind): []}  # no real tunnel
    websockets.register_handler(getattr(messages, kind), lambda client, message: heard.append(message))
    upload = {"source_component_uuid": "x", "transfer_uuid": "y", "filename": "f", "mime_type": "m", "part_count": 9}
    forge({"type": kind, **(upload | {"size_bytes": 1 << 40} if kind.startswith("File") else {})})
    last = round(0.01 * len(kind), 3)  # another for every kind
    forge(update(live.page.sliders["roll"], value=last))
    until(lambda: live.page.sliders["roll"].value == last)
    assert heard == []


@pytest.mark.parametrize(
    "junk", ["text", b"", b"\xc1", b"\x01", msgspec.msgpack.encode({"no": "type"}), b"\x91" * 5000]
)
def test_what_is_no_message_is_refused(junk):
    with pytest.raises(ValueError, match=r"text|data|byte|type|nested|recursion"):
        admitted(junk, None)


def test_a_flood_of_messages_waits_for_the_next_second(monkeypatch):
    """On a clock of the test's own: a message comes every 0.1 ms, and sleeping takes no longer than it says."""
    from footfall.view import server as module

    server, clock, admitted_at = Server(), [0.0], []

    async def sleep(seconds):
        clock[0] += seconds

    async def receive():
        clock[0] += 1e-4
        return msgspec.msgpack.encode({"type": "ViewerCameraMessage"})

    async def flood():
        recv = server._admitting(receive)
        while clock[0] < 2.5:
            await recv()
            admitted_at.append(clock[0])

    with monkeypatch.context() as patch:
        patch.setattr(module, "time", SimpleNamespace(**{**vars(time), "monotonic": lambda: clock[0]}))
        patch.setattr(module, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
        try:
            asyncio.run(flood())
        finally:
            server.stop()
    seconds = Counter(int(at) for at in admitted_at)
    assert set(seconds) == {0, 1, 2, 3}
    assert all(MOST_A_SECOND <= seconds[k] <= MOST_A_SECOND + 1 for k in (0, 1, 2))  # one more waits at its end


# -- clicks ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def driver():
    made = SimulationThread(choice=page_options(robot="dynakat", controller="pd"))
    made.start()
    yield made
    made.stop()


def test_two_thousand_clicks_on_record_are_a_few_recordings(driver):
    made, record = [], driver._record
    driver._record = lambda: made.append(1) or record()
    driver.do(lambda: time.sleep(0.3))
    for _ in range(2000):
        driver.record()
    done = threading.Event()
    driver.do(done.set)
    assert done.wait(PATIENCE)
    assert 1 <= len(made) <= 3  # the thread may have looked in between


@pytest.mark.parametrize("what", ["reset", "step", "push"])
def test_a_flood_of_anything_else_is_a_handful(driver, what):
    made, inner = [], {"reset": "_reset", "step": "_advance", "push": "_push"}[what]
    doing = getattr(driver, inner)
    driver.paused = True
    done = threading.Event()
    driver.do(done.set)
    assert done.wait(PATIENCE)
    setattr(driver, inner, lambda *a: made.append(1) or doing(*a))
    for _ in range(500):
        getattr(driver, what)()
    done = threading.Event()
    driver.do(done.set)
    assert done.wait(PATIENCE)
    assert 1 <= len(made) <= 60


def test_a_recording_that_was_handed_over_takes_no_room(driver):
    got = []
    driver.record()
    until(lambda: driver.recording is not None)
    folder = driver.recording.parent
    driver.take(lambda path: got.append(path.read_bytes()))
    until(lambda: got)
    until(lambda: not list(folder.iterdir()))


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/footfall-escaped", "..", "a/b/c", "x\\y", "~root"])
def test_record_writes_into_its_folder_whatever_the_robot_is_called(name):
    driver = SimulationThread(
        choice=page_options(robot=name, controller="pd"), own=library.load("dynakat").replace(name=name)
    )
    try:
        driver._record()
        assert driver.recording.resolve().parent == Path(driver._folder.name).resolve()
        assert driver.recording.exists()
    finally:
        driver.stop()


@pytest.mark.parametrize("name", ["", "...", "///", "机器狗", "a" * 500, "CON: x", "go2-edu_1.0"])
def test_a_file_is_named_plainly_after_any_robot(name):
    stem = file_stem(name)
    assert stem.replace("_", "a").replace("-", "a").replace(".", "a").isalnum()
    assert len(stem) <= 60
    assert file_stem("go2-edu_1.0") == "go2-edu_1.0"


# -- words -------------------------------------------------------------------------------------------------------------
def test_no_word_of_others_is_markup():
    said = as_text("<b>*x*</b>\n# [l](http://e.x) `c` ![i](x) www.e.x a@b.c \x1b[31m\u202e")
    assert not set("<>*#[]()`!\n\x1b\u202e") & set(said.replace("&#", ""))
    assert "://" not in said.replace("&#58;", ":").replace("&#47;", "/")
    assert len(as_text("x" * 10_000)) <= 500
    assert as_text("Stand 1 of 2") == "Stand 1 of 2"


# -- the door ----------------------------------------------------------------------------------------------------------
def test_a_cookie_or_path_that_is_no_ascii_is_refused_and_no_error(live):
    for odd in ("é", "\udcff", "机"):
        assert status(live.server, Cookie=f"{live.server.cookie}={odd}") in (400, 403)
        assert status(live.server, f"/?token={odd}", Cookie=None) in (400, 403)


def test_two_pages_of_one_machine_do_not_take_each_others_cookie(live):
    other = Server()
    try:
        both = "; ".join(f"{s.cookie}={s.token}" for s in (live.server, other))
        assert status(live.server, Cookie=both) == status(other, Cookie=both) == 200
        assert status(other, Cookie=f"{live.server.cookie}={live.server.token}") == 403
    finally:
        other.stop()


def test_the_policy_lets_no_inline_script_run_and_marks_change(live):
    marks = set()
    for _ in range(2):
        _, answer, link = ask(live.server)
        link.close()
        policy = next(row for row in answer.split("\r\n") if row.startswith("Content-Security-Policy"))
        scripts = next(part for part in policy.split(";") if "script-src" in part)
        assert "unsafe-inline" not in scripts
        assert "'none'" in next(part for part in policy.split(";") if "frame-src" in part)
        marks.add(scripts)
    assert len(marks) == 2


def test_visers_page_still_makes_its_script_where_we_mark_it():
    """Else a new viser would show an empty page."""
    from footfall.view.server import _MAKES_SCRIPT

    page = Path(viser().__file__).parent / "client" / "build" / "index.html"
    assert page.read_bytes().count(_MAKES_SCRIPT) == 1
