"""footfall_lab: everything that examines footfall: papers, referees, benches, reports."""

from nptrace import packages

packages.register(__name__, __path__[0])
