"""What is known of a committed offset and of commits that failed."""

from __future__ import annotations

import pytest

from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.commits import MAX_IN_FLIGHT, Committed, CommittedOffsets
from emulator.ledger.entries import Step

from .causes_of import owner_at_work
from .coordinators import accept, elect, led_by_1
from .history import GROUP, P0, P1, History
from .test_rules_of_causes import at


def accepted(*commits: tuple[int, bool, bool]) -> Committed:
    """Return an offset after some accepted commits: offset, own progress, whether the last is answered."""
    committed = Committed()
    for offset, own_progress, answered in commits:
        committed.accept(offset, own_progress=own_progress, answered=answered)
    return committed


@pytest.mark.parametrize(
    ("offsets", "rewound_from"),
    [
        ((50,), None),
        ((50, 50), None),
        ((50, 40), 50),
        ((50, 40, 30), 50),
        ((50, 30, 40), 50),
        ((50, 40, 49), 50),
        ((50, 40, 50), None),
        ((50, 40, 60), None),
    ],
)
def test_a_lower_commit_is_a_rewind_until_the_offset_is_reached_again(offsets, rewound_from):
    """From the highest offset before it."""
    committed = accepted(*((offset, False, True) for offset in offsets))

    assert (offsets[-1], rewound_from) == (committed.offset, committed.rewound_from)


def test_progress_of_the_sender_is_no_rewind():
    """It began below the committed offset, and has read the records between again."""
    assert accepted((50, False, True), (40, False, True), (45, True, True)).rewound_from is None


@pytest.mark.parametrize(
    ("answered", "unacknowledged", "known"),
    [(True, False, 50), (False, False, 30), (True, True, 30)],
)
def test_what_its_sender_knows_to_be_committed_was_answered(answered, unacknowledged, known):
    """An offset whose sender got no answer, or has none yet, is not known to it."""
    committed = accepted((30, False, True), (50, False, True))
    committed.unacknowledged = unacknowledged
    committed.accept(60, own_progress=False, answered=answered)

    assert (known, False) == (committed.acknowledged_before, committed.unacknowledged)


@pytest.mark.parametrize("offsets", [(100, 100), (100, 90)])
@pytest.mark.parametrize("kind", ["refused", "lost"])
def test_of_failed_commits_the_first_that_covers_most_is_the_cause(kind, offsets):
    """A later one of the same offset, or a lower one, changes nothing."""
    history = owner_at_work()
    for number, offset in enumerate(offsets):
        if kind == "refused":
            history.refuse("a", offset, error=f"E{number}")
        else:
            history.lose("a", history.send("a", offset), kind=f"E{number}")
    history.close("a", 100, "revoked")
    history.next_owner("b", 80, 100)

    assert ["E0"] == [entry.detail for entry in history.ledger().entries]


def test_of_commits_to_a_replaced_coordinator_the_first_of_an_offset_is_shown():
    history = led_by_1()
    elect(history, 2, 1)
    commits = [accept(history, 100, broker=1, epoch=0) for _ in range(2)]
    history.crash("a", 100)
    history.next_owner("b", 80, 100)
    (entry,) = history.ledger().entries
    shown = [link.values[1] for link in entry.chain if link.step is Step.COMMIT_TO_STALE_LEADER]

    assert commits[:1] == shown


def test_the_highest_offset_that_a_sender_was_told_of_is_known_to_it():
    """Answers to its earlier commits may come in any order."""
    committed = Committed(offset=10, commit="c4")
    known = [committed.acknowledge(offset, f"c{n}") for n, offset in ((3, 8), (1, 5), (2, 11))]

    assert (8, 3) == (committed.acknowledged_before, len(known))


def committed_after(history: History) -> Committed:
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)
    return builder._offsets.of(GROUP, P0)


def test_an_owner_that_began_below_the_committed_offset_makes_progress_when_it_commits():
    """It knew of the commit; one that had begun before it, or at it, takes it back."""
    below, at_it, before, stranger = (owner_at_work(100, 80) for _ in range(4))
    for history in (below, at_it):
        history.close("a", 100, "revoked")
        history.next_owner("b", 50 if history is below else 80, 100)
    before.open("b", offset=50)
    before.commit("a", 80)
    for history in (below, at_it, before, stranger):
        history.commit("b", 60)

    rewound = [
        committed_after(history).rewound_from for history in (below, at_it, before, stranger)
    ]
    assert [None, 80, 80, 80] == rewound


def test_a_commit_below_an_offset_that_nobody_was_seen_to_commit_is_progress():
    """A failover had shown what the coordinator holds."""
    history = owner_at_work(100, 80)
    history.coordinator_moves()
    history.close("a", 100, "revoked")
    history.next_owner("b", 40, 100)
    history.commit("b", 35)

    assert (35, None) == (committed_after(history).offset, committed_after(history).rewound_from)


def test_commits_in_flight_are_bounded_for_each_consumer():
    """The oldest are forgotten first."""
    history, offsets = owner_at_work(), CommittedOffsets()
    names = [history.send("a", 90) for _ in range(MAX_IN_FLIGHT + 1)]
    sent = history.events[-len(names) :]
    for event in sent[:-1]:
        offsets.on_sent(event, event.what)
    assert offsets.flight("a", names[0]) is not None

    offsets.on_sent(sent[-1], sent[-1].what)
    assert (True, False) == (
        offsets.flight("a", names[0]) is None,
        offsets.flight("a", names[1]) is None,
    )


def test_offsets_of_a_deleted_topic_are_forgotten_and_those_beyond_a_truncation_marked():
    """The offset at which the log was truncated is in it."""
    offsets, other = CommittedOffsets(), P1._replace(topic="other")
    for partition, offset in ((P0, 60), (P1, 61), (other, 61)):
        offsets.of(GROUP, partition).accept(offset, own_progress=False)
    for partition in (P0, P1):
        offsets.truncate(partition, 60, at(1))
    assert (None, at(1)) == (offsets.of(GROUP, P0).truncation, offsets.of(GROUP, P1).truncation)

    offsets.forget_topic(P0.topic)
    assert [-1, -1, 61] == [offsets.of(GROUP, each).offset for each in (P0, P1, other)]
