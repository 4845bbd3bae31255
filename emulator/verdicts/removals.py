"""Verdicts about members that were removed while they could not send heartbeats."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.report.wording import counted, joined
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, named


def removed_in_close(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict for each group that removed members while they closed."""
    for group in evidence.facts.groups:
        if group.removed_in_close:
            members = list(dict.fromkeys(each.consumer for each in group.removed_in_close))
            reasons = list(dict.fromkeys(each.reason for each in group.removed_in_close))
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
                "computed: it sends no heartbeats meanwhile",
                numbers={"times": times},
                group=group.group,
                problem=True,
            )
