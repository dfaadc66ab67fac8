"""Cases that must be found lost, to test the harness."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from footfall.errors import InputError


def cases(folder: Path) -> Callable[[int], str]:
    def case(seed: int) -> str:
        if seed == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        elif seed == 2:
            raise ZeroDivisionError
        elif seed == 3:
            raise InputError("one sentence")
        elif seed == 4:
            raise InputError("two\nlines")
        elif seed == 6:
            bytearray(1 << 40)
        return "fine"

    return case
