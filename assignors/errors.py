"""What can go wrong in an assignment, and whose fault it is.

Three kinds, never to be confused: :class:`AssignorDefectError` is an outcome, Kafka's own class fails
on that input, and a simulated leader fails with it; :class:`PluginError` and
:class:`AssignmentError` blame the user's assignor; :class:`AssignorNotFoundError` blames the
configuration.
"""

from __future__ import annotations

import enum


class Defect(enum.Enum):
    """The defects of Kafka's Java assignors on which no assignment comes back."""

    ENDLESS_REASSIGNMENT = "endless-reassignment"
    """Sticky, general path: swapped moves undo each other; the leader never answers."""

    SIZE_OF_FIXED_MEMBER = "size-of-fixed-member"
    """Sticky, general path: a stale claimer was set aside and its size is looked up."""

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
        """One sentence for people: what Kafka's class does here."""
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
        "before, so the group leader hangs until its poll interval runs out"
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


class AssignorDefectError(Exception):
    """Kafka's own assignor fails on this input: a simulated outcome, not a mistake.

    Positional arguments only, so that it can be rebuilt wherever it is raised again.
    """

    def __init__(self, defect: Defect, detail: str) -> None:
        super().__init__(defect, detail)
        self.defect = defect
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.defect.value}: {self.defect.description} ({self.detail})"


class AssignorError(Exception):
    """The user's configuration or the user's assignor is wrong."""


class AssignorNotFoundError(AssignorError):
    """No assignor can be made from what the configuration names."""


class PluginError(AssignorError):
    """An assignor of the user's own raised an exception; it is the ``__cause__``."""


class AssignmentError(AssignorError):
    """An assignor's answer is no assignment of this group."""


class CooperativeViolationError(AssignorError):
    """A custom cooperative assignor moved a partition that its owner still has."""
