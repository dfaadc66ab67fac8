"""The live page of a robot from a file that nobody here made: it is drawn, and goes where it is told."""

import numpy as np
import pytest
from waiting import finish, until

import footfall as ff
from footfall.robot.files.installed import file_of


@pytest.fixture
def shown():
    made = ff.show(str(file_of("go2")), browse=False, block=False)
    yield made
    made.stop()


@pytest.mark.slow  # its controller is compiled
@pytest.mark.filterwarnings("ignore::UserWarning")  # what the importer says of the file
def test_a_robot_from_a_urdf_is_drawn_and_answers_a_command(shown):
    driver = shown.page
    assert driver.own is not None
    assert driver.own.model_file == file_of("go2")
    assert driver.choice.controller == "whole_body"
    driver.present = driver.watched = lambda: True  # as if a browser were there
    assert driver.wanted.robot == driver.own.name
    nodes = shown.server.viser.scene._handle_from_node_name
    assert {f"/world/robot/body{i}" for i in range(13)} <= set(nodes)  # a trunk and three links a leg
    driver.set_command(forward=0.4)
    until(lambda: driver.sim.q[0] > 0.2)
    driver.set_command(forward=0.0, turn=0.5)
    until(lambda: abs(2.0 * np.arctan2(driver.sim.q[6], driver.sim.q[3])) > 0.1)
    assert driver.sim.stopped is None
    assert driver.sim.q[2] > 0.8 * driver.own.poses["stand"].height
    seen = []
    driver.choose("gait", "walk")
    until(lambda: driver.choice.gait == "walk")
    driver.reset()
    driver.do(lambda: seen.append(driver.sim.time))
    finish(driver)
    assert seen == [0.0]
    node = nodes["/world/robot/body0"]
    until(lambda: abs(float(node.position[0]) - driver.sim.q[0]) < 0.05)
