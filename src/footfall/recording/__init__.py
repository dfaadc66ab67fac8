"""Recordings, and the forms in which others can open them."""
