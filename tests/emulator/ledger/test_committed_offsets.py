"""What is known of a committed offset and of commits that failed."""

from __future__ import annotations

import pytest

from emulator.ledger.commits import Committed

from .causes_of import owner_at_work


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
