"""A rebalance listener that throws: what poll() throws, and what has happened all the same."""

from __future__ import annotations

from protocols.consumer.calls import Closed, Failed
from protocols.messages import JoinGroupRequest

from .driver import ClientDriver, parts

OOPS = Failed("KafkaException", message="the listener threw")


def member(*assignors: str) -> ClientDriver:
    """A member that owns t-0 and t-1, whose listener calls end when the test says so."""
    driver = ClientDriver(assignors=assignors or ("range",), enable_auto_commit=False)
    driver.stable()
    driver.calls.clear()
    driver.returned.clear()
    driver.hold_calls = True
    return driver


def test_revoked_partitions_are_removed_though_the_call_threw():
    """Poll throws before it joins; the next one joins, and does not call again."""
    driver = member()
    driver.learn()
    driver.poll()
    driver.end_call(OOPS)

    assert OOPS == driver.returned[-1]
    assert () == driver.state.assignment
    assert [] == driver.pending(JoinGroupRequest)
    driver.poll()
    assert driver.pending(JoinGroupRequest)
    assert [("revoked", parts(0, 1))] == driver.calls


def assigned_throws() -> ClientDriver:
    """A newcomer whose first call of the listener threw."""
    driver = ClientDriver(enable_auto_commit=False)
    driver.hold_calls = True
    driver.join(0, 1)
    assert [("assigned", parts(0, 1))] == driver.calls
    driver.end_call(OOPS)
    return driver


def test_the_next_poll_calls_again_with_nothing_new():
    """The partitions are owned by then; once a call ends well, they are read."""
    driver = assigned_throws()
    assert OOPS == driver.returned[-1]
    assert set(parts(0, 1)) == set(driver.state.assignment)
    driver.poll()

    assert [("assigned", parts(0, 1)), ("assigned", ())] == driver.calls
    driver.end_call()
    assert driver.state.future is None
    assert 1 == driver.returned.count(OOPS)


def test_nothing_is_read_for_as_long_as_the_call_throws():
    """Every poll throws before it looks for records, and no rebalance comes of it."""
    driver = assigned_throws()
    for _ in range(3):
        driver.poll()
        driver.end_call(OOPS)

    assert 4 == driver.returned.count(OOPS)
    assert [OOPS] * 3 == driver.returned[-3:]
    assert [] == driver.pending(JoinGroupRequest)


def test_a_cooperative_member_hears_what_is_new_though_the_revocation_threw():
    """Both calls are made, then poll throws what the first one threw; the rejoin follows."""
    driver = member("cooperative-sticky")
    driver.learn()
    driver.hold_calls = False
    driver.poll()
    driver.hold_calls = True
    driver.join(0, generation=2)
    assert [("revoked", parts(1))] == driver.calls
    driver.end_call(OOPS)
    assert [("revoked", parts(1)), ("assigned", ())] == driver.calls
    assert OOPS not in driver.returned
    driver.end_call()

    assert OOPS == driver.returned[-1]
    assert parts(0) == driver.state.assignment


def test_close_goes_on_after_a_call_that_threw():
    """The member leaves, and the consumer is closed."""
    driver = member()
    driver.close()
    driver.end_call(OOPS)
    driver.advance(30_000)

    assert isinstance(driver.returned[-1], Closed)
