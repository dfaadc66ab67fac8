"""Completions that the shell offers after a tab."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def offer(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what the shell offers after a tab: the names that begin like the word."""

    def starting_with(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return starting_with


def _robots() -> Iterable[str]:
    from footfall.robot import library

    return (*library.names(), *library.machines())


def _tasks() -> Iterable[str]:
    from footfall.learn.task_spec import shipped_names

    return shipped_names()


robots, tasks = offer(_robots), offer(_tasks)
