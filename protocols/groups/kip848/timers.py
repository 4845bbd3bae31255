"""Names of a consumer group's timers (spec kip848 1.12).

Sessions and rebalances have the keys of ``GroupMetadataManager``; its ``join-`` and ``sync-`` of
classic members are called otherwise here, as classic groups have timers that begin so. Parts are
joined by dashes without escaping, so a name is read back by asking which group and member exist:
the first split that fits is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

SESSION = "session-timeout-"
REBALANCE = "rebalance-timeout-"
REJOIN = "rejoin-timeout-"
RESYNC = "resync-timeout-"
PATTERNS = "resolve-patterns-"


def session_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a silent member."""
    return f"{SESSION}{group_id}-{member_id}"


def rebalance_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a member that does not give partitions up."""
    return f"{REBALANCE}{group_id}-{member_id}"


def rejoin_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a classic member that does not join again."""
    return f"{REJOIN}{group_id}-{member_id}"


def resync_timer(group_id: str, member_id: str) -> str:
    """Return the name of the timer that removes a classic member that does not sync."""
    return f"{RESYNC}{group_id}-{member_id}"


def timers_beside(group_id: str, member_id: str) -> tuple[str, str, str]:
    """Return the names of a member's timers beside its session's."""
    return (
        rebalance_timer(group_id, member_id),
        rejoin_timer(group_id, member_id),
        resync_timer(group_id, member_id),
    )


def patterns_timer(group_id: str) -> str:
    """Return the name of the look-up of a group's patterns, which runs beside the requests."""
    return PATTERNS + group_id


def splits(name: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield every (group id, member id) that the name of a member's timer may mean."""
    place = name.find("-", len(prefix))
    while place >= 0:
        yield name[len(prefix) : place], name[place + 1 :]
        place = name.find("-", place + 1)
