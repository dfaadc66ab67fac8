"""Iterative inverse kinematics from the papers: FABRIK, cyclic coordinate descent, resolved rates."""
