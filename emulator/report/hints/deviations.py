"""Hints for members and brokers that do something otherwise than their version of Kafka and its clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from emulator.metrics.metrics import Metrics
from emulator.report.hints.advice import given
from emulator.report.hints.cases import GivenHint, Hint
from emulator.report.subject import Subject

DEVIATION_HINTS: Final[Mapping[str, Hint]] = {
    key: Hint("as-the-client-does", text)
    for key, text in {
        "heartbeats_wait_for": (
            "Use a client that sends heartbeats whatever the application does, or keep what stops them (a "
            "batch, a listener call, the timeout of poll()) well below {session.timeout.ms}."
        ),
        "refused_fetch": (
            "Use a client that repeats a fetch of offsets that is answered STALE_MEMBER_EPOCH: it does not "
            "mean that there are none. Until then, auto.offset.reset=earliest repeats records instead "
            "of losing them."
        ),
        "reset": (
            "Use a client that applies auto.offset.reset only where there is no committed offset: with this one "
            "each rebalance begins every partition anew."
        ),
        "loading": (
            "Use a client that tries again while its coordinator loads the group "
            "(COORDINATOR_LOAD_IN_PROGRESS), or let its process be restarted when the consumer ends."
        ),
        "rebalance_timeout": (
            "Use a version of the client that sends {max.poll.interval.ms} as its rebalance timeout: the "
            "coordinator waits only as long as that says for partitions to be given up."
        ),
        "session_in_join": (
            "Use librdkafka 1.7 or newer, whose session rests while JoinGroup waits, or set "
            "{session.timeout.ms} above the longest rebalance."
        ),
        "listener": (
            "Write the rebalance listener for calls that add or remove partitions (librdkafka: "
            "incremental_assign, incremental_unassign), before the group gets a cooperative assignor."
        ),
        "ownership_check": (
            "Let the client notice at once that it was removed (a listener for the state of its "
            "session), or check more often: until then two members read a partition."
        ),
    }.items()
}
"""For each key of ``deviates``: what to change."""

BROKER_HINTS: Final[Mapping[str, Hint]] = {
    key: Hint("newer-brokers", text)
    for key, text in {
        "static_rejoin": (
            "Update the brokers to Kafka 2.7 or newer: before, the new member id of a static member that "
            "was restarted is not in the log, and a coordinator that loads the group fences the member "
            "(KAFKA-10284)."
        ),
        "pending_syncs": (
            "Update the brokers to Kafka 3.0 or newer: before, a group waits for a SyncGroup that does not "
            "come as long as the member sends heartbeats (KAFKA-12890). Until then, a smaller "
            "request.timeout.ms makes the member join again sooner."
        ),
        "new_members": (
            "Update the brokers to Kafka 2.2 or newer: before, members that are new and die while a "
            "rebalance waits stay in the group, and get partitions (KAFKA-7610)."
        ),
    }.items()
}
"""For each key of ``[cluster]`` that makes coordinators older: what to change."""


def deviation_hints(subject: Subject, metrics: Metrics, *, is_harmed: bool) -> Iterator[GivenHint]:
    """Yield what members and brokers do otherwise than they should, if the run shows harm.

    *is_harmed*: the run has a problem, or records that were reprocessed or lost.
    """
    if not is_harmed and not metrics["evictions_living"]:
        return
    for group in subject.groups:
        for key, hint in DEVIATION_HINTS.items():
            if key in group.deviations:
                yield given(hint, subject, group)
    for key in subject.outdated:
        yield GivenHint(BROKER_HINTS[key].id, BROKER_HINTS[key].text)
