"""Print the pages into ``docs/``, and refresh the examples of the others.

``python -m docs.pages`` does it for all, ``python -m docs.pages NAME…`` for pages with these names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from docs.pages.advice import advice_page
from docs.pages.captured_runs import captured_runs_page
from docs.pages.causes import causes_page
from docs.pages.classic_verdicts import classic_verdicts_page
from docs.pages.clients import clients_page
from docs.pages.commands import commands_page
from docs.pages.conformance import conformance_page
from docs.pages.consumer_protocol import consumer_protocol_page
from docs.pages.consumer_verdicts import consumer_verdicts_page
from docs.pages.coordinator_failures import coordinator_failures_page
from docs.pages.events import events_page
from docs.pages.metrics import metrics_page
from docs.pages.published import published_page
from docs.pages.python_api import python_api_page
from docs.pages.scenario_files import scenario_files_page
from docs.pages.shown import ROOT, refreshed, shown_pages

DOCS = ROOT / "docs"

PAGES = {
    "reference/advice.md": advice_page,
    "reference/causes.md": causes_page,
    "reference/classic-verdicts.md": classic_verdicts_page,
    "reference/clients.md": clients_page,
    "reference/consumer-verdicts.md": consumer_verdicts_page,
    "reference/conformance.md": conformance_page,
    "reference/commands.md": commands_page,
    "reference/events.md": events_page,
    "reference/metrics.md": metrics_page,
    "reference/python.md": python_api_page,
    "reference/scenario-files.md": scenario_files_page,
}

PLAYED = {
    "reference/captured-runs.md": captured_runs_page,
    "explanation/consumer-protocol.md": consumer_protocol_page,
    "explanation/coordinator-failures.md": coordinator_failures_page,
    "explanation/published.md": published_page,
}
"""Pages with tables that are played for them: some dozen runs each."""


def print_pages(names: Sequence[str]) -> None:
    """Write the pages whose path contains one of the names; without names all."""

    def wanted(path: str) -> bool:
        return not names or any(name in path for name in names)

    for name, page in (PAGES | PLAYED).items():
        if wanted(name):
            (DOCS / name).write_text(page(), encoding="utf-8")
    for path in shown_pages():
        if wanted(str(path.relative_to(ROOT))):
            path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    print_pages(sys.argv[1:])
