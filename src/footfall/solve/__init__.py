"""Solvers in plain NumPy that are traced with what needs them: factors, quadratic programs, optimal control."""
