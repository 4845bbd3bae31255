"""Virtual time: what runs when, and what goes first at one and the same microsecond."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.world.kernel import ALLOCATIONS_BETWEEN_COLLECTIONS, Kernel, Rank, order_of

moments = st.tuples(st.integers(0, 5), st.sampled_from(Rank), st.integers(0, 3))


@given(st.lists(moments))
def test_equal_times_run_by_rank_then_by_who_then_as_scheduled(planned):
    """Nothing else decides: not the order of insertion among different parties."""
    kernel = Kernel()
    ran = []
    for number, (when, rank, who) in enumerate(planned):
        entry = (when, rank, who, number)
        kernel.at(when, rank, who, lambda _, entry=entry: ran.append(entry))
    kernel.run(10)

    assert sorted(ran) == ran
    assert len(planned) == len(ran) == kernel.scheduled


@given(st.lists(moments, min_size=1))
def test_the_time_is_that_of_the_running_event(planned):
    """In whole microseconds, and it never falls."""
    kernel = Kernel()
    seen = []
    for when, rank, who in planned:
        kernel.at(when, rank, who, lambda _, when=when: seen.append((when, kernel.now)))
    kernel.run(10)

    assert [(when, when) for when, _ in seen] == seen
    assert {int} == {type(now) for _, now in seen}


def test_an_event_at_the_end_of_a_run_does_not_happen():
    """The run ends before that instant; one microsecond earlier everything still happens."""
    kernel = Kernel()
    ran = []
    for when in (99, 100):
        kernel.at(when, Rank.FAULT, 0, lambda _, when=when: ran.append(when))
    kernel.run(100)

    assert ([99], 100) == (ran, kernel.now)


def test_an_action_scheduled_for_now_runs_now_in_its_rank():
    """An action may add to its own instant, after earlier ranks."""
    kernel = Kernel()
    ran = []

    def fault(_):
        kernel.at(5, Rank.SAMPLE, 0, lambda _: ran.append("sample"))
        kernel.at(5, Rank.AT_BROKER, 0, lambda _: ran.append("at broker"))

    kernel.at(5, Rank.CLIENT_TIMER, 0, lambda _: ran.append("timer"))
    kernel.at(5, Rank.FAULT, 0, fault)
    kernel.run(6)

    assert ["at broker", "timer", "sample"] == ran


def test_an_action_is_called_with_the_moment_it_was_given():
    """So a caller with several deadlines can distinguish them."""
    kernel = Kernel()
    called = []
    moment = kernel.push(3, order_of(Rank.APPLICATION, 7), called.append)
    kernel.run(4)

    assert [moment] == called


def test_the_orders_of_any_two_parties_never_overlap_between_ranks():
    """A party's number is far smaller than the distance of two ranks."""
    orders = [order_of(rank, who) for rank in sorted(Rank) for who in (0, 1, 1 << 31)]

    assert sorted(set(orders)) == orders


def test_a_script_acts_before_everything_else_of_its_instant():
    """Faults are scripts; what arrives at that very microsecond finds them done."""
    kernel = Kernel()
    ran = []

    def script():
        yield kernel.env.timeout(5)
        ran.append(("script", kernel.now))

    kernel.at(5, Rank.FAULT, 0, lambda _: ran.append(("fault", kernel.now)))
    kernel.process(script())
    kernel.run(6)

    assert [("script", 5), ("fault", 5)] == ran


@pytest.fixture
def thresholds():
    """Garbage collection as the rest of the tests expect to find it again."""
    before = gc.get_threshold()
    yield gc.set_threshold
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "during"),
    [
        ((700, 10, 10), (ALLOCATIONS_BETWEEN_COLLECTIONS, 10, 10)),
        ((0, 10, 10), (0, 10, 10)),
        ((900_000, 7, 3), (900_000, 7, 3)),
    ],
)
def test_garbage_collection_is_rare_during_a_run_and_restored_after_it(thresholds, before, during):
    """A rarer or disabled collection is not changed."""
    thresholds(*before)
    kernel = Kernel()
    seen = []
    kernel.at(1, Rank.FAULT, 0, lambda _: seen.append(gc.get_threshold()))
    kernel.run(2)

    assert [during] == seen
    assert before == gc.get_threshold()


def test_garbage_is_looked_for_as_before_after_a_run_that_failed(thresholds):
    """An error in an action leaves nothing changed behind it."""
    thresholds(700, 10, 10)
    kernel = Kernel()

    def fail(_):
        raise ZeroDivisionError

    kernel.at(1, Rank.FAULT, 0, fail)
    with pytest.raises(ZeroDivisionError):
        kernel.run(2)

    assert (700, 10, 10) == gc.get_threshold()
