"""The passes of poll: when it issues an event, how long it waits, and what ends a wait."""

from __future__ import annotations

import pytest

from protocols.consumer.calls import ExceptionName, Failed
from protocols.consumer.kip848.background import take_event
from protocols.consumer.kip848.state import Slot
from protocols.consumer.kip848.threads import Lag, Polled
from protocols.messages import FetchedRecords, FetchRequest, FetchResponse, OffsetFetchRequest
from protocols.messages.errors import ErrorCode
from protocols.values import replace

from .driver import Beat, ClientDriver, parts


def stable(**settings) -> ClientDriver:
    """A stable member with partitions 0 and 1 that never commits by itself."""
    driver = ClientDriver(enable_auto_commit=False, **settings)
    driver.stable()
    return driver


def events_of(driver: ClientDriver, ms: int) -> list[int]:
    """Let time pass and return when, in ms, the poll deadline was pushed on by an event."""
    seen = []
    for _ in range(ms):
        before = driver.state.poll_due_us
        driver.advance(1)
        if driver.state.poll_due_us != before:
            seen.append(driver.now_us // 1_000)
    return seen


def test_a_poll_without_records_returns_empty_after_its_timeout():
    """It is over when its time is, and no earlier."""
    driver = stable()
    driver.poll(250)
    driver.advance(249)
    assert [] == driver.returned
    driver.advance(1)

    assert [()] == driver.returned


def test_a_poll_of_zero_returns_at_once():
    """It looks into the buffer and does not wait."""
    driver = stable()

    assert () == driver.poll(0)


def test_a_waiting_poll_makes_a_pass_every_tenth_of_a_second():
    """Each pass issues an event once the one before is complete: idle members stay polled."""
    driver = stable()
    began = driver.now_us // 1_000
    driver.poll(1_000)

    assert [began + 100 * n for n in range(1, 6)] == events_of(driver, 510)


@pytest.mark.parametrize(
    ("records", "error", "ends"),
    [
        (3, ErrorCode.NONE, True),
        (0, ErrorCode.NONE, False),
        (0, ErrorCode.UNKNOWN_LEADER_EPOCH, True),
    ],
)
def test_a_response_that_ends_a_wait_ends_the_next_one_too_if_it_brought_something(
    records, error, ends
):
    """The buffer is notified of completed fetches: of those with records, or with an error."""
    driver = stable()
    driver.poll(1_000)
    driver.lags = {Lag.WAKE: 1_000}
    driver.records({0: records}, error=error)
    _, _, ends_next = driver.client.relative(driver.now_us)

    assert ends is ends_next


def test_a_poll_that_throws_gives_its_event_up():
    """The next poll issues one of its own, whatever became of that one."""
    driver = stable()
    driver.to_own(0)
    driver.hold_calls = True
    driver.poll(1_000)
    driver.advance(200)
    driver.end_call(Failed("Oops"))
    assert driver.state.slot is None
    driver.advance(3_000)
    driver.poll()

    assert driver.now_us == driver.state.poll_due_us - 300_000_000


def test_records_end_a_wait_after_a_wake_up():
    """What arrives is handed out as soon as the application thread has woken up."""
    driver = stable()
    driver.poll(10_000)
    driver.lags = {Lag.WAKE: 400}
    driver.records({0: 2})
    driver.advance(0.399)
    assert [] == driver.batches()
    driver.advance(0.001)

    assert 1 == len(driver.batches())


def test_the_answer_to_the_first_heartbeat_ends_a_wait():
    """Until the interval is known poll() does not wait: the first assignment is used at once."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.poll(1_000)
    driver.advance(30)
    driver.beaten(2, 0, 1)
    driver.advance(0.001)

    assert [("assigned", (0, 1))] == driver.calls


def test_the_answer_to_a_later_heartbeat_ends_no_wait():
    """A member that waits for records takes a new target up in its next pass."""
    driver = stable()
    driver.poll(10_000)
    driver.beat_due()
    driver.advance(30)
    driver.beaten(3, 0)
    driver.advance(0.001)
    at_once = driver.state.member.reconciling
    driver.advance(100)

    assert at_once is None
    assert driver.state.member.reconciling is not None


def test_an_empty_answer_ends_a_wait_for_another_pass():
    """A fetch that brought nothing wakes the application: its pass has the broker asked again."""
    driver = stable()
    driver.poll(10_000)
    driver.advance(30)
    driver.records({0: 0})

    assert 1 == len(driver.pending(FetchRequest))
    assert [] == driver.returned


def revoking_all(timeout_ms: float) -> ClientDriver:
    """A member in poll, with a fetch in flight, whose partitions are all about to be revoked."""
    driver = stable()
    driver.poll(timeout_ms)
    driver.beat_due()
    driver.beaten(3, assigned=())
    driver.advance(450)
    assert 1 == len(driver.pending(FetchRequest))
    assert [] == driver.calls
    return driver


def test_a_poll_that_can_fetch_nothing_makes_no_passes():
    """The answer to the fetch in flight ends its wait, and the listener is called then."""
    driver = revoking_all(20_000)
    driver.records({0: 0})

    assert [("revoked", (0, 1))] == driver.calls


def test_a_poll_that_can_fetch_nothing_waits_until_the_next_heartbeat():
    """Its wait ends without an answer, too."""
    driver = revoking_all(20_000)
    driver.advance(4_549)
    assert [] == driver.calls
    driver.advance(1)

    assert [("revoked", (0, 1))] == driver.calls


def test_a_poll_that_can_fetch_nothing_waits_one_interval_if_no_heartbeat_can_be_sent():
    """The coordinator is unknown, or the member is outside the group."""
    driver = stable()
    driver.client.consumer.fetcher.pause(driver.state.assignment)
    driver.poll(20_000)
    driver.beat_due()
    driver.coordinator = None
    driver.refused(ErrorCode.NOT_COORDINATOR)
    began = driver.now_us // 1_000

    assert [began + 5_000] == events_of(driver, 9_990)


def test_an_answer_during_work_ends_the_next_wait_at_once():
    """The mark of an answer is kept: the first wait after it is over as soon as it begins."""
    driver = stable()
    driver.hand({0: 1})
    assert driver.batches()
    before = driver.state.poll_due_us
    driver.advance(50)
    driver.poll(10_000)
    after = driver.state.poll_due_us

    assert after - before == 50_000
    assert [] == driver.pending(Beat)


def test_the_next_fetch_leaves_when_records_are_handed_out():
    """The background thread is asked for fetches by the poll that returns records."""
    driver = stable()
    driver.hand({0: 1})

    assert {0: 1, 1: 0} == {
        part.partition.partition: part.offset for part in driver.one(FetchRequest).partitions
    }


def test_with_fetches_buffered_every_second_poll_issues_an_event():
    """An event that is complete is left while whole fetches lie in the buffer."""
    driver = stable(max_poll_records=10, brokers=(1, 2))
    driver.poll()
    driver.records({0: 30}, node=1)
    driver.records({1: 30}, node=2)
    issued = []
    for _ in range(6):
        before = driver.state.poll_due_us
        driver.advance(10)
        driver.poll(1_000)
        issued.append(driver.state.poll_due_us != before)

    assert 6 == len(driver.batches())
    assert [False, True, False, True] == issued[:4]


def test_the_rest_of_one_fetch_lets_every_poll_issue_an_event():
    """What is being handed out is no whole fetch."""
    driver = stable(max_poll_records=10)
    driver.poll()
    driver.records({0: 40})
    driver.poll()
    issued = []
    for _ in range(3):
        before = driver.state.poll_due_us
        driver.advance(10)
        driver.poll(1_000)
        issued.append(driver.state.poll_due_us != before)

    assert [True, True, True] == issued


def test_an_event_that_waits_for_positions_is_given_up_by_the_poll_after_its_time():
    """A poll that begins past the deadline of such an event issues a new one."""
    driver = stable()
    driver.beat_due()
    driver.beaten(3, 0, 1, 2)
    driver.poll(100)
    driver.advance(100)
    driver.poll(100)
    driver.advance(50)
    assert 1 == len(driver.pending(OffsetFetchRequest))
    assert [] == events_of(driver, 45)
    driver.advance(10)
    before = driver.state.poll_due_us
    driver.poll(100)

    assert before < driver.state.poll_due_us
    assert 1 == len(driver.pending(OffsetFetchRequest))


def test_nothing_is_handed_out_while_a_position_is_missing_and_the_event_is_open():
    """Both threads may not move a position at once: the application lets the other go first."""
    driver = stable(max_poll_records=1)
    driver.poll()
    driver.records({0: 3})
    driver.poll()
    driver.beat_due()
    driver.beaten(3, 0, 1, 2)
    driver.poll()
    driver.quiet()
    driver.lags = {Lag.EVENT: 300}
    driver.advance(10)
    driver.begin_poll(1_000)
    waits = not driver.batches()
    driver.advance(0.3)

    assert waits


@pytest.mark.parametrize("earlier", [None, Failed(ExceptionName.DISCONNECT)])
def test_a_failed_validation_is_thrown_for_the_next_poll_event(earlier: Failed | None):
    """One that has failed already throws its own exception."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.stable({0: 0})
    driver.poll()
    failed = Failed(ExceptionName.FENCED_LEADER_EPOCH)
    reads = replace(driver.state.reads, validation_failure=failed)
    before = replace(driver.state, reads=reads, slot=Slot(7, 9, failed=earlier))
    after = take_event(before, driver.client.consumer, Polled(7), driver.now_us).state

    assert (earlier or failed) == after.slot.failed
    assert after.reads.validation_failure is None


def test_a_position_off_its_log_without_a_policy_is_thrown():
    """Here nothing is buffered before the error."""
    driver = stable(auto_offset_reset="none")
    driver.poll()
    driver.records({0: 0}, error=ErrorCode.OFFSET_OUT_OF_RANGE)
    thrown = driver.poll()

    assert "OffsetOutOfRangeException" == thrown.exception


def test_a_position_is_reset_when_poll_reaches_its_error_behind_the_records():
    """Until then its broker is asked for nothing, and no offset is looked up (``FetchCollector``)."""
    driver = stable(max_poll_records=2)
    (sent,) = driver.pending(FetchRequest)
    asked = {part.partition: part.offset for part in sent.message.partitions}
    tp, other = parts(0, 1)
    refused = FetchedRecords(tp, asked[tp], asked[tp], ErrorCode.OFFSET_OUT_OF_RANGE)
    found = FetchedRecords(other, asked[other], asked[other] + 3)
    driver.respond(sent, FetchResponse(sent.node, (found, refused)))

    assert 2 == sum(end - first for _, first, end in driver.poll())
    assert (True, []) == (0 in driver.positions(), driver.pending(FetchRequest))
    assert 1 == sum(end - first for _, first, end in driver.poll())
    assert 0 not in driver.positions()
