"""Hints for members that ended with an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from emulator.report.hints.lag import Given
from emulator.report.subject import GroupFacts
from emulator.verdicts.verdict import Verdict

LISTENER_CATCHES = Given(
    "catch-in-listener",
    "Catch exceptions inside the rebalance listener: poll() throws them, the process ends if it does "
    "not catch them there, and the partitions of the call have no owner that reads them.",
)

OWN_ID: Final = "own-instance-id"

RESTARTED_EARLY: Final = Given(
    "restart-after-session",
    "The coordinator of the consumer protocol refuses a static member until the session of its former "
    "process has ended, after {session.timeout.ms}: let the process start again until it is accepted, or "
    "set a shorter session. One that closes is accepted at once.",
)

SESSION_LIMITS: Final = Given(
    "session-within-limits",
    "The coordinator refuses members whose {session.timeout.ms} is outside the brokers' limits, and "
    "they never join: set it between {group.min.session.timeout.ms} and {group.max.session.timeout.ms}.",
)

MEANT_SECONDS: Final = range(6, 1_000)
"""Values of session.timeout.ms that are likely meant in seconds: brokers accept the thousandfold by default."""

BY_REASON: Mapping[str, Given] = {
    "INSTANCE_ID": Given(
        OWN_ID,
        "Give each process its own group.instance.id: a second process with the same id fences the "
        "first, or is refused. Ids per pod of a Deployment or per host repeat during a deploy; use "
        "the ordinals of a StatefulSet, or no ids.",
    ),
    "INCONSISTENT_GROUP_PROTOCOL": Given(
        "assignor-in-two-steps",
        "Change partition.assignment.strategy in two rolling restarts: first add the new assignor "
        "beside the old one on every member, then remove the old one. With one, a new member has no "
        "assignor in common with the others and ends. Members with different clients need an assignor "
        "that each of these has: range or roundrobin.",
    ),
    "NoOffsetForPartition": Given(
        "offset-reset-none",
        "With auto.offset.reset=none a partition without a committed offset ends its consumer: set "
        "earliest or latest, or commit offsets before the start (kafka-consumer-groups "
        "--reset-offsets --execute).",
    ),
    "listener threw": LISTENER_CATCHES,
    "GROUP_ID_NOT_FOUND": Given(
        "migration-policy",
        "The group has the other protocol, and group.consumer.migration.policy does not allow its "
        "conversion: set it to bidirectional on the brokers before members change group.protocol.",
    ),
    "GROUP_MAX_SIZE_REACHED": Given(
        "group-max-size",
        "The group is full: raise {group.max.size}, or start fewer members.",
    ),
    "INVALID_SESSION_TIMEOUT": SESSION_LIMITS,
    "UNSUPPORTED_ASSIGNOR": Given(
        "assignor-of-brokers",
        "Set {group.remote.assignor} to one of {group.consumer.assignors} of the brokers.",
    ),
    "the handler raised": Given(
        "catch-in-handler",
        "Catch exceptions of the handler: a record that always fails ends each process that gets it, one "
        "after the other, and everything since the last commit is reprocessed. Send it to a dead letter "
        "topic after some attempts.",
    ),
}
"""A part of the reason of an error, and the hint for it."""


def died(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    """Yield a hint for each kind of error."""
    for part, hint in BY_REASON.items():
        if hint.id == OWN_ID and group.fenced_alone:
            if any("UNRELEASED_INSTANCE_ID" in reason for reason in verdict.reasons):
                yield RESTARTED_EARLY
            continue
        if any(part in reason for reason in verdict.reasons):
            size = "{group.consumer.max.size}" if group.by_coordinator else "{group.max.size}"
            text = hint.text.replace("{group.max.size}", size)
            if hint is SESSION_LIMITS:
                text = _meant_seconds(group) + text
            yield hint._replace(text=text)


def _meant_seconds(group: GroupFacts) -> str:
    """Return the question about a session timeout that may be one in seconds; empty: it is none."""
    name = "session.timeout.ms"
    value = int(group.value(name))
    if value not in MEANT_SECONDS:
        return ""
    return f"{group.name_of(name)} = {value} is {value} ms; did you mean {value * 1_000}? "
