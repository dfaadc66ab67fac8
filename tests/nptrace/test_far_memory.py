"""Machine code loads wherever memory is left, also where libraries took so much that free places lie far apart."""

import platform
import subprocess
import sys

import pytest

CODE = """
import ctypes, mmap
import numpy as np
import footfall as ff
from nptrace.runtime import machine

robot = ff.load("mini_cheetah")
q, v = robot.state("stand")
ff.compile(ff.dynamics.gravity_terms, robot, cache=False)  # all libraries are loaded now
before = machine.code_model()
near = ff.compile(ff.dynamics.forward_dynamics, robot, cache=False)
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000 | 0x100000  # without reserve, at this place


def reserve(start, end):
    libc.mmap(start, end - start, 0, FLAGS, -1, 0)


spans = [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in open("/proc/self/maps")]
high = [span for span in spans if 0x700000000000 <= span[0] < 0x7ffff0000000]
for (_, low), (above, _) in zip(high, high[1:]):
    if above - low > 0x8000:
        reserve(low, above - 0x2000)  # every gap shrinks to two pages: room for constants, none for code
reserve(high[0][0] - (12 << 30), high[0][0])
fd = ff.compile(ff.dynamics.forward_dynamics, robot, cache=False)
same = np.array_equal(fd(q, v, np.zeros(robot.nj)), near(q, v, np.zeros(robot.nj)))
print(before, machine.code_model(), same)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="reserves memory as Linux on x86 does",
)
def test_code_reaches_its_constants_in_a_crowded_address_space_with_the_same_bits():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "small large True"), done.stderr
