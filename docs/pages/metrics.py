"""The page of metrics, printed from their catalogue."""

from __future__ import annotations

from emulator.metrics.catalogue import TABLES, VALUES
from emulator.metrics.listings import LISTINGS

_OPENING = """\
# Metrics

This page lists all metrics of a run. It is printed from `emulator/metrics/catalogue.py` and
`listings.py` by `python -m docs.pages`; change these.

`rebalance run SCENARIO --json` prints the metrics under `metrics`: values by name, then `tables` and
`listings`. In `[expect]` of a scenario, a value is referred to by its name (`lost = 0`), and an entry
of a table as `"reprocessed.by_cause[rewind]" = "<= 200"`. An entry that does not occur is 0.
"""


def metrics_page() -> str:
    """Return the page as text."""
    parts = []
    for title, metrics in (("Values", VALUES), ("Tables", TABLES), ("Listings", LISTINGS)):
        rows = [f"| `{metric.name}` | {metric.unit} | {metric.meaning} |" for metric in metrics]
        parts.append(
            "\n".join([f"## {title}", "", "| name | unit | meaning |", "|---|---|---|", *rows])
        )
    return "\n\n".join([_OPENING.rstrip(), *parts]) + "\n"
