"""Consumer groups: their members, and what these do with records."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import Assigned, ConsumerTable
from emulator.scenario.part import NotEmpty, Part
from emulator.scenario.tables.cluster import Autoscaler, Monitor
from emulator.scenario.tables.commits import Commit, CommitPolicy
from emulator.scenario.tables.deviations import Deviations
from emulator.scenario.tables.distributions import (
    Distribution,
    Duration,
    PollTime,
    PositiveDuration,
    StartTime,
    always,
)
from emulator.scenario.tables.handlers import (
    BatchListener,
    Deduplication,
    Handler,
    Poison,
    Pool,
    WorkBy,
)

ClientName = Literal["java", "librdkafka", "aiokafka", "kafka-python", "franz-go"]
"""The consumer library (docs/reference/clients.md)."""

FrameworkName = Literal[
    "spring-record",
    "spring-batch",
    "spring-manual",
    "spring-manual-immediate",
    "faust",
    "confluent-kafka",
    "kafka-consumer",
]


class AssignorTime(Part):
    """How long the assignor of a group computes an assignment; the sum of its parts."""

    base: Duration = 0
    """For each assignment."""

    member: Duration = 0
    """For each member."""

    partition: Duration = 0
    """For each partition."""

    pair: Duration = 0
    """For each pair of a member and a partition."""

    def us(self, members: int, partitions: int) -> int:
        """Return the time of one assignment, in microseconds."""
        own = self.base + self.member * members + self.partition * partitions
        return own + self.pair * members * partitions


CLOSE_TIMEOUT_US = 30_000_000
"""The default timeout of ``KafkaConsumer.close()``."""


class Member(Part):
    """One consumer of a group, with the keys that differ from the group."""

    name: str = Field(pattern=short_forms.PARTY_NAME)
    """Its name; also its ``group.instance.id`` with ``static``."""

    settings: ConsumerTable = Field(default_factory=dict)
    """Kafka's consumer settings by name; they override those of the group."""

    topics: tuple[str, ...] | None = None
    """Left out: as in the group, like all following keys."""

    assign: dict[str, Assigned] | None = None
    """Partitions that it reads with ``assign()``, by topic, instead of those that the group gives it:
    ``{ orders = [0, 1] }``, or ``{ orders = "all" }`` (docs/how-to/assign.md)."""

    coordinator_lookup: Literal["again", "once"] = "again"
    """``once``: a commit that is answered ``NOT_COORDINATOR`` does not make it look the coordinator up
    again; only with ``assign`` of librdkafka, whose older versions do so (confluentinc/librdkafka#2791)."""

    deviates: Deviations | None = None
    client: ClientName | None = None
    read_with: str | None = None
    read_records: int | None = Field(None, ge=1)
    pattern: str | None = None
    work: Annotated[Distribution, BeforeValidator(short_forms.work)] | None = None
    commit: Commit | None = None
    poll_timeout: PollTime | None = None
    has_listener: bool | None = None
    start: StartTime = 0
    """``by act``: a ``start`` act starts it."""

    assignor_config: dict[str, object] = Field(default_factory=dict)
    """Passed to ``create()`` of the user's own assignor."""


def _only_in_files(path: str | None) -> str | None:
    if path is not None:
        raise ValueError("only a scenario file can have it: it is replaced by what its file says")
    return path


def _names_a_client(group: Any) -> bool:
    """Return whether a group, as a file has it, or one of its members names its client."""
    if not isinstance(group, dict):
        return False
    members = group.get("members", ())
    tables = (
        [m for m in members if isinstance(m, dict)] if isinstance(members, list | tuple) else []
    )
    return any("client" in table for table in [group, *tables])


def with_names_in_acts(scenario: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a scenario as a file has it, with Kafka's names of settings in its acts, too."""
    acts = scenario.get("fault")
    tables = acts if isinstance(acts, list | tuple) else ()
    if not any(isinstance(act, dict) and {"settings", "unset"} & act.keys() for act in tables):
        return scenario
    from emulator.scenario.clients.names import (  # noqa: PLC0415  few acts have settings
        acts_with_kafkas_names,
    )

    return acts_with_kafkas_names(scenario)


class Group(Part):
    """A consumer group."""

    id: str = Field(pattern=short_forms.GROUP_ID)
    """Its ``group.id``."""

    topics: tuple[str, ...] = ()
    """The topics that its members subscribe to; or set ``pattern``."""

    replaces: str | None = None
    """The group whose work this one takes over (a new id, blue and green): counts the records that both
    processed, or neither (``processed_by_both``, ``processed_by_neither``)."""

    pattern: str | None = None
    """A regular expression for topic names, instead of ``topics``. Where clients match it, Java's
    properties of characters (``\\p{L}``, ``\\p{Alpha}``) and quotations (``\\Q…\\E``) are read."""

    pattern_by: Literal["client", "broker"] = "client"
    """Where the pattern of the group is matched: in each consumer, with the topics of its metadata, or
    in the coordinator (``SubscriptionPattern``, in the syntax of RE2J; only with ``group.protocol =
    "consumer"``)."""

    members: NotEmpty[Member]
    """A file may give a number; the names are then ``<id>-0``, ``<id>-1``, …"""

    threads: int = Field(1, ge=1)
    """Members in each process, in the order of the file: crashes, closes, pauses, deploys and steps of an
    autoscaler affect all of them together (docs/how-to/deploys.md)."""

    autoscaler: Autoscaler | None = None
    """Starts and stops members by lag (docs/how-to/autoscaling.md)."""

    monitor: tuple[Monitor, ...] = ()
    """Watch its commits and lag (docs/how-to/monitors.md)."""

    framework: FrameworkName | None = None
    """The framework of the members: it sets other keys of the group (docs/how-to/frameworks.md)."""

    client: ClientName = "java"
    """The consumer library of the members: when positions are stored, what an automatic commit covers, who
    joins and heartbeats (docs/reference/clients.md)."""

    deviates: Deviations | None = None
    """Where the members differ from this client: faults of single versions, and of clients that have
    no profile (docs/reference/clients.md)."""

    read_with: str | None = None
    """The call that hands records to the application: ``getone`` or ``getmany`` of aiokafka, ``poll`` or
    ``consume`` of librdkafka, ``PollFetches`` or ``PollRecords`` of franz-go; left out: the first named."""

    read_records: int | None = Field(None, ge=1)
    """How many records ``consume`` or ``PollRecords`` asks for; left out: 500."""

    static: bool = False
    """Give each member its name as ``group.instance.id``."""

    settings: ConsumerTable = Field(default_factory=dict)
    """Kafka's consumer settings by name, for all members."""

    settings_from: Annotated[str | None, AfterValidator(_only_in_files)] = None
    """The file of a real client, relative to the scenario's: properties or JSON by the names of the
    group's ``client``, or Spring's ``application.yml``. The keys of the scenario override it; its ``group.protocol`` leaves out
    what that protocol does not have."""

    work: Annotated[Distribution, BeforeValidator(short_forms.work)] = always(1_000)
    """Processing time of one record; without a ``handler``, a member processes its records one by one."""

    work_by: WorkBy | None = None
    """Lets the time depend on topic, lag, other records in work, or batches (docs/how-to/work-times.md)."""

    handler: Handler = None
    """``serial``: the application thread processes its records one by one; ``batch``: a listener gets all
    records of a poll; a table: a pool of workers; ``"module:Class"``: code of the user."""

    commit: Commit = CommitPolicy.model_construct()
    """Left out: ``auto``; with ``enable.auto.commit`` false in the settings, ``none``."""

    offsets: Literal["kafka", "zookeeper", "database", "none"] = "kafka"
    """Where offsets are kept: in ``__consumer_offsets``; in ``zookeeper``, a znode for each partition, as
    before Kafka 0.9; or in the application's ``database``, in the transaction of the results
    (docs/how-to/offset-stores.md). ``none``: its members have no ``group.id`` (docs/how-to/assign.md)."""

    poison: tuple[Poison, ...] = ()
    """Records that take long to process, or that fail."""

    deduplication: Deduplication | None = None
    """Recognises duplicates behind the handler; the ledger counts them nevertheless."""

    poll_timeout: PollTime = 100_000
    """Timeout of one poll."""

    has_listener: bool = True
    """``false``: the members have no rebalance listener (``subscribe(topics)``). The background thread of
    the consumer protocol then waits for no poll: a member that was removed drops its partitions and joins
    again beside the work of the application."""

    listener: Distribution = always(0)
    """Duration of a call of the rebalance listener, without its commits."""

    listener_partition: Duration = 0
    """Added to ``listener`` for each partition of the call."""

    listener_calls: tuple[Literal["assigned", "revoked", "lost"], ...] = Field(
        ("assigned", "revoked", "lost"), min_length=1
    )
    """The calls that take this time; the others take none."""

    listener_commits: Literal["before", "after"] = "before"
    """Whether the revoke listener commits before this time, or after it (flush results, then commit)."""

    lateness: Distribution = always(0)
    """Delay with which the threads of a consumer wake up when a timer expires."""

    wake_up: PositiveDuration = 1_400
    """Median time until a thread of a consumer runs after the other thread has signalled it. Only with
    ``group.protocol = "consumer"``, whose consumer has two threads: the faster one determines the
    offsets of an automatic commit. Measured: 1.4 ms on a busy machine, about 0.5 ms on an idle one."""

    close_timeout: Duration = CLOSE_TIMEOUT_US
    """Timeout of close()."""

    close_operation: Literal["DEFAULT", "LEAVE_GROUP", "REMAIN_IN_GROUP"] = "DEFAULT"
    """Whether close() leaves the group (``CloseOptions``): with ``DEFAULT`` dynamic members leave,
    with ``LEAVE_GROUP`` all members, with ``REMAIN_IN_GROUP`` none."""

    assignor_time: Annotated[AssignorTime | None, BeforeValidator(short_forms.assignor_time)] = None
    """How long the assignor computes. Meanwhile the client of the leader sends no heartbeats; with
    ``group.protocol = "consumer"`` the coordinator handles no other request. Left out: no time."""

    coordinator: int | None = Field(None, ge=1)
    """The first coordinator of the group; left out: the leader of its offsets partition."""

    @property
    def pool(self) -> Pool | None:
        """Its pool of workers; None: its handler is another one."""
        return self.handler if isinstance(self.handler, Pool) else None

    @property
    def max_running(self) -> int:
        """The largest number of members that run at a time: an autoscaler may not start them all."""
        if self.autoscaler is None:
            return len(self.members)
        return min(len(self.members), self.autoscaler.max_replicas * self.threads)

    @property
    def is_serial(self) -> bool:
        """Whether the application thread processes its records, one after the other."""
        return self.handler is None or isinstance(self.handler, BatchListener)

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, value: Any) -> Any:
        spelled = short_forms.group(value)
        if isinstance(spelled, dict) and "framework" in spelled:
            from emulator.scenario.clients.frameworks import with_framework  # noqa: PLC0415  few have one

            spelled = with_framework(spelled)
        if isinstance(spelled, dict) and spelled.get("autoscaler") is not None:
            from emulator.scenario.tables.spare_members import (  # noqa: PLC0415  few have them
                with_spare_members,
            )

            spelled = with_spare_members(spelled)
        if not _names_a_client(spelled):
            return spelled
        from emulator.scenario.clients.names import with_kafkas_names  # noqa: PLC0415  few have them

        return with_kafkas_names(spelled)
