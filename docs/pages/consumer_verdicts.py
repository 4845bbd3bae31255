"""The page of what a group of the consumer protocol answers: its coordinator is asked each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from assignors.types import TopicPartition
from docs.pages.consumer_situations import (
    GROUP,
    IDS,
    INSTANCE,
    PARTITIONS,
    SENDER,
    Cluster,
    Situation,
    absent,
    away,
    empty,
    heartbeat,
    owned_by,
    stable,
    stranger,
    unreleased,
    unrevoked,
)
from protocols.groups.kip848.group import AWAY_EPOCH
from protocols.messages import (
    DeleteGroupsRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetToCommit,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode

_OPENING = """\
# What a group of the consumer protocol answers

Printed by `python -m docs.pages`, which brings a coordinator into each situation and sends it each
request; change the rules in `protocols/groups/kip848/`, not this page. The classic protocol has
[a page of its own](classic-verdicts.md). Columns: the group, or the state of the member that sends
the request. A code is the error of the answer; after `NONE` follows the state of the member
after the request. A dash: not possible.

- `STABLE`: the member has all partitions of its target, and no others.
- `UNREVOKED_PARTITIONS`: it must revoke partitions and has not confirmed it.
- `UNRELEASED_PARTITIONS`: other members still own a part of its target.
- *away*: a static member that left temporarily, with epoch -2, and is expected back.

The current epoch is the one in the last answer to the member, the previous epoch the one before.
"""

_Make = Callable[[], Situation]
_Ask = Callable[[Situation], ErrorCode | str | None]

COLUMNS: dict[str, _Make] = {
    "no group": absent,
    "empty group": empty,
    "not a member": stranger,
    "STABLE": stable,
    "UNREVOKED_PARTITIONS": unrevoked,
    "UNRELEASED_PARTITIONS": unreleased,
}
_STATIC: dict[str, _Make] = {
    "instance id not known": stable,
    "its member is active": lambda: stable(INSTANCE),
    "its member is away": away,
}
_GROUPS: dict[str, _Make] = {"no group": absent, "empty group": empty, "members": stable}


# -- heartbeats --------------------------------------------------------------------------------


def _beats(
    epoch: Callable[[Situation], int | None],
    owned: Callable[[Situation], tuple[TopicPartitions, ...] | None] = lambda _: None,
    **more: Any,
) -> _Ask:
    """Return the question for a heartbeat with an epoch and reported partitions."""

    def ask(at: Situation) -> str | ErrorCode | None:
        number = epoch(at)
        if number is None:
            return None
        named = more | ({"member_id": at.sender} if "member_id" not in more else {})
        request = replace(heartbeat(at.sender, number, owned(at)), **named)
        return _after(at.cluster, at.cluster.ask(request).error, request.member_id)

    return ask


def _after(cluster: Cluster, error: ErrorCode, member_id: str) -> str | ErrorCode:
    """Return the error, or the state of the member after the request."""
    if error is not ErrorCode.NONE:
        return error
    member = cluster.member(member_id)
    if member is None:
        return "`NONE`; removed"
    is_away = member.current.epoch == AWAY_EPOCH
    return f"`NONE`; {'away' if is_away else f'`{member.current.state.name}`'}"


def _reported(at: Situation) -> tuple[TopicPartitions, ...]:
    member = at.cluster.member(at.sender)
    return () if member is None else owned_by(member)


def _everything(_: Situation) -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(IDS["orders"], tuple(range(PARTITIONS))),)


def _current(at: Situation) -> int:
    return at.epoch


def _previous(at: Situation) -> int | None:
    return at.previous


def _joins_full_group(at: Situation) -> ErrorCode | str | None:
    """Join a group that has as many members as it may have; a known member always may."""
    if at.sender != "X":
        return None
    return _HEARTBEATS["epoch 0: it joins, or joins again"](stranger(group_consumer_max_size=2))


_HEARTBEATS: dict[str, _Ask] = {
    "epoch 0: it joins, or joins again": _beats(lambda _: 0),
    "epoch 0, and `group.consumer.max.size` is reached": _joins_full_group,
    "its current epoch, nothing new": _beats(_current),
    "its current epoch; it owns what it is assigned": _beats(_current, _reported),
    "its previous epoch, nothing new": _beats(_previous),
    "its previous epoch; it owns what it is assigned": _beats(_previous, _reported),
    "its previous epoch; it owns more": _beats(_previous, _everything),
    "a later epoch": _beats(lambda at: at.epoch + 1),
    "epoch -1: it leaves": _beats(lambda _: -1),
}
_STATIC_HEARTBEATS: dict[str, _Ask] = {
    "epoch 0, with a new member id": _beats(lambda _: 0, member_id="N", instance_id=INSTANCE),
    "epoch 0, with its member's id": _beats(lambda _: 0, instance_id=INSTANCE),
    "the current epoch, with its member's id": _beats(_current, instance_id=INSTANCE),
    "the current epoch, with another member id": _beats(
        _current, member_id="B", instance_id=INSTANCE
    ),
    "epoch -1, with its member's id": _beats(lambda _: -1, instance_id=INSTANCE),
    "epoch -1, with another member id": _beats(lambda _: -1, member_id="B", instance_id=INSTANCE),
    "epoch -2, with its member's id": _beats(lambda _: AWAY_EPOCH, instance_id=INSTANCE),
}


# -- offsets and groups ------------------------------------------------------------------------


def _commits(epoch: Callable[[Situation], int], partition: str = "own", **more: Any) -> _Ask:
    def ask(at: Situation) -> ErrorCode | None:
        number = _partition(at, partition)
        if number is None:
            return None
        offset = OffsetToCommit(TopicPartition("orders", number), 7)
        named = {"member_id": at.sender, "generation_id": epoch(at), **more}
        request = OffsetCommitRequest(group_id=GROUP, offsets=(offset,), **named)
        error: ErrorCode = at.cluster.ask(request).errors[0][1]
        return error

    return ask


def _partition(at: Situation, which: str) -> int | None:
    """Return a partition of the sender or of another member; None if there is none."""
    member = at.cluster.member(at.sender)
    if member is None:
        return 0
    current = member.current
    own = sorted({*current.assigned.get(IDS["orders"], ())})
    leaving = sorted({*current.revoking.get(IDS["orders"], ())})
    if which == "own":
        return own[0]
    if which == "revoking":
        return leaving[0] if leaving else None
    return next(number for number in range(PARTITIONS) if number not in {*own, *leaving})


def _fetches(epoch: Callable[[Situation], int], **more: Any) -> _Ask:
    def ask(at: Situation) -> ErrorCode:
        named = {"member_id": at.sender, "member_epoch": epoch(at), **more}
        error: ErrorCode = at.cluster.ask(OffsetFetchRequest(group_id=GROUP, **named)).error
        return error

    return ask


def _older(at: Situation) -> int:
    return at.epoch - 1


_COMMITS: dict[str, _Ask] = {
    "no member id, epoch -1": _commits(lambda _: -1, member_id=""),
    "its current epoch": _commits(_current),
    "its current epoch, partition of another member": _commits(_current, "other"),
    "its current epoch, partition to revoke": _commits(_current, "revoking"),
    "an older epoch, partition to revoke": _commits(_older, "revoking"),
    "an older epoch, own partition": _commits(_older),
    "an older epoch, partition of another member": _commits(_older, "other"),
    "a later epoch": _commits(lambda at: at.epoch + 1),
    "OffsetCommit v8, before member epochs": _commits(_current, version=8),
}
_FETCHES: dict[str, _Ask] = {
    "no member id, epoch -1": _fetches(lambda _: -1, member_id=None),
    "its current epoch": _fetches(_current),
    "an older epoch": _fetches(_older),
    "a later epoch": _fetches(lambda at: at.epoch + 1),
}


def _leaves(member_id: str) -> _Ask:
    def ask(at: Situation) -> ErrorCode:
        answer = at.cluster.ask(
            LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(member_id),))
        )
        error: ErrorCode = answer.error or answer.members[0].error
        return error

    return ask


def _deletes_offset(topic: str) -> _Ask:
    def ask(at: Situation) -> ErrorCode:
        partitions = (TopicPartition(topic, 0),)
        answer = at.cluster.ask(OffsetDeleteRequest(group_id=GROUP, partitions=partitions))
        error: ErrorCode = answer.error or answer.errors[0][1]
        return error

    return ask


def _deletes_group(at: Situation) -> ErrorCode:
    error: ErrorCode = at.cluster.ask(DeleteGroupsRequest(group_ids=(GROUP,))).results[0][1]
    return error


_ADMINISTRATION: dict[str, _Ask] = {
    "LeaveGroup, a member's id": _leaves(SENDER),
    "LeaveGroup, an unknown id": _leaves("X"),
    "OffsetDelete, a subscribed topic": _deletes_offset("orders"),
    "OffsetDelete, another topic": _deletes_offset("refunds"),
    "DeleteGroups": _deletes_group,
}

_INVALID: dict[str, dict[str, Any]] = {
    "no group id": {"group_id": " "},
    "no member id": {"member_id": ""},
    "an empty instance id": {"instance_id": ""},
    "an empty rack id": {"rack_id": ""},
    "epoch 0 without a rebalance timeout": {"rebalance_timeout_ms": -1},
    "epoch 0 with partitions": {"topic_partitions": _everything(Situation(Cluster()))},
    "epoch 0 without a subscription": {"subscribed_topic_names": None},
    "epoch -2 of a dynamic member": {"member_epoch": AWAY_EPOCH},
    "an epoch below -2": {"member_epoch": -3},
    "an assignor that the broker does not have": {"server_assignor": "sticky"},
    "a pattern that is not RE2": {"subscribed_topic_regex": "orders(?=x)"},
}


# -- the page ----------------------------------------------------------------------------------


def consumer_verdicts_page() -> str:
    """Return the page as text."""
    sections = (
        ("ConsumerGroupHeartbeat of a dynamic member", _table(_HEARTBEATS, COLUMNS)),
        ("ConsumerGroupHeartbeat of a static member", _table(_STATIC_HEARTBEATS, _STATIC)),
        ("ConsumerGroupHeartbeat that no group reads", _invalid_table()),
        ("OffsetCommit", _table(_COMMITS, {**COLUMNS, "away": away})),
        ("OffsetFetch", _table(_FETCHES, {**COLUMNS, "away": away})),
        ("Requests of administrators", _table(_ADMINISTRATION, _GROUPS)),
    )
    return "\n".join([_OPENING, *(f"## {name}\n\n{table}" for name, table in sections)])


def _table(rows: dict[str, _Ask], columns: dict[str, _Make]) -> str:
    """Return a table; each cell is asked of a new cluster."""
    body = [
        (name, *(_cell(ask(make())) for make in columns.values())) for name, ask in rows.items()
    ]
    heads = tuple(f"`{each}`" if each.isupper() else each for each in columns)
    return _lines([("", *heads), *body])


def _invalid_table() -> str:
    rows = [("request", "error", "message")]
    for name, wrong in _INVALID.items():
        answer = Cluster().ask(replace(heartbeat(SENDER, 0), **wrong))
        rows.append((name, f"`{answer.error.name}`", answer.error_message))
    return _lines(rows)


def _lines(rows: Sequence[tuple[str, ...]]) -> str:
    lines = [rows[0], tuple("---" for _ in rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(found: ErrorCode | str | None) -> str:
    if found is None:
        return "-"
    return found if isinstance(found, str) else f"`{found.name}`"
