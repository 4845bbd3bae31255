"""What is not durable where a host skips whole periods: answers to commits that wait for the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protocols.coordinator.durability import Durability, Entry, Proposal, replayed
from protocols.groups.shard import Durable
from protocols.machine import Send
from protocols.messages import Header
from protocols.values import replace


def relative(log: Durability, now_us: int) -> object:
    """Return what is not durable, and when it times out, relative to *now_us* and to the end.

    None: more than answers waits, or groups appear or end with it. The timeout is renewed: until
    it fires it may be that of an operation that has ended.
    """
    proposals, waits, end = log.proposals, log.deferred, log.next_log_offset
    if log.facts or any(proposal.made or proposal.ended for proposal in proposals):
        return None
    if not all(type(deferred.waiting) is Send for deferred in waits):
        return None
    log.timer_set = bool(waits)
    return (
        end - log.high_watermark,
        tuple([(end - each.log_offset, end - each.end) for each in proposals]),
        tuple([(end - each.below, each.deadline_us - now_us) for each in waits]),
    )


def timeout_us(log: Durability) -> int | None:
    """Return when the first wait times out; None: nothing waits."""
    return log.deferred[0].deadline_us if log.deferred else None


def waiting(log: Durability) -> list[Header]:
    """Return the headers of the answers that wait, in order."""
    headers = [deferred.waiting.to for deferred in log.deferred]
    return [header for header in headers if isinstance(header, Header)]


def skip(log: Durability, durable: Durable, entries: Sequence[Entry], log_end: int) -> Durable:
    """Continue at a later end of the log, behind these last *entries*; return the newest state.

    As much as before is not durable. *durable*: the newest state before them.
    """
    more = log_end - log.next_log_offset
    if not more:
        return durable
    log.next_log_offset = log_end
    log.high_watermark += more
    safe = [record for log_offset, record in entries if log_offset < log.high_watermark]
    log.view = durable = replayed(durable, safe)
    for number, old in enumerate(log.proposals):
        first, end = old.log_offset + more, old.end + more
        records = [record for log_offset, record in entries if first <= log_offset < end]
        before, durable = durable, replayed(durable, records)
        log.proposals[number] = Proposal(first, end, before, durable)
    for number, deferred in enumerate(log.deferred):
        log.deferred[number] = deferred._replace(below=deferred.below + more)
    return durable


def move(log: Durability, later_us: int, renumbered: Callable[[Header], Header]) -> None:
    """Move the waits by whole periods; their requests have later numbers."""
    for number, deferred in enumerate(log.deferred):
        answer = replace(deferred.waiting, to=renumbered(deferred.waiting.to))
        deadline_us = deferred.deadline_us + later_us
        log.deferred[number] = deferred._replace(deadline_us=deadline_us, waiting=answer)
