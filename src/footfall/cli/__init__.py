"""The command line: ``main``, and one file a command with NAME, EXAMPLES and ``command``."""
