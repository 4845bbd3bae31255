"""Measured behaviour of a real client around a cooperative revocation.

Two partitions on a broker each, five records a partition and poll, answers after 3 ms; the
coordinator announces a rebalance, answers the JoinGroup after J, and revokes partition 0.
"""

from __future__ import annotations

import math

import pytest

from protocols.messages import (
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import ClientDriver, parts

RTT_MS = 3


class Measured:
    """An application that polls every tau, and brokers that answer on time."""

    def __init__(self, tau_ms: int, join_ms: int, *, auto: bool, sync: bool = False) -> None:
        self.driver = ClientDriver(
            assignors=("cooperative-sticky",),
            brokers=(1, 2),
            enable_auto_commit=auto,
            auto_commit_interval_ms=1_000_000,
            max_poll_records=10,
            heartbeat_interval_ms=100,
        )
        self.tau_ms = tau_ms
        self.join_ms = join_ms
        self.sync = sync
        self.refused = 0
        self.committed = 0
        self.driver.stable()
        self.driver.on_call = self._called
        self.revoked_at: int | None = None
        self.announced = False

    def _called(self, call) -> None:
        if call.listener == "revoked" and parts(0)[0] in call.partitions:
            self.revoked_at = self.driver.positions()[0]

    def run(self) -> int:
        """Poll until partition 0 is revoked; how much of it no accepted commit covers."""
        for turn in range(60):
            self.announced = turn >= 3
            self.driver.poll()
            if self.revoked_at is not None:
                return self.revoked_at - self.committed
            self._pass(self.tau_ms)
            if self.sync and self.driver.batches():
                self.commit()
        raise AssertionError("partition 0 was never revoked")

    def commit(self) -> None:
        result = self.driver.commit_sync()
        while result is None:
            self._pass(1)
            last = self.driver.returned[-1]
            result = last if not isinstance(last, tuple) else None
        if result.exception:
            self.refused += 1

    def _pass(self, ms: int) -> None:
        """Let time pass; whatever has been under way for 3 ms (or J) is answered."""
        for _ in range(ms):
            self.driver.advance(1)
            for sent in list(self.driver.sent):
                waited = (self.driver.now_us - sent.at_us) / 1_000
                joins = isinstance(sent.message, JoinGroupRequest)
                if waited >= RTT_MS + (self.join_ms if joins else 0):
                    self._answer(sent)

    def _answer(self, sent) -> None:
        driver = self.driver
        match sent.message:
            case HeartbeatRequest():
                ended = self.driver.state.generation.id > 1
                rebalancing = self.announced and not ended
                error = ErrorCode.REBALANCE_IN_PROGRESS if rebalancing else ErrorCode.NONE
                driver.beaten(error)
            case OffsetCommitRequest(offsets=offsets):
                self.committed = {e.partition.partition: e.offset for e in offsets}[0]
                driver.committed()
            case JoinGroupRequest():
                driver.joined(2)
            case SyncGroupRequest():
                driver.synced(1)
            case FetchRequest(partitions=wanted):
                driver.records({part.partition.partition: 5 for part in wanted}, sent.node)
            case LeaveGroupRequest() | FindCoordinatorRequest():
                raise AssertionError(sent)


@pytest.mark.parametrize(
    ("tau_ms", "join_ms", "measured"), [(52, 0, 15), (300, 0, 15), (52, 400, 50)]
)
def test_automatic_commits_leave_as_many_records_uncovered_as_measured(tau_ms, join_ms, measured):
    """Three polls of five records, or ten if the join takes 400 ms."""
    uncovered = Measured(tau_ms, join_ms, auto=True).run()
    polls = 2 + max(1, math.ceil(join_ms / tau_ms))

    assert measured == uncovered
    assert 5 * polls == uncovered


@pytest.mark.parametrize(
    ("tau_ms", "join_ms", "measured", "refused"),
    [(20, 0, 10, 2), (52, 0, 10, 2), (52, 400, 45, 9), (300, 0, 0, 1)],
)
def test_commit_sync_after_each_batch_fails_as_often_as_measured(
    tau_ms, join_ms, measured, refused
):
    """While joining; the slow one finds its sync completed behind its back and is in time."""
    run = Measured(tau_ms, join_ms, auto=False, sync=True)

    assert (measured, refused) == (run.run(), run.refused)
