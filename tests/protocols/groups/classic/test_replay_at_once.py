"""A load that replays many records at once ends where one would that takes them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.coordinator import durability
from protocols.coordinator.durability import HostContractError
from protocols.coordinator.machine import GroupCoordinator
from protocols.coordinator.replay import replayed
from protocols.groups.shard import Durable
from protocols.offsets_topic.records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
)
from protocols.settings import BrokerSettings

GROUPS = st.sampled_from(["g", "h", "i"])
OFFSET_KEYS = st.builds(
    OffsetCommitKey, GROUPS, st.sampled_from(["t", "u", "v"]), st.integers(0, 9)
)
OFFSETS = st.builds(OffsetCommitValue, offset=st.integers(0, 9), commit_timestamp=st.just(0))
METADATA = st.builds(
    GroupMetadataValue,
    protocol_type=st.just("consumer"),
    generation=st.integers(0, 9),
    protocol=st.none(),
    leader=st.none(),
)
RECORDS = st.builds(Record, OFFSET_KEYS, OFFSETS | OFFSETS | st.none()) | st.builds(
    Record, st.builds(GroupMetadataKey, GROUPS), METADATA | st.none()
)


@st.composite
def logs(draw: st.DrawFn) -> list[durability.Entry]:
    """Draw records with their log offsets, as compaction may have left them."""
    entries, log_offset = [], 0
    for record in draw(st.lists(RECORDS, max_size=40)):
        log_offset += draw(st.sampled_from([0, 0, 0, 1, 5]))
        entries.append((log_offset, record))
        log_offset += 1
    return entries


def loading(high_watermark: int) -> GroupCoordinator:
    coordinator = GroupCoordinator(BrokerSettings(), new_id=lambda prefix: prefix)
    coordinator.durable(high_watermark, 0)
    return coordinator


@given(logs())
def test_records_in_one_go_are_records_one_by_one(log):
    """The same offsets and groups, walked in the same order."""
    one_by_one = Durable()
    for _, record in log:
        one_by_one = replayed(one_by_one, [record])

    assert one_by_one == replayed(Durable(), (record for _, record in log))


@given(log=logs(), high_watermark=st.integers(0, 60), at_once=st.integers(1, 9))
def test_a_load_at_once_is_a_load_record_by_record(log, high_watermark, at_once):
    """The state, and the view of readers while the rest becomes durable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durability, "_MAX_AT_ONCE", at_once)
        together = loading(high_watermark)
        together.replay(log)
    apart = loading(high_watermark)
    for entry in log:
        apart.replay([entry])

    for coordinator in (together, apart):
        coordinator.loaded(0)
        coordinator._log.check(coordinator.state.durable)
    assert apart.state == together.state
    for below in range(high_watermark, together.next_log_offset + 1):
        for coordinator in (together, apart):
            coordinator.durable(below, 0)

        assert apart._log.view == together._log.view
    assert together.state.durable == together._log.view


def test_records_that_may_be_lost_are_shown_record_by_record():
    """Above the high watermark each record is visible when it is durable, and not before."""
    log = [
        Record(OffsetCommitKey("g", "t", 0), OffsetCommitValue(offset=at, commit_timestamp=0))
        for at in range(6)
    ]
    coordinator = loading(3)
    coordinator.replay(enumerate(log))
    coordinator.loaded(0)
    seen = []
    for below in range(3, 7):
        coordinator.durable(below, 0)
        seen.append(coordinator._log.view.offset("g", "t", 0))

    assert [record.value for record in log[2:]] == seen


def test_a_log_is_read_in_order():
    """Log offsets that fall or repeat are a mistake of the host."""
    record = Record(OffsetCommitKey("g", "t", 0), None)

    with pytest.raises(HostContractError, match="order of the log"):
        loading(9).replay([(4, record), (4, record)])


def test_a_host_that_breaks_the_contract_is_refused():
    """Loading twice, replaying into a coordinator that serves, or a timer that was never set."""
    coordinator = loading(0)
    coordinator.loaded(0)

    with pytest.raises(HostContractError, match="loaded is called while"):
        coordinator.loaded(0)
    with pytest.raises(HostContractError, match="replay is called while"):
        coordinator.replay([])
    with pytest.raises(HostContractError, match="never set a timer 'x'"):
        coordinator.wake("x", 0)
