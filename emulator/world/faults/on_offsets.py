"""Acts of an administrator on committed offsets, each a short script in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import ActRefused, CommitAnswered, CommitSent, is_data_event
from emulator.scenario import model
from emulator.scenario.resolution import ADMIN
from emulator.world.administrator import Administrator, Call
from emulator.world.cluster.coordinator_events import commit_name
from emulator.world.faults.targets import target_of
from emulator.world.kernel import Script
from emulator.world.world import World
from protocols.consumer.administration import clamp_offset, errors_of, may_reset
from protocols.facts import CommitKind
from protocols.messages import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    DeleteGroupsRequest,
    DescribeGroupRequest,
    DescribeGroupResponse,
    Message,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocols.messages.errors import ErrorCode

Act = model.DeleteOffsets | model.ResetOffsets | model.DeleteGroup
Steps = Callable[[Any, int, Administrator], Script]
Offsets = dict[TopicPartition, int]

NO_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        ErrorCode.GROUP_ID_NOT_FOUND.name: "there is no such group",
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC.name: "members of the group subscribe to the topic",
        ErrorCode.NON_EMPTY_GROUP.name: "the group has members",
        ErrorCode.UNKNOWN_MEMBER_ID.name: "the group has members, and only they may commit",
        NO_TOPIC: "there is no such topic or partition",
        ErrorCode.REQUEST_TIMED_OUT.name: "no answer in time; it may have been done all the same",
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.name: "the coordinator was loading all the time",
        ErrorCode.COORDINATOR_NOT_AVAILABLE.name: "there was no coordinator all the time",
        ErrorCode.NOT_COORDINATOR.name: "the broker asked was not the coordinator of the group",
    }
)
"""The meaning of each error that an admin client gets."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why an act had no effect: the name of a Kafka error, or a text."""

    error: str
    why: str = ""


def offset_scripts(world: World) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each act on committed offsets, by its kind."""
    scripts = OffsetScripts(world)
    return {
        model.DeleteOffsets: partial(scripts.run, scripts.delete_offsets),
        model.ResetOffsets: partial(scripts.run, scripts.reset_offsets),
        model.DeleteGroup: partial(scripts.run, scripts.delete_group),
    }


class OffsetScripts:
    """Plays the acts on committed offsets."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._run = world.run
        self._tools = 0

    def run(self, steps: Steps, act: Act, began: int) -> Script:
        """Run the tool once, from its start to its end."""
        self._tools += 1
        self._run.causes.administered[act.group] = began
        tool = Administrator(self._world, self._tools, act.timeout)
        yield from steps(act, began, tool)
        tool.close()

    # -- deleting --------------------------------------------------------------------------------

    def delete_offsets(self, act: model.DeleteOffsets, began: int, tool: Administrator) -> Script:
        """Delete the committed offsets of partitions."""
        partitions = yield from _partitions(tool, act.topic, act.partitions)
        if not partitions:
            self._refuse(act, began, Refusal(tool.trouble if partitions is None else NO_TOPIC))
            return
        request = OffsetDeleteRequest(group_id=act.group, partitions=partitions)
        answer = yield from tool.ask_coordinator(act.group, request)
        self._end(act, began, tool, answer)

    def delete_group(self, act: model.DeleteGroup, began: int, tool: Administrator) -> Script:
        """Delete a group with all its offsets."""
        request = DeleteGroupsRequest(group_ids=(act.group,))
        answer = yield from tool.ask_coordinator(act.group, request)
        self._end(act, began, tool, answer)

    # -- resetting -------------------------------------------------------------------------------

    def reset_offsets(self, act: model.ResetOffsets, began: int, tool: Administrator) -> Script:
        """Check that the group has no members, compute the new offsets, and commit them."""
        group = yield from tool.ask_coordinator(act.group, DescribeGroupRequest(group_id=act.group))
        goals: Offsets | Refusal
        if not isinstance(group, DescribeGroupResponse):
            goals = Refusal(tool.trouble)
        elif not may_reset(group):
            goals = Refusal("", f"the group is {group.state}: it must have no members")
        else:
            goals = yield from self._goals(tool, act)
        if isinstance(goals, Refusal):
            self._refuse(act, began, goals)
        else:
            yield from self._commit(act, began, tool, goals)

    def _goals(self, tool: Administrator, act: model.ResetOffsets) -> Call[Offsets | Refusal]:
        """Return the new offset of each partition that is reset."""
        committed: Offsets = {}
        if act.topic is None or act.shift_by is not None:
            known = yield from tool.ask_coordinator(
                act.group,
                OffsetFetchRequest(group_id=act.group, require_stable=False),
            )
            if not isinstance(known, OffsetFetchResponse):
                return Refusal(tool.trouble)
            committed = {entry.partition: entry.offset for entry in known.offsets}
        partitions: tuple[TopicPartition, ...] | None = tuple(sorted(committed))
        if act.topic is not None:
            partitions = yield from _partitions(tool, act.topic, act.partitions)
        if partitions is None:
            return Refusal(tool.trouble)
        if not partitions:
            nothing = Refusal("", "the group has no committed offsets")
            return nothing if act.topic is None else Refusal(NO_TOPIC)
        if act.shift_by is not None and (unknown := set(partitions) - committed.keys()):
            return Refusal("", f"nothing is committed for {min(unknown)}, so it cannot be shifted")
        targets = yield from self._targets(tool, act, partitions, committed)
        return Refusal(tool.trouble) if targets is None else targets

    def _targets(
        self,
        tool: Administrator,
        act: model.ResetOffsets,
        partitions: tuple[TopicPartition, ...],
        committed: Offsets,
    ) -> Call[Offsets | None]:
        """Return the new offset of each partition, limited to the range of its log."""
        if act.to == "earliest":
            return (yield from tool.list_offsets(partitions, EARLIEST_TIMESTAMP))
        ends = yield from tool.list_offsets(partitions, LATEST_TIMESTAMP)
        if ends is None or act.to == "latest":
            return ends
        timestamp = self._timestamp(act)
        if timestamp is not None:
            found = yield from tool.list_offsets(partitions, timestamp)
            return found and {tp: ends[tp] if at < 0 else at for tp, at in found.items()}
        starts = yield from tool.list_offsets(partitions, EARLIEST_TIMESTAMP)
        if starts is None:
            return None
        if isinstance(act.to, int):
            wanted = dict.fromkeys(partitions, act.to)
        else:
            wanted = {tp: committed[tp] + (act.shift_by or 0) for tp in partitions}
        return {tp: clamp_offset(wanted[tp], starts[tp], ends[tp]) for tp in partitions}

    def _timestamp(self, act: model.ResetOffsets) -> int | None:
        """Return the target time of a reset in epoch ms; None: its target is not a time."""
        instant_us = act.to_datetime
        if act.by_duration is not None:
            instant_us = max(self._run.kernel.now - act.by_duration, 0)
        return None if instant_us is None else self._run.epoch_ms + instant_us // 1_000

    def _commit(
        self, act: model.ResetOffsets, began: int, tool: Administrator, goals: Offsets
    ) -> Script:
        """Commit the offsets without a member id; the group has no members."""
        offsets = tuple(sorted(goals.items()))
        request = OffsetCommitRequest(
            group_id=act.group, offsets=tuple(OffsetToCommit(*entry) for entry in offsets)
        )
        commit = ""

        def sending(correlation_id: int) -> None:
            nonlocal commit
            commit = commit_name(tool.name, correlation_id)
            sent = CommitSent(
                consumer=ADMIN,
                group=act.group,
                generation=request.generation_id,
                commit=commit,
                kind=CommitKind.ADMIN.value,
                offsets=offsets,
                processed=tuple(goals[partition] for partition, _ in offsets),
            )
            self._run.causes.commits[commit] = began
            self._run.recorder.write_data(sent, began)

        answer = yield from tool.ask_coordinator(act.group, request, sending)
        errors = self._end(act, began, tool, answer) or ["NONE"]
        if commit:
            answered = CommitAnswered(
                consumer=ADMIN, group=act.group, commit=commit, error=errors[0]
            )
            if is_data_event(answered):
                self._run.recorder.write_data(answered, began)
            else:
                self._run.recorder.write(answered, began)

    # -- refusals --------------------------------------------------------------------------------

    def _end(self, act: Act, began: int, tool: Administrator, answer: Message | None) -> list[str]:
        """Write an event for each error of the answer; return the errors."""
        errors = [tool.trouble] if answer is None else [each.name for each in errors_of(answer)]
        for error in errors:
            self._refuse(act, began, Refusal(error))
        return errors

    def _refuse(self, act: Act, began: int, refusal: Refusal) -> None:
        refused = ActRefused(
            fault=act.id,
            verb=act.verb,
            target=target_of(act, self._run.scenario),
            group=act.group,
            error=refusal.error,
            why=refusal.why or MEANINGS.get(refusal.error, ""),
        )
        self._run.recorder.write(refused, began)


def _partitions(
    tool: Administrator, topic: str, numbers: tuple[int, ...]
) -> Call[tuple[TopicPartition, ...] | None]:
    """Return the partitions of an act: the given numbers, or all partitions of the topic."""
    if numbers:
        return tuple(TopicPartition(topic, number) for number in dict.fromkeys(numbers))
    return (yield from tool.find_partitions(topic))
