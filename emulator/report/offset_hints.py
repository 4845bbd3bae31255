"""What would help where committed offsets were gone or set to others: by time, or by somebody."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ledger.entries import Cause
from emulator.report.cases import RESET_EARLIEST, Case, Hint

TAKEN = ("expired", "deleted")
"""How committed offsets vanish, in the words of details."""


def _by_admin(case: Case) -> bool:
    return case.said("administrator")


def _lived(case: Case) -> bool:
    return case.said("no member subscribed")


def _was_away(case: Case) -> bool:
    return not _lived(case)


def _taken_while_away(case: Case) -> bool:
    return case.said(*TAKEN) and not _lived(case)


RAISE_RETENTION = (
    "Raise {offsets.retention.minutes} above the longest time the group may be down: a long "
    "weekend is 5,760 minutes, the default 10,080."
)
SET_BEFORE_THE_START = (
    "Before the group comes back, set its offsets to where it had stopped, while it has no "
    "members: kafka-consumer-groups --reset-offsets --to-datetime."
)

GROUP_OF_ITS_OWN = (
    "In a group that lives, offsets still expire for a topic to which no member subscribes, counted "
    "from each commit. Give the readers of such a topic a group.id of their own, or let one stay."
)

OFFSET_HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.EXPIRED: (
        Hint(RAISE_RETENTION),
        Hint(GROUP_OF_ITS_OWN, _lived),
        Hint(SET_BEFORE_THE_START, _was_away),
        Hint(
            "{auto.offset.reset} decides what expired offsets cost: earliest repeats what the "
            "topic still has, latest loses what was not read."
        ),
    ),
    Cause.DELETED: (
        Hint("Do not delete the offsets, or the topics, of a group that will come back."),
        Hint(SET_BEFORE_THE_START, _was_away),
    ),
    Cause.RESET: (
        Hint(
            "Look at what --reset-offsets is about to do before it is done: without --execute "
            "kafka-consumer-groups only shows it.",
            _by_admin,
        ),
        Hint(
            "An offset that was reset is taken as it is: back repeats, forward loses. To undo it, "
            "stop all members and reset to the offsets of before (--to-offset, --from-file).",
            _by_admin,
        ),
        Hint(
            "Look for what removed the committed offset: expiry, or an administrator.",
            lambda case: not _by_admin(case),
        ),
    ),
    Cause.RESET_TO_LATEST: (
        RESET_EARLIEST,
        Hint(
            "A smaller {metadata.max.age.ms} finds new partitions and topics sooner; that "
            "shortens the loss and does not end it.",
            lambda case: not case.verbs.isdisjoint({"add_partitions", "create_topic"}),
        ),
        Hint(RAISE_RETENTION, lambda case: case.said("expired")),
        Hint(GROUP_OF_ITS_OWN, _lived),
        Hint(SET_BEFORE_THE_START, _taken_while_away),
    ),
    Cause.RESET_BY_DURATION: (
        RESET_EARLIEST,
        Hint(SET_BEFORE_THE_START, _taken_while_away),
    ),
}
