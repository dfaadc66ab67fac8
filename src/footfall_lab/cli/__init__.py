"""Commands of the laboratory: ``verify``, ``reproduce``, ``bench``, ``demo``."""
