"""What each group looks like after each record: a fold, of which every step is a value.

The rules are those of ``protocols.offsets_topic.replay``. Where a load would fail, the record is passed over
and the reason told: people who look at a broken log want to see the rest of it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from protocols.offsets_topic.records import ControlType, EndTxnMarker, Record, group_of
from protocols.offsets_topic.replay import BrokenLogError, Loaded, replayed, transaction_ended

NOTHING_LOADED: Final = Loaded()


class Followed(NamedTuple):
    """One step of the fold."""

    loaded: Loaded
    group_ids: tuple[str, ...]
    """The groups it was about, in order of their names."""

    failure: str | None = None
    """Why a load would fail here."""


def follow(loaded: Loaded, record: Record, log_offset: int, producer_id: int) -> Followed:
    """Return what a record makes of the groups.

    *producer_id*: of its batch; -1 outside transactions.
    """
    group_id = group_of(record.key)
    group_ids = () if group_id is None else (group_id,)
    try:
        return Followed(replayed(loaded, record, log_offset, producer_id), group_ids)
    except BrokenLogError as error:
        return Followed(loaded, group_ids, str(error))


def follow_marker(loaded: Loaded, marker: EndTxnMarker, producer_id: int) -> Followed:
    """Return what the end of a producer's transaction makes of the groups."""
    is_committed = marker.control_type is ControlType.COMMIT
    return Followed(*transaction_ended(loaded, producer_id, is_committed=is_committed))
