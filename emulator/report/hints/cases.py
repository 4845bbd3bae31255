"""Cases: a cause in one group with what decides which hints apply; hints of several causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assignors.values import dataclass
from emulator.ledger.entries import Cause
from emulator.report.subject import OWN_HANDLER, Commits, GroupFacts, Subject

US_PER_MS = 1_000

RESTARTS = frozenset({"restart", "surge", "rolling_restart", "close"})
SILENCES = frozenset({"pause", "cut", "pause_broker", "lose_message", "delay_message"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cause in one group, and the facts about its entries that hints depend on."""

    cause: Cause
    subject: Subject
    group: GroupFacts
    details: frozenset[str]
    """The details of the entries."""

    verbs: frozenset[str]
    """The verbs of the faults and actions at their roots."""

    evictions: frozenset[str]
    """Why members were removed from groups in this run, or dropped out; without expired sessions
    if all of those were of dead processes."""

    given_twice: bool
    """Whether a custom assignor assigned a partition to several members."""

    one_record: bool = False
    """Whether one record holds a partition up, whatever the size of batches."""

    store_bound: bool = False
    """Whether the writes of ZooKeeper, not the members, decide how often offsets are written."""

    def commits(self, *kinds: Commits) -> bool:
        """Return whether members commit in one of these ways."""
        return not self.group.commit_kinds.isdisjoint(kinds)

    def setting(self, name: str) -> Any:
        """Return the value in force of a broker setting."""
        return self.subject.broker_settings[name]

    def mentions(self, *words: str) -> bool:
        """Return whether the detail of some entry contains one of *words*."""
        return any(word in detail for detail in self.details for word in words)


When = Callable[[Case], bool]

SWITCH = (
    "switching a running group takes two rolling restarts, or one if cooperative-sticky is in its list "
    "already, as in Java's default"
)
"""In the text of a hint; replaced by what a group needs."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint; ``{a.setting}`` in its text is replaced by the setting's name and present value."""

    id: str
    """A section of ``docs/reference/advice.md``; hints that recommend the same thing have the same id."""

    text: str
    when: When = lambda _case: True


@dataclass(frozen=True, slots=True)
class GivenHint:
    """A hint for a run, with the values in force."""

    id: str
    text: str
    group: str = ""
    """The group that it is about; empty: the brokers, or several groups."""

    has_numbers: bool = False
    """Whether the text has the numbers of the scenario from which it follows."""

    quiet: bool = False
    """Whether it is about a risk that this run did not show: no change is tried for it."""

    causes: tuple[str, ...] = ()
    """The causes and the problems for which it is given."""

    records: int = 0
    """The records reprocessed, lost or truncated for which these causes account."""

    def __str__(self) -> str:
        """Return the hint as a line of text."""
        return f"{self.text} [{self.id}]"


def auto(case: Case) -> bool:
    """Return whether members commit automatically."""
    return case.commits(Commits.AUTO)


def automatic(case: Case) -> bool:
    """Return whether the client commits by itself, at whatever time."""
    return case.commits(Commits.AUTO, Commits.BACKGROUND)


def handler(case: Case) -> bool:
    """Return whether the application commits."""
    return case.commits(Commits.SYNC, Commits.ASYNC)


def may_repeat(case: Case) -> bool:
    """Return whether the application could repeat a commit that a rebalance refused, and does not."""
    is_own = handler(case) and not case.commits(Commits.KEPT)
    return is_own and case.mentions("REBALANCE_IN_PROGRESS")


def never_commits(case: Case) -> bool:
    """Return whether no member commits; handlers of the user commit by themselves."""
    own = case.group.handler.startswith(OWN_HANDLER)
    return case.commits(Commits.NONE) and not own


def may_commit_ahead(case: Case) -> bool:
    """Return whether an automatic commit may have been ahead of processing.

    ``AsyncKafkaConsumer`` commits in its background thread while poll() returns records.
    """
    return case.group.by_coordinator and auto(case)


def evicted(case: Case) -> bool:
    """Return whether running members may have been removed."""
    return "session expired" in case.evictions or not case.verbs.isdisjoint(SILENCES)


def too_slow(case: Case) -> bool:
    """Return whether members may have polled or rejoined too late."""
    slow = (
        "did not rejoin in time",
        "did not give partitions up in time",
        "consumer pro-actively leaving the group",
        "consumer poll timeout has expired.",
    )
    return not case.evictions.isdisjoint(slow)


def batches_outlast_heartbeats(case: Case) -> bool:
    """Return whether a full batch delays a rebalance by more than a heartbeat does."""
    batch_us = case.group.batch_us
    beat_us = int(case.group.value("heartbeat.interval.ms")) * US_PER_MS
    return batch_us is not None and batch_us > beat_us


def batches_outlast_grace(case: Case) -> bool:
    """Return whether a full batch takes longer than a process has from SIGTERM to SIGKILL."""
    batch_us, grace_us = case.group.batch_us, case.group.grace_us
    return batch_us is not None and grace_us is not None and batch_us > grace_us


def _may_commit_on_revoke(case: Case) -> bool:
    return handler(case) and not case.commits(Commits.IN_LISTENER)


WAIT_IN_CLOSE = Hint(
    "wait-in-close",
    "Let close() wait for its last commit, as long as a coordinator needs to load the group: without "
    "a timeout of its own it waits 30 s.",
    lambda case: case.group.closes_early and case.mentions("closed"),
)
LOOK_UP_AGAIN = Hint(
    "look-up-coordinator",
    "Use a version of librdkafka that looks the coordinator up again when a commit is answered "
    "NOT_COORDINATOR, or restart consumers that call assign() after the coordinator has moved.",
    lambda case: "coordinator_lookup" in case.group.deviations,
)
COMMIT_STORED = Hint(
    "commit-stored-offsets",
    "The application stores offsets, and nothing commits them: set enable.auto.commit=true, with which the "
    "client commits what is stored each {auto.commit.interval.ms}.",
    lambda case: case.commits(Commits.STORED_ONLY),
)
COMMIT_AT_ALL = (
    Hint(
        "commit-at-all",
        "No member commits: set enable.auto.commit=true, or call commitSync().",
        lambda case: never_commits(case) and not case.commits(Commits.STORED_ONLY),
    ),
    COMMIT_STORED,
)
COMMIT_MORE_OFTEN = (
    Hint(
        "fewer-writes",
        "Commits cannot be more frequent: the writes that ZooKeeper takes are the limit, one for each "
        "partition. Write fewer: keep offsets in Kafka (offsets.storage=kafka, with "
        "dual.commit.enabled=true while members restart), one request for all partitions of a member; "
        "or read fewer partitions.",
        lambda case: case.store_bound,
    ),
    Hint(
        "commit-more-often",
        "Commit more often: use a smaller {auto.commit.interval.ms}. This client commits in the "
        "background, however long the work on a batch takes.",
        lambda case: (
            case.commits(Commits.BACKGROUND, Commits.STORE)
            and not case.commits(Commits.EARLIER_POLLS)
            and not case.store_bound
        ),
    ),
    Hint(
        "smaller-batches",
        "Hand out fewer records at a time (PollRecords): an automatic commit of this client covers "
        "the records of earlier polls, so nothing of the batch in hand is committed, however small "
        "{auto.commit.interval.ms} is.",
        lambda case: case.commits(Commits.EARLIER_POLLS) and not case.store_bound,
    ),
    *COMMIT_AT_ALL,
    Hint(
        "commit-more-often",
        "Commit more often: use a smaller {auto.commit.interval.ms}. poll() makes the automatic "
        "commit, so long batches delay it: a smaller {max.poll.records} helps, too.",
        lambda case: auto(case) and not case.store_bound,
    ),
    Hint(
        "commit-more-often",
        "Commit more often: after smaller batches, with a smaller {max.poll.records}, or after "
        "every few records.",
        lambda case: (
            handler(case)
            and not case.commits(Commits.EACH_RECORD, Commits.BEFORE_WORK, Commits.INTERVAL)
            and not case.store_bound
        ),
    ),
    Hint(
        "commit-more-often",
        "Commit more often: the application commits at an interval of its own (Faust: broker_commit_interval). "
        "Use a shorter one, or commit after fewer records.",
        lambda case: case.commits(Commits.INTERVAL) and not case.store_bound,
    ),
)
SMALLER_BATCHES = "smaller-batches"

BATCHES_WITHIN_HEARTBEATS = Hint(
    SMALLER_BATCHES,
    "Use a smaller {max.poll.records}: a member works on its batch while the others rebalance, and the "
    "commit after it is refused if they are in the next generation, or on their way to it. A batch of at "
    "most {heartbeat.interval.ms} rarely meets a rebalance.",
    lambda case: (
        case.mentions("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION")
        and batches_outlast_heartbeats(case)
    ),
)
BATCHES_WITHIN_GRACE = Hint(
    SMALLER_BATCHES,
    "Use a smaller {max.poll.records}, so that a full batch, the last commit and close() fit into the grace "
    "period.",
    lambda case: not case.verbs.isdisjoint(RESTARTS) and batches_outlast_grace(case),
)
COMMIT_AFTER_WORK = (
    Hint(
        "store-after-work",
        'Store offsets after the work: with commit = "store" automatic commits cover finished '
        "records only. In the application: store_offsets() and enable.auto.offset.store=false, or "
        "MarkCommitRecords() and AutoCommitMarks().",
        lambda case: case.commits(Commits.BACKGROUND) and bool(case.group.stores),
    ),
    Hint(
        "commit-after-work",
        "Set enable.auto.commit=false and commit after the work: this client commits in the "
        "background what it has handed out, finished or not. Smaller batches lose less.",
        lambda case: case.commits(Commits.BACKGROUND) and not case.group.stores,
    ),
)
"""For clients whose automatic commits cover what is in hand."""

COMMIT_AFTER_PROCESSING = Hint(
    "commit-after-processing",
    "Commit after processing: committing first turns every crash into a loss.",
    lambda case: case.commits(Commits.BEFORE_WORK),
)
COMMIT_FINISHED = Hint(
    "commit-finished-offsets",
    "Workers finish records out of order: commit the offset of the first unfinished record of each "
    "partition, never the position or the highest finished offset.",
    lambda case: bool(case.group.handler),
)
DRAIN_WORKERS = Hint(
    "drain-workers",
    "In onPartitionsRevoked(), wait for the records that workers have begun, and then commit. "
    "Trade-off: the group waits as long; limit the time.",
    lambda case: bool(case.group.handler),
)
IDEMPOTENT = Hint(
    "idempotent-processing",
    "No setting prevents this entirely: make processing idempotent, or store offsets together with "
    "the results.",
)
COMMIT_ON_REVOKE = (
    Hint(
        "commit-on-revoke",
        "Call commitSync() in onPartitionsRevoked(): the coordinator still accepts it there, but "
        "refuses commits between JoinGroup and SyncGroup.",
        lambda case: _may_commit_on_revoke(case) and not case.group.by_coordinator,
    ),
    Hint(
        "commit-on-revoke",
        "Call CommitUncommittedOffsets in OnPartitionsRevoked: the callback takes the place of the commit "
        "that franz-go makes before it gives partitions away, and when the process ends.",
        lambda case: case.commits(Commits.NONE_AT_REVOCATION),
    ),
)
COMMIT_BEFORE_ACKNOWLEDGING = Hint(
    "commit-on-revoke",
    "Call commitSync() in onPartitionsRevoked(): no other member is assigned the partition before "
    "it returns.",
    lambda case: _may_commit_on_revoke(case) and case.group.by_coordinator,
)
STAY_A_MEMBER = (
    Hint(
        "session-above-pauses",
        "Set {session.timeout.ms} above the length of the pauses and network failures that members "
        "survive. Trade-off: a real crash is detected later.",
        lambda case: not case.given_twice and evicted(case),
    ),
    Hint(
        "poll-in-time",
        "Keep the time between two polls below {max.poll.interval.ms}: use a smaller "
        "{max.poll.records}, or do slow work in another thread while poll() continues.",
        too_slow,
    ),
    Hint(
        "poll-interval-of-four-batches",
        "With group.protocol=consumer the interval must be long enough for four batches: a poll() "
        "that finds buffered fetches does not reset the poll timer, so two batches count as one, "
        "and partitions are revoked one step per batch while the coordinator waits.",
        lambda case: case.group.by_coordinator and too_slow(case),
    ),
)


def can_become_static(group: GroupFacts) -> bool:
    """Return whether each member can get an instance id that it keeps: the consumer of Kafka 0.8 knows none."""
    return not (group.static or group.names_change or group.offsets == "zookeeper")


STATIC = Hint(
    "static-membership",
    "Set a group.instance.id for each member (static membership): a member that is back within "
    "{session.timeout.ms} keeps its partitions without a rebalance.",
    lambda case: can_become_static(case.group) and not case.verbs.isdisjoint(RESTARTS),
)


def only_outside(case: Case) -> bool:
    """Return whether each position was reset because it was outside the log."""
    return bool(case.details) and all("out of range" in each for each in case.details)


def _resets_elsewhere(case: Case) -> bool:
    return bool(case.group.settings["auto.offset.reset"] != "earliest")


RESET_EARLIEST = (
    Hint(
        "reset-to-earliest",
        "Set auto.offset.reset=earliest: a partition without a committed offset is then read from its "
        "beginning.",
        lambda case: _resets_elsewhere(case) and not only_outside(case),
    ),
    Hint(
        "reset-to-earliest",
        "Set auto.offset.reset=earliest: a position before the first record of the log then moves to that "
        "record, and only what retention has deleted is lost.",
        lambda case: _resets_elsewhere(case) and only_outside(case),
    ),
)


LISTENER_CATCHES = Hint(
    "catch-in-listener",
    "Catch exceptions inside the rebalance listener: with group.protocol=consumer a member whose "
    "onPartitionsRevoked() throws keeps the partitions that it should revoke, does not read them, "
    "and is removed after {max.poll.interval.ms}.",
    lambda case: "fail_listener" in case.verbs and case.group.by_coordinator,
)
