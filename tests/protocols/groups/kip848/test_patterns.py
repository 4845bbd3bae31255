"""Subscriptions by pattern, looked up by the coordinator beside the requests."""

from __future__ import annotations

import pytest

from protocols.groups.kip848.patterns import is_valid, matching
from protocols.groups.kip848.shard import on_topics_changed
from protocols.groups.kip848.soft import LookUp
from protocols.groups.topics import TopicsImage
from protocols.messages import LeaveGroupRequest, LeavingMember
from protocols.messages.errors import ErrorCode

from .driver import GROUP, ConsumerGroupDriver, topic


def by_pattern(it: ConsumerGroupDriver, member_id: str, pattern: str) -> None:
    it.join(member_id, subscribed_topic_names=None, subscribed_topic_regex=pattern)


def looked_up(*pattern_users: str, **settings: int) -> ConsumerGroupDriver:
    """A group whose members read by the pattern ``t|u``, looked up, with a target."""
    it = ConsumerGroupDriver(topic(), topic("u", 2), topic("v", 1), **settings)
    for member_id in pattern_users:
        by_pattern(it, member_id, "t|u")
    it.advance(0)
    return it


def test_a_new_pattern_gives_partitions_with_the_heartbeat_after_its_look_up():
    """Join, look-up, next heartbeat: the look-up alone raises the epoch."""
    it = ConsumerGroupDriver(topic(), topic("u", 2), topic("v", 1))
    by_pattern(it, "A", "t|u")
    assert (1, ["5", "8"], {}) == (it.at("A")[0], it.types, it.group.targets.get("A", {}))

    it.advance(0)
    assert (["16", "3"], (2, 1)) == (it.types, it.epochs)
    answer = it.beat("A")

    assert {"t": {0, 1, 2, 3, 4, 5}, "u": {0, 1}} == answer.assignment


def test_a_pattern_that_another_member_has_gives_partitions_at_once():
    """It is looked up already: the join raises the epoch."""
    it = looked_up("A")
    it.beat("A")

    by_pattern(it, "B", "t|u")

    assert (3, 3) == it.epochs
    assert it.group.targets["B"]


def test_a_pattern_is_matched_against_whole_names():
    """In the syntax of RE2."""
    it = ConsumerGroupDriver(topic(), topic("u", 2))
    by_pattern(it, "A", r"[^t]\b")
    it.advance(0)

    assert ("u",) == it.group.patterns[r"[^t]\b"].topics


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", r"(?=t)", r"(t)\1"])
def test_an_invalid_pattern_is_refused(pattern):
    """Also patterns of other libraries: RE2 has no look-ahead and no back-references."""
    it = looked_up("A")
    before = len(it.log)

    refused = it.join("B", subscribed_topic_names=None, subscribed_topic_regex=pattern)

    assert ErrorCode.INVALID_REGULAR_EXPRESSION == refused.error
    assert len(it.log) == before


@pytest.mark.parametrize(
    "pattern", [r"\C", r"a\C+", "(?P<a>x)(?P<a>y)", "(?<a>x|(?P<a>y))", "(?P<ä>a)"]
)
def test_a_pattern_that_only_the_port_to_java_refuses_is_refused(pattern):
    """Google's library accepts it, and warns of none of them."""
    assert not is_valid(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"\\C", r"\Q\C\E", r"\Q(?P<a>)(?P<a>)", "[(?<a>](?<a>x)", r"[]\]C](?P<a>[[:^alpha:]])(?P<b>)"],
)
def test_a_text_that_only_looks_like_it_is_accepted(pattern):
    """An escaped backslash, a quotation, and a class."""
    assert is_valid(pattern)


def test_a_member_that_gives_its_pattern_up_raises_the_epoch():
    """It was the last one: what the pattern matched is forgotten in the same batch."""
    it = looked_up("A")
    it.beat("A")

    it.beat("A", subscribed_topic_regex="", topic_partitions=())

    assert ["5", "16x", "3"] == it.types[:3]
    assert not it.group.patterns
    assert {} == dict(it.group.targets["A"])


def test_the_pattern_of_the_last_member_to_leave_is_forgotten():
    """While another member has it, it stays."""
    it = looked_up("A", "B")
    it.leave("A")
    assert it.group.patterns

    assert ["8x", "7x", "5x", "16x", "3", "6"] == it.wrote(lambda: it.leave("B"))


@pytest.mark.parametrize("departure", ["leaves", "expires", "is removed"])
def test_the_pattern_of_a_member_that_is_gone_is_forgotten(departure):
    """However it goes, while a member without a pattern stays."""
    it = looked_up("A")
    it.join("B")
    if departure == "leaves":
        it.leave("A")
    elif departure == "expires":
        for _ in range(9):
            it.advance(5_000)
            it.beat("B")
    else:
        it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember("A"),)))

    assert ["B"] == list(it.group.members)
    assert {} == dict(it.group.patterns)


def test_a_pattern_that_changes_during_its_lookup_is_looked_up_afterwards():
    """The result of the first is dropped, as nobody uses it."""
    it = ConsumerGroupDriver(topic(), topic("u", 2))
    by_pattern(it, "A", "t")
    it.beat("A", subscribed_topic_regex="u")
    it.advance(0)
    assert "t" not in it.group.patterns
    it.advance(20_000)
    it.beat("A")
    it.advance(0)

    assert ("u",) == it.group.patterns["u"].topics
    assert {"u": {0, 1}} == it.beat("A").assignment


def test_a_static_member_may_return_with_another_pattern():
    """Its topics are those of the new pattern once that is looked up."""
    it = ConsumerGroupDriver(topic(), topic("u", 2))
    it.join("A", subscribed_topic_names=None, subscribed_topic_regex="t", instance="i")
    it.advance(0)
    it.beat("A", instance="i")
    it.beat("A", -2, instance="i")
    it.join("A2", subscribed_topic_names=None, subscribed_topic_regex="u", instance="i")
    it.advance(20_000)
    it.beat("A2", instance="i")
    it.advance(0)

    assert ["u"] == list(it.group.patterns)
    assert {"u": {0, 1}} == it.beat("A2", instance="i").assignment


def test_a_new_topic_is_found_by_a_heartbeat_ten_seconds_after_the_last_look_up():
    """And not sooner; only another topic raises the epoch."""
    it = ConsumerGroupDriver(topic())
    by_pattern(it, "A", ".*")
    it.advance(0)
    it.beat("A")
    it.topics_are(topic(), topic("u", 2))

    it.advance(10_000)
    it.beat("A")
    it.advance(0)
    assert (2, ("t",)) == (it.group.epoch, it.group.patterns[".*"].topics)
    it.advance(1)
    it.beat("A")
    it.advance(0)
    assert (3, ("t", "u")) == (it.group.epoch, it.group.patterns[".*"].topics)
    assert {"t": {0, 1, 2, 3, 4, 5}, "u": {0, 1}} == it.beat("A").assignment


def test_a_look_up_that_finds_the_same_raises_nothing():
    """More than ten minutes after the last one; it is written all the same, with its time."""
    it = looked_up("A", group_consumer_session_timeout_ms=2**30)
    it.beat("A")
    epochs = it.epochs
    it.advance(600_000)
    it.beat("A")
    it.advance(0)
    assert "16" not in it.types

    it.advance(1)
    it.beat("A")
    it.advance(0)

    assert (["16"], epochs) == (it.types, it.epochs)


def test_all_patterns_of_a_group_are_looked_up_together():
    """One at a time per group, ten seconds apart."""
    it = looked_up("A")
    by_pattern(it, "B", "v")
    it.advance(5_000)
    assert "v" not in it.group.patterns

    it.beat("A")
    it.advance(5_001)
    it.beat("A")
    it.advance(0)

    assert {"t|u", "v"} == set(it.group.patterns)
    assert 2 == it.types.count("16")


@pytest.mark.parametrize(("sender", "order"), [("A", ["t|u", "u.*"]), ("B", ["u.*", "t|u"])])
def test_the_pattern_of_the_sender_is_written_first_of_those_in_one_slot(sender, order):
    """Kafka counts the users anew, which moves a pattern of one user to the head of its slot."""
    it = looked_up("A")
    by_pattern(it, "B", "u.*")
    it.advance(10_001)

    it.beat(sender)
    it.advance(0)

    assert order == [key.regular_expression for key, _ in it.batches[-1] if key.record_type == 16]


def test_names_and_a_pattern_together_read_both():
    """A member may have them side by side."""
    it = ConsumerGroupDriver(topic(), topic("u", 2))
    it.join("A", "u", subscribed_topic_regex="t")
    it.advance(0)
    it.beat("A")

    assert {"t", "u"} == set(
        it.beat(
            "A", 0, topic_partitions=(), rebalance_timeout_ms=1, subscribed_topic_names=("u",)
        ).assignment
    )


def test_another_pattern_that_is_not_looked_up_yet_takes_its_topics_away():
    """Until it is, it matches nothing."""
    it = looked_up("A")
    it.beat("A")
    it.advance(20_000)

    it.beat("A", subscribed_topic_regex="t.?")

    assert {"t", "u"} == {"t", "u"} & {name for name in ("t", "u") if it.revoking("A", of=name)}
    assert (2, 2) == it.epochs


def test_a_failover_forgets_a_lookup_in_progress():
    """The next heartbeat starts it again."""
    it = ConsumerGroupDriver(topic())
    by_pattern(it, "A", ".*")
    it.fail_over()
    assert not it.group.patterns

    it.beat("A")
    it.advance(0)

    assert ("t",) == it.group.patterns[".*"].topics


def test_a_pattern_in_the_log_that_is_none_here_matches_nothing():
    """Another release may have taken it."""
    begun = LookUp(("(",), TopicsImage([topic()]), 0)

    assert () == matching("(", begun)


def test_a_pattern_that_was_never_looked_up_leaves_a_tombstone_too():
    """When its last user gives it up, or goes."""
    it = ConsumerGroupDriver(topic())
    by_pattern(it, "A", "t")
    assert "16x" in it.wrote(lambda: it.beat("A", subscribed_topic_regex=""))

    by_pattern(it, "B", "u")

    assert ["8x", "7x", "5x", "16x", "3"] == it.wrote(lambda: it.leave("B"))


def test_the_only_pattern_changed_soon_after_its_look_up_waits_like_any_other():
    """Ten seconds count from the last look-up, also if what it found goes with the change."""
    it = looked_up("A")
    it.beat("A")
    it.beat("A", subscribed_topic_regex="v")
    it.advance(0)
    assert ({}, True) == (dict(it.group.patterns), "v" in it.group.pattern_users)

    it.beat("A")
    it.advance(0)

    assert {"v"} == set(it.group.patterns)


def test_a_pattern_that_goes_has_the_others_looked_up_once_more():
    """There are more results than patterns in use, at that heartbeat."""
    it = ConsumerGroupDriver(topic(), topic("u"))
    by_pattern(it, "A", "t")
    by_pattern(it, "B", "u")
    it.advance(0)
    it.beat("A")
    it.advance(10_001)
    it.beat("A")
    it.advance(0)
    it.settle("A", "B")
    it.advance(10_001)
    assert {"t", "u"} == set(it.group.patterns)

    it.beat("B", subscribed_topic_regex="t")
    it.advance(0)

    assert ["16"] == it.types
    assert {"t"} == set(it.group.patterns)


def test_a_new_coordinator_looks_all_patterns_up_once():
    """It cannot know which topics are new."""
    it = looked_up("A")
    it.beat("A")
    it.advance(10_001)
    assert [] == it.wrote(lambda: (it.beat("A"), it.advance(0)))

    it.begin_load()
    it.coordinator.topics_changed(it.topics, version=9)
    it._carry_out(it.coordinator.loaded(it.now_us))
    it.beat("A")
    it.advance(0)

    assert ["16"] == it.types


def test_a_member_that_reads_a_topic_which_does_not_exist_reads_something():
    """Nothing is revoked from it, and only its own fields are written."""
    it = ConsumerGroupDriver(topic())
    it.join("A", subscribed_topic_names=())

    assert ["5", "3", "7", "6", "8"] == it.wrote(
        lambda: it.beat("A", subscribed_topic_names=("w",), topic_partitions=())
    )
    assert ["5", "3", "6", "8"] == it.wrote(
        lambda: it.beat("A", subscribed_topic_names=("x",), topic_partitions=())
    )


def test_a_look_up_is_due_by_the_number_of_patterns():
    """Kafka compares the patterns after a heartbeat with the resolved ones before it, by number.

    ``u`` is not resolved, as the last look-up was less than 10 s ago. The heartbeat that gives ``t``
    up leaves one pattern where one is resolved; the next one finds none resolved.
    """
    it = ConsumerGroupDriver(topic(), topic("u", 2))
    by_pattern(it, "A", "t")
    it.advance(0)
    by_pattern(it, "B", "u")
    it.advance(11_000)

    it.beat("A", subscribed_topic_regex="", topic_partitions=())
    assert f"resolve-patterns-{GROUP}" not in it.timers
    it.beat("B")

    assert f"resolve-patterns-{GROUP}" in it.timers


def test_a_topic_that_grows_during_a_look_up_raises_the_epoch_with_it():
    """The topics match as before; the hash of their metadata does not (``GroupMetadataManager``)."""
    it = looked_up("A", group_consumer_session_timeout_ms=2**30)
    it.beat("A")
    it.advance(600_001)
    it.beat("A")
    epoch = it.group.epoch
    it.topics_are(topic(partitions=7), topic("u", 2), topic("v", 1))
    it.advance(0)

    assert (epoch + 1, ("t", "u")) == (it.group.epoch, it.group.patterns["t|u"].topics)


def test_a_new_pattern_of_topics_that_are_read_already_raises_the_epoch():
    """Its members may get partitions; the hash of the metadata stays."""
    it = looked_up("A")
    it.beat("A")
    it.advance(20_000)
    by_pattern(it, "B", "u")
    epoch, before = it.group.epoch, it.group.metadata_hash
    it.advance(0)

    assert (epoch + 1, before) == (it.group.epoch, it.group.metadata_hash)


def test_topics_that_no_member_reads_invalidate_nothing():
    """Only groups that subscribe to a changed topic compute their metadata again (``onMetadataUpdate``)."""
    it = looked_up("A")
    it.beat("A")
    shard = it.coordinator.state

    assert shard is on_topics_changed(shard, frozenset({"v"}))
    assert shard is not on_topics_changed(shard, frozenset({"v", "u"}))
