"""Walking with a learned policy."""
