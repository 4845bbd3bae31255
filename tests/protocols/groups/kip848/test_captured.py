"""The log of a real group: its records drive the coordinator, which has to write the same.

The kept segment holds a whole life of one group: three members come within two seconds, one
crashes, two leave, the topic is deleted, the group expires. What each member said follows from
what was written: who came, who gave partitions up, who fell silent.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from assignors.types import TopicPartition
from protocols.coordinator.machine import GroupCoordinator
from protocols.coordinator.replay import replayed
from protocols.groups.kip848.group import Group
from protocols.groups.shard import Durable
from protocols.machine import Append, CancelTimer, SetTimer, Step
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    Envelope,
    Header,
    OffsetCommitRequest,
    OffsetToCommit,
    TopicDescription,
    TopicPartitions,
)
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue, Record, decode
from protocols.offsets_topic.records.consumer import ConsumerGroupTargetAssignmentMetadataValue
from protocols.offsets_topic.segments.reader import read_log
from protocols.settings import BrokerSettings

SEGMENT = (
    Path(__file__).parents[3]
    / "captures"
    / "offsets-log"
    / "__consumer_offsets-4.00000000000000000000.log.gz"
)
GROUP = "kip848-crash-1-cad7p"
TOPIC = TopicDescription(f"{GROUP}.t0", "MqLAo9DuQMWcW0M5zgcNyw", (1,) * 6)
SETTINGS = BrokerSettings(
    group_consumer_session_timeout_ms=6_000, group_consumer_heartbeat_interval_ms=1_000
)
EPOCHS_BEFORE_THE_FAULT = {
    "yX1jCBp6RG28ltCk1Xovkg": [2, 3, 4],
    "ddXiBjY2QBi1A2I5RN7K2g": [2, 3, 4],
    "vQby0WzIR8aoY42YsRrHkA": [3, 4],
}


def operations() -> Iterator[tuple[int, list[Record]]]:
    """Yield the records of the group, operation by operation, with the time of each."""
    for found in read_log(gzip.decompress(SEGMENT.read_bytes())):
        for time_ms, listed in groupby(found.records, key=lambda stored: stored.timestamp):
            records = [decode(stored.key, stored.value) for stored in listed]
            ours = [record for record in records if record.key[0] == GROUP]
            if ours:
                yield time_ms, ours


class Reenactment:
    """A coordinator that gets the requests that the log shows."""

    def __init__(self, first_ms: int) -> None:
        self.coordinator = GroupCoordinator(
            SETTINGS, new_id=str, epoch_ms=first_ms - 1_000, topics=[TOPIC]
        )
        self.timers: dict[str, int] = {}
        self.wrote: list[Record] = []
        self.saw: dict[str, list[int]] = {}
        self.carry_out(self.coordinator.loaded(0))

    @property
    def group(self) -> Group:
        group = self.coordinator.state.durable.groups.get(GROUP)
        return group if isinstance(group, Group) else Group(GROUP)

    def do(self, time_ms: int, records: list[Record]) -> list[Record]:
        """Do what led to some records; return what was written instead."""
        self.wrote = []
        now_us = (time_ms - self.coordinator._broker.epoch_ms) * 1000
        first, value = records[0]
        if isinstance(first, OffsetCommitKey):
            self._about_offsets(records, now_us)
        elif value is not None:
            member_id = next(key.member_id for key, _ in records if key.record_type in {5, 8})
            self._beat(member_id, records, now_us)
        elif first.record_type == 8:
            self._gone(first.member_id, now_us)
        else:
            self.carry_out(self.coordinator.wake("expire-group-metadata", now_us))
        return self.wrote

    def _about_offsets(self, records: list[Record], now_us: int) -> None:
        if records[0].value is None:
            gone = self.coordinator.topic_deleted(TOPIC.name, TOPIC.topic_id, now_us)
            self.carry_out(gone)
            return
        numbers = {record.key.partition for record in records}
        owner = next(
            member
            for member in self.group
            if numbers
            <= {
                number
                for part in (member.current.assigned, member.current.revoking)
                for number in part.get(TOPIC.topic_id, ())
            }
        )
        offsets = tuple(
            OffsetToCommit(
                TopicPartition(TOPIC.name, record.key.partition),
                record.value.offset,
                record.value.leader_epoch,
            )
            for record in records
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            member_id=owner.member_id,
            generation_id=owner.current.epoch,
            offsets=offsets,
        )
        self._send(owner.metadata.client_id, request, now_us)

    def _beat(self, member_id: str, records: list[Record], now_us: int) -> None:
        event = next((value for key, value in records if key.record_type == 5), None)
        member = self.group.member(member_id)
        if member is None:
            request = ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id=member_id,
                member_epoch=0,
                rebalance_timeout_ms=event.rebalance_timeout_ms,
                subscribed_topic_names=event.subscribed_topic_names,
                topic_partitions=(),
            )
            self._send(event.client_id, request, now_us)
            return
        current = member.current
        listed = tuple(
            TopicPartitions(topic, tuple(numbers)) for topic, numbers in current.assigned.items()
        )
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=current.epoch,
            topic_partitions=listed if current.revoking else None,
        )
        self._send(member.metadata.client_id, request, now_us)

    def _gone(self, member_id: str, now_us: int) -> None:
        """Remove a member that left or expired: the records are the same."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=member_id, member_epoch=-1
        )
        self._send("", request, now_us)

    def _send(self, client_id: str, request: Any, now_us: int) -> None:
        header = Header(client_id, now_us, client_id, "/127.0.0.1")
        self.carry_out(self.coordinator.handle(Envelope(header, request), now_us))

    def carry_out(self, step: Step[Any]) -> None:
        for effect in step.effects:
            match effect:
                case Append(records):
                    self.wrote += records
                case SetTimer(name, deadline_us):
                    self.timers[name] = deadline_us
                case CancelTimer(name):
                    self.timers.pop(name, None)
        self.coordinator.check()
        offset = self.coordinator.next_log_offset
        if offset > self.coordinator.high_watermark:
            self.coordinator.durable(offset, 0)


def timeless(record: Record) -> Record:
    """Times inside values are read a little before the record's own."""
    key, value = record
    if isinstance(value, OffsetCommitValue):
        return Record(key, value._replace(commit_timestamp=0))
    if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
        return Record(key, replace(value, assignment_timestamp=bool(value.assignment_timestamp)))
    return record


def test_a_real_group_writes_the_same_records():
    """Every record of the group, its hash, its orders and its tombstones, is what we write."""
    real = list(operations())
    stage = Reenactment(real[0][0])

    for time_ms, records in real:
        wrote = stage.do(time_ms, records)

        assert [timeless(record) for record in records] == [timeless(record) for record in wrote]
    assert not stage.coordinator.state.durable.groups


def test_the_real_log_gives_what_its_members_saw():
    """Replayed record by record, it shows the epochs that each member went through."""
    durable, saw = Durable(), dict[str, list[int]]()
    for _, records in operations():
        durable = replayed(durable, records)
        group = durable.groups.get(GROUP)
        for member in group if isinstance(group, Group) else ():
            epochs = saw.setdefault(member.member_id, [])
            if member.current.epoch not in epochs:
                epochs.append(member.current.epoch)

    assert EPOCHS_BEFORE_THE_FAULT == {
        member_id: [epoch for epoch in epochs if epoch <= 4] for member_id, epochs in saw.items()
    }
    assert {5} == {
        max(epochs) for member_id, epochs in saw.items() if not member_id.startswith("yX1")
    }
