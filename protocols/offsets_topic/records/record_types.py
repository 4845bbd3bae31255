"""Every record type that 4.4 reads, by its number: the tables to walk.

Types 9 and 18 are retired, and as unknown as any above 23.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from protocols.offsets_topic.records.layout import RecordType

_HOMES: Final = {
    0: ("commits", "LEGACY_OFFSET_COMMIT"),
    1: ("commits", "OFFSET_COMMIT"),
    2: ("classic", "GROUP_METADATA"),
    3: ("consumer", "CONSUMER_GROUP_METADATA"),
    4: ("consumer", "CONSUMER_GROUP_PARTITION_METADATA"),
    5: ("consumer", "CONSUMER_GROUP_MEMBER_METADATA"),
    6: ("consumer_assignments", "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA"),
    7: ("consumer_assignments", "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER"),
    8: ("consumer_assignments", "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT"),
    10: ("share", "SHARE_GROUP_MEMBER_METADATA"),
    11: ("share", "SHARE_GROUP_METADATA"),
    12: ("share", "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA"),
    13: ("share", "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER"),
    14: ("share", "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT"),
    15: ("share", "SHARE_GROUP_STATE_PARTITION_METADATA"),
    16: ("consumer", "CONSUMER_GROUP_REGULAR_EXPRESSION"),
    17: ("streams", "STREAMS_GROUP_METADATA"),
    19: ("streams", "STREAMS_GROUP_MEMBER_METADATA"),
    20: ("streams_assignments", "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA"),
    21: ("streams_assignments", "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER"),
    22: ("streams_assignments", "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT"),
    23: ("streams", "STREAMS_GROUP_TOPOLOGY"),
}
"""By number: the module in this package, and the name of the table there."""


class _RecordTypes(Mapping[int, RecordType]):
    """Reads a type's module when the type is first asked for: a run needs two of them all."""

    def __getitem__(self, number: int) -> RecordType:
        module, name = _HOMES[number]
        table: RecordType = getattr(import_module(f"{__package__}.{module}"), name)
        return table

    def __iter__(self) -> Iterator[int]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


RECORD_TYPES: Final[Mapping[int, RecordType]] = _RecordTypes()
