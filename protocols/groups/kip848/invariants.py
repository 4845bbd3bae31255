"""The invariants of a consumer group; tests assert them after every step.

Source: ``ConsumerGroup`` and ``GroupMetadataManager.replay`` of Kafka 4.4.0.
"""

from __future__ import annotations

from collections import Counter

from protocols.groups.kip848.group import AWAY_EPOCH, Group, MemberState


def check(group: Group) -> None:
    """Assert every invariant of one group.

    Timers are not checked: they are not reverted when an append fails.
    """
    _check_epochs(group)
    _check_ownership(group)
    _check_indexes(group)


def _check_epochs(group: Group) -> None:
    assert group.target_epoch <= group.epoch, "the target epoch is above the group epoch"
    if not group.members:
        assert not group.targets, "targets of a group without members"
    for member in group:
        current = member.current
        assert AWAY_EPOCH <= current.epoch <= group.target_epoch, member.member_id
        if current.epoch != AWAY_EPOCH:
            assert current.previous_epoch <= current.epoch
        is_revoking = current.state is MemberState.UNREVOKED_PARTITIONS
        assert is_revoking or not any(current.revoking.values()), "it revokes in another state"
    assert set(group.targets) <= set(group.members.entries), "the target of an unknown member"


def _check_ownership(group: Group) -> None:
    """Assert that no partition has two owners and that the index agrees with the members."""
    owners: dict[tuple[str, int], int] = {}
    for member in group:
        for grants in (member.current.assigned, member.current.revoking):
            for topic, numbers in grants.items():
                for number in numbers:
                    assert (topic, number) not in owners, f"{topic}-{number} has two owners"
                    owners[topic, number] = member.current.epoch
    held = {
        (topic, number): epoch
        for topic, numbers in group.held.items()
        for number, epoch in numbers.items()
    }
    assert held == owners
    shall = Counter(
        (topic, number)
        for wanted in group.targets.values()
        for topic, numbers in wanted.items()
        for number in numbers
    )
    assert max(shall.values(), default=1) == 1, "a target assigns a partition twice"


def _check_indexes(group: Group) -> None:
    all_metadata = [member.metadata for member in group]
    names = Counter(name for each in all_metadata for name in set(each.subscribed_topic_names))
    assert dict(group.name_readers) == names
    users = Counter(
        each.subscribed_topic_regex for each in all_metadata if each.subscribed_topic_regex
    )
    assert dict(group.pattern_users) == users
    votes = Counter(each.server_assignor for each in all_metadata if each.server_assignor)
    assert dict(group.votes) == votes
    found = Counter(name for each in group.patterns.values() for name in each.topics)
    assert dict(group.pattern_topics) == found
    assert group.classic_members == sum(member.uses_classic for member in group)
    static = {
        member.metadata.instance_id: member.member_id
        for member in group
        if member.metadata.instance_id is not None
    }
    assert dict(group.static_members) == static
