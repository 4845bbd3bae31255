"""After which fault takeovers took longest, and the wait for lag to be as it was before."""

from __future__ import annotations

from operator import itemgetter

from emulator.metrics.metrics import Metrics
from emulator.report.wording import listed, span

MOST_NAMED = 2
"""So many faults a line names; it counts the others."""


def takeover(metrics: Metrics) -> str:
    """Return how long others took at most to go on, and after which fault; empty if none did."""
    rows = metrics.listings["takeovers"]
    if not rows:
        return ""
    first, last = (max(rows, key=itemgetter(name)) for name in ("first_s", "last_s"))
    text = f"first record by another owner {span(first['first_s'])} after {first['fault']}"
    text += f", last partition {span(last['last_s'])}"
    if last["fault"] != first["fault"]:
        text += f" after {last['fault']}"
    return text if len(rows) == 1 else f"{text} (the slowest of {len(rows)} faults)"


def drain(metrics: Metrics) -> str:
    """Return when lag was as before the faults; empty if it never rose."""
    rows = metrics.listings["drains"]
    left = list(dict.fromkeys(str(row["fault"]) for row in rows if not row["drained"]))
    if left:
        return f"still above what it was before {_named(left)} at the end"
    if not rows:
        return ""
    slowest = max(rows, key=itemgetter("drain_s"))
    return f"back to what it was before {slowest['fault']} after {span(slowest['drain_s'])}"


def _named(faults: list[str]) -> str:
    """Name the first of some faults.

    >>> _named(["crash-1"]), _named(["a", "b", "c", "d"])
    ('crash-1', 'a, b and 2 others')
    """
    more = len(faults) - MOST_NAMED
    others = [f"{more} other{'s' if more > 1 else ''}"] if more > 0 else []
    return listed([*faults[:MOST_NAMED], *others])
