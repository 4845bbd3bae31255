"""Which offsets of a partition hold no record, as the rooms that read events name it."""

from protocols.messages.records import NO_END, Gaps
from protocols.messages.removed import Removed

__all__ = ["NO_END", "Gaps", "Removed"]
