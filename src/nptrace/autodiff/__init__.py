"""Derivatives of traced programs: forward and reverse mode, written Jacobians, derivatives inside a trace."""
