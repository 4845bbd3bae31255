"""The figures that compare an explanation with what was seen, counted by hand."""

from __future__ import annotations

from emulator.blaming.figures import (
    FIGURES,
    Figure,
    after,
    before,
    contradicted,
    figures_for,
    misfits,
    repeats_of,
)

from .incidents import SECOND, evidence, steady


def test_repeats_by_the_next_owner():
    """B begins 20 records below what a had finished."""
    seen = evidence(steady("a", 0, 0, 10), steady("b", 0, 12, 20, first=80))
    found = after(seen, 10 * SECOND, ["a"])

    assert (20, 100, 0, 1) == (
        found["repeated"],
        found["repeated_by_others"],
        found["repeated_by_former"],
        found["repeated_partitions"],
    )


def test_repeats_by_a_former_owner():
    """A stands still in a record from 10 s to 20 s; b has processed it, and ten more, meanwhile."""
    late = [
        type(each)("a", each.partition, 99, 100, 10 * SECOND, 20 * SECOND)
        for each in steady("a", 0, 0, 0.1)
    ]
    seen = evidence(steady("a", 0, 0, 9.9), late, steady("b", 0, 12, 13, first=99))
    (repeat,) = repeats_of(seen.work)

    assert (1, True, True) == (repeat.records, repeat.by_another, repeat.by_former)


def test_repeats_of_a_restarted_consumer_are_its_own():
    seen = evidence(steady("a", 0, 0, 10), steady("a", 0, 12, 20, first=80))

    assert 0 == after(seen, 10 * SECOND, ["a"])["repeated_by_others"]


def test_skipped_records_are_those_between_the_processed_ones():
    seen = evidence(steady("a", 0, 0, 10), steady("b", 0, 12, 20, first=107))

    assert 7 == after(seen, 10 * SECOND, [])["skipped"]


def test_offsets_without_records_are_no_loss():
    """A transaction marker behind every hundredth record, also before the incident."""
    seen = evidence(
        steady("a", 0, 0, 5), steady("a", 0, 5, 10, first=51), steady("b", 0, 12, 20, first=107)
    )

    assert 0 == after(seen, 10 * SECOND, [])["skipped"]


def test_times_count_from_the_onset():
    """A generation after six seconds, a partition that stands still for seven."""
    seen = evidence(steady("a", 0, 0, 10), steady("b", 0, 17, 30, first=100), generations=(0, 16))
    found = after(seen, 10 * SECOND, ["a"])

    assert (1, 6, 6) == (
        found["generations"],
        found["first_generation_s"],
        found["last_generation_s"],
    )
    assert 7.1 == round(found["longest_stall_s"], 1)
    assert found["returned_s"] < 0, "it never does"


def test_a_generation_shortly_before_the_onset_is_the_one_with_which_it_begins():
    """When a member looks for new topics is chance, within half a second."""
    seen = evidence(steady("a", 0, 0, 30), generations=(0, 9, 9.9))
    found = after(seen, 10 * SECOND, [])

    assert (1, -0.1) == (found["generations"], round(found["first_generation_s"], 1))


def test_commits_behind_and_ahead_of_the_work():
    """Of three commits one covers all, one leaves five, one covers two that are not processed."""
    seen = evidence(steady("a", 0, 0, 10), commits=[(1.05, 0, 11), (2.05, 0, 16), (3.05, 0, 33)])
    found = before(seen, 0, 10 * SECOND)

    assert (0, 1) == (found["uncommitted"], round(found["commit_every_s"]))
    assert 33 == round(found["ahead"])


def test_a_record_that_ends_shortly_after_a_commit_is_not_ahead():
    """The commits cover a record that ends 50 ms and 250 ms later."""
    slow = steady("a", 0, 0, 10, every_s=0.3)
    seen = evidence(slow, commits=[(1.46, 0, 6), (2.46, 0, 9)], generations=(0,))

    assert 0 == before(seen, 0, 2 * SECOND)["ahead"]
    assert 0 == before(evidence(slow, commits=[(2.36, 0, 9)]), 0, 3 * SECOND)["ahead"]
    assert 100 == before(evidence(slow, commits=[(2.16, 0, 9)]), 0, 3 * SECOND)["ahead"]


def test_few_commits_say_little_about_a_share_of_them():
    few = evidence(commits=[(at, 0, 10 * at) for at in range(1, 5)])
    many = evidence(commits=[(at / 10, 0, at) for at in range(1, 2_000)])

    assert 25 == figures_for(few.commits, 0, 10 * SECOND)["ahead"].tolerance
    assert 4 == figures_for(many.commits, 0, 1_000 * SECOND)["ahead"].tolerance


def test_the_tolerance_grows_with_the_value():
    figure = Figure("records", "", 5)

    assert 1 == figure.difference(5 / 0.75, 0)
    assert figure.difference(1_010, 1_000) < 0.1


def values(**given):
    """Return the same value of each figure in three runs, all 0 but those given."""
    return {name: (given.get(name, 0.0),) * 3 for name in FIGURES}


def seen(**given):
    return {name: each[0] for name, each in values(**given).items()}


def test_duplicates_that_are_not_explained_at_all_contradict():
    """Others differ by the same share of their tolerance, and say less."""
    assert ("repeated",) == contradicted(values(), seen(repeated=1_000))
    assert ("repeated",) == contradicted(values(repeated=1_000), seen())
    assert ("repeated",) == contradicted(values(repeated=9), seen(repeated=1_000))
    assert () == contradicted(values(repeated=11), seen(repeated=1_000))
    assert () == contradicted(values(), seen(repeated=8, longest_stall_s=20))


def test_what_one_of_the_runs_shows_is_no_contradiction():
    found = values() | {"repeated": (0.0, 4.0, 900.0)}

    assert () == contradicted(found, seen(repeated=800))


def test_figures_that_do_not_fit_begin_with_the_contradicted_ones():
    off = misfits(
        values(), seen(repeated=20, longest_stall_s=60, generations=1, stalled_partitions=1)
    )

    assert ["repeated", "generations", "longest_stall_s"] == off


def test_of_rare_records_the_delay_of_commits_is_compared():
    """A timer commits seconds behind a record; where records are dense, the last one has just ended."""
    rare = evidence(steady("a", 0, 0, 40, every_s=10), commits=[(2, 0, 1), (12, 0, 2), (22, 0, 3)])
    dense = evidence(steady("a", 0, 0, 40), commits=[(2, 0, 20), (12, 0, 120), (22, 0, 220)])

    assert before(rare, 0, 40 * SECOND)["commit_delay_s"] == 1.99
    assert "commit_delay_s" in figures_for(rare.commits, 0, 40 * SECOND)
    assert "commit_delay_s" not in figures_for(dense.commits, 0, 40 * SECOND)


def test_a_short_quiet_time_says_nothing_about_the_interval_of_commits():
    """The commits of a rebalance at its end follow one another sooner than those of a timer."""
    seen = evidence(
        steady("a", 0, 0, 60, every_s=10),
        commits=[(2, 0, 1), (2.1, 0, 1), *((at, 0, at // 10 + 1) for at in (12, 22, 32, 42))],
    )

    assert 10 == before(seen, 0, 3 * SECOND)["commit_every_s"]
