"""Gamepad and held keys in the browser: a small script on the page reads them and sends them over a separate
connection.

Viser has no interface for gamepads, or for held keys. The script polls them twenty times a second and sends their state
over a websocket to the page's server, with the same checks of Host, Origin and token. Arrow keys and W A S D act as a
deflected stick while held, and are hidden from viser, which would move the camera. An unplugged gamepad, a hidden or
closed page, and silence all end the command. An invalid message closes the connection.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from footfall.errors import finite
from nptrace._types import Given

PROTOCOL = "footfall-gamepad"
DEAD_ZONE = 0.12  # fraction of a stick's range: sticks seldom rest at zero
SILENCE = 0.4  # [s] after which a gamepad is lost
FULL = {"forward": 1.0, "sideways": 0.4, "turn": 1.2}  # speeds at full deflection: robots follow these well
BUTTONS = {0: "push", 1: "halt", 3: "pause", 9: "reset", 12: "higher", 13: "lower"}  # A, B, Y, start, D-pad up and down
_MOST_TEXT = 2000  # characters of a message

SCRIPT = """
(() => {
  "use strict";
  const every = 50;
  const ways = {
    KeyW: [1, 1], ArrowUp: [1, 1], KeyS: [1, -1], ArrowDown: [1, -1],
    KeyA: [2, 1], ArrowLeft: [2, 1], KeyD: [2, -1], ArrowRight: [2, -1], KeyQ: [0, 1], KeyE: [0, -1],
  };
  const held = new Set();
  let link = null, keys = false, quick = false;
  function typed(event) {
    const tag = event.target && event.target.tagName;
    return tag === "INPUT" || tag === "TEXTAREA" || tag === "SELECT" || event.target.isContentEditable;
  }
  function key(event) {
    if (!(event.code in ways) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.type === "keydown" && typed(event)) return;
    if (event.type === "keydown") { held.add(event.code); keys = true; } else held.delete(event.code);
    event.stopImmediatePropagation();
    event.preventDefault();
  }
  window.addEventListener("keydown", key, true);
  window.addEventListener("keyup", key, true);
  window.addEventListener("keydown", (event) => { quick = event.shiftKey; }, true);
  window.addEventListener("keyup", (event) => { quick = event.shiftKey; }, true);
  window.addEventListener("blur", () => held.clear());
  function seen() {
    if (document.hidden) return null;
    if (held.size) {
      const axes = [0, 0, 0, 0];
      for (const code of held) axes[ways[code][0]] -= ways[code][1] * (quick ? 1 : HALF);
      return JSON.stringify({axes: axes.map((a) => Math.max(-1, Math.min(1, a))), buttons: []});
    }
    for (const pad of navigator.getGamepads ? navigator.getGamepads() : [])
      if (pad && pad.connected && pad.axes.length >= 2)
        return JSON.stringify({axes: pad.axes.slice(0, 4), buttons: pad.buttons.slice(0, 17).map((b) => !!b.pressed)});
    return keys ? JSON.stringify({axes: [0, 0, 0, 0], buttons: []}) : null;
  }
  setInterval(() => {
    const text = seen();
    if (text === null) {
      if (link) { link.close(); link = null; }
      return;
    }
    if (!link || link.readyState > 1) {
      const scheme = location.protocol === "https:" ? "wss:" : "ws:";
      link = new WebSocket(`${scheme}//${location.host}/gamepad`, ["PROTOCOL"]);
      link.onerror = () => {};
    }
    if (link.readyState === 1 && link.bufferedAmount === 0) link.send(text);
  }, every);
})();
""".replace("PROTOCOL", PROTOCOL).replace("HALF", f"{DEAD_ZONE + 0.5 * (1.0 - DEAD_ZONE):.3f}")


def beyond_dead_zone(value: float) -> float:
    """Return a stick's deflection without its dead zone, from -1 to 1; continuous at its edge."""
    size = min(abs(value), 1.0)
    return math.copysign((size - DEAD_ZONE) / (1.0 - DEAD_ZONE), value) if size > DEAD_ZONE else 0.0


@dataclass(frozen=True)
class Seen:
    """One reading of a gamepad: commanded velocities, and pressed buttons."""

    command: dict[str, float]
    down: frozenset[str]

    @property
    def at_rest(self) -> bool:
        return not any(self.command.values())


def understood(text: Given) -> Seen:
    """Parse a message of the script; raise a ValueError for anything else."""
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise ValueError("not a string, or too long")
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    match data:
        case {"axes": list(axes), "buttons": list(buttons)} if len(axes) <= 4 and len(buttons) <= 17:
            pass
        case _:
            raise ValueError("no gamepad")
    if not all(type(a) in (int, float) and finite(a) for a in axes) or not all(type(b) is bool for b in buttons):
        raise ValueError("no numbers")
    x, y, turn = ([beyond_dead_zone(float(a)) for a in axes] + [0.0] * 3)[:3]
    command = {"forward": -y * FULL["forward"], "sideways": -x * FULL["sideways"], "turn": -turn * FULL["turn"]}
    command = {key: round(value, 3) + 0.0 for key, value in command.items()}
    return Seen(command, frozenset(name for k, name in BUTTONS.items() if k < len(buttons) and buttons[k]))


@dataclass(eq=False)
class Gamepad:
    """One connection. ``move`` is called with the command while a stick is deflected, and once when all return to rest.

    ``press`` is called with the name of a pressed button, ``gone`` when the connection has ended.
    """

    move: Callable[[Gamepad, dict[str, float]], None]
    press: Callable[[Gamepad, str], None]
    gone: Callable[[Gamepad], None]
    heard: float = field(default_factory=time.monotonic)
    last: Seen = Seen({}, frozenset())

    def hear(self, text: Given) -> None:
        """Process a message; raise a ValueError if it is invalid."""
        seen = understood(text)
        self.heard = time.monotonic()
        if not seen.at_rest or not self.last.at_rest:
            self.move(self, seen.command)
        for name in sorted(seen.down - self.last.down):
            self.press(self, name)
        self.last = seen

    def end(self) -> None:
        self.heard = -math.inf
        self.gone(self)

    @property
    def lost(self) -> bool:
        return time.monotonic() - self.heard > SILENCE


__all__ = ["BUTTONS", "DEAD_ZONE", "FULL", "PROTOCOL", "SCRIPT", "Gamepad", "Seen", "understood"]
