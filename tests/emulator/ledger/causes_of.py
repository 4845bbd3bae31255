"""Common parts of the histories of the causes: an owner at work, and one cause alone."""

from __future__ import annotations

from emulator.ledger.entries import Cause, EntryKind

from .history import History


def owner_at_work(processed=100, committed=80) -> History:
    """Consumer a has processed so many records of orders-0 and committed so many."""
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable()
    history.open("a", offset=0)
    history.work("a", 0, committed)
    history.commit("a", committed)
    history.work("a", committed, processed)
    return history


def only(history: History, cause: Cause, count: int, kind=EntryKind.REPROCESSED) -> None:
    ledger = history.ledger()

    assert {str(cause): count} == ledger.by_cause()
    assert {str(cause): count} == ledger.by_cause(kind)
