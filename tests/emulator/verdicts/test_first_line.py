"""Over random worlds: a dead, stuck or looping group is named before the totals of a run.

What went wrong is read off the events here, without the meters and rules of the verdicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

import emulator
from emulator import events as ev
from emulator.report.screens.verdict import first_lines
from emulator.strategies import scenarios

MINUTES_US = 75_000_000
"""Longer than the minute from which the verdicts name it, by more than their resolution."""

RATE = 2.0
"""Records per second of each partition: few events, so that many worlds can be played."""

LONG = MINUTES_US + 30_000_000

GROUP = {
    "work": st.sampled_from(("5ms", "40ms", "400ms")),
    "listener": st.sampled_from(("0ms", "4s", "40s")),
    "static": st.booleans(),
    "poison": st.lists(
        st.fixed_dictionaries(
            {
                "topic": st.just("orders"),
                "partition": st.just(0),
                "offset": st.integers(0, 60),
                "work": st.sampled_from(("1s", "25s", "60min")),
            }
        ),
        max_size=1,
    ),
    "settings": {
        "auto.offset.reset": st.sampled_from(("earliest", "latest", "none")),
        "max.poll.interval.ms": st.sampled_from(("10s", "30s", "5min")),
        "partition.assignment.strategy": st.sampled_from(("range", "cooperative-sticky")),
        "session.timeout.ms": st.sampled_from(("6s", "45s")),
    },
}
WORLDS = scenarios(group=GROUP, members=3, partitions=3, most_faults=2)


def wrongs(history) -> Iterator[str]:
    """Yield what went wrong in a run, in words."""
    if any(isinstance(each.what, ev.ConsumerStopped) and failed(each.what) for each in history):
        yield "a member died"
    if not any(isinstance(each.what, PROCESSED) for each in history):
        yield "nothing was processed"
    drops = Counter(
        each.what.consumer for each in history if isinstance(each.what, ev.ClientDropped)
    )
    if max(drops.values(), default=0) >= 3:
        yield "a loop of drop-outs"
    if longest_gap(history) >= LONG:
        yield "a partition without an owner for minutes"
    if stood_still(history):
        yield "a record that never finished"


PROCESSED = (ev.Processed, ev.ProgressCounted)


def failed(what) -> bool:
    return what.how == ev.End.FAILED


def longest_gap(history) -> int:
    """Return the longest time between two owners of a partition, or from the last to the end."""
    owners, gaps, since = Counter(), [0], defaultdict(int)
    for each in history:
        what = each.what
        if isinstance(what, ev.EpochOpened):
            if not owners[what.partition] and what.partition in since:
                gaps.append(each.at_us - since[what.partition])
            owners[what.partition] += 1
        elif isinstance(what, ev.EpochClosed):
            owners[what.partition] -= 1
            since[what.partition] = each.at_us
    end = history[-1].at_us
    return max(gaps + [end - since[each] for each in since if not owners[each]])


def stood_still(history) -> bool:
    """Return whether nothing was processed for long before the end, although records waited."""
    samples = [each for each in history if isinstance(each.what, ev.LagSampled)]
    last = samples[-1].what
    moved_us = max(
        (
            after.at_us
            for before, after in pairwise(samples)
            if before.what.processed != after.what.processed
        ),
        default=0,
    )
    since = next(each for each in samples if each.at_us >= moved_us).what
    waited = any(end > done >= 0 for end, done in zip(since.log_ends, last.processed, strict=True))
    return waited and samples[-1].at_us - moved_us >= LONG


def check(drawn) -> None:
    (topic,) = drawn.topic
    slow = drawn.model_copy(update={"topic": (topic.model_copy(update={"rate": RATE}),)})
    run = emulator.run(slow)
    found = [*wrongs(run.events)]
    for wrong in found:
        event(wrong)
    assert [*first_lines(run.verdicts)] or not found, found


@pytest.mark.long
@settings(max_examples=8, phases=(Phase.generate,))
@given(WORLDS)
def test_what_went_wrong_comes_before_the_totals(drawn):
    """“No records were reprocessed, none were lost.” is then never the first line."""
    check(drawn)


@pytest.mark.long
@pytest.mark.soak
@settings(max_examples=40, phases=(Phase.generate, Phase.shrink))
@given(WORLDS)
def test_what_went_wrong_comes_before_the_totals_in_many_worlds(drawn):
    """The same, for more of them."""
    check(drawn)
