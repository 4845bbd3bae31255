"""What processes the records of a group: workers, a batch listener, code of the user.

And what happens to its records: failures, deduplication.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from emulator.scenario import short_forms
from emulator.scenario.part import Part
from emulator.scenario.tables.distributions import Distribution, Duration, PositiveDuration


class Pool(Part):
    """Workers that process records while the application thread polls on."""

    workers: int = Field(ge=1, le=10_000)
    """Records that are processed at the same time."""

    order: Literal["partition", "key", "none"] = "partition"
    """Records of the same partition, or of the same key, are processed one after the other; ``none``: in
    any order."""

    keys: int = Field(1_000, ge=1)
    """With ``order = "key"``: the number of keys in a partition, all equally frequent."""

    queue: int = Field(1_000, ge=1)
    """Once this number of polled records are unfinished, no more are polled."""

    when_full: Literal["pause", "block"] = "pause"
    """Pause the partitions and poll on, or poll again only when there is room, however long it takes."""

    resume_at: int | None = Field(None, ge=0)
    """Resume, or poll again, when at most this number of polled records are unfinished; left out: as soon
    as there is room."""

    pause_call: Literal["each poll", "once"] = "each poll"
    """Pause what is assigned before each poll while the queue is full, or once, when it fills up: a bug,
    as partitions that a rebalance assigns meanwhile, or assigns again, are not paused."""

    drain: Literal["none", "running", "all"] = "none"
    """Before partitions are revoked and before close(), wait for no record, for the records that
    workers have begun, or for all that were polled."""

    drain_for: PositiveDuration = 30_000_000
    """The longest wait; then the rebalance, or close(), continues without the rest."""

    commit_first: bool = False
    """A bug: commit in the revoke listener before the wait, and not after it."""

    revoked: Literal["discard", "continue"] = "discard"
    """After the revocation, discard the polled records that no worker has begun, or process them."""


class BatchListener(Part):
    """A listener that gets all records of a poll in one call; it processes them one after the other."""

    listener: Literal["batch"] = "batch"
    """Names this kind of handler."""

    names_failed: bool = False
    """When a record fails, the exception names it (``BatchListenerFailedException``): the records
    before it are committed, the rest is polled again. Otherwise the whole batch is polled again."""


class OwnHandler(Part):
    """Code of the user that processes the records of a poll, in virtual time."""

    code: str
    """``"module:Class"``: a class of a module beside the scenario, or of a module that ``--plugin``
    allows (docs/how-to/own-handlers.md)."""

    arguments: dict[str, object] = Field(default_factory=dict)
    """Passed to the class by name, after the consumer."""

    forwards: tuple[str, ...] = ()
    """The topics to which it sends records (``Forward``): dead-letter and retry topics."""


def _kind(value: object) -> str:
    if isinstance(value, OwnHandler) or (isinstance(value, dict) and "code" in value):
        return "=own"
    keys = set(value) if isinstance(value, dict) else ()
    is_batch = isinstance(value, BatchListener) or not {"listener", "names_failed"}.isdisjoint(keys)
    return "=batch" if is_batch else "=pool"


Handler = Annotated[
    Annotated[
        Annotated[Pool, Tag("=pool")]
        | Annotated[BatchListener, Tag("=batch")]
        | Annotated[OwnHandler, Tag("=own")],
        Discriminator(_kind),
    ]
    | None,
    BeforeValidator(short_forms.handler),
]


class Deduplication(Part):
    """A seen-set behind the handler."""

    window: PositiveDuration | None = None
    """How long it remembers a record; with neither this nor ``records`` it forgets nothing."""

    records: int | None = Field(None, ge=1)
    """How many records it remembers, the newest."""

    scope: Literal["shared", "process"] = "shared"
    """One set for the group, or one in the memory of each process, which ends with it."""

    by: Literal["offset", "id"] = "offset"
    """What it remembers: partition and offset, or an id that the producer gives each record, with which
    it recognises copies in the topic (``repeats``), too."""

    mark: Literal["after", "before"] = "after"
    """``before``: a record is added before its work begins, a bug: if the process is killed, the
    record is recognised when it comes again, and is never processed."""


class Poison(Part):
    """Records that take long to process, or that fail: one record, or all that a rule matches."""

    topic: str | None = None
    """Left out: every topic of the group."""

    partition: int | None = Field(None, ge=0)
    """Left out: every partition."""

    offset: int | None = Field(None, ge=0)
    """One record; needs ``topic`` and ``partition``."""

    every: int | None = Field(None, ge=1)
    """Instead of ``offset``: each n-th record of a partition."""

    share: float | None = Field(None, gt=0, le=1)
    """Instead of ``offset``: this fraction of the records, drawn by partition and offset."""

    key: int | None = Field(None, ge=0)
    """Instead of ``offset``: the records with the key of this number; see ``keys`` of the handler."""

    work: Duration | None = None
    """Duration of one attempt to process it."""

    error: Literal["retry", "seek", "pause", "forward", "skip", "stop"] | None = None
    """Its processing fails. ``retry``: wait and try again in the handler; ``seek``: commit what is
    finished, seek back to the record, wait, poll again; ``pause``: the same, but poll with paused
    partitions meanwhile; ``forward``: send it to another topic; skip it, or exit the process."""

    attempts: int = Field(1, ge=1)
    """With ``retry``, ``seek`` and ``pause``: the number of failures before ``then``."""

    then: Literal["succeed", "forward", "skip", "stop"] = "succeed"
    """After these attempts: the next attempt succeeds, or the record is sent to another topic, skipped,
    or the process exits."""

    backoff: Duration = 1_000_000
    """The wait after the first failure."""

    multiplier: float = Field(1.0, ge=1)
    """The factor from each wait to the next one."""

    max_backoff: PositiveDuration | None = None
    """The longest wait; left out: not limited."""

    to: str | None = None
    """With ``forward``: the topic; left out: ``<topic>-dlt``. If the scenario has it, the record is
    appended to the partition with the same number, for a group that retries there."""

    delay: Duration = 0
    """With ``forward``: the time until it can be read there."""

    @model_validator(mode="after")
    def _is_poison(self) -> Self:
        if self.work is None and self.error is None:
            raise ValueError('has neither "work" (its duration) nor "error" (its failure)')
        rules = [n for n in ("offset", "every", "share", "key") if getattr(self, n) is not None]
        if len(rules) != 1:
            given = " and ".join(f'"{name}"' for name in rules) or "none of them"
            raise ValueError(
                f'needs one of "offset", "every", "share" and "key" to say which records; has {given}'
            )
        if self.offset is not None and (self.topic is None or self.partition is None):
            raise ValueError('"offset" needs "topic" and "partition"')
        self._check_reaction()
        return self

    def _check_reaction(self) -> None:
        if self.then != "succeed" and not self.tries_again:
            raise ValueError('"then" needs error = "retry", "seek" or "pause"')
        if (self.to is not None or self.delay) and not self.forwards:
            raise ValueError('"to" and "delay" need error = "forward" or then = "forward"')

    @property
    def tries_again(self) -> bool:
        """Whether a failed record is processed again before the consumer does something else."""
        return self.error in ("retry", "seek", "pause")

    @property
    def forwards(self) -> bool:
        """Whether records may be sent to another topic."""
        return "forward" in (self.error, self.then)

    @property
    def seeks(self) -> bool:
        """Whether the consumer seeks back to a failed record."""
        return self.error in ("seek", "pause")

    def target(self, topic: str) -> str:
        """Return the topic to which a record of *topic* is forwarded."""
        return self.to or f"{topic}-dlt"

    def work_us(self, usual_us: int) -> int:
        """Return the time from the first attempt to the end of the last one in the handler."""
        return self._tries_us(usual_us, self.error == "retry")

    def _tries_us(self, usual_us: int, is_repeated: bool) -> int:
        """Return the time of all attempts and the waits between them, or of one attempt."""
        once = usual_us if self.work is None else self.work
        if not is_repeated:
            return once
        tries = self.attempts + (self.then == "succeed")
        return once * tries + sum(self.wait_us(failures) for failures in range(1, tries))

    def mean_extra_us(self, usual_us: float, keys: int) -> float:
        """Return what this rule adds to the mean time of the records that it looks at, in microseconds.

        *usual_us*: the time of any other record; *keys*: the number of keys of a partition. One record
        adds nothing to the mean.
        """
        by_rule = (self.every and 1 / self.every, self.share, self.key is not None and 1 / keys)
        share = next(filter(None, by_rule), 0.0)
        return share * (self._tries_us(int(usual_us), self.tries_again) - usual_us)

    def wait_us(self, failures: int) -> int:
        """Return the wait after a number of failures, in microseconds."""
        longest = float("inf") if self.max_backoff is None else self.max_backoff
        exponent = min(failures - 1, 64)
        return int(min(self.backoff * self.multiplier**exponent, longest, 1 << 60))


KEYS: Final = 1_000
"""The number of keys of a partition, for a group without a pool of workers."""


def mean_extra_us(
    rules: Sequence[Poison], rates: Mapping[str, float], usual_us: float, keys: int
) -> float:
    """Return what slow and failing records add to the mean time of a record, in microseconds.

    *rates*: records per second by partition; *usual_us*: the time of any other record; *keys*: the
    number of keys of a partition. A rule for one record adds nothing to the mean.
    """
    extra = 0.0
    for rule in rules:
        mine = [
            rate
            for name, rate in rates.items()
            if rule.topic in (None, name.rpartition("-")[0])
            and rule.partition in (None, int(name.rpartition("-")[2]))
        ]
        extra += rule.mean_extra_us(usual_us, keys) * sum(mine)
    return extra / (sum(rates.values()) or 1.0)


class LagFactor(Part):
    """A factor on the time of records that have many records behind them."""

    above: int = Field(ge=1, le=2**53)
    """It applies to records with more than this number of later records in their partition."""

    factor: float = Field(gt=0, le=1000)
    """The time is multiplied by it."""


class Concurrency(Part):
    """How records that are processed at the same time slow one another down."""

    free: int = Field(1, ge=1, le=1_000_000)
    """The number of records in work, of all members together, that do not slow one another down."""

    each: float = Field(gt=0, le=1000)
    """Each further record in work adds this part of its time to a record."""


class WorkBy(Part):
    """What the processing time of a record depends on."""

    topic: dict[str, Distribution] = Field(default_factory=dict)
    """The time of a record by topic, instead of the ``work`` of group and member."""

    lag: tuple[LagFactor, ...] = ()
    """Factors on it, for records that are read late; the one with the highest ``above`` applies."""

    concurrency: Concurrency | None = None
    """A resource that all members share, like a database."""

    batch: Duration = 0
    """Time in addition for each batch, before its first record; only with a serial handler."""

    @property
    def depends(self) -> bool:
        """Whether a time depends on the state of the run, so that each poll has to be an event."""
        return bool(self.lag or self.concurrency)


def crowding(given: WorkBy | None, in_work: float) -> float:
    """Return the factor on the time of a record while *in_work* records of its group are in work."""
    if given is None or given.concurrency is None:
        return 1.0
    return 1.0 + given.concurrency.each * max(in_work - given.concurrency.free, 0)
