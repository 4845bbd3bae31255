"""Verdicts on deploys: rolling restarts that stopped before their end, or changed how a group assigns."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.report.wording import counted
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId

NOT_READY = "not ready"
"""The reason of a verdict: the member that it waited for ran, and was not ready."""


def deploy_problems(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each rolling restart that stopped."""
    for group, why in evidence.facts.stopped_deploys:
        yield Verdict(
            id=VerdictId.DEPLOY_STOPPED,
            sentence=(
                f"a rolling restart of {group} stopped: {why}; members that it had not reached keep "
                "their version"
            ),
            group=group,
            reasons=frozenset({NOT_READY} if NOT_READY in why else ()),
            problem=True,
        )


def assignors_changed(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each group that its deploys gave another assignor, or protocol, without harm to a member."""
    facts = evidence.facts
    stopped = {each.group for each in facts.stopped_deploys}
    for group in facts.groups if not facts.lasting else ():
        switched = group.switched
        is_whole = not (group.failures or group.absent or group.rebalancing_since_us is not None)
        if switched is None or group.group in stopped or not is_whole:
            continue
        if group.running >= switched.running_before:
            restarts = counted(switched.deploys, "rolling restart")
            members = counted(group.running, "member runs", "members run")
            yield Verdict(
                id=VerdictId.ASSIGNOR_CHANGED,
                sentence=(
                    f"{group.group} changed from {switched.before} to {switched.after} in {restarts}, and "
                    f"{members} as before"
                ),
                numbers={"restarts": switched.deploys, "members": group.running},
                group=group.group,
            )
