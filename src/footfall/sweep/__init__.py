"""Parameter studies: grids and samples over any parameter, on local processes or a Dask cluster, resumable.

    outcome = ff.sweep.run("study.toml")
    outcome.load()["mean_speed"].sel(trunk_mass=4.0)

``study`` reads the file, ``parameters`` defines what may vary, ``item`` evaluates one point, ``journal`` stores
finished items, ``local`` and ``cluster`` run them, ``table`` and ``plot`` write the results.
"""

from footfall.sweep.run import StudyResult, run
from footfall.sweep.study import Study, parse_study, read_study

__all__ = ["Study", "StudyResult", "parse_study", "read_study", "run"]


def __dir__() -> list[str]:
    return sorted(__all__)
