"""A group of the consumer protocol as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.measure.described import DescribedGroup, DescribedMember, Partitions
from emulator.report.wording import counted, paragraph


def group_screen(group: DescribedGroup, when: str) -> Iterator[str]:
    """Yield the state of a group, then each member: what it has, gives up and waits for."""
    assignor = f" ({group.assignor})" if group.assignor else ""
    text = (
        f"{group.group} at {when}: {group.state}, epoch {group.epoch}, target of epoch "
        f"{group.target_epoch}{assignor}, {counted(len(group.members), 'member')}"
    )
    yield from paragraph(text)
    for member in group.members:
        yield from paragraph(_member(member), f"  {member.consumer}: ")


def _member(member: DescribedMember) -> str:
    state = member.state.lower().replace("_", " ")
    parts = [f"epoch {member.epoch}, {state}, has {_in_short(member.assigned)}"]
    if member.revoking:
        parts.append(f"gives up {_in_short(member.revoking)}")
    if member.missing:
        parts.append(f"waits for {_in_short(member.missing)}")
    return "; ".join(parts)


def _in_short(partitions: Partitions) -> str:
    return " ".join(str(partition) for partition in sorted(partitions)) or "nothing"


def group_document(group: DescribedGroup) -> dict[str, Any]:
    """Return a group as a value for machines, partitions by name."""
    return {
        "group": group.group,
        "state": group.state,
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "assignor": group.assignor,
        "members": [
            {
                "consumer": member.consumer,
                "epoch": member.epoch,
                "state": member.state,
                "assigned": [str(partition) for partition in sorted(member.assigned)],
                "revoking": [str(partition) for partition in sorted(member.revoking)],
                "missing": [str(partition) for partition in member.missing],
            }
            for member in group.members
        ],
    }
