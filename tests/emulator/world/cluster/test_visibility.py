"""High watermarks that stand or lag, as arithmetic."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.world.cluster.partitions.arrivals import NEVER, TURNS, Visibility

REPLICATION = 700

spells = st.lists(
    st.tuples(st.integers(1, 5_000), st.sampled_from([None, 0, 50, 3_000, "one record"])),
    max_size=8,
)


def disturbed(plan):
    """Let it stand (None), lag, or move with a record first; return when it was over."""
    found, now = Visibility(REPLICATION), 0
    for length, late in plan:
        now += length
        if late is None:
            found.stall(now)
        elif late == "one record":
            reached = found.as_of(now)
            found.move(now, 0, range(reached, min(reached + 900, now - REPLICATION), 200))
        else:
            found.move(now, late)
    return found, now


@given(spells, st.lists(st.integers(0, 45_000), min_size=1, max_size=10))
def test_earlier_appends_are_visible_and_later_ones_are_not(plan, instants):
    """``when`` and ``as_of`` are each other's inverse."""
    found, _ = disturbed(plan)
    for now in instants:
        reached = found.as_of(now)

        assert found.when(reached) <= now
        assert found.when(reached + 1) > now


@given(spells)
def test_it_never_goes_back(plan):
    """Whatever was visible stays so."""
    found, now = disturbed(plan)
    reached = [found.as_of(at) for at in range(0, now + 5_000, 250)]

    assert sorted(reached) == reached


@given(spells)
def test_when_all_is_well_again_it_is_as_it_would_have_been(plan):
    """Standing and lagging cost time, nothing else."""
    found, now = disturbed([*plan, (1, 0)])
    now += TURNS * REPLICATION

    assert now - REPLICATION == found.as_of(now)
    assert now + 5 + REPLICATION == found.when(now + 5)


def test_a_slow_disk_stops_it_and_then_delays_it():
    """Records in flight when the disk becomes slow are late as well."""
    found, _ = disturbed([(10_000, 3_000)])

    assert [10_000 - REPLICATION] * 2 == [found.as_of(10_000), found.as_of(13_000)]
    assert 13_500 - 3_000 - REPLICATION == found.as_of(13_500)
    assert 9_700 + 3_000 + REPLICATION == found.when(9_700)
    assert 11_000 + 3_000 + REPLICATION == found.when(11_000)


def test_after_a_stop_records_in_flight_show_first_and_the_rest_some_replications_later():
    """A producer keeps the rest until those are acknowledged."""
    found, _ = disturbed([(10_000, None)])
    found.move(20_000, 0, (9_800, 9_900))
    second, rest = 20_000 + REPLICATION, 20_000 + TURNS * REPLICATION

    assert [9_800, 9_900, 9_900] == [found.as_of(at) for at in (20_000, second, rest - 1)]
    assert rest - REPLICATION == found.as_of(rest)
    assert [20_000, second, rest] == [found.when(at) for at in (9_800, 9_900, 9_901)]


def test_it_may_stop_again_before_the_rest_has_shown():
    """The time of the rest is unknown then."""
    found, _ = disturbed([(10_000, None)])
    found.move(20_000, 0, (9_800, 9_900))
    found.stall(20_001)

    assert 9_800 == found.as_of(40_000)
    assert NEVER == found.when(9_801)


def test_while_it_is_stopped_the_end_is_unknown():
    """Records that are not visible yet may never be."""
    found, _ = disturbed([(10_000, None)])

    assert NEVER == found.when(10_000)
    assert 9_000 + REPLICATION == found.when(9_000)
