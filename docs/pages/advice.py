"""The page of hints: what each recommends, and what it is given for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from emulator.ledger.entries import Cause
from emulator.report.advice import CONVERT_BACK, FENCE_SOONER, ONE_CLASSIC_JOIN, SHORTER_SESSION
from emulator.report.hints import HINTS
from emulator.report.verdict_advice import VERDICT_HINTS

_OPENING = """\
# Hints

`rebalance run` ends with hints: changes that reduce what the run showed. Each has an id in square
brackets, which does not change, and a section here. This page is printed from `emulator/report/` by
`python -m docs.pages`; change the sentences there.

A run shows only the hints that apply to its scenario, with the settings in force in place of the
braces. [causes.md](causes.md) has the hints of each cause, [verdicts.md](verdicts.md) the problems.
"""

OTHERS = {
    SHORTER_SESSION: "downtime of 10 s or more after a member that died",
    FENCE_SOONER: "partitions without new records after a broker that died",
    ONE_CLASSIC_JOIN: "a group in migration that is not served",
    CONVERT_BACK: "a group in migration that is not served",
}
"""The hints that belong to no cause and no verdict, with what they are given for."""


def advice_page() -> str:
    """Return the page as text."""
    return "\n".join([_OPENING, *(_section(name) for name in sorted(hint_ids()))])


def hint_ids() -> set[str]:
    """Return the ids of all hints."""
    return {name for name, _, _ in _hints()}


def _hints() -> Iterator[tuple[str, str, str]]:
    """Yield each hint: its id, its text, and what it is given for."""
    for cause in Cause:
        anchor = f"{cause}".replace(" ", "-")
        for hint in HINTS[cause]:
            yield hint.id, hint.text, f"[{cause}](causes.md#{anchor})"
    for verdict, hints in VERDICT_HINTS.items():
        for name, text in hints.items():
            yield name, text, f"`{verdict.value}`"
    for hint, reason in OTHERS.items():
        yield hint.id, hint.text, reason


def _section(name: str) -> str:
    reasons = defaultdict[str, list[str]](list)
    for other, text, reason in _hints():
        if other == name:
            reasons[text].append(reason)
    texts = [f"{text}\n\nGiven for: {', '.join(for_)}.\n" for text, for_ in reasons.items()]
    return "\n".join([f"## {name}\n", *texts])
