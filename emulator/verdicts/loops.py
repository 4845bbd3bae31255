"""Verdicts on loops: members that drop out again and again, and offsets that no owner gets past."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.report.wording import counted
from emulator.verdicts.facts import Repeated, with_limits
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, culprit, named

MIN_TIMES = 3
"""Members that left or were removed so often for one reason are in a loop, if one of them did again."""


def loops(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the groups whose running members drop out again and again."""
    for group in evidence.facts.groups:
        found = _in_loops(group.loops)
        if found:
            times = sum(loop.times for loop in found)
            members = sorted({loop.consumer for loop in found})
            yield Verdict(
                id=VerdictId.MEMBER_LOOP,
                sentence=(
                    f"{named(members)} dropped out of {group.group} {times} times, although the "
                    f"process ran: {named(with_limits(group, found))}"
                ),
                numbers={"times": times, "members": len(members)},
                group=group.group,
                reasons=frozenset(loop.reason for loop in found),
                problem=True,
            )


def _in_loops(found: Sequence[Repeated]) -> list[Repeated]:
    """Return the drop-outs for reasons that come again: in one member, and often enough in all of them."""
    by_reason = dict[str, list[Repeated]]()
    for each in found:
        by_reason.setdefault(each.reason, []).append(each)
    return [
        each
        for each in found
        if max(one.times for one in by_reason[each.reason]) > 1
        and sum(one.times for one in by_reason[each.reason]) >= MIN_TIMES
    ]


def stuck(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the groups with a partition at which owner after owner starts at one offset."""
    for group in evidence.facts.groups:
        if not group.stuck:
            continue
        slow_records = evidence.facts.slow_records
        worst, slow = culprit(group.stuck, slow_records, lambda each: (each.owners, each.behind))
        sentence = (
            f"{worst.partition} does not get past offset {worst.offset}: {worst.owners} owners in "
            f"a row started there, and {counted(worst.behind, evidence.facts.lag_unit)} wait behind it"
            f"{slow}"
        )
        yield Verdict(
            id=VerdictId.PARTITION_STUCK,
            sentence=sentence,
            numbers={
                "partitions": len(group.stuck),
                "offset": worst.offset,
                "owners": worst.owners,
                "records": worst.behind,
                "slow": bool(slow),
            },
            group=group.group,
            problem=True,
        )
