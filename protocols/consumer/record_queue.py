"""The queue of records of a client that fetches in the background, under both protocols."""

from __future__ import annotations

from typing import Final

from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.fetching import Fetcher
from protocols.consumer.offset_store import OffsetStore
from protocols.machine import Effect, Send, SetTimer

FETCH: Final = "fetch"
"""Timer: a broker may be asked again."""


def fill(fetcher: Fetcher, now: int) -> tuple[Effect, ...]:
    """Fetch from the brokers that may be asked, and set a timer until the next one may be."""
    sends = [Send(broker, request) for broker, request in fetcher.requests(now)]
    ready_us = fetcher.next_ready_us(now)
    return tuple(sends) if ready_us is None else (*sends, SetTimer(FETCH, ready_us))


def take(fetcher: Fetcher, store: OffsetStore | None, limit: int) -> tuple[Handed, ...]:
    """Return at most *limit* records of the queue, and store their offsets."""
    handed = fetcher.collect(limit, as_arrived=True)
    if handed and store is not None:
        store.handed(handed)
    return handed
