"""Many robots at once: SIMD lanes and threads on the CPU, or one thread a robot on a GPU."""

from footfall.batch.batch import Batch

__all__ = ["Batch"]
