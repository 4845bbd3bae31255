"""Print the pages into ``docs/``: ``python -m docs.pages``."""

from __future__ import annotations

from pathlib import Path

from docs.pages.advice import advice_page
from docs.pages.causes import causes_page
from docs.pages.classic_verdicts import classic_verdicts_page
from docs.pages.consumer_protocol import consumer_protocol_page
from docs.pages.coordinator_failures import coordinator_failures_page
from docs.pages.events import events_page
from docs.pages.metrics import metrics_page
from docs.pages.published import published_page
from docs.pages.scenario_files import scenario_files_page

DOCS = Path(__file__).parents[2] / "docs"

PAGES = {
    "reference/advice.md": advice_page,
    "reference/causes.md": causes_page,
    "reference/classic-verdicts.md": classic_verdicts_page,
    "reference/events.md": events_page,
    "reference/metrics.md": metrics_page,
    "reference/scenario-files.md": scenario_files_page,
}

PLAYED = {
    "explanation/consumer-protocol.md": consumer_protocol_page,
    "explanation/coordinator-failures.md": coordinator_failures_page,
    "explanation/published.md": published_page,
}
"""Pages with tables that are played for them: some dozen runs each."""

if __name__ == "__main__":
    for name, page in (PAGES | PLAYED).items():
        (DOCS / name).write_text(page(), encoding="utf-8")
