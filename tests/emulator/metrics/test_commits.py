"""Commits by fate, and rewinds."""

from __future__ import annotations

from emulator.metrics.commits import CommitMeter

from ..ledger.history import GROUP, P0, P1, History
from .meters import read


def test_commits_are_counted_by_their_fate():
    """Sent, accepted, refused by error, lost on the way, never answered."""
    history = History()
    history.commit("a", 10)
    history.refuse("a", 20, "ILLEGAL_GENERATION")
    history.refuse("a", 20, "REBALANCE_IN_PROGRESS", by="client")
    history.lose("a", history.send("a", 20))
    history.lose("a", "", "HeartbeatRequest")
    for _ in range(3):
        history.answer("a", history.send("a", 20), "NETWORK_EXCEPTION")
    reading = read(CommitMeter(), history)
    names = (
        "commits_sent",
        "commits_accepted",
        "commits_refused",
        "commit_messages_lost",
        "commits_unanswered",
    )

    assert [7, 1, 2, 1, 3] == [reading.values[name] for name in names]
    assert {"ILLEGAL_GENERATION": 1, "REBALANCE_IN_PROGRESS": 1} == reading.tables[
        "commits_refused.by_error"
    ]


def test_a_later_commit_of_the_same_owner_covers_refused_ones():
    """As soon as it reaches their offsets; what an owner has lost it cannot cover any more."""
    history = History()
    for offset in (10, 20, 30):
        history.refuse("a", offset, "REBALANCE_IN_PROGRESS")
    history.refuse("a", 10, partition=P1)
    history.commit("a", 20)
    history.refuse("b", 15)
    history.commit("a", 30)
    history.refuse("a", 40)
    history.close("a", 40, "revoked")
    history.commit("a", 50)
    reading = read(CommitMeter(), history)

    assert 6 == reading.values["commits_refused"]
    assert 3 == reading.values["commits_refused_covered"]
    assert {GROUP: 6} == reading.tables["commits_refused.by_group"]


def test_a_lower_accepted_commit_is_a_rewind():
    """Count and depth, by partition; what vanished in between cannot be lowered."""
    history = History()
    history.commit("a", 100)
    history.commit("a", 60)
    history.commit("a", 50)
    history.commit("a", 10, partition=P1)
    history.drop("expired", P0)
    history.commit("a", 0)
    values = read(CommitMeter(), history).values

    assert (2, 50, 40) == (
        values["rewinds"],
        values["rewind_records"],
        values["rewind_max_records"],
    )
