"""Checks that concern several tables of a scenario."""

from __future__ import annotations

from pathlib import Path

from emulator.scenario.checks.cluster import cluster_problems, topic_problems, variant_problems
from emulator.scenario.checks.faults import deploy_problems, fault_problems, timeline_problems
from emulator.scenario.checks.groups import assignor_problems, group_problems, protocol_problems
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem

__all__ = ["problems_of"]


def problems_of(scenario: Scenario, folder: Path | None = None) -> list[Problem]:
    """Return the problems of a scenario; none if it can be run.

    *folder*: searched first for modules with the user's own assignors.
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
