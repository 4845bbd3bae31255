"""Changes of who belongs to a group: consumers that call ``assign()`` beside its members."""

from __future__ import annotations

from emulator.advice.drafts import Draft
from emulator.advice.situation import Situation


def own_group_id(situation: Situation) -> Draft | None:
    """Another group id for consumers that call assign(): then they are not part of this group.

    A scenario cannot move a member, so the change plays the group without them.
    """
    group, names = situation.group, situation.facts.by_hand
    if not names or len(names) == len(group.members):
        return None
    beside = [name for name in names if _starts_by_itself(situation, name)]
    if not beside:
        return None
    return Draft(
        f"{', '.join(names)} reads partitions of the members of {group.id}, with its group.id.",
        (f"a group.id of its own for {', '.join(names)} (played: the group without it)",),
        tuple(f'group[{group.id}].member[{name}].start="by act"' for name in beside),
    )


def _starts_by_itself(situation: Situation, name: str) -> bool:
    return any(m.name == name and m.start != "by act" for m in situation.group.members)
