"""Pictures: figure style, drawings of robots, a painter, videos."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.draw.drawing import draw_leg, draw_robot, draw_tree
    from footfall.draw.video import Film, picture, save_video

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.draw",
    {
        "drawing": "draw_leg draw_robot draw_tree",
        "video": "Film picture save_video",
    },
)
