"""A compared setting: what its runs gave, and why it must not be called best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from assignors.values import dataclass
from emulator.metrics.metrics import Metrics
from emulator.report.subject import Subject
from emulator.verdicts.disqualifying import Disqualified, mark

DISQUALIFIED: Final = "disqualified"
"""The title of the reasons for which a setting must not be called best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One setting and its results, seed by seed."""

    name: str
    subject: Subject
    metrics: Sequence[Metrics]
    causes: Sequence[Mapping[str, int]]
    overrides: Sequence[str] = ()
    """The changes of the scenario, as ``path=value``."""

    missed: Sequence[str] = ()
    """The faults that did not fire, seed after seed."""

    disqualified: Sequence[Disqualified] = ()
    """Why it must not be called best."""

    @property
    def mark(self) -> str:
        """Why it must not be called best, in the words of a cell; empty: it may be."""
        return mark(self.disqualified, len(self.metrics))


def any_disqualified(columns: Sequence[Column]) -> bool:
    """Return whether some setting must not be called best."""
    return any(column.disqualified for column in columns)


def reason_rows(columns: Sequence[Column]) -> Iterator[tuple[str, list[str]]]:
    """Yield a row for each reason against a setting: its label, and a cell for each setting."""
    reasons = dict.fromkeys(each.reason for column in columns for each in column.disqualified)
    for reason in reasons:
        yield f"{DISQUALIFIED}: {reason}", [_said(column, reason) for column in columns]


def _said(column: Column, reason: str) -> str:
    runs = sum(each.runs for each in column.disqualified if each.reason == reason)
    if runs in (0, len(column.metrics)):
        return "yes" if runs else ""
    return f"{runs} of {len(column.metrics)}"
