"""Optimal control of the linearised step: LQR and trajectories."""
