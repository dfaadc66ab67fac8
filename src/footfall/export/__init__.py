"""Export of functions, steps and controllers as C99, and of whole robots as FMI 3.0 units."""

from typing import TYPE_CHECKING

from footfall import hints
from nptrace._types import Named
from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.export.fmu import write_fmu
    from footfall.export.subjects import NAMES, Exported, exported_named, of_controller, of_step

__all__, _load, __dir__ = lazy_exports(
    "footfall.export",
    {"fmu": "write_fmu", "subjects": "NAMES Exported exported_named of_controller of_step"},
)


def __getattr__(name: str) -> Named:
    if name in hints.EXPORT:
        raise hints.missing("footfall.export", name, (), hints.EXPORT)
    return _load(name)
