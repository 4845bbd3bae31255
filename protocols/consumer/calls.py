"""Results of the application's calls, under both group protocols."""

from __future__ import annotations

import enum

from assignors.values import dataclass
from protocols.messages import OffsetToCommit
from protocols.messages.errors import ErrorCode


class CloseOperation(enum.Enum):
    """How close() treats the membership (``CloseOptions.GroupMembershipOperation``, KIP-1092).

    A static member that does not leave sends nothing under the classic protocol; under the
    consumer protocol it sends a temporary leave.
    """

    DEFAULT = "dynamic members leave, static members may return"
    LEAVE_GROUP = "leave permanently"
    REMAIN_IN_GROUP = "stay until the session expires"


class ExceptionName(enum.StrEnum):
    """The exceptions of the Java consumer that its calls end with, or that a join fails with.

    Source: ``org.apache.kafka.common.errors``, and the exception of each of ``Errors``.
    """

    COMMIT_FAILED = "CommitFailedException"
    COORDINATOR_LOAD_IN_PROGRESS = "CoordinatorLoadInProgressException"
    COORDINATOR_NOT_AVAILABLE = "CoordinatorNotAvailableException"
    DISCONNECT = "DisconnectException"
    FENCED_INSTANCE_ID = "FencedInstanceIdException"
    FENCED_LEADER_EPOCH = "FencedLeaderEpochException"
    FENCED_MEMBER_EPOCH = "FencedMemberEpochException"
    GROUP_AUTHORIZATION = "GroupAuthorizationException"
    GROUP_ID_NOT_FOUND = "GroupIdNotFoundException"
    GROUP_MAX_SIZE_REACHED = "GroupMaxSizeReachedException"
    GROUP_SUBSCRIBED_TO_TOPIC = "GroupSubscribedToTopicException"
    ILLEGAL_GENERATION = "IllegalGenerationException"
    ILLEGAL_STATE = "IllegalStateException"
    INCONSISTENT_GROUP_PROTOCOL = "InconsistentGroupProtocolException"
    INVALID_COMMIT_OFFSET_SIZE = "InvalidCommitOffsetSizeException"
    INVALID_GROUP_ID = "InvalidGroupIdException"
    INVALID_REGULAR_EXPRESSION = "InvalidRegularExpression"
    INVALID_REQUEST = "InvalidRequestException"
    INVALID_SESSION_TIMEOUT = "InvalidSessionTimeoutException"
    KAFKA = "KafkaException"
    KAFKA_STORAGE = "KafkaStorageException"
    LEADER_NOT_AVAILABLE = "LeaderNotAvailableException"
    LOG_TRUNCATION = "LogTruncationException"
    MEMBER_ID_REQUIRED = "MemberIdRequiredException"
    NETWORK = "NetworkException"
    NO_OFFSET_FOR_PARTITION = "NoOffsetForPartitionException"
    NON_EMPTY_GROUP = "NonEmptyGroupException"
    NOT_COORDINATOR = "NotCoordinatorException"
    NOT_ENOUGH_REPLICAS = "NotEnoughReplicasException"
    NOT_LEADER_OR_FOLLOWER = "NotLeaderOrFollowerException"
    OFFSET_METADATA_TOO_LARGE = "OffsetMetadataTooLarge"
    OFFSET_OUT_OF_RANGE = "OffsetOutOfRangeException"
    REBALANCE_IN_PROGRESS = "RebalanceInProgressException"
    RECORD_BATCH_TOO_LARGE = "RecordBatchTooLargeException"
    RECORD_TOO_LARGE = "RecordTooLargeException"
    STALE_MEMBER_EPOCH = "StaleMemberEpochException"
    TIMEOUT = "TimeoutException"
    TOPIC_AUTHORIZATION = "TopicAuthorizationException"
    UNJOINED_GROUP = "UnjoinedGroupException"
    UNKNOWN_LEADER_EPOCH = "UnknownLeaderEpochException"
    UNKNOWN_MEMBER_ID = "UnknownMemberIdException"
    UNKNOWN_SERVER = "UnknownServerException"
    UNKNOWN_TOPIC_ID = "UnknownTopicIdException"
    UNKNOWN_TOPIC_OR_PARTITION = "UnknownTopicOrPartitionException"
    UNRELEASED_INSTANCE_ID = "UnreleasedInstanceIdException"
    UNSTABLE_OFFSET_COMMIT = "UnstableOffsetCommitException"
    UNSUPPORTED_ASSIGNOR = "UnsupportedAssignorException"
    UNSUPPORTED_VERSION = "UnsupportedVersionException"


class IllegalCallError(RuntimeError):
    """The host made a call that the client's state does not allow: an error of the host."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The consumer is closed; no call is allowed any more."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The end of a commitSync; ``exception`` is None for success."""

    offsets: tuple[OffsetToCommit, ...]
    exception: ExceptionName | None = None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class Failed:
    """The call threw an exception."""

    exception: ExceptionName
    error: ErrorCode = ErrorCode.NONE
    message: str = ""

    def __str__(self) -> str:
        """Return the exception with its error or message."""
        why = self.error.name if self.error else self.message
        return f"{self.exception} ({why})" if why else self.exception


_IRREGULAR = {
    ErrorCode.INVALID_REGULAR_EXPRESSION: ExceptionName.INVALID_REGULAR_EXPRESSION,
    ErrorCode.KAFKA_STORAGE_ERROR: ExceptionName.KAFKA_STORAGE,
    ErrorCode.MESSAGE_TOO_LARGE: ExceptionName.RECORD_TOO_LARGE,
    ErrorCode.NETWORK_EXCEPTION: ExceptionName.NETWORK,
    ErrorCode.RECORD_LIST_TOO_LARGE: ExceptionName.RECORD_BATCH_TOO_LARGE,
    ErrorCode.REQUEST_TIMED_OUT: ExceptionName.TIMEOUT,
    ErrorCode.UNKNOWN_SERVER_ERROR: ExceptionName.UNKNOWN_SERVER,
}
"""Error codes whose exceptions have another name."""


def exception_name(error: ErrorCode) -> ExceptionName:
    """Return the Java exception of an error code (``Errors.exception``)."""
    return _IRREGULAR.get(error) or ExceptionName[error.name.removesuffix("_FAILED")]
