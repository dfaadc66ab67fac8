"""Is a trace the function? Hidden state, effects, and a replay on NumPy."""
