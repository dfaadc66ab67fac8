"""Pictures of an environment's robots: ``render_mode="rgb_array"`` is painted, ``"human"`` is a page on loopback."""

from __future__ import annotations

import time
import webbrowser

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Plane
from footfall.draw.video import Film
from footfall.errors import unknown
from footfall.nests import Given
from footfall.recording.ground_form import ground_form
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot

MODES = ("rgb_array", "human")
_KEPT = 200  # rows of the past that a picture's path is drawn from


def checked_mode(mode: Given, modes: tuple[str, ...] = MODES) -> str | None:
    """A render mode of Gymnasium's, or None."""
    if mode is not None and mode not in modes:
        raise unknown("render_mode", mode, modes)
    return mode


class Pictures:
    """One robot's pictures as arrays (height, width, 3) of bytes; ``add`` its states, ``forget`` at a new episode."""

    def __init__(self, robot: Robot, period: float, width: int = 480, height: int = 320) -> None:
        self.robot, self.period, self.size = robot, period, (width, height)
        self.rows: list[tuple[float | ndarray, ...]] = []
        self.film: Film | None = None

    def forget(self) -> None:
        self.rows = []

    def add(self, age: float, q: ndarray, v: ndarray, force: ndarray) -> None:
        row: tuple[float | ndarray, ...] = (age * self.period, *(np.array(x, float) for x in (q, v, force)))
        self.rows = [*self.rows[-_KEPT:], row]

    def picture(self) -> ndarray:
        times, q, v, force = (np.array(column) for column in zip(*self.rows))
        meta = {"ground_form": ground_form(Plane())}
        rec = Recording(self.robot, {"time": times, "q": q, "v": v, "force": force}, [], meta)
        if self.film is None:
            self.film = Film(rec, *self.size)
        self.film.show(rec)
        return np.asarray(self.film.picture(float(times[-1])), np.uint8)[..., :3].copy()


class Page:
    """A web page that shows one robot as it goes, no faster than it would walk; its address is printed."""

    def __init__(self, robot: Robot, period: float, browse: bool = True) -> None:
        from footfall.view.server import Server
        from footfall.view.stage import Stage, draw_ground, light

        self.period, self.next = period, 0.0
        self.server = Server()
        scene = self.server.viser.scene
        light(scene)
        draw_ground(scene, Plane())
        self.stage = Stage(scene, robot)
        opened = browse and webbrowser.open(self.server.address)
        print(self.server.address if opened else f"open {self.server.address} in a browser", flush=True)

    def forget(self) -> None:
        self.stage.forget()

    def add(self, age: float, q: ndarray, v: ndarray, force: ndarray) -> None:
        wait = self.next - time.monotonic()
        if 0.0 < wait <= self.period:
            time.sleep(wait)
        self.next = time.monotonic() + self.period
        self.stage.show(np.array(q, float), np.array(force, float))

    def close(self) -> None:
        self.server.stop()
