"""Groups as text: after an event, and at the end of a run; and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from assignors.types import TopicPartition
from emulator.report.group_state import (
    DescribedGroup,
    DescribedMember,
    Phase,
    Protocol,
)
from emulator.report.subject import FinishedRun
from emulator.report.wording import counted, paragraph

MAX_MEMBERS = 6
MAX_RANGES = 6
"""Members and ranges of partitions shown; the rest is counted."""

SHORTEST_RANGE = 3
"""The smallest number of consecutive partitions shown as a range."""

WAITS_FOR = {
    Phase.PREPARING_REBALANCE: "waits until all its members have joined again",
    Phase.COMPLETING_REBALANCE: "waits for its leader's assignment",
}


def group_screen(group: DescribedGroup, when: str) -> Iterator[str]:
    """Yield the state of a group, then the partitions of each member."""
    yield from paragraph(f"{group.group} at {when}: {group.state}, {_epochs(group)}")
    for member in group.members:
        yield from paragraph(_member(member), f"  {member.consumer}: ")


def _epochs(group: DescribedGroup) -> str:
    assignor = f" ({group.assignor})" if group.assignor else ""
    members = counted(len(group.members), "member")
    if group.protocol == Protocol.CLASSIC:
        return f"generation {group.epoch}{assignor}, {members}"
    return f"epoch {group.epoch}, target of epoch {group.target_epoch}{assignor}, {members}"


def _member(member: DescribedMember) -> str:
    state = member.state.lower().replace("_", " ")
    protocol = " (classic protocol)" if member.protocol == Protocol.CLASSIC else ""
    parts = [f"epoch {member.epoch}{protocol}, {state}, has {in_short(member.assigned)}"]
    if member.revoking:
        parts.append(f"revokes {in_short(member.revoking)}")
    if member.missing:
        parts.append(f"waits for {in_short(member.missing)}")
    return "; ".join(parts)


def in_short(partitions: Sequence[TopicPartition]) -> str:
    """Return the names of partitions, consecutive ones as a range, limited to some ranges.

    >>> in_short([TopicPartition("t", number) for number in (0, 1, 2, 5)])
    't-0..2 t-5'
    """
    ordered = sorted(partitions)
    runs: list[list[TopicPartition]] = []
    for before, partition in pairwise([None, *ordered]):
        assert partition is not None, "only the first item is None"
        if before != TopicPartition(partition.topic, partition.partition - 1):
            runs.append([])
        runs[-1].append(partition)
    named = [name for run in runs for name in _names(run)]
    if len(named) > MAX_RANGES:
        return f"{' '.join(named[:MAX_RANGES])} … ({counted(len(ordered), 'partition')})"
    return " ".join(named) or "nothing"


def _names(run: list[TopicPartition]) -> list[str]:
    if len(run) < SHORTEST_RANGE:
        return [str(partition) for partition in run]
    return [f"{run[0]}..{run[-1].partition}"]


# -- at the end of a run -----------------------------------------------------------------------


def groups_at_the_end(run: FinishedRun) -> Iterator[str]:
    """Yield the state of groups that are not stable at the end of a run; often nothing."""
    unsettled = [group for group in run.groups if group.state != Phase.STABLE]
    if unsettled:
        yield from ("", "Groups at the end")
    for group in unsettled:
        yield from _unsettled(group, run)


def _unsettled(group: DescribedGroup, run: FinishedRun) -> Iterator[str]:
    since = f"{group.state} since {run.subject.moment(group.since_us)}"
    if group.state == Phase.EMPTY:
        yield from paragraph(f"{group.group}: {since}", "  ", "    ")
        return
    parts = [f"{group.group}: {since}", _epochs(group)]
    if group.protocol == Protocol.CONSUMER:
        parts += [group.reason] if group.reason else []
    elif group.state in WAITS_FOR:
        parts.append(WAITS_FOR[group.state])
    yield from paragraph("; ".join(parts), "  ", "    ")
    if group.unowned:
        yield from paragraph(f"not owned: {in_short(group.unowned)}", "    ")
    late = group.late
    for member in late[:MAX_MEMBERS]:
        yield from paragraph(_member(member), f"    {member.consumer}: ")
    if group.protocol == Protocol.CONSUMER:
        yield from _others(group, len(late))


def _others(group: DescribedGroup, late: int) -> Iterator[str]:
    """Yield the number of members that are not shown."""
    if late > MAX_MEMBERS:
        yield f"    {late - MAX_MEMBERS:,} more have not reached the target assignment"
    there = len(group.members) - late
    if there:
        yield f"    {counted(there, 'member has', 'members have')} all partitions of the target assignment"


def stable_groups(groups: Sequence[DescribedGroup]) -> str:
    """Return the stable groups of the consumer protocol in one line; empty if there are none."""
    stable = [
        one for one in groups if one.protocol == Protocol.CONSUMER and one.state == Phase.STABLE
    ]
    named = [_in_one_line(group, alone=len(groups) == 1) for group in stable]
    return "; ".join(named[:MAX_MEMBERS])


def _in_one_line(group: DescribedGroup, *, alone: bool) -> str:
    members = counted(len(group.members), "member")
    classic = sum(member.protocol == Protocol.CLASSIC for member in group.members)
    if classic:
        of_them = "all" if classic == len(group.members) else f"{classic} of them"
        members += f", {of_them} of the classic protocol"
    name = "" if alone else f"{group.group} "
    return f"{name}stable in epoch {group.epoch} ({group.assignor or 'no assignor yet'}), {members}"


# -- as JSON values ----------------------------------------------------------------------------


def group_document(group: DescribedGroup) -> dict[str, Any]:
    """Return a group as a JSON value, partitions by name."""
    return {
        "group": group.group,
        "protocol": group.protocol,
        "state": group.state,
        "since_us": group.since_us,
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "assignor": group.assignor,
        "reason": group.reason,
        "unowned": [str(partition) for partition in group.unowned],
        "members": [
            {
                "consumer": member.consumer,
                "protocol": member.protocol,
                "epoch": member.epoch,
                "state": member.state,
                "assigned": [str(partition) for partition in sorted(member.assigned)],
                "revoking": [str(partition) for partition in sorted(member.revoking)],
                "missing": [str(partition) for partition in member.missing],
            }
            for member in group.members
        ],
    }
