"""What can be wrong with assignors of one's own: imports, names, and protocols nobody shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.scenario.deploys import ever_running
from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import consumer_settings

if TYPE_CHECKING:
    from assignors.types import Assignor

STRATEGY = "partition.assignment.strategy"


def assignor_problems(scenario: Scenario, folder: Path | None) -> Iterator[Problem]:
    """Yield what is wrong where an assignor is given as ``module:function``.

    Kafka's own need no look: each can run under the eager protocol.
    """
    seen = set[tuple[str, str]]()
    for group, member in ever_running(scenario):
        names = consumer_settings(group, member).partition_assignment_strategy
        look = (repr(names), repr(member.assignor_config))
        if look not in seen and any(":" in name for name in names):
            seen.add(look)
            yield from _problems(group, member, names, folder)


def _problems(
    group: Group, member: Member, names: Sequence[str], folder: Path | None
) -> Iterator[Problem]:
    from assignors.errors import AssignorError  # noqa: PLC0415  few scenarios need them,
    from assignors.registry import load_assignor  # noqa: PLC0415  and all would wait for them

    mine = f"group[{group.id}].member[{member.name}]"
    path = f"{mine if STRATEGY in member.settings else f'group[{group.id}]'}.settings[{STRATEGY}]"
    folders = (folder, Path()) if folder else (Path(),)
    made = []
    for name in names:
        try:
            made.append(load_assignor(name, member.assignor_config, folders=folders))
        except (AssignorError, TypeError, ValueError) as error:
            yield Problem(path, str(error), name)
    if len(made) == len(names):
        yield from _disagreements(path, names, made)


def _disagreements(path: str, names: Sequence[str], made: Sequence[Assignor]) -> Iterator[Problem]:
    own = [assignor.name for assignor in made]
    twice = next((name for name in own if own.count(name) > 1), None)
    if twice is not None:
        yield Problem(path, f'two assignors are called "{twice}"; members vote by name', names)
    common = set(made[0].rebalance_protocols)
    for assignor in made:
        common &= set(assignor.rebalance_protocols)
    if not common:
        told = "; ".join(
            f"{assignor.name}: {', '.join(kind.name for kind in assignor.rebalance_protocols)}"
            for assignor in made
        )
        yield Problem(path, f"no rebalance protocol that all of them support ({told})", names)
