"""Parameter studies: grids and samples over any parameter, on local processes or a Dask cluster, resumable.

    outcome = ff.sweep.run("study.toml")
    outcome.load()["mean_speed"].sel(trunk_mass=4.0)

``study`` is the file, ``parameters`` what may vary, ``item`` one point of it, ``journal`` what is kept as it goes,
``local`` and ``cluster`` where it runs, ``table`` and ``plot`` what comes of it.
"""

from footfall.sweep.run import StudyResult, run
from footfall.sweep.study import Study, parse_study, read_study

__all__ = ["Study", "StudyResult", "parse_study", "read_study", "run"]


def __dir__() -> list[str]:
    return sorted(__all__)
