"""What the log of a Java client of the consumer protocol says that a classic one does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulator.conformance.captured.client_logs import AutoCommit, LogLine, offsets_in

_COMMIT = re.compile(r"Enqueuing OffsetCommit request for offsets: \{(.*)\}", re.DOTALL)
_HEARD = re.compile(r"Member \S+ received heartbeat interval (\d+)ms from the group coordinator")
_RECONCILES = "Reconciling assignment with local epoch"
_COMMITTED = "Auto-commit before reconciling new assignment"


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The coordinator told how often to send heartbeats: the answer to a client's first one."""

    at_us: int
    interval_us: int


def first_answer(lines: Sequence[LogLine]) -> FirstAnswer | None:
    """Return the answer to the client's first heartbeat, if it came."""
    found = ((line.at_us, _HEARD.match(line.text)) for line in lines)
    answers = (FirstAnswer(at_us, int(match[1]) * 1000) for at_us, match in found if match)
    return next(answers, None)


def automatic_commits(lines: Sequence[LogLine], closing_us: int | None) -> Iterator[AutoCommit]:
    """Yield the commits of a client that commits by itself, in order.

    *closing_us*: when the application called close(), if it did. The first commit of a
    reconciliation is the one it waits for; the rest are those of the interval.
    """
    preparing = False
    for line in lines:
        if line.text.startswith(_RECONCILES):
            preparing = True
        elif line.text.startswith(_COMMITTED):
            preparing = False
        elif match := _COMMIT.match(line.text):
            closing = closing_us is not None and line.at_us + 1000 > closing_us
            kind = "close" if closing else "prepare" if preparing else "auto"
            preparing = False
            yield AutoCommit(line.at_us, kind, offsets_in(match[1]))
