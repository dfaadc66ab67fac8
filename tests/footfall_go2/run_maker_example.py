"""Run an example of the maker's Python SDK as it is: ``python run_maker_example.py SDK EXAMPLE.py [arguments]``.

For the interpreter that has the SDK's own packages (Python 3.10, cyclonedds 0.10.2, numpy), which has no footfall.
Some modules of the SDK import OpenCV for the camera, which no example here uses: an empty module stands in.
"""

import runpy
import sys
import types
from pathlib import Path

sdk, example = sys.argv[1], Path(sys.argv[2])
sys.path[:0] = [sdk, str(example.parent)]
try:
    import cv2  # noqa: F401
except ImportError:
    sys.modules["cv2"] = types.ModuleType("cv2")
sys.argv = [str(example), *sys.argv[3:]]
runpy.run_path(str(example), run_name="__main__")
