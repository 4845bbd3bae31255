"""The names in ``[expect]``, held against the metrics that exist."""

from __future__ import annotations

import re
from collections.abc import Collection

from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError, hint

_OVER_SEEDS = re.compile(r"\.(p\d{1,2}|mean|median|min|max)$")
_ENTRY = re.compile(r"\[[^\[\]]*\]$")


def metric_of(expected: str) -> str:
    """Return the metric an expectation is about, without its entry and its figure over seeds.

    >>> metric_of("reprocessed.by_cause[crashed].p95")
    'reprocessed.by_cause'
    """
    return _ENTRY.sub("", _OVER_SEEDS.sub("", expected))


def refuse_unknown_metrics(scenario: Scenario, metrics: Collection[str], name: str) -> None:
    """Raise ScenarioError, with the nearest names, if ``[expect]`` speaks of unknown metrics."""
    problems = [
        Problem(f"expect[{expected}]", f"no such metric{hint(metric_of(expected), metrics)}")
        for expected in scenario.expect
        if metric_of(expected) not in metrics
    ]
    if problems:
        raise ScenarioError(name, problems)
