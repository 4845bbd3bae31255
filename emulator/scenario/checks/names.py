"""Names: who is named twice, and who is named that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from emulator.scenario.problems import Problem, hint, listed


def named_twice(paths_and_names: Iterable[tuple[str, str]], what: str) -> Iterator[Problem]:
    """Yield a problem for every name that an earlier one has already."""
    seen: set[str] = set()
    for path, name in paths_and_names:
        if name in seen:
            yield Problem(path, f"{what} named twice; names must differ", name)
        seen.add(name)


def unknown(path: str, name: str, known: Collection[str], what: str) -> Iterator[Problem]:
    """Yield a problem if a name is not among the known ones; offer the nearest."""
    if name in known:
        return
    few = f"; there are {listed(known)}" if 0 < len(known) <= 6 else ""
    yield Problem(path, f"no such {what}{hint(name, known) or few}", name)
