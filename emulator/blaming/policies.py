"""The commit policies that are tried, each of a client library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from statistics import median

from assignors.values import dataclass
from emulator.blaming.batches import USUAL
from emulator.blaming.clients import ALSO_POSSIBLE, clients_of, unusual
from emulator.blaming.evidence import Committed, Evidence, grouped
from emulator.blaming.figures import intervals_s
from emulator.blaming.setup import Setup, Table
from protocols.consumer.clients import CLIENTS, Amount, Covers, profile_of

RARE, RARER = 0.05, 0.06
"""Added to the distance of commits at an interval by the application, and with a listener, too."""

LONGEST_INTERVAL_MS = 600_000
"""Longer times between commits are not taken for an interval."""

KAFKAS_INTERVAL_MS = 5_000

NEARLY = 1.05
"""Times that differ by this factor are equal."""

SILENT_US = 15_000_000
"""In a log of this length a group that commits at all, commits."""

ON_REVOKE = ", and when partitions are revoked"
"""A group shows whether it commits then only where a living member gives partitions up."""

ONE_EACH = 1.5
"""Up to this number of records between two commits, each may be committed by itself."""


PER_BATCH = ("sync", "async", "sync before")
MAX_IN_A_BATCH = 20
"""Records of a partition in one batch of a consumer that waits for records most of the time."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A commit policy: its name, the key ``commit`` of a group, its client, and further settings."""

    name: str
    commit: str | Table
    settings: tuple[tuple[str, object], ...] = ()
    trace: str = "other calls in the application's code"
    """What it leaves elsewhere than in the two logs."""

    unusual: float = 0.0
    """Added to its distance: of two that fit as well, the more usual one comes first."""

    client: str = CLIENTS[0]
    read_with: str | None = None
    """The call that hands records out; None: the client's usual one."""

    batch: int | None = None
    """``max.poll.records``, or as many as the call asks for; None: the default."""

    @property
    def family(self) -> str:
        """The name without commits that only some incidents show, and with one name for both calls.

        The offsets log shows the same commits of commitSync() and commitAsync().
        """
        return self._usual_name.replace("commitAsync", "commitSync")

    @property
    def _usual_name(self) -> str:
        return self.name.removesuffix(ON_REVOKE)

    @property
    def quiet_commits(self) -> tuple[str, str, int | None]:
        """What decides the commits of a group to which nothing happens."""
        return self.reader, self._usual_name, self.batch

    @property
    def is_per_record(self) -> bool:
        """Whether it commits after each record."""
        return isinstance(self.commit, str) and self.commit.endswith("per record")

    @property
    def is_by_call(self) -> bool:
        """Whether the application commits after each poll or record, not at an interval."""
        return isinstance(self.commit, str) and self.commit not in ("auto", "store", "none")

    @property
    def largest_batch(self) -> int:
        """How many records a call hands out at most: those of each call of a consumer that always works."""
        return (self.batch or USUAL) if _asks(self) else 1

    @property
    def can_lose(self) -> bool:
        """Whether it commits records that are not finished, so that a crash can lose some."""
        profile = profile_of(self.client)
        hands_out = profile.in_background and profile.covers is not Covers.EARLIER_POLLS
        return self.commit == "sync before" or (self.commit == "auto" and hands_out)

    @property
    def reader(self) -> str:
        """The client, with the call that hands records out if it is not the usual one."""
        return f"{self.client} with {self.read_with}" if self.read_with else self.client

    @property
    def words(self) -> str:
        """The client and the policy."""
        batches = "" if self.batch is None else f" in batches of at most {self.batch}"
        return f"{self.reader}, {self.name}{batches}"


def policies(
    evidence: Evidence, setup: Setup, *, busy: bool = False, batches: Sequence[int] = ()
) -> list[Policy]:
    """Return the policies that are tried; intervals are those seen between commits.

    *busy*: whether consumers worked all the time before the incident, in batches of any size. *batches*:
    the largest ones that their commits show beside the default; each policy is tried with all.

    Of libraries that are only possible beside a more usual one, only the automatic commits are
    tried: commits of the application are the same in all of them.
    """
    every_ms = interval_ms(evidence)
    found = list[Policy]()
    for place, client in enumerate(clients_of(setup)):
        found += _automatic(client, _automatic_ms(every_ms, busy=busy), unusual(setup, client))
        if place == 0:
            found += _by_the_application(client, every_ms)
    possible = [each for each in found if _is_possible(each, evidence, busy=busy)]
    asking = [each for each in possible if _asks(each)]
    return [*possible, *(_in_batches(each, size) for size in batches for each in asking)]


def _asks(policy: Policy) -> bool:
    """Return whether the call that hands records out has a largest batch."""
    profile = profile_of(policy.client)
    amount = profile.reads[policy.read_with or next(iter(profile.reads))]
    return amount in (Amount.SETTING, Amount.GIVEN)


def _in_batches(policy: Policy, size: int) -> Policy:
    return replace(policy, batch=size, unusual=policy.unusual + ALSO_POSSIBLE)


def interval_ms(evidence: Evidence) -> int:
    """Return the interval of commits, to two digits: the usual time between two of a partition.

    A rebalance commits between, and a stop leaves some out: where Kafka's default is among the times
    that are usual or longer, it is the interval.
    """
    times_ms = sorted(each * 1_000 for each in intervals_s(evidence.commits))
    if not times_ms or median(times_ms) > LONGEST_INTERVAL_MS:
        return KAFKAS_INTERVAL_MS
    usual_ms, long_ms = median(times_ms), times_ms[len(times_ms) * 9 // 10]
    if usual_ms <= KAFKAS_INTERVAL_MS * NEARLY and long_ms * NEARLY >= KAFKAS_INTERVAL_MS:
        return KAFKAS_INTERVAL_MS
    digits: int = 10 ** max(0, len(str(int(usual_ms))) - 2)
    return max(10, int(usual_ms / digits) * digits)


def _is_possible(policy: Policy, evidence: Evidence, *, busy: bool) -> bool:
    """Return whether the commits in the log can be those of a policy."""
    if not evidence.commits:
        seen_us = evidence.work[-1].ended_us - evidence.work[0].began_us
        return policy.commit == "none" or seen_us < SILENT_US
    if policy.commit == "none":
        return False
    records = records_per_commit(evidence.commits)
    if policy.is_per_record:
        return records <= ONE_EACH
    return busy or policy.commit not in PER_BATCH or records <= MAX_IN_A_BATCH


def records_per_commit(commits: Sequence[Committed]) -> float:
    """Return the median number of records between two commits of a partition; 1 without any."""
    steps = [
        two.offset - one.offset
        for each in grouped(commits, attrgetter("partition")).values()
        for one, two in pairwise(each)
        if two.offset > one.offset
    ]
    return median(steps) if steps else 1


def _automatic_ms(every_ms: int, *, busy: bool) -> int:
    """Return the interval of automatic commits from the time between two commits.

    Consumers that always work commit in the first poll behind the interval: after whole batches.
    """
    return min(KAFKAS_INTERVAL_MS, every_ms * 9 // 10) if busy else every_ms


def _automatic(client: str, every_ms: int, rare: float) -> Iterator[Policy]:
    """Yield automatic commits of a client, by the call that hands records out if that matters."""
    profile = profile_of(client)
    every = (("auto.commit.interval.ms", every_ms),)
    trace = f"enable.auto.commit=true in its settings, {profile.packages} in its dependencies"
    calls: tuple[str | None, ...] = (None,)
    if len(profile.reads) > 1 and profile.in_background:
        calls = tuple(profile.reads)
    for place, call in enumerate(calls):
        more = rare + place * ALSO_POSSIBLE
        yield Policy("automatic commits", "auto", every, trace, more, client, call)
    if profile.stores:
        trace = f"{profile.stores} in the application's code"
        yield Policy("stored offsets", "store", every, trace, rare + 0.02, client)


def _by_the_application(client: str, every_ms: int) -> Iterator[Policy]:
    """Yield the policies of an application that commits by itself, or not at all."""
    at_interval: Table = {"call": "sync", "when": "every", "every": f"{every_ms}ms"}
    named: tuple[tuple[str, str | Table], ...] = (
        ("commitSync after each batch", "sync"),
        ("commitAsync after each batch", "async"),
        ("commitSync after each record", "sync per record"),
        ("commitAsync after each record", "async per record"),
        ("commitSync before the work", "sync before"),
        ("no commits", "none"),
    )
    for name, commit in named:
        yield Policy(name, commit, client=client)
    interval = Policy("commitSync at an interval", at_interval, unusual=RARE, client=client)
    yield interval
    listener = at_interval | {"on_revoke": True}
    yield replace(interval, name=interval.name + ON_REVOKE, commit=listener, unusual=RARER)
