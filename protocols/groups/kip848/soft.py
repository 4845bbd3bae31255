"""What a coordinator knows of a consumer group beside its records; forgotten when it moves.

Source: the metadata refresh deadline of ``ModernGroup``, the executor and the timers of
``GroupMetadataManager`` (spec kip848 1.6, 1.12 to 1.14).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from immutables import Map

from protocols.groups.kip848.group import Group
from protocols.groups.topics import TopicsImage
from protocols.java_maps import NOTHING


class LookUp(NamedTuple):
    """A look-up of all patterns of a group that is under way."""

    patterns: tuple[str, ...]
    image: TopicsImage
    """The topics when it began."""

    now_ms: int


@dataclass(frozen=True, slots=True)
class Soft:
    """One consumer group, as far as its log does not say."""

    checked_epoch: int | None = None
    """The group epoch as of which its topics were compared with the metadata; None: anew.

    If the group epoch is lower, the append failed that belongs to it.
    """

    looking_up: LookUp | None = None
    revoking: Map[str, int] = NOTHING
    """Member id to its epoch when it was told to give partitions up, with its timer running."""

    rejoining: Map[str, None] = NOTHING
    """Classic members that were told to join again, with their timers running."""


NOTHING_SOFT = Soft()


def is_stale(group: Group, soft: Soft) -> bool:
    """Say whether the topics have to be looked at again."""
    return soft.checked_epoch is None or group.epoch < soft.checked_epoch


def topics_changed(soft: Soft) -> Soft:
    """Return the same after one of the group's topics changed."""
    return replace(soft, checked_epoch=None)
