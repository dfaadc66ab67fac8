"""Comparison with third-party recordings of real systems, and with published benchmarks."""
