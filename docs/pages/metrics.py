"""The page of metrics, from their catalogue."""

from __future__ import annotations

from emulator.metrics.catalogue import as_markdown

_OPENING = """\
# Metrics

Printed from `emulator/metrics/catalogue.py` by `python -m docs.pages`; change the catalogue,
not this page. `rebalance run SCENARIO --json` gives them under `metrics`: values by name, then
`tables` and `listings`. A scenario's `[expect]` speaks of a value by its name, `lost = 0`, and of
one entry of a table as `"reprocessed.by_cause[rewind]" = "<= 200"`; an absent entry is 0.
"""


def metrics_page() -> str:
    """Return the page as text."""
    return f"{_OPENING}\n{as_markdown()}"
