"""Reading and writing files: array archives, JSON, TOML, and atomic writes."""
