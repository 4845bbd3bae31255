"""Who was in a group: what its records say of members, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

Roster = Mapping[str, "Member"]
"""Members by id, in the order in which the log names them."""

Assigned = tuple[str, int]
"""A topic (its name, or its id in a group of the newer protocols) and a partition of it."""


class Seen(NamedTuple):
    """A member, as far as a change of the group is told by it."""

    member_id: str
    name: str
    """The instance id of a static member, else the client id."""

    host: str
    """Empty for a static member, which is itself on every host."""

    def __str__(self) -> str:
        return f"{self.name} ({self.host})" if self.host else self.name


@dataclass(frozen=True, slots=True)
class Member:
    """What the log says of one member."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    topics: tuple[str, ...] = ()
    assigned: tuple[Assigned, ...] = ()

    @property
    def name(self) -> str:
        """What people know it by: the instance id, else the client id."""
        return self.instance_id or self.client_id or self.member_id

    @property
    def seen(self) -> Seen:
        """The part that a change names."""
        host = "" if self.instance_id else self.client_host.removeprefix("/")
        return Seen(self.member_id, self.name, host)


def member_of(told: Mapping[str, Any]) -> Member:
    """Read a member of the table ``groups``."""
    return Member(
        member_id=told["member_id"] or "",
        instance_id=told["instance_id"],
        client_id=told["client_id"] or "",
        client_host=told["client_host"] or "",
        session_timeout_ms=told["session_timeout_ms"],
        rebalance_timeout_ms=told["rebalance_timeout_ms"],
        topics=tuple(sorted(told["topics"] or ())),
        assigned=assigned_of(told),
    )


def assigned_of(told: Mapping[str, Any]) -> tuple[Assigned, ...]:
    """Return the partitions that a record gives a member, sorted."""
    return tuple(
        sorted(
            (each["topic"], partition)
            for each in told["assignment"] or ()
            for partition in each["partitions"] or ()
        )
    )


def with_assigned(member: Member, assigned: tuple[Assigned, ...]) -> Member:
    """Return the member with other partitions."""
    return replace(member, assigned=assigned)
