"""The queue of records of a client that fetches in the background, under both protocols."""

from __future__ import annotations

from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import Fetcher
from protocols.consumer.offset_store import OffsetStore
from protocols.machine import Effect, Send, SetTimer


def fill(fetcher: Fetcher, timer: str, now: int) -> tuple[Effect, ...]:
    """Fetch from the brokers that may be asked; *timer* is set until the next one may be."""
    sends = [Send(broker, request) for broker, request in fetcher.requests(now)]
    ready_us = fetcher.next_ready_us(now)
    return tuple(sends) if ready_us is None else (*sends, SetTimer(timer, ready_us))


def take(fetcher: Fetcher, store: OffsetStore | None, limit: int) -> tuple[Handed, ...]:
    """Return at most *limit* records of the queue, and store their offsets."""
    handed = fetcher.collect(limit, as_arrived=True)
    if handed and store is not None:
        store.handed(handed)
    return handed
