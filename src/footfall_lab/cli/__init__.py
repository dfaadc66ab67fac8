"""Commands of footfall_lab: ``verify``, ``reproduce``, ``bench``, ``demo``."""
