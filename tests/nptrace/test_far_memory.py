"""Machine code loads wherever memory is left, also where libraries took so much that free places lie far apart."""

import platform
import subprocess
import sys

import pytest

from nptrace.runtime import machine

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


MAPS = """\
55d4c0000000-55d4c0021000 rw-p 00000000 00:00 0                          [heap]
55d4c1000000-55d4c1001000 r-xp 00000000 08:01 12                         /usr/bin/python3
7f0000000000-7f0000021000 rw-p 00000000 00:00 0                          [anon:arena]
7f1000000000-7f1000021000 rw-p 00000000 00:00 0
7f1000400000-7f1000500000 r-xp 00000000 08:01 99                         /usr/lib/liba.so
7f1000900000-7f1000a00000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
7ffd00100000-7ffd00102000 r-xp 00000000 00:00 0                          [vdso]
"""


def test_libraries_span_what_lies_between_their_mappings_without_program_heap_and_kernel():
    assert machine.span_of(MAPS.encode()) == 0xA00000
    assert machine.span_of(MAPS.replace("55d4c", "7f0f0").encode()) == 0xA00000 + (0x7F1000000000 - 0x7F0F01000000)
    assert machine.span_of(b"") == 0
    short = "\n".join(line.replace("7f1000", "7f1").replace("55d4c", "55") for line in MAPS.splitlines())
    assert machine.span_of(short.encode()) == 0x7F1A00000 - 0x551000000  # where all addresses are short
