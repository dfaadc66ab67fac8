"""Walking by a learned policy."""
