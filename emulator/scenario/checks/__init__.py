"""Checks across the tables of a scenario: everything a single table cannot know."""

from __future__ import annotations

from pathlib import Path

from emulator.scenario.checks.assignors import assignor_problems
from emulator.scenario.checks.cluster import cluster_problems
from emulator.scenario.checks.deploys import deploy_problems
from emulator.scenario.checks.faults import fault_problems
from emulator.scenario.checks.groups import group_problems
from emulator.scenario.checks.protocols import protocol_problems
from emulator.scenario.checks.timeline import timeline_problems
from emulator.scenario.checks.topics import topic_problems
from emulator.scenario.checks.variants import variant_problems
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem

__all__ = ["problems_of"]


def problems_of(scenario: Scenario, folder: Path | None = None) -> list[Problem]:
    """Return all that is wrong with a scenario; empty if it can be run.

    ``folder`` is where modules with assignors of one's own are looked for first.
    """
    found = [
        *cluster_problems(scenario),
        *topic_problems(scenario),
        *group_problems(scenario),
        *protocol_problems(scenario),
        *assignor_problems(scenario, folder),
        *fault_problems(scenario),
        *deploy_problems(scenario),
        *timeline_problems(scenario),
        *variant_problems(scenario),
    ]
    return list({str(problem): problem for problem in found}.values())
