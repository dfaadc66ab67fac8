"""Many robots at once: SIMD lanes and threads on the CPU, or one thread per robot on a GPU."""

from footfall.batch.batch import Batch
from footfall.batch.gpu import GpuBatch

__all__ = ["Batch", "GpuBatch"]


def __dir__() -> list[str]:
    return sorted(__all__)
