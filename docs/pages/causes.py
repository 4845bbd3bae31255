"""The page of causes: what stands behind each, and a scenario that shows it."""

from __future__ import annotations

from emulator.ledger.entries import Cause
from emulator.report.advice import WHY
from emulator.report.hints import HINTS

_OPENING = """\
# Causes

Printed from `emulator/report/` by `python -m docs.pages`; change the sentences there, not
this page.

A *repeat* is work finished again on a record that had been finished before; a *loss* is a record
that the group has committed past, or positioned past, and that nobody has finished. Every entry
of a ledger has exactly one cause: why the owner that repeats or passes over began where it did.
Where several would fit, the first in this order is named. Records that were under work when
their process died are counted apart, as *partial*: their work may have had an effect or not. So
are records that were gone from their log before they were processed, as *truncated*: no consumer
is to blame for them.

What would help depends on what is in force; `rebalance run` shows only what fits, with the
settings as they are now. In braces: a setting whose present value is shown there.
"""

FIRST_OF_LOSSES = Cause.RESET_TO_LATEST


def causes_page() -> str:
    """Return the page as text."""
    parts = [_OPENING, "## Processed again\n"]
    for cause in Cause:
        if cause is FIRST_OF_LOSSES:
            parts.append("## Lost\n")
        parts.append(_cause(cause))
    return "\n".join(parts)


def _cause(cause: Cause) -> str:
    hints = [f"- {hint.text}\n" for hint in HINTS[cause]]
    return f"### {cause}\n\n{WHY[cause]}\n\nWhat may help:\n\n{''.join(hints)}"
