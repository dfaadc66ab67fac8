"""Programs prepared for a GPU, their kernels built for the processor: all are compared, and a wrong one is noticed."""

import gpu_programs
import numpy as np
import pytest
from cuda_on_processor import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    for wanted in (("programs", 1), ("legs", 1)):
        gpu_programs._prepare(folder, wanted)
    return folder


def test_kernels_on_the_processor_compute_what_native_code_computes(folder):
    for file in sorted(folder.glob("*.npz")):
        lost, _, _ = gpu_programs._result(gpu_programs.EXACT, True, file)
        assert not lost, (file.name, lost)
    names = {file.stem.split("_", 2)[-1] for file in folder.glob("*.npz")}
    assert names == {"float64", "float32", "one_float64", "one_float32", "four_float64", "four_float32"}


def test_a_kernel_that_computes_something_else_is_lost(folder, tmp_path):
    with np.load(folder / "legs_0001_one_float64.npz") as case:
        changed = dict(case)
    changed["expected"] = changed["expected"] + 1e-6 * (np.arange(14) == 3)[:, None]
    np.savez(tmp_path / "case.npz", **changed)
    lost, worst, _ = gpu_programs._result(gpu_programs.EXACT, True, tmp_path / "case.npz")
    assert lost.startswith("off by")
    assert 1e-7 < worst < 1e-5
