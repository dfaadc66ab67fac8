"""Reading and writing files: archives of arrays, JSON, TOML, files that appear whole or not at all."""
