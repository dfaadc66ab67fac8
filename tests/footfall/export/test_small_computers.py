"""Exported C runs on small computers: built by zig, run under QEMU, against NumPy."""

import resource
import shutil
import subprocess

import pytest
from c_on_processor import needs_zig, zig
from small_computers import loaded_bytes, write_bare

import footfall as ff
from footfall.export.subjects import SINGLE, exported_named

pytestmark = [pytest.mark.slow, needs_zig]  # zig builds a C library of its own for every target at first
CONTROLLER = "pd"


def program_of(tmp_path, dtype):
    """Source files of the controller with its test program."""
    header, *sources = exported_named(ff.load("mini_cheetah"), CONTROLLER, gait="trot").write(tmp_path, dtype)
    del header
    return sources


@pytest.mark.parametrize(("dtype", "most"), [("float32", SINGLE), ("float64", 1e-9)])
def test_a_cortex_m7_computes_what_numpy_does(dtype, most, tmp_path):
    """A microcontroller without an operating system, the board mps2-an500."""
    sources, image = program_of(tmp_path, dtype), tmp_path / "image.elf"
    zig(*write_bare(tmp_path), *sources, "-o", image)
    assert 10_000 < loaded_bytes(image) < 32_000
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed: the controller was built and not run")
    board = ["qemu-system-arm", "-M", "mps2-an500", "-display", "none", "-monitor", "none", "-serial", "none"]
    ran = subprocess.run(
        [*board, "-semihosting-config", "enable=on,target=native", "-kernel", image],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said
    assert int(said) * 1e-15 <= most


def test_a_raspberry_pi_computes_what_numpy_does(tmp_path):
    """aarch64, as in a Jetson too, under Linux."""
    sources, image = program_of(tmp_path, "float64"), tmp_path / "check"
    zig("-target", "aarch64-linux-musl", "-std=c99", "-O2", "-g0", "-ffp-contract=off", *sources, "-o", image)
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("qemu-aarch64 is not installed: the controller was built and not run")
    ran = subprocess.run(["qemu-aarch64", image], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert float(ran.stdout) < 1e-12


def test_clang_compiles_locomotion_in_a_minute(tmp_path):
    """-O2, by processor time; the parts of the program are functions of their own."""
    from footfall.cli.export_controller import write_locomotion

    _, source, *_ = write_locomotion(ff.load("mini_cheetah"), tmp_path, samples=1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    zig("-target", "x86_64-linux-musl", "-std=c99", "-O2", "-c", source, "-o", tmp_path / "locomotion.o")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60.0


def test_a_riscv32_processor_builds_it(tmp_path):
    """Built, not run."""
    source, _ = program_of(tmp_path, "float32")
    write_bare(tmp_path)
    made = tmp_path / "controller.o"
    flags = ["-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m+a+f+c", "-mabi=ilp32f", "-fno-math-errno"]
    zig(*flags, "-std=c99", "-Os", "-g0", "-I", tmp_path, "-c", source, "-o", made)
    assert 1_000 < made.stat().st_size < 40_000
