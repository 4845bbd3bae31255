"""What can be wrong with the variants of a scenario; their changes are read when they are played."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.names import named_twice
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem


def variant_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with the variants."""
    named = [(f"variant[{index}].name", each.name) for index, each in enumerate(scenario.variant)]
    yield from named_twice(named, "variant")
    for variant in scenario.variant:
        for change in variant.changes:
            path = change.partition("=")[0].strip()
            if path == change.strip() or path.startswith("variant"):
                reason = "not understood; allowed is path=value, as for --set"
                yield Problem(f"variant[{variant.name}].set", reason, change)
