"""The command line: ``main``, and one file per command with NAME, EXAMPLES and ``command``."""
