"""Machine code in memory and on disk, and the callables around it."""
