"""What would help against each cause that an audit can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.logs.audit.judging import AuditCause

ADVICE: Final[Mapping[AuditCause, str]] = {
    AuditCause.TWO_OWNERS: (
        "Keep slow members in the group: session.timeout.ms above their longest pause, "
        "max.poll.interval.ms above their longest batch, or a smaller max.poll.records. Only where "
        "the results go can two owners be told apart for certain: idempotent writes, transactions."
    ),
    AuditCause.EXPIRED: (
        "Keep committed offsets longer than the group can stand still: offsets.retention.minutes "
        "of the brokers. auto.offset.reset decides what happens when they have gone."
    ),
    AuditCause.REWIND: (
        "Find out who committed the lower offset (rebalance import names member and generation). "
        "Never commit an older offset after a newer one: no retry in the callback of commitAsync()."
    ),
    AuditCause.REBALANCE: (
        "Commit before a partition is given away: commitSync() in onPartitionsRevoked() and before "
        "close(). A process that is killed cannot: commit more often. Fewer rebalances, too: "
        "group.instance.id for restarts, cooperative-sticky or group.protocol=consumer for the rest."
    ),
    AuditCause.COMMITTED_AHEAD: (
        "Commit after the work, and only what is done: pass offsets to commitSync(), and finish the "
        "batch before close() or the next poll()."
    ),
    AuditCause.RESET: (
        "auto.offset.reset=earliest, or commit a first offset when a partition is assigned: latest "
        "passes over what was written before."
    ),
    AuditCause.UNKNOWN: (
        "Look at the consumers' own logs at these times: seek(), a reset by hand, a process of the "
        "same name, or a log that lacks rows."
    ),
}
