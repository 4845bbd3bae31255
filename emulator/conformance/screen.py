"""Verdicts on captured runs as text: one run figure by figure, or several in one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from rich import box
from rich.table import Table

from emulator.conformance.figures import EQUAL, NOT_JUDGED, Figure, Verdict
from emulator.report.figures import as_lines, cells, fitted
from emulator.report.wording import counted, figure, joined, width

OVERVIEW_FIGURES = ("duplicates", "lost", "takeover_first_s", "stall_last_s")
"""The figures in the overview of each run that has them."""

LONG = 120
"""Of values with more characters only the parts that differ are shown."""

MAX_PARTS = 3
"""The parts that differ, of one value, that are shown."""


def one_run(verdict: Verdict) -> Iterator[str]:
    """Yield the report of one captured run, figure by figure."""
    yield f"{verdict.capture}: {_judgement(verdict)}"
    if verdict.skipped is not None:
        return
    yield ""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("figure", no_wrap=True)
    table.add_column("real")
    table.add_column("emulated")
    table.add_column("allowed", max_width=20)
    table.add_column("")
    for each in verdict.figures:
        table.add_row(*cells(*_row(each)))
    yield from as_lines(table, width())


def overview(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the report of several captured runs: a row for each, then the figures outside."""
    compared = [verdict for verdict in verdicts if verdict.skipped is None]
    outside = [verdict for verdict in compared if verdict.outside]
    table = Table(box=box.MARKDOWN)
    table.add_column("captured run")
    known = {each.name for verdict in compared for each in verdict.figures}
    shown_figures = [name for name in OVERVIEW_FIGURES if name in known]
    for name in shown_figures:
        table.add_column(name, justify="center")
    table.add_column("verdict")
    for verdict in compared:
        table.add_row(*cells(*_overview_row(verdict, shown_figures)))
    if compared:
        yield "In each cell: real / emulated."
        yield ""
        yield from fitted(table)
        yield ""
    for verdict in verdicts:
        if verdict.skipped is not None:
            yield f"{verdict.capture}: skipped: {verdict.skipped}"
    for verdict in outside:
        yield f"{verdict.capture}: {_judgement(verdict)}"
        yield from (f"    {_difference(each)}" for each in verdict.outside)
    yield _summary(len(compared), len(outside), len(verdicts) - len(compared))


def _summary(compared: int, outside: int, skipped: int) -> str:
    text = f"{counted(compared, 'run')} compared: {compared - outside} inside, {outside} outside"
    return f"{text}; {skipped} skipped" if skipped else text


def _judgement(verdict: Verdict) -> str:
    if verdict.skipped is not None:
        return f"skipped: {verdict.skipped}"
    by = f", by the range of {verdict.seeds} seeds" if verdict.seeds else ""
    if not verdict.outside:
        return f"inside{by}"
    return f"OUTSIDE{by}: {_names(verdict)}"


def _overview_row(verdict: Verdict, shown_figures: Sequence[str]) -> list[str]:
    by_name = {each.name: each for each in verdict.figures}
    found = [by_name.get(name) for name in shown_figures]
    pairs = [
        "" if each is None else f"{_shown(each.real)} / {_shown(each.emulated)}" for each in found
    ]
    row = [verdict.capture, *pairs]
    if verdict.outside:
        return [*row, f"OUTSIDE: {_names(verdict)}"]
    return [*row, f"inside ({verdict.seeds} seeds)" if verdict.seeds else "inside"]


def _names(verdict: Verdict) -> str:
    """Return the figures outside, several of one kind as their number: ``assignments (8)``."""
    kinds = Counter(_kind(each) for each in verdict.outside)
    names = [
        each.name if kinds[_kind(each)] == 1 else f"{_kind(each)} ({kinds[_kind(each)]})"
        for each in verdict.outside
    ]
    return joined(list(dict.fromkeys(names)))


def _kind(each: Figure) -> str:
    return each.name.partition(".")[0]


def _row(each: Figure) -> list[str]:
    real, emulated = _both(each)
    if real == emulated and len(real) > len("the same"):
        emulated = "the same"
    verdict = "" if each.allowed == NOT_JUDGED else "inside" if each.inside else "OUTSIDE"
    return [each.name, real, emulated, _allowed(each), verdict]


def _allowed(each: Figure) -> str:
    return each.allowed if isinstance(each.allowed, str) else f"± {figure(each.allowed)}"


def _difference(each: Figure) -> str:
    allowed = "must be equal" if each.allowed == EQUAL else f"allowed {_allowed(each)}"
    real, emulated = _both(each)
    return f"{each.name}: real {real}, emulated {emulated}, {allowed}"


def _both(each: Figure) -> tuple[str, str]:
    """Return both values as text; of long lists, what lies between equal beginnings and ends."""
    real, emulated = _shown(each.real), _shown(each.emulated)
    if real == emulated or len(real) + len(emulated) <= 2 * LONG:
        return real, emulated
    left, right = _parts(each.real), _parts(each.emulated)
    first = _equal(left, right)
    last = _equal(left[first:][::-1], right[first:][::-1])
    return _excerpt(left, first, last), _excerpt(right, first, last)


def _equal(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of equal parts at the beginning of both."""
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _excerpt(parts: Sequence[str], first: int, last: int) -> str:
    """Return the parts after the *first* and before the *last* ones, which are equal.

    >>> _excerpt(list("abcdefgh"), 2, 1)
    '2 equal; c; d; e; 2 more; 1 equal'
    >>> _excerpt(["a", "b"], 1, 1)
    '1 equal; nothing; 1 equal'
    """
    between = parts[first : len(parts) - last]
    rest = len(between) - MAX_PARTS
    texts = [
        f"{first} equal" if first else "",
        *(between[:MAX_PARTS] or ["nothing"]),
        f"{rest} more" if rest > 0 else "",
        f"{last} equal" if last else "",
    ]
    return "; ".join(filter(None, texts))


def _shown(value: Any) -> str:
    """Return a compared value as text.

    >>> _shown([["revoked", []], ["assigned", ["t0-0", "t0-1"]]])
    'revoked nothing; assigned t0-0 t0-1'
    >>> _shown({"m1.1": ["t0-0"]}), _shown([1, 2]), _shown(None), _shown(6.25)
    ('m1.1 t0-0', '1, 2', 'none', '6.25')
    """
    parts = _parts(value)
    return ("; " if any(" " in part for part in parts) else ", ").join(parts)


def _parts(value: Any) -> list[str]:
    """Return the items of a compared value as text; a single value is one item."""
    if value is None:
        return ["none"]
    if isinstance(value, Mapping):
        return [f"{name} {_words(words)}" for name, words in value.items()]
    if isinstance(value, list | tuple):
        calls = all(isinstance(item, list | tuple) for item in value)
        return [f"{call} {_words(words)}" for call, words in value] if calls else [*map(str, value)]
    return [figure(value) if isinstance(value, int | float) else str(value)]


def _words(words: Sequence[str]) -> str:
    return " ".join(words) or "nothing"
