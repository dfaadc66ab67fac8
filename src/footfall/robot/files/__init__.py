"""Robots from untrusted URDF and MJCF files, and export to them."""
