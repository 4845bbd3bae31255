"""The page of metrics, printed from their catalogue."""

from __future__ import annotations

from emulator.metrics.catalogue import as_markdown

_OPENING = """\
# Metrics

This page lists all metrics of a run. It is printed from `emulator/metrics/catalogue.py` by
`python -m docs.pages`; change the catalogue.

`rebalance run SCENARIO --json` prints the metrics under `metrics`: values by name, then `tables` and
`listings`. In `[expect]` of a scenario, a value is referred to by its name (`lost = 0`), and an entry
of a table as `"reprocessed.by_cause[rewind]" = "<= 200"`. An entry that does not occur is 0.
"""


def metrics_page() -> str:
    """Return the page as text."""
    return f"{_OPENING}\n{as_markdown()}"
