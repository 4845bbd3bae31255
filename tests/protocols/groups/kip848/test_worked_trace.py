"""The worked trace of the rules: two members come, one goes, and what the log shows of it."""

from __future__ import annotations

from .driver import ConsumerGroupDriver, owned


def test_two_members_share_and_one_goes():
    """Epochs, answers and records are those of the trace, step by step."""
    it = ConsumerGroupDriver(group_consumer_assignment_interval_ms=1000)

    first = it.join("A")
    assert (2, {"t": {0, 1, 2, 3, 4, 5}}) == (first.epoch, first.assignment)
    assert ["5", "3", "7", "6", "8"] == it.types
    it.advance(100)
    assert [] == it.wrote(lambda: it.beat("A", topic_partitions=owned(0, 1, 2, 3, 4, 5)))

    it.advance(1900)
    second = it.join("B")
    assert (3, {}) == (second.epoch, second.assignment)
    assert ["5", "3", "7", "7", "6", "8"] == it.types
    assert (3, 0, "UNRELEASED_PARTITIONS") == it.at("B")
    it.advance(100)
    assert ["8"] == it.wrote(lambda: it.beat("B", 3, topic_partitions=()))
    assert (3, 3, "UNRELEASED_PARTITIONS") == it.at("B")

    it.advance(3000)
    donor = it.beat("A", 2)
    assert (2, {"t": {0, 1, 2}}) == (donor.epoch, donor.assignment)
    assert (["8"], {3, 4, 5}) == (it.types, it.revoking("A"))
    it.advance(300)
    done = it.beat("A", 2, topic_partitions=owned(0, 1, 2))
    assert (3, None) == (done.epoch, done.assignment)
    assert ["8"] == it.types
    it.advance(1700)
    taken = it.beat("B", 3)
    assert (3, {"t": {3, 4, 5}}) == (taken.epoch, taken.assignment)
    assert "Stable" == it.state

    it.advance(12_900)
    assert -1 == it.leave("B").epoch
    assert (["8x", "7x", "5x", "3"], "Assigning") == (it.types, it.state)
    it.advance(400)
    rest = it.beat("A", 3)
    assert (4, {"t": {0, 1, 2, 3, 4, 5}}) == (rest.epoch, rest.assignment)
    assert ["7", "6", "8"] == it.types


def test_a_join_soon_after_the_last_target_waits_for_the_next_heartbeat():
    """It is stable with nothing, at the last target's epoch; who beats first computes the new."""
    it = ConsumerGroupDriver(group_consumer_assignment_interval_ms=1000)
    it.join("A")
    it.advance(500)

    early = it.join("B")

    assert (2, {}, ["5", "3", "8"]) == (early.epoch, early.assignment, it.types)
    it.advance(500)
    assert ["7", "7", "6", "8"] == it.wrote(lambda: it.beat("A"))
    assert (3, 3) == it.epochs


def test_a_group_that_emptied_is_not_kept_waiting():
    """The last member's leave sets the target epoch and forgets when it was computed."""
    it = ConsumerGroupDriver(group_consumer_assignment_interval_ms=1000)
    it.join("A")

    assert ["8x", "7x", "5x", "3", "6"] == it.wrote(lambda: it.leave("A"))
    assert ("Empty", (3, 3), 0) == (it.state, it.epochs, it.group.assigned_ms)
    assert {"t": {0, 1, 2, 3, 4, 5}} == it.join("B").assignment
    assert (4, 4) == it.epochs
