"""Robots from URDF and MJCF files that nobody vouches for, and back."""
