"""``ff.show`` from Python."""

import urllib.request

import pytest

import footfall as ff
from footfall.robot import library
from footfall.sim.simulation import Simulation


@pytest.fixture(scope="module")
def rec():
    return Simulation(library.load("mini_cheetah"), record_rate=100.0).run(0.1)


def test_a_recording_is_served_until_it_is_stopped(rec, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    shown = ff.show(rec, block=False)
    try:
        assert opened == [shown.address]
        assert capsys.readouterr().out.strip() == shown.address
        with urllib.request.urlopen(shown.address, timeout=120) as page:
            assert page.status == 200
        assert shown.address in shown._repr_html_()
    finally:
        shown.stop()


def test_without_a_browser_the_address_is_printed(rec, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    shown = ff.show(str(rec.save(tmp_path / "a.mcap")), block=False)
    shown.stop()
    assert capsys.readouterr().out == f"open {shown.address} in a browser\n"


def test_a_changed_library_robot_is_shown_as_it_is():
    robot = library.load("dynakat")  # whose controller is quickly compiled
    heavier = robot.replace({f"{robot.links[0].name}.mass": 1.1 * robot.links[0].mass})
    shown = ff.show(heavier, browse=False, block=False)
    try:
        assert shown.page.sim.robot.digest == heavier.digest
    finally:
        shown.stop()


def test_what_cannot_be_shown_is_said():
    with pytest.raises(ff.InputError, match="show takes"):
        ff.show(7)
    with pytest.raises(ff.InputError, match="mini_cheetah"):
        ff.show("mini_cheeta")
