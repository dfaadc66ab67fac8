"""footfall_lab: validation of footfall: papers, reference implementations, benchmarks, reports."""

from nptrace import packages

packages.register(__name__, __path__[0])
