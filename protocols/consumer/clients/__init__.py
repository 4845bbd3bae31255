"""What differs between clients, as values: each client is one :class:`ClientProfile`.

The machines ask the profile of a consumer and never its name. The ledger depends on four answers
above all: what an automatic commit covers, who sends it and when, what happens before a rebalance,
and what a call hands out. The Java consumer's profile is here, every other client's in its own file,
which reads as a table; :func:`profile_of` finds one by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from assignors.values import dataclass
from protocols.consumer.clients.policies import (
    Amount,
    Asks,
    Busy,
    CommitClock,
    Contradiction,
    Covers,
    FirstHeartbeat,
    InRebalance,
    LeaderMetadata,
    NextJoin,
    PollsCheck,
    Repeats,
    RevokeCommit,
    Runs,
    SessionEnd,
    Unanswered,
)
from protocols.messages.errors import ErrorCode

if TYPE_CHECKING:
    from protocols.settings.consumer import ConsumerSettings

__all__ = [
    "CLIENTS",
    "JAVA",
    "Amount",
    "Asks",
    "Busy",
    "ClientProfile",
    "CommitClock",
    "Contradiction",
    "Covers",
    "FirstHeartbeat",
    "InRebalance",
    "LeaderMetadata",
    "NextJoin",
    "PollsCheck",
    "Repeats",
    "RevokeCommit",
    "Runs",
    "SessionEnd",
    "Unanswered",
    "profile_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProfile:
    """One client: its policies, its names and its defaults."""

    name: str
    packages: str
    """The libraries that people know it by."""

    follows: str
    """The version that was read and measured."""

    # -- policies
    works: Runs
    """Where the client joins, heartbeats, handles responses, fetches and sends automatic commits."""

    listener: Runs
    """Where rebalance callbacks run: in the next poll, or at once, beside the application's work."""

    covers: Covers
    commit_clock: CommitClock
    commits_epochs: bool = True
    """Whether automatic commits carry leader epochs, with which the next owner checks its position."""

    repeats_commits: Repeats = Repeats.RETRIABLE
    repeats_for_partitions: bool = True
    """Whether commits that wait are repeated after errors of a partition, not only the coordinator's."""

    looks_up_again: bool = True
    """Whether a commit that another broker than the coordinator answers makes it look that up."""

    in_rebalance: InRebalance = InRebalance.REFUSED
    joins_after_refusal: bool = True
    """Whether a commit that is answered REBALANCE_IN_PROGRESS makes the member join again, as a heartbeat so answered does."""

    commits_cost_membership: bool = True
    """Whether a commit that is refused for its member or generation ends the membership, as a heartbeat does."""

    commits_in_turn: bool = False
    """Whether a commit waits for the response to the one before it; so does the join of a member with
    automatic commits, whose first step is a commit."""

    commits_removed: bool = False
    """Whether a member that was removed commits before it joins again, without member id and
    generation: only an empty group accepts that. Its listener gets a call for revoked partitions, as it
    has none for lost ones."""

    commits_unassigned: bool = True
    """Whether the application can commit partitions that it does not own."""

    revoke_commit: RevokeCommit = RevokeCommit.BEFORE_JOINING
    records_while_joining: bool = True
    """Whether poll returns records of partitions that are still owned while the member joins."""

    wakes_for_group: bool = True
    """Whether the response to a heartbeat ends a wait of poll; else poll returns the next records first,
    and joins after the next fetch response or when a heartbeat or an automatic commit is due."""

    takes_late_joins: bool = True
    """Whether poll applies a join that ended after the time of the poll before; else it joins again."""

    leader_metadata: LeaderMetadata = LeaderMetadata.UNKNOWN
    every_member_watches: bool = False
    """Whether each member joins again when its own periodic metadata show other partitions; else only
    the leader does, when any metadata do."""

    refreshes_in_steps: bool = False
    """Whether the interval of metadata counts in fixed steps from the first request, 0: never; else from
    the last response."""

    only_forward: bool = False
    """Whether an automatic commit leaves out offsets that are not greater than the committed ones."""

    frees_at_limit: bool = False
    """Whether a fetch whose last record is returned exactly at the limit of a call no longer keeps its
    broker from being asked; else it does until the next call."""

    prefetch_rest_ms: int | None = None
    """How long (ms) records that have arrived keep their broker from being asked again; those of a partition
    count until a call finds them taken. None: they keep it until they are taken, or their queue is full."""

    fetches_when_drained: bool = False
    """Whether poll sends fetches only before it waits, and none while a response waits to be taken, which
    it reads as they arrive; else it also sends them behind the records that end its wait."""

    rereads: frozenset[str] = frozenset()
    """The calls whose records move positions one by one, so that a fetch sent by such a call asks for them again."""

    session_end: SessionEnd = SessionEnd.LOOK_UP
    session_rests_in_rebalances: bool = False
    """Whether the client ignores its copy of the session during a rebalance."""

    limits_poll_interval: bool = True
    polls_check: PollsCheck = PollsCheck.TURNS
    joins_unpolled: bool = True
    """Whether a member joins again though the application has not polled for ``max.poll.interval.ms``;
    else it looks after each ``retry.backoff.ms`` whether a poll has begun."""

    names_instance: bool = True
    """Whether heartbeats and commits name the instance of a static member, which fences it by that name;
    else a member that was replaced is unknown, and joins again."""

    throws_fenced: bool = True
    """Whether a heartbeat that is answered FENCED_INSTANCE_ID ends the consumer; else it ends the
    heartbeats, and the application reads on."""

    keeps_id_after: frozenset[ErrorCode] = frozenset({ErrorCode.ILLEGAL_GENERATION})
    """The errors that cost a member its generation and not its id, with which it joins again."""

    awaits_rebalances: bool = True
    """Whether JoinGroup may take as long as the rebalance timeout; else no longer than other requests."""

    next_join: NextJoin = NextJoin.NOTHING
    unanswered_heartbeat: Unanswered = Unanswered.SENT
    first_heartbeat: FirstHeartbeat = FirstHeartbeat.JOINED
    first_heartbeat_ms: int | None = None
    """The time from a cooperative SyncGroup to the first heartbeat, which learns of the rebalance that
    follows; None: as ``first_heartbeat`` says."""

    calls_at_first_join: bool = False
    """Whether the first join of a member without partitions calls the revoke listener as well (eager
    protocol); each later join does."""

    calls_unchanged: bool = False
    """Whether the end of a cooperative generation calls the revoke listener though nothing is revoked."""

    calls_at_end: bool = True
    """Whether ``close()`` and ``unsubscribe()`` call the revoke listener."""

    awaits_fetches_at_close: bool = False
    """Whether ``close()`` ends the fetch sessions over the connections of the fetches and waits for the
    answers: a broker answers a fetch in flight first, after up to ``fetch.max.wait.ms``. franz-go cancels
    its fetches, which breaks their connections, and ends the sessions over new ones: it waits for none."""

    asks: Asks = Asks.CONNECTED_FIRST
    """The broker that a lookup of the coordinator goes to."""

    joins_for_each_assignor: bool = False
    """Whether a join is a JoinGroup for each assignor of a member, each with one more, which the member sends
    one after the other before it syncs: the group rebalances for each of them."""

    lookup_interval_ms: int | None = None
    """The time from one lookup of the coordinator to the next, less or more by a fifth; None: the time from
    its response on is ``retry.backoff.ms``, and grows."""

    fetches_apart: bool = False
    """Whether fetches have connections of their own; else a broker answers a fetch in flight before a later
    lookup of the coordinator or of offsets."""

    joins_apart: bool = False
    """Whether JoinGroup and SyncGroup have a connection of their own; else a broker answers them before a
    later heartbeat, commit or LeaveGroup."""

    unclosed: frozenset[ErrorCode] = frozenset()
    """Fatal errors after which ``close()`` only returns them: no commit, no call, no LeaveGroup."""

    acknowledges_unchanged: bool = True
    """Whether an assignment of the consumer protocol without a change is applied and acknowledged:
    the empty one of a member that has just joined."""

    reads: Mapping[str, Amount]
    """The calls that hand records out, the usual one first."""

    stores: str = ""
    """The call that stores an offset for the next automatic commit; empty: there is none."""

    # -- policies of single versions, and of clients without a profile
    heartbeats_wait_for: frozenset[Busy] = frozenset()
    retries_refused_fetch: bool = True
    """Whether a fetch of offsets that is answered STALE_MEMBER_EPOCH is repeated; else there are none."""

    knows_epochs: bool = True
    """Whether it knows leader epochs: it names them in fetches, validates its positions with them, and
    follows the newer leader that comes with the error of a fetch (KIP-951)."""

    resets_to_last_read: bool = False
    """Whether a position out of range is reset to the timestamp of the last record read before it; without
    one, by the reset policy."""

    resets_each_assignment: bool = False
    """Whether the reset policy is applied at each assignment, not only without a committed offset."""

    waits_for_loading: bool = True
    """Whether it tries again while its coordinator loads the group; else that ends the consumer."""

    rebalance_timeout_ms: int | None = None
    """The rebalance timeout in its requests; None: as its settings say."""

    session_rests_in_join: bool = True
    """Whether the client's copy of its session stops while JoinGroup waits."""

    checks_ownership_us: int | None = None
    """The interval at which it notices that it was removed; None: with the next heartbeat."""

    takes_calls_for_whole: bool = False
    """Whether the application's listener takes the partitions of a call for the whole assignment."""

    # -- names and defaults
    protocols: tuple[str, ...] = ("classic",)
    assignors: Mapping[str, str]
    """The client's assignors by its own names, with Kafka's names."""

    lacks_assignor: str
    """What the client says about an assignor that it does not have; ``{name}``, ``{module}``: the
    assignor, as a word and as a Python module."""

    lacks_protocol: str = ""
    """What it says about a group protocol that it does not have."""

    lacks_reset: str = ""
    """What it says about an ``auto.offset.reset`` that it does not have; ``{value}``: as given."""

    lacks_reset_by_duration: str = ""
    """What it says about ``auto.offset.reset=by_duration:…`` (KIP-1106); ``{value}``: as given."""

    lacks_assign_with_group: str = ""
    """What it says about partitions that the application assigns, with a group id."""

    lacks_assign_without_group: str = ""
    """The same without a group id."""

    names: Mapping[str, str] = field(default_factory=dict)
    """The client's own names of settings, with Kafka's."""

    means_otherwise: frozenset[str] = frozenset()
    """The client's settings that have a name of Kafka's and mean something else; a client's file sets none
    of Kafka's with them."""

    resets: Mapping[str, str] = field(default_factory=dict)
    """The values of ``auto.offset.reset`` that it has, with Kafka's; empty: Kafka's."""

    lacks: Mapping[str, str] = field(default_factory=dict)
    """Settings of the Java consumer that the client does not have, with what there is instead."""

    defaults: Mapping[str, object] = field(default_factory=dict)
    """Defaults that differ from the Java consumer's, by Kafka's names."""

    rebalances_within: str = "max.poll.interval.ms"
    """The setting that is the rebalance timeout if ``rebalance.timeout.ms`` is not given."""

    commits_within: str = "default.api.timeout.ms"
    """The setting that limits how long a commit of the application is repeated."""

    mixes_protocols: bool = True
    """Whether eager and cooperative assignors may be named together."""

    lacks_by_protocol: Mapping[str, str] = field(default_factory=dict)
    """What it says about settings with ``group.protocol=consumer``; others: what Java's says."""

    limits_session: bool = False
    """Whether the client refuses a session that is longer than the poll interval."""

    limits_heartbeat: str = ""
    """What it says about a heartbeat interval that is not below the session timeout; ``{heartbeat}``,
    ``{session}``: both in milliseconds. Empty: it does not compare them."""

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Smallest and largest value of settings whose range is narrower than the Java consumer's."""

    contradictions: tuple[Contradiction, ...] = ()

    out_of_range: str = "out of range"
    """What it says about a value outside them; ``{name}``: as the client spells it, ``{value}``,
    ``{least}``, ``{most}``."""

    own: frozenset[str] = frozenset()
    """Settings that the Java consumer does not have."""

    @property
    def listener_first(self) -> bool:
        """Return whether the revoke listener is called before the commit of a revocation.

        Java: commit, listener, join. librdkafka: listener, commit, leave the partitions, join.
        """
        return self.revoke_commit is RevokeCommit.REMOVED

    @property
    def in_background(self) -> bool:
        """Whether a thread or task of its own works on the group."""
        return self.works is not Runs.IN_POLL

    @property
    def fills_queues(self) -> bool:
        """Whether it fetches until a queue of each partition is full, whatever the application does."""
        return "queued.min.messages" in self.own

    @property
    def own_names(self) -> dict[str, str]:
        """The client's own names of settings, by Kafka's; ``session_timeout_ms`` is Kafka's in another style."""
        return {kafkas: own for own, kafkas in self.names.items() if "." in own}

    def commit_timeout_ms(self, settings: ConsumerSettings) -> int:
        """Return how long (ms) a commit of the application is repeated."""
        if self.commits_within == "session.timeout.ms":
            return settings.session_timeout_ms
        return settings.default_api_timeout_ms


JAVA = ClientProfile(
    name="java",
    packages="kafka-clients, Spring Kafka, Kafka Connect",
    follows="4.4.0",
    works=Runs.IN_POLL,
    listener=Runs.IN_POLL,
    covers=Covers.RETURNED,
    commit_clock=CommitClock.ASSIGNMENT,
    awaits_fetches_at_close=True,
    reads={"poll": Amount.SETTING},
    protocols=("classic", "consumer"),
    assignors={
        "range": "range",
        "roundrobin": "roundrobin",
        "sticky": "sticky",
        "cooperative-sticky": "cooperative-sticky",
    },
    lacks_assignor="Class {name} cannot be found",
    limits_heartbeat="Heartbeat must be set lower than the session timeout",
)
"""The Java consumer of Apache Kafka."""

CLIENTS: Final = ("java", "librdkafka", "aiokafka", "kafka-python", "franz-go")
"""The names of the clients, the Java consumer first."""

_FILES: Final = {name: name.replace("-", "_") for name in CLIENTS}


def profile_of(name: str, coordinator_lookup: str = "again") -> ClientProfile:
    """Return the profile of a client; its file is imported with the first use.

    *coordinator_lookup*: ``once`` is an older version that does not look the coordinator up again.
    """
    if coordinator_lookup == "once":
        return replace(profile_of(name), looks_up_again=False)
    if name == JAVA.name:
        return JAVA
    module = import_module(f"{__name__}.{_FILES[name]}")
    profile: ClientProfile = getattr(module, _FILES[name].upper())
    return profile
