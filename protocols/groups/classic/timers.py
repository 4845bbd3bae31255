"""Names of a classic group's timers, as Kafka builds their keys (spec classic-coordinator 7).

Parts are joined by dashes without escaping, so a name is read back by asking which group and
member exist: the first split that fits is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

SESSION = "heartbeat-"
JOIN = "join-"
SYNC = "sync-"


def session_timer(group_id: str, member_id: str) -> str:
    """Return the name of a member's session timer; an id handed out has one, too."""
    return f"{SESSION}{group_id}-{member_id}"


def join_timer(group_id: str) -> str:
    """Return the name of the timer that ends a join phase."""
    return JOIN + group_id


def sync_timer(group_id: str) -> str:
    """Return the name of the timer that ends the wait for SyncGroups."""
    return SYNC + group_id


def splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield every (group id, member id) that the name of a session timer may mean."""
    place = name.find("-", len(SESSION))
    while place >= 0:
        yield name[len(SESSION) : place], name[place + 1 :]
        place = name.find("-", place + 1)
