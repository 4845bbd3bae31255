"""Exceptions of poll that end a process: its application closes the consumer, as ``finally`` does."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import ConsumerStopped, EpochClosed, ListenerCalled, MemberRemoved

from ..stage import Seen

TEXT = """
title = "an exception of poll"
run_for = "30s"

[[topic]]
name = "t"
partitions = 2
rate = "4/s"

[[group]]
id = "g"
topics = ["t"]
work = "5ms"
"""

REPLACED = (
    TEXT
    + """
client = "{client}"
members = ["a", {{ name = "b", start = "by act", settings = {{ "group.instance.id" = "a" }} }}]
static = true
settings = {{ "auto.offset.reset" = "earliest" }}

[[fault]]
start = "b"
at = "10s"
"""
)

NO_OFFSET = (
    TEXT
    + """
members = 1
settings = {{ "auto.offset.reset" = "none", "group.protocol" = "{protocol}" }}
"""
)


def played(text: str, **values: str) -> Seen:
    """Play a text with these values."""
    return Seen(emulator.run(emulator.loads(text.format(**values)), seed=1))


@pytest.mark.parametrize(
    ("client", "calls", "why"),
    [("java", ["assigned", "lost"], "closed"), ("librdkafka", ["assigned"], "failed")],
)
def test_a_replaced_static_member_closes_its_consumer(client, calls, why):
    """Java calls ``onPartitionsLost``, as captured; librdkafka's close() only returns the error."""
    seen = played(REPLACED, client=client)
    stopped = seen.only(ConsumerStopped).what

    assert ("a", "failed") == (stopped.consumer, stopped.how)
    assert "FencedInstanceIdException (FENCED_INSTANCE_ID)" == stopped.reason
    assert calls == [event.what.call for event in seen.all(ListenerCalled, consumer="a")]
    assert {why} == {event.what.why for event in seen.all(EpochClosed, consumer="a")}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_without_a_position_leaves_its_group(protocol):
    """``auto.offset.reset=none`` throws; the close that follows does not wait for the session."""
    seen = played(NO_OFFSET, protocol=protocol)
    stopped, removed = seen.only(ConsumerStopped), seen.only(MemberRemoved)

    assert ("failed", "NoOffsetForPartitionException") == (stopped.what.how, stopped.what.reason)
    assert "left" in removed.what.why
    assert abs(stopped.at_us - removed.at_us) < 100_000


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_lag_grows_where_all_members_ended_without_a_commit(protocol):
    """Nobody commits or subscribes any more; the records of the topic still wait."""
    metrics = emulator.run(emulator.loads(NO_OFFSET.format(protocol=protocol)), seed=1).metrics

    assert metrics["backlog"] > 100
    assert metrics["backlog"] - metrics["lag_processed_peak"] <= 20  # since the last sample
