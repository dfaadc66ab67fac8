"""Inverse kinematics by iteration, as the papers have it: FABRIK, cyclic coordinate descent, resolved rates."""
