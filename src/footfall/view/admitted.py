"""What a browser may say to viser: the messages of our own controls, with values that these can take.

Viser sets any attribute that a message names on the server's side of a control, its callbacks among them, and has
messages that upload files or open a tunnel to the outside. Here everything is dropped that the page never sends.
"""

from __future__ import annotations

import math

from footfall.nests import Foreign, Given

MOST_A_SECOND = 200  # messages of one browser: a slider sends 20, the eye 60 while it moves
_AS_THEY_ARE = ("ViewerCameraMessage", "CommandTriggerMessage")


def admitted(raw: Foreign, gui: Foreign) -> bytes | None:
    """The message to hand to viser, or None for one that is dropped; a ValueError for what is no message at all.

    gui: viser's, which knows the controls by their ids.
    """
    import msgspec

    if not isinstance(raw, bytes):
        raise ValueError("a text where bytes are wanted")
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    match message:
        case {"type": str(kind)} if kind in _AS_THEY_ARE:
            return raw
        case {"type": "GuiUpdateMessage", "uuid": str(uuid), "updates": {"value": value}}:
            handle = gui._gui_input_handle_from_uuid.get(uuid)
            if handle is None or not can_be(handle, value):
                return None
            return msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})
        case {"type": str()}:
            return None
    raise ValueError("no type")


def can_be(handle: Foreign, value: Given) -> bool:
    """Whether a person could have given a control this value."""
    import viser

    match handle:
        case viser.GuiButtonHandle():
            return value is True
        case viser.GuiCheckboxHandle():
            return isinstance(value, bool)
        case viser.GuiSliderHandle():
            number = type(value) in (int, float) and math.isfinite(value)
            return bool(number and handle.min <= value <= handle.max)
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            return isinstance(value, str) and value in handle.options
    return False
