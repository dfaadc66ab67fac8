"""The page of a live simulation: scene, controls, keys, plots."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path

import numpy as np

from footfall.control.interface import Command
from footfall.control.named import COMMAND_FOLLOWERS, GAIT_CONTROLLERS, PLAN
from footfall.draw.ground_surface import height_under
from footfall.draw.solids import size_of
from footfall.sim.run_options import page_choices
from footfall.sim.runfile import is_policy
from footfall.sim.simulation import Simulation
from footfall.spatial.gravity import weight_of
from footfall.view.driver import MOST_WEIGHT, SimulationThread, limit
from footfall.view.gamepad import PROTOCOL, SCRIPT, Gamepad
from footfall.view.plots import Plots
from footfall.view.replay import look_from
from footfall.view.safe_text import as_text
from footfall.view.server import Server
from footfall.view.stage import Stage, draw_ground, light
from nptrace._types import Foreign, Given

SPEEDS, POSTURE = ("forward", "sideways", "turn"), ("height", "roll", "pitch")
UNITS = {"forward": "m/s", "sideways": "m/s", "turn": "rad/s", "height": "m", "roll": "rad", "pitch": "rad"}
HINTS = {
    "forward": "W, S or arrows while held; I, K by steps",
    "sideways": "to the left: Q, E while held; U, O by steps",
    "turn": "to the left: A, D or arrows while held; J, L by steps",
    "height": "Y, H",
    "roll": "right side down: X, Z",
    "pitch": "nose down: G, T",
}
STEPS = {"forward": 0.05, "sideways": 0.05, "turn": 0.05, "height": 0.005, "roll": 0.01, "pitch": 0.01}
PACES = {"real time": 1.0, "1/2": 0.5, "1/4": 0.25, "1/10": 0.1}
# label, key, component of the command, change; held keys are handled in SCRIPT
KEYS: tuple[tuple[str, str, str, float], ...] = (
    ("Faster", "I", "forward", 0.1),
    ("Slower, backwards", "K", "forward", -0.1),
    ("Turn left", "J", "turn", 0.2),
    ("Turn right", "L", "turn", -0.2),
    ("To the left", "U", "sideways", 0.1),
    ("To the right", "O", "sideways", -0.1),
    ("Higher", "Y", "height", 0.01),
    ("Lower", "H", "height", -0.01),
    ("Nose down", "G", "pitch", 0.05),
    ("Nose up", "T", "pitch", -0.05),
    ("Lean right", "X", "roll", 0.05),
    ("Lean left", "Z", "roll", -0.05),
)
OTHER_KEYS = (
    ("Stand still", "space"),
    ("Push", "P"),
    ("Reset", "R"),
    ("Pause or continue", "B"),
    ("One step", "N"),
)
PLAN_COLOR = (20, 150, 140)  # colour of planned paths
_TEXT_EVERY, _PLOT_EVERY = 0.25, 0.4  # [s]


class LivePage:
    """Put a driver's simulation on a server's page."""

    def __init__(self, server: Server, driver: SimulationThread) -> None:
        self.server, self.driver = server, driver
        self.gui, self.scene = server.viser.gui, server.viser.scene
        self.commander: int | Gamepad | None = None  # whose command is followed
        self._lock = threading.Lock()
        self._texted = self._plotted = 0.0
        self._shown: Foreign = None  # the displayed state
        self._recording_for: Foreign = None  # the browser that requested the recording
        self._told = Command()  # values of the sliders
        light(self.scene)
        look_from(server.viser.initial_camera, size_of(driver.sim.robot))
        self.world = self.scene.add_frame("/world", show_axes=False)
        self.plan_lines = self.scene.add_line_segments(
            "/world/plan", np.zeros((1, 2, 3), np.float32), PLAN_COLOR, thickness=0.006
        )
        self.goal = self.scene.add_transform_controls(
            "/world/goal", scale=0.25, disable_rotations=True, active_axes=(True, True, False), visible=False
        )
        self.goal.on_update(self._dragged)
        self._drawn: tuple[str, str] = ("", "")
        self._ground, self._grounds = "", 0
        self._draw()
        self._controls()
        self._keys()
        self._planning_controls()
        driver.present, driver.on_frame, driver.on_change = self.present, self.frame, self.changed
        driver.watched = lambda: bool(server.heard)
        driver.on_refused, driver.on_recorded = self._show_choice, self._send
        server.viser.on_client_disconnect(self._left)
        server.script = SCRIPT
        server.links[PROTOCOL] = lambda: Gamepad(self._moved, self._button, self._unplugged)

    # -- who is there --------------------------------------------------------------------------------------------------
    def present(self) -> bool:
        """Return whether the commanding browser or gamepad still responds."""
        who = self.commander
        if who is None:
            return False
        return not (who.lost if isinstance(who, Gamepad) else self.server.lost(who))

    def _left(self, client: Foreign) -> None:
        if client.client_id == self.commander:
            self.commander = None
            self.driver.command = Command()

    def _unplugged(self, pad: Gamepad) -> None:
        if pad is self.commander:
            self.commander = None
            self.driver.command = Command()

    def _from(self, event: Foreign) -> bool:
        """Store the source of a command; return False for changes by the program."""
        if event.client_id is None:
            return False
        self.commander = int(event.client_id)
        return True

    # -- controls ------------------------------------------------------------------------------------------------------
    def _controls(self) -> None:
        gui = self.gui
        gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        self.status = gui.add_markdown("preparing …")
        self.again = gui.add_button("Begin again", color="orange", visible=False, hint="The run has ended (R)")
        self.again.on_click(lambda _: self.driver.reset())
        tabs = gui.add_tab_group()
        with tabs.add_tab("Drive"):
            self._command_controls()
            self._run_controls()
            self.planning = gui.add_folder("Planning", visible=False)
            self.weights: dict[str, Foreign] = {}
            with gui.add_folder("Simulation"):
                self.menus = {key: self._menu(key) for key in page_choices()}
                self._plan_controls()
        with tabs.add_tab("Plots"):
            self.plots = Plots(gui, self.driver.sim.robot.foot_names)
        with tabs.add_tab("Help"):
            gui.add_markdown(help_text())

    def _command_controls(self) -> None:
        gui = self.gui
        self.sliders: dict[str, Foreign] = {}
        with gui.add_folder("Command"):
            self._sliders(SPEEDS)
            halt = gui.add_button("Stand still", color="red", hint="Set all speeds to zero (space)")
            halt.on_click(lambda _: self.halt())
        with gui.add_folder("Posture"):
            self._sliders(POSTURE)

    def _sliders(self, parts: tuple[str, ...]) -> None:
        for key in parts:
            most = rounded_limit(key, self.driver.sim)
            slider = self.gui.add_slider(
                f"{key} [{UNITS[key]}]", min=-most, max=most, step=STEPS[key], initial_value=0.0, hint=HINTS[key]
            )
            slider.on_update(functools.partial(self._slid, key))
            self.sliders[key] = slider

    def _run_controls(self) -> None:
        gui, driver = self.gui, self.driver
        with gui.add_folder("Run"):
            self.buttons = gui.add_button_group("", ("pause", "step", "reset"))
            self.buttons.on_click(lambda event: self._pressed(str(event.target.value)))
            self.push_speed = gui.add_slider("push [m/s]", min=0.1, max=1.5, step=0.1, initial_value=0.5)
            gui.add_button("Push", hint="A push to the right (P)").on_click(lambda _: self.push())
            pace = gui.add_dropdown("time runs", tuple(PACES), hint="Slow motion")
            pace.on_update(lambda event: setattr(driver, "pace", PACES.get(str(event.target.value), 1.0)))
            self.follow = gui.add_checkbox("follow the robot", True)
            self.record = gui.add_button("Record")
            self.record.on_click(self._recorded)

    def _menu(self, key: str) -> Foreign:
        names = self.driver.names(key)
        menu = self.gui.add_dropdown(key, names, initial_value=getattr(self.driver.choice, key))
        menu.on_update(functools.partial(self._chosen, key))
        return menu

    def _planning_controls(self) -> None:
        """Add sliders for the weights of the task, a goal to walk to, and lines for the plan."""
        planner, gui = self.driver.planner, self.gui
        names = () if planner is None else tuple(planner.weights)
        if tuple(self.weights) != names:
            for slider in self.weights.values():
                slider.remove()
            with self.planning:
                self.weights = {
                    name: gui.add_slider(name, min=0.0, max=MOST_WEIGHT, step=0.1, initial_value=1.0) for name in names
                }
            for name, slider in self.weights.items():
                slider.on_update(functools.partial(self._weighed, name))
        _set(self.planning, "visible", planner is not None)
        _set(self.goal, "visible", planner is not None and planner.info.follows_command and self._walks())
        _set(self.plan_lines, "visible", planner is not None)

    def _walks(self) -> bool:
        return self.driver.choice.task in ("walk", "climb")

    def _weighed(self, name: str, event: Foreign) -> None:
        if event.client_id is not None:
            self.driver.set_weight(name, event.target.value)

    def _dragged(self, event: Foreign) -> None:
        """Handle dragging of the goal."""
        self.commander = int(event.client_id) if event.client_id is not None else self.commander
        self.driver.set_goal(self.goal.position)

    def _plan_controls(self) -> None:
        """Add the input for a plan as text."""
        hint = "step, side, height [m], turn [rad], time of a swing [s], ...: walk step=0.15 height=0.06; postures"
        self.plan = self.gui.add_text("plan in words", str(self.driver.choice.plan or ""), hint=hint)
        self.gui.add_button("Follow this plan").on_click(lambda _: self._follow_plan())

    def _follow_plan(self) -> None:
        self.driver.choose("controller", PLAN)
        self.driver.choose("plan", str(self.plan.value))

    def _keys(self) -> None:
        for label, key, part, change in KEYS:
            command = self.gui.add_command(label, hotkey=key)
            command.on_trigger(functools.partial(self._stepped, part, change))
        for (label, key), what in zip(
            OTHER_KEYS, (self.halt, self.push, self.driver.reset, self._pause, self.driver.step), strict=True
        ):
            command = self.gui.add_command(label, hotkey=key)
            command.on_trigger(lambda _, what=what: what())

    # -- what a person does --------------------------------------------------------------------------------------------
    def _slid(self, key: str, event: Foreign) -> None:
        if self._from(event):
            self.driver.set_command(**{key: event.target.value})

    def _chosen(self, key: str, event: Foreign) -> None:
        if event.client_id is not None:  # changed by a person, not by the program
            self.driver.choose(key, event.target.value)

    def _stepped(self, part: str, change: float, event: Foreign) -> None:
        self.commander = int(event.client_id)
        self.driver.set_command(**{part: round(getattr(self.driver.command, part) + change, 4)})

    def _moved(self, pad: Gamepad, command: dict[str, float]) -> None:
        self.commander = pad
        self.driver.set_command(**command)

    def _button(self, pad: Gamepad, name: str) -> None:
        """Handle a pressed button of a gamepad."""
        if name in ("higher", "lower"):
            change = 0.01 if name == "higher" else -0.01
            self._moved(pad, {"height": round(self.driver.command.height + change, 4)})
        else:
            {"push": self.push, "halt": self.halt, "pause": self._pause, "reset": self.driver.reset}[name]()

    def halt(self) -> None:
        """Set all speeds to zero; the posture stays."""
        self.driver.set_command(forward=0.0, sideways=0.0, turn=0.0)

    def push(self) -> None:
        self.driver.push(float(np.clip(self.push_speed.value, 0.0, 1.5)))

    def _pause(self) -> None:
        self.driver.paused = not self.driver.paused

    def _pressed(self, name: str) -> None:
        does = {"pause": self._pause, "go on": self._pause, "step": self.driver.step, "reset": self.driver.reset}
        does.get(name, lambda: None)()

    def _recorded(self, event: Foreign) -> None:
        if self.driver.recording is None:
            self.driver.record()
            self.record.label, self._recording_for = "End recording and download", event.client
            return
        self.record.label, self._recording_for = "Record", event.client
        self.driver.take(self._send)

    def _send(self, path: Path) -> None:
        """Let the browser that requested a recording save it."""
        if self._recording_for is not None:
            self._recording_for.send_file_download(path.name, path.read_bytes(), save_immediately=True)

    # -- in the driver's thread ----------------------------------------------------------------------------------------
    def changed(self) -> None:
        """Reset the page for another simulation, or for the present one from its start."""
        self._draw()
        self.stage.forget()
        self.record.label = "Record"
        self.driver.set_goal(None)
        self._show_choice()
        self._planning_controls()
        self.plots.feet(self.driver.sim.robot.foot_names)

    def _show_choice(self) -> None:
        for key, slider in self.sliders.items():
            most = rounded_limit(key, self.driver.sim)
            _set(slider, "min", -most)
            _set(slider, "max", most)
        for key, menu in self.menus.items():
            if (value := getattr(self.driver.wanted, key)) in menu.options:
                _set(menu, "value", value)
        _set(self.plan, "value", str(self.driver.wanted.plan or ""))

    def _draw(self) -> None:
        sim, choice = self.driver.sim, self.driver.choice
        robot = f"{choice.robot} {choice.spine}"
        if self._drawn[0] != robot:
            if self._drawn[0]:
                self.scene.remove_by_name("/world/robot")
                self._look(size_of(sim.robot))
            self.stage = Stage(self.scene, sim.robot, gravity=sim.model.world.gravity)
        if self._drawn[1] != choice.ground:
            if self._drawn[1]:
                self.scene.remove_by_name(self._ground)
            self._grounds += 1  # a new name every time: a browser keeps the pose of a node with an old name
            self._ground = f"/world/ground{self._grounds}"
            draw_ground(self.scene, self.driver.ground, root=self._ground)
        self._drawn = (robot, choice.ground)

    def _look(self, size: float) -> None:
        """Move every camera to a distance that fits the robot's size."""
        look_from(self.server.viser.initial_camera, size)
        for client in self.server.viser.get_clients().values():
            look_from(client.camera, size)

    def frame(self) -> None:
        """Draw a new picture if anything moved, and new numbers now and then."""
        driver, now = self.driver, time.monotonic()
        state = (driver.sim, driver.sim.state, self.follow.value)
        if self._shown is None or any(a is not b for a, b in zip(state, self._shown)):
            self._shown = state
            self._picture(follow_path=now - self._texted > _TEXT_EVERY)
        if driver.command != self._told:
            self._show_command()
        if now - self._texted > _TEXT_EVERY:
            self._texted = now
            _set(self.status, "content", self._words())
            _set(self.again, "visible", driver.sim.stopped is not None)
            _set(self.buttons, "options", ("go on" if driver.paused else "pause", "step", "reset"))
            self._show_plan()
        if now - self._plotted > _PLOT_EVERY:
            self._plotted = now
            self.plots.show(driver.history, self._weight())

    def _show_plan(self) -> None:
        """Draw the planned path of the trunk and the feet."""
        planner = self.driver.planner
        if planner is None or self.driver.sim.stopped is not None:
            return
        path = planner.planned_path(self.driver.sim)[::2]
        points = np.stack([path[:-1], path[1:]], axis=2).reshape(-1, 2, 3)
        self.plan_lines.points = points.astype(np.float32)

    def _weight(self) -> float:
        world = self.driver.sim.model.world
        return float(weight_of(world.robot.mass, world.gravity))

    def _picture(self, follow_path: bool) -> None:
        robot, state = self.driver.sim.robot, self.driver.sim.state
        with self.server.viser.atomic():
            self.stage.show(state.q, state.forces[: robot.nf], follow_path)
            if robot.floating and self.follow.value:
                self.world.position = (-state.q[0], -state.q[1], -height_under(self.driver.ground, state.q[:2]))

    def _show_command(self) -> None:
        command = self.driver.command
        for key, slider in self.sliders.items():
            wanted = float(getattr(command, key))
            if wanted != getattr(self._told, key) and abs(float(slider.value) - wanted) > 1e-6:
                slider.value = wanted  # others stay: a user may have just moved one
        self._told = command

    def _words(self) -> str:
        driver, choice = self.driver, self.driver.choice
        numbers = [f"{driver.sim.time:.1f} s", f"{driver.real_time:.2f} × real time"]
        arrays = driver.history.rows
        if arrays:
            recent = round(float(np.array(arrays)[-100:, 2].mean()), 2) + 0.0
            numbers.append(f"{recent:.2f} m/s forward")
        if np.isfinite(self.stage.margin):
            numbers.append(f"support margin {1e3 * self.stage.margin:.0f} mm")
        cost = driver.history.cost_of_transport(self._weight())
        if np.isfinite(cost):
            numbers.append(f"cost of transport {cost:.2f}")
        planner = driver.planner
        if planner is not None and planner.plans:
            took = 1e3 * planner.processor_time_per_plan
            numbers.append(f"{planner.plan_rate:g} plans per second, each {took:.1f} ms")
        lines = [f"**{as_text(driver.sim.robot.name)}: {as_text(driver.status)}**", " · ".join(numbers)]
        if choice.controller in GAIT_CONTROLLERS:
            others = ", ".join(COMMAND_FOLLOWERS)
            lines.append(f"*{choice.controller} walks straight ahead; sideways and turn act on {others}.*")
        elif choice.controller == PLAN:
            lines.append(f"*plan: {choice.plan}; a new one continues while it moves.*")
        elif choice.controller in self.driver.given or is_policy(choice.controller):
            pass  # a user-defined one, which may follow commands or not; a policy does
        elif choice.controller not in COMMAND_FOLLOWERS:
            lines.append(f"*{choice.controller} stands still: speeds act on {', '.join(COMMAND_FOLLOWERS)}.*")
        if isinstance(self.commander, Gamepad):
            lines.append("*held keys or gamepad*")
        if driver.recording is not None:
            lines.append("*recording*")
        if self.stage.note:
            lines.append(f"*{as_text(self.stage.note)}*")
        return "\n\n".join(lines)


def rounded_limit(key: str, simulation: Simulation | None) -> float:
    """Return the end of a slider: whole steps, within the limit of the command."""
    step = STEPS[key]
    return round(max(1.0, np.floor(limit(key, simulation) / step + 1e-9)) * step, 6)


def _set(handle: Foreign, name: str, value: Given) -> None:
    """Set a property of an element on the page; browsers are informed only of changes."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def help_text() -> str:
    """Return the help text of keys, gamepad and colours."""
    pairs = [(key, label.lower()) for label, key, _, _ in KEYS] + [(key, label.lower()) for label, key in OTHER_KEYS]
    keys = "\n".join(f"| **{key}** | {label} |" for key, label in pairs)
    return f"""| key | does |
|---|---|
{keys}
| **W S**, up and down | forward and backward while held, faster with shift |
| **A D**, left and right | turn while held |
| **Q E** | to the left and right while held |

The other keys change the command by a step; the command stays until it is changed again. Mouse:
drag to rotate, wheel to zoom, right button to pan.

**Gamepad**: left stick forward and sideways, right stick turns. A push, B stand still, Y pause, start reset, cross
up and down: height.

**Colours**: left legs blue, right legs orange. Red arrows: forces of the ground on the feet (as long as the robot: its
weight). Support polygon green while the centre of mass is over it, else amber. Violet: its path. Turquoise: where the
plan of `sampling` takes the trunk and the feet.

**Command and posture act** on the controllers {", ".join(COMMAND_FOLLOWERS)}; the others follow their gait alone.
"""
