"""What a user brings to the page: a policy's file, a controller, a whole simulation, a loop of their own."""

import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from test_browser import SLOW, Seen, moved
from waiting import PATIENCE, until

import footfall as ff
from footfall.control.learned import policy
from footfall.view.server import Server
from footfall.view.show import serve

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("clock")]
ROBOT = ff.load("mini_cheetah")


@pytest.fixture
def policy_file(tmp_path):
    """A policy as somebody has trained it: a file under another name."""
    shipped = Path(policy.__file__).parent / "policies" / "mini_cheetah.npz"
    return shutil.copy(shipped, tmp_path / "lab.npz")


def test_a_policy_of_ones_own_is_driven_by_held_keys(browser, policy_file):
    server = Server()
    shown = serve(server, ROBOT, controller=str(policy_file), ground="rough:0.02")
    driver = shown.page
    try:
        seen = Seen(browser, server.address)
        seen.text("real time")
        until(lambda: seen.scene("own-policy-standing").std() > 5)
        still = seen.scene()
        seen.page.mouse.click(200, 350)
        seen.page.keyboard.down("w")
        until(lambda: driver.sim.command.forward == pytest.approx(0.5, abs=0.01))
        x = driver.sim.q[0]
        until(lambda: driver.sim.q[0] > x + 0.3)
        seen.page.keyboard.down("ArrowLeft")
        until(lambda: driver.sim.command.turn > 0.3 and driver.sim.command.forward > 0.3)
        until(lambda: moved(still, seen.scene("own-policy-walking")) > 0.01)
        seen.page.keyboard.up("w")
        seen.page.keyboard.up("ArrowLeft")
        until(lambda: driver.sim.command == ff.Command())
        assert driver.sim.stopped is None
        assert type(driver.sim.controller).__name__ == "Policy"
        row = seen.page.get_by_text("controller", exact=True).last.locator("xpath=ancestor::div[.//input][1]")
        assert row.locator("input").first.input_value(timeout=SLOW) == str(policy_file)
        seen.choose("ground", "plane")  # the policy stays
        until(lambda: driver.choice.ground == "plane" and driver.choice.controller == str(policy_file))
        assert seen.errors == []
        seen.page.close()
    finally:
        shown.stop()


def test_a_simulation_of_ones_own_goes_on_under_its_own_command(browser):
    stand = ROBOT.poses["stand"].joints

    @ff.controller(rate=500)
    def squats(t, robot, sensed, command, memory):
        depth = 0.2 * np.sin(2.0 * np.pi * t) + 0.0 * command.forward
        return ff.JointCommand(position=stand + depth * np.array([0.0, -1.0, 2.0] * 4), kp=120.0, kd=3.0), memory

    simulation = ff.Simulation(ROBOT, squats, ground="slope:4", command=ff.Command(forward=0.25))
    simulation.run(0.5)
    server = Server()
    shown = serve(server, simulation)
    driver = shown.page
    try:
        seen = Seen(browser, server.address)
        seen.text("real time")
        until(lambda: driver.sim.time > 1.0)
        assert driver.sim.command == ff.Command(forward=0.25)
        assert simulation.time == 0.5
        seen.picture("own-simulation")
        seen.press("k")  # from now on somebody drives
        until(lambda: driver.sim.command.forward < 0.0)
        seen.page.get_by_role("button", name="reset").click(timeout=SLOW)
        until(lambda: driver.sim.command == ff.Command(forward=0.25))
        assert driver.names("controller")[0] == "squats"
        assert driver.names("ground")[0] == "own ground"
        seen.choose("ground", "plane")
        until(lambda: driver.choice.ground == "plane" and driver.sim.time > 0.2)
        assert driver.sim.controller is simulation.controller
        assert seen.errors == []
        seen.page.close()
    finally:
        shown.stop()


def test_a_loop_of_ones_own_is_seen_and_told_what_keys_ask_for(browser):
    simulation = ff.Simulation(ROBOT, ff.control.on_command("whole_body"))
    with ff.viewer(simulation, browse=False) as viewer:
        seen = Seen(browser, viewer.address)

        def loop_until(what):
            began = time.monotonic()
            while not what():
                simulation.set_command(viewer.command)
                simulation.step()
                viewer.sync()
                assert time.monotonic() < began + PATIENCE

        loop_until(lambda: simulation.time > 0.3)
        seen.text("mini_cheetah")
        still = seen.scene("own-loop-standing")
        seen.page.mouse.click(200, 350)
        seen.page.keyboard.down("ArrowUp")
        loop_until(lambda: viewer.command.forward > 0.4)
        loop_until(lambda: simulation.q[0] > 0.2)
        viewer.text = "walking"
        loop_until(lambda: seen.page.get_by_text("walking").count() > 0)
        assert moved(still, seen.scene("own-loop-walking")) > 0.01
        seen.page.keyboard.up("ArrowUp")
        loop_until(lambda: viewer.command == ff.Command())
        seen.page.get_by_role("button", name="End the loop").click(timeout=SLOW)
        until(lambda: not viewer.is_running())
        assert seen.errors == []
        seen.page.close()


def test_a_viewer_of_a_robot_shows_states_from_elsewhere():
    with ff.viewer(ROBOT, browse=False, real_time=False) as viewer:
        q, _ = ROBOT.state("stand")
        viewer.sync(q, time_now=0.5)
        np.testing.assert_allclose(viewer.stage.bodies[0].position, q[:3])
        with pytest.raises(ff.InputError, match="needs a configuration"):
            viewer.sync()
        with pytest.raises(ff.InputError, match="must have shape"):
            viewer.sync(q[:5])
        assert viewer.address in viewer._repr_html_()
    with pytest.raises(ff.InputError, match="viewer takes a Simulation or a Robot"):
        ff.viewer("mini_cheetah")
