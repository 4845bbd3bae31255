"""The page of causes: an explanation of each, and links to its hints."""

from __future__ import annotations

from emulator.ledger.entries import Cause
from emulator.report.hints.advice import WHY
from emulator.report.hints.by_cause import HINTS

_OPENING = """\
# Causes

This page lists the causes that a ledger can name, what each means, and the hints that reduce it. It is
printed from `emulator/report/` by `python -m docs.pages`; change the sentences there.

- **Reprocessed**: a record that was processed, and then processed again. Each processing after the
  first counts one.
- **Lost**: a record that was never processed, although the committed offset or the position of the
  group moved past it.
- **Partial**: a record that was in flight when its process was killed. It may have had an effect or
  not, so it is counted separately, without a cause.
- **Truncated**: a record that was removed from the log before the group processed it. It is counted
  separately from lost records, because no consumer caused it.

Every entry of a ledger has exactly one cause: the reason why an owner started below or beyond the
end of what had been processed. If several apply, the first in this order is the cause.

The id of a hint leads to its section in [advice.md](advice.md), which says what to change. `rebalance run`
shows only the hints that apply to the scenario, with the settings in force.
"""

FIRST_OF_LOSSES = Cause.RESET_TO_LATEST


def causes_page() -> str:
    """Return the page as text."""
    parts = [_OPENING, "## Reprocessed\n"]
    for cause in Cause:
        if cause is FIRST_OF_LOSSES:
            parts.append("## Lost\n")
        parts.append(_cause(cause))
    return "\n".join(parts)


def _cause(cause: Cause) -> str:
    ids = dict.fromkeys(hint.id for hint in HINTS[cause])
    links = ", ".join(f"[{name}](advice.md#{name})" for name in ids)
    return f"### {cause}\n\n{WHY[cause]}\n\nHints: {links}.\n"
