"""Count commits, their outcomes, and the rewinds of committed offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from emulator import events as ev
from emulator.ledger.commits import BY_ADMIN
from emulator.metrics.readings import Handler, Key, Reading

_NO_ANSWER: Final = "NETWORK_EXCEPTION"
"""The client's error for a commit whose connection broke or whose response never came."""


class CommitMeter:
    """Counts commits by outcome, and rewinds of committed offsets."""

    def __init__(self) -> None:
        self._accepted = 0
        self._by_admin: set[str] = set()
        """Commits by which an administrator resets offsets; they are not counted here."""

        self._committed: dict[Key, int] = {}
        self._lost = 0
        self._refused = Counter[str]()
        self._rewinds = 0
        self._rewound = 0
        self._rewound_most = 0
        self._sent = 0
        self._unanswered = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.CommitSent: self._on_sent,
            ev.CommitAccepted: self._on_accepted,
            ev.CommitRefused: self._on_refused,
            ev.CommitAnswered: self._on_answered,
            ev.MessageLost: self._on_lost,
            ev.OffsetsDropped: self._on_dropped,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the outcomes of all commits."""
        return Reading(
            values={
                "commits_sent": self._sent,
                "commits_accepted": self._accepted,
                "commits_refused": self._refused.total(),
                "commit_messages_lost": self._lost,
                "commits_unanswered": self._unanswered,
                "rewinds": self._rewinds,
                "rewind_records": self._rewound,
                "rewind_max_records": self._rewound_most,
            },
            tables={"commits_refused.by_error": dict(sorted(self._refused.items()))},
        )

    def _on_sent(self, _: ev.Event, what: ev.CommitSent) -> None:
        if what.kind == BY_ADMIN:
            self._by_admin.add(what.commit)
        else:
            self._sent += 1

    def _on_accepted(self, _: ev.Event, what: ev.CommitAccepted) -> None:
        if what.commit in self._by_admin:
            self._committed |= {(what.group, tp): offset for tp, offset in what.offsets}
            return
        self._accepted += 1
        for partition, offset in what.offsets:
            key = (what.group, partition)
            depth = self._committed.get(key, offset) - offset
            if depth > 0:
                self._rewinds += 1
                self._rewound += depth
                self._rewound_most = max(self._rewound_most, depth)
            self._committed[key] = offset

    def _on_refused(self, _: ev.Event, what: ev.CommitRefused) -> None:
        self._refused[what.error] += what.commit not in self._by_admin

    def _on_answered(self, _: ev.Event, what: ev.CommitAnswered) -> None:
        self._unanswered += what.error == _NO_ANSWER and what.commit not in self._by_admin

    def _on_lost(self, _: ev.Event, what: ev.MessageLost) -> None:
        self._lost += bool(what.commit) and what.commit not in self._by_admin

    def _on_dropped(self, _: ev.Event, what: ev.OffsetsDropped) -> None:
        for partition in what.partitions:
            self._committed.pop((what.group, partition), None)
