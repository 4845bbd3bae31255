"""The errors of an assignment, by their cause.

There are three kinds. :class:`AssignorDefectError` is an outcome: Kafka's own class fails on that
input, and a simulated leader fails in the same way. :class:`PluginError`, :class:`AssignmentError`
and :class:`CooperativeViolationError` are faults of the user's assignor.
:class:`AssignorNotFoundError` is a fault of the configuration.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from difflib import get_close_matches


class Defect(enum.Enum):
    """The defects of Kafka's Java assignors that prevent an assignment."""

    ENDLESS_REASSIGNMENT = "endless-reassignment"
    """Sticky, general path: swapped moves undo each other; the leader never sends its SyncGroup."""

    SIZE_OF_FIXED_MEMBER = "size-of-fixed-member"
    """Sticky, general path: the size of a stale claimer is looked up after the claimer was set aside."""

    QUOTA_NOT_MET = "quota-not-met"
    """Sticky, constrained path: claims of partitions that do not exist upset the quotas."""

    PARTITIONS_LEFT = "partitions-left"
    """Server uniform, equal subscriptions: a partition in two targets upsets the quotas."""

    @property
    def java_exception(self) -> str | None:
        """The exception Kafka's class raises; None if it never ends."""
        return _JAVA_EXCEPTIONS[self]

    @property
    def description(self) -> str:
        """One sentence that describes the behaviour of Kafka's class."""
        return _DESCRIPTIONS[self]


_JAVA_EXCEPTIONS = {
    Defect.ENDLESS_REASSIGNMENT: None,
    Defect.SIZE_OF_FIXED_MEMBER: "java.lang.NullPointerException",
    Defect.QUOTA_NOT_MET: "java.lang.IllegalStateException",
    Defect.PARTITIONS_LEFT: (
        "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"
    ),
}

_DESCRIPTIONS = {
    Defect.ENDLESS_REASSIGNMENT: (
        "Kafka's sticky assignor never ends here: the moves of one pass undo those of the pass "
        "before, so the group leader hangs until its poll interval expires"
    ),
    Defect.SIZE_OF_FIXED_MEMBER: (
        "Kafka's sticky assignor raises NullPointerException here: it asks for the size of a "
        "member with an outdated claim that it has already set aside"
    ),
    Defect.QUOTA_NOT_MET: (
        "Kafka's sticky assignor raises IllegalStateException here: a member claims a partition "
        "its topic does not have, so the quotas no longer add up"
    ),
    Defect.PARTITIONS_LEFT: (
        "Kafka's uniform assignor raises PartitionAssignorException here: a partition is in the "
        "target of two members, so some of them are left over"
    ),
}


class EmulatorError(Exception):
    """Base class of all errors that a caller of the emulator can handle."""


class AssignorDefectError(EmulatorError):
    """Kafka's own assignor fails on this input: a simulated outcome, not a mistake.

    Positional arguments only, so that SimPy can rebuild it when it raises it again.
    """

    def __init__(self, defect: Defect, detail: str) -> None:
        super().__init__(defect, detail)
        self.defect = defect
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.defect.value}: {self.defect.description} ({self.detail})"


class AssignorError(EmulatorError):
    """The user's configuration or the user's assignor is wrong."""


class AssignorNotFoundError(AssignorError):
    """No assignor can be made from what the configuration names."""


class PluginError(AssignorError):
    """The user's assignor raised an exception, which is the ``__cause__``."""


class AssignmentError(AssignorError):
    """The assignor did not return a valid assignment of this group."""


class CooperativeViolationError(AssignorError):
    """A custom cooperative assignor moved a partition that its owner has not revoked yet."""


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Return " Did you mean …?" for the allowed name closest to *given*, else an empty string.

    >>> did_you_mean("rnage", ["range", "sticky"])
    " Did you mean 'range'?"
    """
    close = get_close_matches(given, list(allowed), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
