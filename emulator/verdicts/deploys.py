"""Verdicts on deploys: a rolling restart that stopped before its end."""

from __future__ import annotations

from collections.abc import Iterator

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
