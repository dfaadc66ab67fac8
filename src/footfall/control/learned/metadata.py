"""Add a policy's wiring as metadata to an ONNX file written by another package."""

from __future__ import annotations

from pathlib import Path

from footfall import __version__
from footfall._io.whole_file import whole_file
from footfall.control.learned.interface import Interface, to_text
from footfall.control.learned.onnx_file import import_onnx


def add_metadata(path: str | Path, interface: Interface) -> None:
    """Write an interface into a file's metadata; weights in a separate file are included."""
    onnx, file = import_onnx(), Path(path)
    model = onnx.load(str(file))
    kept = {p.key: p.value for p in model.metadata_props}
    words = {**kept, **to_text(interface.to_dict()), "wired_by": f"footfall {__version__}"}
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, words)
    with whole_file(file) as passing:
        passing.write_bytes(model.SerializeToString())
    beside = file.with_name(file.name + ".data")
    if beside.exists():
        beside.unlink()  # its numbers are now in the file
