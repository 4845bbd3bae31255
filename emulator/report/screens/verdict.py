"""Verdicts as the first lines of a report, and the outcome of expectations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from emulator.metrics.checks import Expected
from emulator.report.wording import paragraph
from emulator.verdicts.verdict import Verdict, VerdictId

MARK = "  - "

NOT_FOR_TIME = frozenset({VerdictId.FAULT_MISSED, VerdictId.ACT_REFUSED})
"""Verdicts that are the same of a longer run."""

LONGER = (
    "Increase run_for, or remove it: the run then continues until all faults have ended, every group is "
    "stable, and none lags more than before the first fault."
)


def first_lines(verdicts: Sequence[Verdict], *, said: VerdictId | None = None) -> Iterator[str]:
    """Yield the verdicts of a run, which come before its totals, without those *said* above them."""
    problems = [each.sentence for each in verdicts if each.problem and each.id is not said]
    if problems:
        yield "PROBLEMS"
    for sentence in problems:
        yield from paragraph(sentence, MARK)
    open_ends = [verdict for verdict in verdicts if verdict.inconclusive and not verdict.problem]
    if open_ends:
        yield "INCONCLUSIVE: when the run ended,"
    elif any(verdict.inconclusive for verdict in verdicts):
        yield "INCONCLUSIVE, because of these problems."
    for verdict in open_ends:
        yield from paragraph(verdict.sentence, MARK)
    if not problems and any(verdict.id not in NOT_FOR_TIME for verdict in open_ends):
        yield from paragraph(LONGER)
    if problems or open_ends:
        yield ""


def outcomes(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the verdicts that say what went right, which follow the totals."""
    for verdict in verdicts:
        if verdict.is_outcome:
            yield from paragraph(f"{verdict.sentence}.")


def inconclusive_seeds(runs: Sequence[Sequence[Verdict]]) -> Iterator[str]:
    """Yield the number of inconclusive runs among many, with their reasons."""
    number = sum(any(verdict.inconclusive for verdict in run) for run in runs)
    if not number:
        return
    yield from paragraph(f"INCONCLUSIVE: {number} of {len(runs)} runs ended too early.")
    first: dict[str, str] = {}
    seen = Counter[str]()
    for run in runs:
        ids = {verdict.id.value: verdict.sentence for verdict in run if verdict.inconclusive}
        seen.update(ids.keys())
        first = {**ids, **first}
    for name, times in sorted(seen.items(), key=lambda item: (-item[1], item[0])):
        yield from paragraph(f"in {times}: e.g. {first[name]}", MARK)
    yield ""


def outcome(expected: Expected) -> str:
    """Return the word before an expectation: ok, FAILED or inconclusive."""
    if expected.inconclusive:
        return "  inconclusive  "
    return "  ok      " if expected.ok else "  FAILED  "
