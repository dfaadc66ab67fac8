"""Verify that a trace equals its function: hidden state, side effects, and a comparison with NumPy."""
