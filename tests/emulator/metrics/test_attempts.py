"""How often one record is attempted."""

from __future__ import annotations

from emulator import events as ev
from emulator.metrics.metrics import measure

from ..ledger.history import GROUP, P0, P1, History


def begun():
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable()
    history.open("a")
    return history


def fail(history, offset, failures, partition=P0):
    history.of(
        ev.ProcessingFailed,
        "a",
        partition=partition,
        offset=offset,
        failures=failures,
        then="seek",
        to="",
    )


def attempts(history):
    metrics = measure(history.events).metrics
    rows = [(r["partition"], r["first"], r["last"]) for r in metrics.listings["attempts"]]
    return metrics["attempts_max"], rows


def test_each_record_of_an_undisturbed_run_has_one_attempt():
    """And no row; a run without records has none."""
    history = begun()

    assert (0, []) == attempts(history)
    history.work("a", 0, 50)
    assert (1, []) == attempts(history)


def test_a_record_that_three_owners_completed_has_three():
    """Where the ranges of the ledger overlap most."""
    history = begun()
    history.work("a", 0, 50)
    history.crash("a", 50)
    history.next_owner("b", 20, 60)
    history.crash("b", 60)
    history.start("a", incarnation=2)
    history.next_owner("a", 40, 60)

    assert (3, [("orders-0", 40, 49)]) == attempts(history)


def test_failed_and_killed_attempts_count_beside_the_completed_one():
    """Two failed, one was in flight when its process ended, and one was completed."""
    history = begun()
    history.work("a", 0, 20)
    fail(history, 20, 2)
    history.cut_off("a", 20)
    history.crash("a", 20)
    assert (3, [("orders-0", 20, 20)]) == attempts(history)

    history.next_owner("b", 20, 40)
    assert (4, [("orders-0", 20, 20)]) == attempts(history)


def test_a_failed_attempt_at_a_completed_record_adds_to_its_completions():
    """It was completed, failed when it came again, and was completed a second time."""
    history = begun()
    history.work("a", 0, 50)
    history.close("a", 50, "revoked")
    history.open("a", offset=30)
    fail(history, 35, 1)
    history.work("a", 30, 60)

    assert (3, [("orders-0", 35, 35)]) == attempts(history)


def test_offsets_of_a_topic_that_was_created_again_are_other_records():
    """Each of the two logs has a record that was completed twice."""
    history = begun()
    history.work("a", 0, 20)
    history.close("a", 20, "revoked")
    history.next_owner("a", 0, 20)
    history.close("a", 20, "lost")
    history.delete_topic()
    history.topic(topic_id="T2")
    history.next_owner("a", 0, 20)
    history.close("a", 20, "revoked")
    history.next_owner("a", 0, 20)

    assert 2 == attempts(history)[0]


def test_each_partition_and_group_is_counted_by_itself():
    """The same offset of two partitions is two records."""
    history = begun()
    history.open("a", P1)
    history.work("a", 0, 10)
    history.work("a", 0, 10, P1)
    fail(history, 10, 3, P1)

    assert (3, [("orders-1", 10, 10)]) == attempts(history)
    rows = measure(history.events).metrics.listings["attempts"]
    assert GROUP == rows[0]["group"]


def test_attempts_at_a_topic_do_not_count_for_its_successor():
    """The records of a topic that was created again are others, though they have the same offsets."""
    history = begun()
    fail(history, 3, 4)
    history.work("a", 0, 10)
    history.delete_topic()
    history.topic(topic_id="T2")
    fail(history, 3, 2)
    history.work("a", 0, 10)

    assert (5, [("orders-0", 3, 3)]) == attempts(history)
