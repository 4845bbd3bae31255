"""Verdicts about members that were removed before they had left: killed, closing, or computing."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.report.wording import counted, duration, joined
from emulator.verdicts.facts import with_limits
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, named


def killed(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict for each group with members that were killed before they had left it."""
    for group in evidence.facts.groups:
        if group.killed:
            members = list(dict.fromkeys(each.consumer for each in group.killed))
            reasons = with_limits(group, group.killed)
            longest_s = max(each.waited_us for each in group.killed) / 1_000_000
            one = len(members) == 1
            during = sum(each.rebalancing for each in group.killed)
            subject = (
                f"{named(members)} {'was' if one else 'were'} killed{_during(during, len(group.killed))} "
                f"before {'it' if one else 'they'}"
            )
            member = "a member" if one else "members"
            most = "up to " if len(group.killed) > 1 else ""
            yield Verdict(
                id=VerdictId.KILLED_IN_GROUP,
                sentence=f"{subject} had left {group.group}, and stayed {member} for "
                f"{most}{duration(longest_s)} more: {joined(reasons)}",
                numbers={
                    "members": len(members),
                    "longest_s": longest_s,
                    "restarted": sum(each.restarted for each in group.killed),
                    "during_rebalance": during,
                },
                group=group.group,
                problem=True,
            )


def _during(number: int, killed: int) -> str:
    """Return how many of the kills came during a rebalance, as a part of a sentence."""
    if not number:
        return ""
    return " during a rebalance," if number == killed else f", {number} during a rebalance,"


def removed_in_close(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict for each group that removed members while they closed."""
    for group in evidence.facts.groups:
        if group.removed_in_close:
            members = list(dict.fromkeys(each.consumer for each in group.removed_in_close))
            reasons = with_limits(group, group.removed_in_close)
            yield Verdict(
                id=VerdictId.REMOVED_IN_CLOSE,
                sentence=f"{named(members)} closed for so long that {group.group} removed it first: "
                f"{joined(reasons)}",
                numbers={"members": len(members)},
                group=group.group,
                problem=True,
            )


def removed_assigning(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict for each group that removed its leader while the assignor computed."""
    for group in evidence.facts.groups:
        if group.removed_assigning:
            times = len(group.removed_assigning)
            yield Verdict(
                id=VerdictId.REMOVED_ASSIGNING,
                sentence=f"{group.group} removed its leader {counted(times, 'time')} while the assignor "
                f"computed: {joined(with_limits(group, group.removed_assigning))}; it sends no heartbeats meanwhile",
                numbers={"times": times},
                group=group.group,
                problem=True,
            )
