"""Recordings of the real world by others, and published benchmarks, beside what we compute."""
