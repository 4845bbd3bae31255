"""How records arrived in the topics of a group, from what its consumers processed and when."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from emulator.blaming.evidence import Evidence, Work, grouped
from emulator.blaming.symptoms import Symptoms

Arrivals = dict[str, str | int]
"""The keys of a topic that say how records arrive."""

BUSY = 0.9
"""Consumers that work for this part of a time have a backlog."""

STEP_US = 1_000_000
"""A backlog has ended when consumers wait for records in every such step of the rest of a log."""

SHORTEST_WAIT_US = 4_000_000
"""In less time the rate of new records is not to be seen."""

LEAST_RATE = 0.01
"""Records a second of a partition; a scenario has no lower rate."""


def is_busy(evidence: Evidence, symptoms: Symptoms) -> bool:
    """Return whether consumers worked for most of the time before the incident."""
    quiet = [
        done for done in evidence.work if symptoms.formed_us < done.ended_us <= symptoms.onset_us
    ]
    consumers = {done.consumer for done in quiet}
    lasted_us = max(1, symptoms.onset_us - symptoms.formed_us) * max(1, len(consumers))
    return sum(done.ended_us - done.began_us for done in quiet) > BUSY * lasted_us


def arrivals(work: Sequence[Work], begun_us: int, until_us: int) -> Arrivals:
    """Return the rate of a topic whose consumers wait for records most of the time.

    *work*: on the topic, from *begun_us* to *until_us*; at least one piece.
    """
    reached = [_last(each) - each[0].first for each in _by_partition(work)]
    seconds = max(1.0, (until_us - begun_us) / 1e6)
    return _rate(sum(reached) / len(reached) / seconds)


def arrivals_behind(work: Sequence[Work], caught_up_us: int, formed_us: int) -> Arrivals:
    """Return the backlog of a topic whose consumers worked all the time, and the rate of new records.

    *caught_up_us*: from then on consumers wait for records: what arrives later is the rate, and what was
    processed beyond it is the backlog. A log that ends earlier shows no rate. *formed_us*: when the
    first record is processed in runs.
    """
    each = _by_partition(work)
    processed = [_last(done) - done[0].first for done in each]
    until_us = max(done.ended_us for done in work)
    if until_us - caught_up_us < SHORTEST_WAIT_US:
        return _rate(0) | {"backlog": sum(processed) // len(processed)}
    rate = median(_later_rates(each, caught_up_us))
    begun_us = work[0].began_us
    beyond = [
        records - rate * (done[-1].ended_us - begun_us) / 1e6
        for done, records in zip(each, processed, strict=True)
    ]
    backlog = max(0, int(median(beyond)))
    return _rate(rate) | {"backlog": backlog, "produce_from": f"{formed_us / 1e6:.3f}s"}


def caught_up_us(work: Sequence[Work]) -> int:
    """Return from when on the consumers of a log wait for records up to its end."""
    worked, consumers = Counter[int](), defaultdict[int, set[str]](set)
    for done in work:
        for step, lasted_us in _steps(done):
            worked[step] += lasted_us
            consumers[step].add(done.consumer)
    busy = [step for step, each in consumers.items() if worked[step] > BUSY * STEP_US * len(each)]
    return (max(busy) + 1) * STEP_US if busy else work[0].began_us


def _steps(done: Work) -> Iterator[tuple[int, int]]:
    """Yield the steps in which a piece of work lies, with its time in each."""
    for step in range(done.began_us // STEP_US, done.ended_us // STEP_US + 1):
        begin_us, end_us = step * STEP_US, (step + 1) * STEP_US
        yield step, min(done.ended_us, end_us) - max(done.began_us, begin_us)


def _later_rates(partitions: Iterable[Sequence[Work]], from_us: int) -> list[float]:
    """Return the records a second of each partition that is processed from an instant on."""
    found = []
    for each in partitions:
        later = [done for done in each if done.ended_us >= from_us]
        if len(later) > 1 and later[-1].ended_us > later[0].ended_us:
            records = _last(later) - later[0].next_offset
            found.append(max(0, records) / (later[-1].ended_us - later[0].ended_us) * 1e6)
    return found or [0.0]


def _by_partition(work: Sequence[Work]) -> list[list[Work]]:
    return list(grouped(work, lambda done: done.partition).values())


def _last(done: Iterable[Work]) -> int:
    return max(each.next_offset for each in done)


def _rate(rate: float) -> Arrivals:
    return {"rate": f"{max(rate, LEAST_RATE):.3g}/s"}
