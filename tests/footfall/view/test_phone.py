"""On a phone, upright or on its side, the panel of the page lies beside the scene and the robot is seen whole."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("clock")]
SLOW = 180_000  # [ms]: software rendering on a busy machine
SHOTS = Path(os.environ.get("FOOTFALL_SCREENSHOTS", Path(__file__).parents[3] / "out" / "screenshots"))


def box(page, what):
    found = page.locator(what).first.bounding_box(timeout=SLOW)
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def legs(page, name):
    """Smallest rectangle around all that has the colour of a leg in the scene: left, top, right, bottom [px]."""
    from PIL import Image

    data = page.screenshot(timeout=SLOW)
    SHOTS.mkdir(parents=True, exist_ok=True)
    (SHOTS / f"{name}.png").write_bytes(data)
    red, green, blue = np.moveaxis(np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float), 2, 0)
    left, top, right, bottom = (round(side) for side in box(page, "canvas[data-engine]"))
    orange = (red > 150) & (blue < 100) & (green > 60)
    rows, columns = np.nonzero(orange[top:bottom, left:right])
    return (columns.min(), rows.min(), columns.max(), rows.max()) if len(rows) > 50 else None


@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 640), (844, 390)])
def test_on_a_phone_the_panel_does_not_cover_the_robot(browser, live, width, height):
    screen = {"width": width, "height": height}
    context = browser.new_context(viewport=screen, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(live.server.address, timeout=SLOW)
    page.get_by_text("real time").first.wait_for(timeout=SLOW)
    page.locator(".mantine-Notification-closeButton").first.click(timeout=SLOW)  # this browser draws in software

    name = f"phone {width} x {height}"
    until(lambda: legs(page, name) is not None)
    scene = box(page, "canvas[data-engine]")
    stop = box(page, "button:has-text('Stand still')")
    status = page.get_by_text("real time").first.bounding_box(timeout=SLOW)
    beside = status["x"] >= scene[2] or status["y"] >= scene[3]
    assert beside, (scene, status)
    assert stop[0] >= scene[2] or stop[1] >= scene[3]
    assert stop[3] <= height  # reached without a scroll
    assert (scene[2] - scene[0]) * (scene[3] - scene[1]) > 0.5 * width * height
    left, top, right, bottom = legs(page, name)
    assert left > 2
    assert top > 2
    assert right < scene[2] - scene[0] - 3
    assert bottom < scene[3] - scene[1] - 3
    context.close()


def test_a_tap_on_the_head_of_the_panel_gives_the_robot_the_whole_phone(browser, live):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(live.server.address, timeout=SLOW)
    page.get_by_text("real time").first.wait_for(timeout=SLOW)
    before = box(page, "canvas[data-engine]")[3]
    page.get_by_text("Connected").first.click(timeout=SLOW)
    until(lambda: box(page, "canvas[data-engine]")[3] > 844 - 80)
    page.get_by_text("Connected").first.click(timeout=SLOW)
    until(lambda: abs(box(page, "canvas[data-engine]")[3] - before) < 2)
    context.close()
