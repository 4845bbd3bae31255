"""A consumer with any answers, in any order, and any calls of the application.

1. It never returns a record of a partition that its listener has not been assigned.
2. A commit covers only what polls returned before, unless the threads raced for it.
3. Its epoch rises until it joins again; a commit has only epochs from answers.
4. It follows the table of states (checked by the machine), and nothing makes it fail.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocols.consumer.calls import Closed, CloseOperation, Failed
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.threads import Calling, Closing, CommittingSync, Lag, Outside
from protocols.facts import EpochOpened
from protocols.messages import (
    FetchRequest,
    FindCoordinatorRequest,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocols.messages.errors import ErrorCode

from .driver import Beat, ClientDriver, parts

NUMBERS = st.sets(st.integers(0, 3))
GROUP_ERRORS = st.sampled_from(
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ]
)
COMMIT_ERRORS = st.sampled_from(
    [
        ErrorCode.NONE,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    ]
)
OFFSET_ERRORS = st.sampled_from(
    [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NOT_COORDINATOR]
)
TIMES_MS = st.sampled_from([0, 1, 40, 100, 700, 5_000, 31_000])


class Watched(ClientDriver):
    """A client whose listener and records are looked at as they come."""

    def __init__(self, **more) -> None:
        super().__init__(**more)
        self.owns: set[int] = set()
        self.returned_to: dict[int, int] = {}
        self.raced = False
        self.told_epoch = -1

    def beaten(self, epoch=None, *numbers, **more) -> None:
        self.told_epoch = max(self.told_epoch, self.epoch if epoch is None else epoch)
        super().beaten(epoch, *numbers, **more)

    def _one_effect(self, effect) -> None:
        match effect:
            case _ if type(effect).__name__ == "Call":
                numbers = {tp.partition for tp in effect.partitions}
                self.owns = (
                    self.owns | numbers if effect.listener == "assigned" else self.owns - numbers
                )
            case _ if type(effect).__name__ == "Return" and isinstance(effect.value, tuple):
                self._handed(effect.value)
            case _ if type(effect).__name__ == "Report" and isinstance(effect.fact, EpochOpened):
                self.returned_to[effect.fact.partition.partition] = effect.fact.offset
            case _ if type(effect).__name__ == "Send":
                self._committing(effect.message)
        super()._one_effect(effect)

    def _handed(self, batch) -> None:
        for part in batch:
            assert part.partition.partition in self.owns, f"{part} is not owned: {self.owns}"
            self.returned_to[part.partition.partition] = part.next_offset

    def _committing(self, message) -> None:
        if not isinstance(message, OffsetCommitRequest):
            return
        assert message.generation_id <= self.told_epoch
        if self.raced:
            return
        for entry in message.offsets:
            assert entry.offset <= self.returned_to[entry.partition.partition], f"{entry} is ahead"


class Living(RuleBasedStateMachine):
    @initialize(
        commits=st.booleans(),
        records=st.sampled_from([1, 5, 500]),
        static=st.booleans(),
        raced=st.booleans(),
        begun=st.sampled_from(["new", "member", "member", "member"]),
    )
    def begin(self, commits, records, static, raced, begun) -> None:
        self.driver = Watched(
            enable_auto_commit=commits,
            max_poll_records=records,
            auto_commit_interval_ms=1_000,
            max_poll_interval_ms=20_000,
            request_timeout_ms=4_000,
            default_api_timeout_ms=5_000,
            group_instance_id="i" if static else None,
        )
        self.epoch = 0
        if begun == "member":
            self.driver.stable({0: 3, 1: 4})
            self.epoch = self.driver.epoch
        self.driver.raced = raced
        if raced:
            self.driver.lags = {Lag.EVENT: 900, Lag.WAKE: 700, Lag.TAKE: 200, Lag.ROUND: 120}
        self.driver.hold_calls = True

    # -- the application -----------------------------------------------------------------------

    @precondition(lambda self: isinstance(self.driver.state.app, Outside))
    @rule(timeout_ms=st.sampled_from([0, 10, 100, 2_000]), settle=st.booleans())
    def poll(self, timeout_ms, settle) -> None:
        (self.driver.poll if settle else self.driver.begin_poll)(timeout_ms)

    @precondition(lambda self: self.driver.running and not self._in_commit())
    @rule(threw=st.sampled_from([None, None, None, Failed("Oops")]))
    def end_call(self, threw) -> None:
        self.driver.end_call(threw)

    def _in_commit(self) -> bool:
        return isinstance(self.driver.state.app, CommittingSync)

    @precondition(lambda self: isinstance(self.driver.state.app, Outside | Calling))
    @rule(sync=st.booleans())
    def commit(self, sync) -> None:
        (self.driver.commit_sync if sync else self.driver.commit_async)()

    @precondition(lambda self: isinstance(self.driver.state.app, Outside))
    @rule(once=st.integers(0, 9))
    def unsubscribe(self, once) -> None:
        if once == 0:
            self.driver.unsubscribe()

    @precondition(lambda self: not self.driver.running and not self._in_commit())
    @rule(once=st.integers(0, 9), operation=st.sampled_from(CloseOperation))
    def close(self, once, operation) -> None:
        if once == 0 and not isinstance(self.driver.state.app, Closing | Closed):
            self.driver.close(3_000, operation)

    @precondition(lambda self: not self._in_commit())
    @rule(numbers=NUMBERS)
    def go_on(self, numbers) -> None:
        """Answer everything as expected for a while."""
        driver = self.driver
        for _ in range(4):
            if driver.running:
                driver.end_call()
            if driver.pending(Beat):
                self.beat(numbers, True, 0)
            if driver.pending(OffsetCommitRequest):
                driver.committed()
            if driver.pending(OffsetFetchRequest):
                self.answer_offsets(ErrorCode.NONE, dict.fromkeys(range(4), 7))
            if isinstance(driver.state.app, Outside) and driver.state.subscribed is not None:
                driver.poll(100)
            driver.advance(60)

    # -- time and the network ------------------------------------------------------------------

    @rule(ms=TIMES_MS)
    def wait(self, ms) -> None:
        self.driver.advance(ms)

    @rule(known=st.booleans(), data=st.booleans(), breaks=st.booleans())
    def disconnect(self, known, data, breaks) -> None:
        self.driver.coordinator = 1 if known else None
        if breaks:
            self.driver.disconnect(1 if data else None)

    @precondition(lambda self: self.driver.sent)
    @rule(place=st.integers(0, 5))
    def lose(self, place) -> None:
        sent = self.driver.sent
        if not isinstance(sent[place % len(sent)].message, FindCoordinatorRequest | FetchRequest):
            del sent[place % len(sent)]

    @precondition(lambda self: self.driver.pending(Beat))
    @rule(numbers=NUMBERS, assigned=st.booleans(), more=st.integers(0, 2))
    def beat(self, numbers, assigned, more) -> None:
        driver = self.driver
        request = driver.pending(Beat)[0].message
        joins = request.member_epoch == 0
        epoch = request.member_epoch if request.member_epoch < 0 else self.epoch + more + joins
        self.epoch = max(self.epoch, epoch)
        driver.beaten(epoch, *numbers, assigned=() if assigned or joins else None)

    @precondition(lambda self: self.driver.pending(Beat))
    @rule(error=GROUP_ERRORS)
    def refuse(self, error) -> None:
        self.driver.refused(error)

    @precondition(lambda self: self.driver.pending(OffsetCommitRequest))
    @rule(error=COMMIT_ERRORS)
    def answer_commit(self, error) -> None:
        self.driver.committed(error)

    @precondition(lambda self: self.driver.pending(OffsetFetchRequest))
    @rule(error=OFFSET_ERRORS, known=st.dictionaries(st.integers(0, 3), st.integers(0, 50)))
    def answer_offsets(self, error, known) -> None:
        driver = self.driver
        if error:
            driver.answer(OffsetFetchRequest, OffsetFetchResponse(error=error))
        else:
            driver.sent = [
                s for s in driver.sent if s not in driver.pending(OffsetFetchRequest)[1:]
            ]
            driver.fetched(known)

    @precondition(lambda self: self.driver.pending(ListOffsetsRequest))
    @rule(offset=st.integers(-1, 50))
    def answer_listing(self, offset) -> None:
        wanted = self.driver.pending(ListOffsetsRequest)[0].message.partitions
        found = tuple(ListedOffset(tp, offset) for tp, _ in wanted)
        self.driver.answer(ListOffsetsRequest, ListOffsetsResponse(offsets=found))

    @precondition(lambda self: len(self.driver.pending(FetchRequest)) == 1)
    @rule(counts=st.dictionaries(st.integers(0, 3), st.integers(0, 12)))
    def fetch(self, counts) -> None:
        asked = self.driver.one(FetchRequest).partitions
        wanted = {part.partition for part in asked}
        given = {n: count for n, count in counts.items() if parts(n)[0] in wanted}
        self.driver.records(given)

    # -- what always holds -----------------------------------------------------------------------

    @invariant()
    def epochs_rise(self) -> None:
        if not hasattr(self, "driver"):
            return
        member = self.driver.state.member
        assert member.epoch <= self.epoch
        if member.state in (MemberState.STABLE, MemberState.ACKNOWLEDGING):
            assert member.epoch > 0

    @invariant()
    def only_what_is_assigned_has_a_position(self) -> None:
        if hasattr(self, "driver"):
            state = self.driver.state
            held = {tp.partition for tp in state.assignment} - {
                tp.partition for tp in state.awaiting
            }
            assert set(self.driver.positions()) <= held


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(45, 50), pytest.param(200, 60, marks=pytest.mark.long)],
)
def test_the_laws_hold_whatever_comes(examples, steps):
    """No order of answers, losses, calls and time breaks a law."""
    case = Living.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()
