"""Where an incident begins, and who stopped."""

from __future__ import annotations

from emulator.blaming.evidence import Joined
from emulator.blaming.symptoms import Stop, symptoms_of

from .incidents import SECOND, evidence, orders, steady


def test_the_consumer_that_never_works_again_has_stopped():
    """The other one pauses for the rebalance, too, but goes on."""
    seen = evidence(
        steady("a", 0, 1, 10),
        steady("b", 1, 1, 15),
        steady("b", 1, 17, 30, first=140),
        steady("b", 0, 17, 30, first=80),
        generations=(0, 16),
    )
    found = symptoms_of(seen)

    assert (Stop("a", 9_910_000, None),) == found.stops
    assert 9_910_000 == found.onset_us
    assert 16 * SECOND == found.next_generation_us


def test_a_consumer_that_resumes_has_the_time_of_its_first_finished_record():
    seen = evidence(steady("a", 0, 1, 10), steady("a", 0, 20, 30, first=90), steady("b", 1, 1, 30))

    assert (Stop("a", 9_910_000, 20_010_000),) == symptoms_of(seen).stops


def test_a_record_that_takes_long_is_a_stop_until_it_is_finished():
    """The handler hangs: the record begins at once, and ends ten seconds later."""
    hung = steady("a", 0, 20, 30, first=91)
    long = [type(hung[0])("a", orders(0), 90, 91, 10 * SECOND, 20 * SECOND)]
    seen = evidence(steady("a", 0, 1, 10), long, hung, steady("b", 1, 1, 30))

    assert (Stop("a", 9_910_000, 20 * SECOND),) == symptoms_of(seen).stops


def test_stops_of_all_at_once_are_no_stop_of_one():
    """Both wait equally long for a rebalance: its generation is the onset."""
    seen = evidence(
        steady("a", 0, 1, 10),
        steady("b", 1, 1, 10),
        steady("a", 0, 12, 30, first=90),
        steady("b", 1, 12, 30, first=90),
        generations=(0, 11),
    )
    found = symptoms_of(seen)

    assert () == found.stops
    assert 11 * SECOND == found.onset_us


def test_rare_records_are_no_stop():
    """A consumer that gets a record every two seconds has not stopped between them."""
    seen = evidence(steady("a", 0, 1, 30, every_s=2), steady("b", 1, 1, 30))

    assert () == symptoms_of(seen).stops


def test_later_consumers_and_partitions_are_named():
    seen = evidence(
        steady("a", 0, 1, 30),
        steady("b", 1, 12, 30),
        steady("a", 2, 15, 30, first=7),
        generations=(0, 11),
    )
    found = symptoms_of(seen)

    assert (("b", 12 * SECOND),) == found.joined
    assert ((orders(1), 12 * SECOND),) == found.added


def test_the_time_in_which_the_group_forms_is_no_incident():
    """Two generations in the first seconds; the second one lasts."""
    seen = evidence(steady("a", 0, 3, 30), steady("b", 1, 5, 30), generations=(2.5, 4.5))

    assert 5 * SECOND == symptoms_of(seen).formed_us


def test_a_new_member_id_is_a_restart_however_short():
    """The pause of half a second is not longer than others; the join has its exact time."""
    seen = evidence(
        steady("a", 0, 1, 20),
        steady("a", 0, 20.5, 40, first=190),
        steady("b", 1, 1, 40),
        joins=((0.5, "a"), (0.5, "b"), (20.3, "a")),
        generations=(0, 20.3),
    )
    found = symptoms_of(seen)

    assert Joined(20_300_000, "a") == seen.joins[-1]
    assert (Stop("a", 19_910_000, 20_510_000),) == found.stops
    assert 19_910_000 == found.onset_us


def test_a_new_member_id_of_a_consumer_that_has_stopped_is_no_second_stop():
    seen = evidence(
        steady("a", 0, 1, 10),
        steady("a", 0, 20, 30, first=90),
        steady("b", 1, 1, 30),
        joins=((0.5, "a"), (19.5, "a")),
    )

    assert (Stop("a", 9_910_000, 20_010_000),) == symptoms_of(seen).stops


def test_a_member_without_records_until_the_group_has_formed_has_not_joined_later():
    seen = evidence(
        steady("a", 0, 1, 40),
        steady("b", 1, 12, 40, every_s=3),
        joins=((0.2, "a"), (0.3, "b")),
        generations=(0.5,),
    )

    assert () == symptoms_of(seen).joined


def test_a_new_partition_of_a_group_that_resets_to_the_latest_offset():
    """Its first 70 records are skipped; the moved partition 3 has a committed offset."""
    seen = evidence(
        steady("a", 0, 1, 30),
        steady("a", 2, 15, 30, first=70),
        steady("a", 3, 15, 30, first=70),
        commits=[(5, 0, 40), (5, 3, 70), (20, 2, 120)],
        generations=(0, 14),
    )

    assert ((orders(2), 15 * SECOND),) == symptoms_of(seen).added
