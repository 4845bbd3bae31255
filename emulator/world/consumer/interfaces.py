"""A running consumer as its parts use it: application, listener, poll loop, events; its periods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from assignors.types import TopicPartition
from emulator.events import ListenerCalled
from emulator.scenario.model import FailListener
from emulator.world.consumer.handling.handler import Batch, Doing, Ending
from emulator.world.consumer.polling.fetch_in_flight import Reader
from emulator.world.consumer.polling.fetches import Fetches
from emulator.world.consumer.polling.folded_time import MemberTime
from emulator.world.consumer.progress import Progress
from emulator.world.kernel import Deadlines
from emulator.world.run import Run
from protocols.consumer.calls import CommitResult
from protocols.consumer.fetch_buffer import Handed
from protocols.consumer.reader import Counts, Notes
from protocols.machine import Call, Step
from protocols.messages import Envelope, OffsetToCommit


class Commits(Protocol):
    """The commits that an application makes by its policy."""

    @property
    def due_us(self) -> int:
        """When it commits behind a batch at the earliest, if it does so by time alone."""

    def commit_done(self, partitions: tuple[TopicPartition, ...], then: Callable[[], None]) -> None:
        """Commit the processed offsets of some partitions, then continue."""

    uncommitted: dict[TopicPartition, int]
    """By partition, the next offset to commit."""

    on_async_failure: Callable[[tuple[OffsetToCommit, ...]], None]
    """What code of the user does about a failed ``commitAsync``."""

    def processed(self, records: int) -> None:
        """Count records processed since the last commit."""

    def forget(self, tp: TopicPartition) -> None:
        """Exclude a partition from later commits."""

    def offsets_of(
        self, ends: dict[TopicPartition, int], *, exact: bool = False
    ) -> tuple[OffsetToCommit, ...]:
        """Return these offsets as the policy commits them; *exact*: without its faults."""

    def send_sync(
        self, offsets: tuple[OffsetToCommit, ...] | None, then: Callable[[CommitResult], None]
    ) -> None:
        """Call ``commitSync`` with these offsets, then continue."""

    def send_async(
        self,
        offsets: tuple[OffsetToCommit, ...] | None,
        then: Callable[[CommitResult], None] | None = None,
    ) -> None:
        """Call ``commitAsync`` with these offsets, then continue; without *then* beside the application."""

    def async_failed(self, offsets: tuple[OffsetToCommit, ...]) -> None:
        """React to a failed ``commitAsync``."""

    flush_late: Callable[[Call, Callable[[], None]], None]
    """Send in a listener call what failed before and was kept for it, then continue."""


class SeenBehind(Protocol):
    """The deduplication behind a handler."""

    def deliver(self, tp: TopicPartition, offset: int) -> None:
        """Ask the set about a processed record, and add it."""


class RecordHandler(Protocol):
    """What processes polled records in place of the serial handler: workers, or code of the user."""

    def take(self, ranges: Iterable[Handed], then: Callable[[], None]) -> None:
        """Take the records of a poll, and continue when the application thread is free."""

    def make_room(self, then: Callable[[], None]) -> bool:
        """Return whether the application may poll; if not, it continues with *then* when it may."""

    def leave_room(self) -> bool:
        """Stop waiting for room; return whether the application did."""

    def listen(self, call: Call, then: Callable[[], None]) -> None:
        """Take part in a call of the rebalance listener, then continue."""

    def finish(
        self,
        partitions: Iterable[TopicPartition],
        commit: Callable[[Callable[[], None]], None],
        then: Callable[[], None],
    ) -> None:
        """Finish work on some partitions, commit, then continue."""

    def revoked(self, tp: TopicPartition, why: str, event: int) -> None:
        """End the epoch of a partition."""

    def discard(self, partitions: frozenset[TopicPartition]) -> None:
        """Drop the records of some partitions that were not begun."""

    def hang(self, length_us: int) -> None:
        """Make the next record that is begun take longer."""

    def in_progress(self) -> Iterator[tuple[TopicPartition, int, int]]:
        """Yield partition, offset and begin of each record in progress."""


class Closing(Protocol):
    """The shutdown of a process."""

    def close(self) -> None:
        """Close the consumer; before that, finish and commit what the handler still has."""


class ConsumerApplication(Protocol):
    """The application thread of a process."""

    @property
    def shutdown(self) -> Closing:
        """Its shutdown."""

    doing: Doing

    uncommitted: dict[TopicPartition, int] | None
    """By partition, the next offset to commit; None: the application commits nothing."""

    @property
    def ending(self) -> Ending:
        """Whether it was asked to end, and how."""

    @property
    def busy(self) -> bool:
        """Whether it works or commits."""

    @property
    def calm(self) -> bool:
        """Whether the handler only processes records."""

    @property
    def seen(self) -> SeenBehind | None:
        """The deduplication behind its handler, if it has one."""

    def records_in_progress(self) -> Iterator[tuple[TopicPartition, int, int]]:
        """Yield partition, offset and begin of each record in progress."""

    @property
    def commits(self) -> Commits:
        """Its commits."""

    def poll(self) -> None:
        """Call poll."""

    def step(self, name: str, then: Callable[[], None]) -> None:
        """Pass a step that may trigger a fault; then go on."""

    def go_on(self, then: Callable[..., None], *given: object) -> None:
        """Call *then* with *given* if no fault has just ended the process; later if one has paused it."""

    def finish(
        self, partitions: tuple[TopicPartition, ...], then: Callable[[], None], *, commits: bool
    ) -> None:
        """Finish and commit work on some partitions as far as the handler does, then continue."""

    def revoked(self, tp: TopicPartition, why: str, event: int) -> None:
        """Stop processing a partition for good."""

    def listen(self, call: Call, then: Callable[[], None]) -> None:
        """Let the handler take part in a listener call, then continue."""

    def listened(self) -> None:
        """Take the end of a listener call."""

    def work_on(self, batch: Batch) -> None:
        """Begin a batch whose end a poll loop awaits."""

    def await_batch(self, batch: Batch) -> None:
        """Await the end of a batch as an event."""

    def await_again(self, batch: Batch) -> None:
        """Await a batch that has changed; between two records its work goes on by itself."""

    def end_counted(self) -> None:
        """End a batch and count its records."""

    def end_uncounted(self) -> None:
        """End a batch whose records are counted already."""

    def pause(self) -> None:
        """Pause at the present position, until it was resumed as often as paused."""

    def resume(self) -> None:
        """Continue with the record in progress."""


class ConsumerProcess(Reader, Protocol):
    """One start of a consumer."""

    alive: bool

    @property
    def run(self) -> Run:
        """The shared parts of the run."""

    @property
    def fetches(self) -> Fetches:
        """All fetches in flight."""

    @property
    def request_counts(self) -> Counter[str]:
        """Requests sent in the run, by kind, since they were last written."""

    @property
    def application(self) -> ConsumerApplication:
        """The application thread."""

    @property
    def progress(self) -> Progress:
        """Its ownership epochs."""

    @property
    def timers(self) -> Deadlines:
        """The client's timers."""

    @property
    def time(self) -> MemberTime:
        """Its folded and live time."""

    @property
    def paused(self) -> bool:
        """Whether the whole process is paused."""

    @property
    def busy(self) -> bool:
        """Whether it is carrying out effects of its client."""

    @property
    def at_rest(self) -> bool:
        """Whether every effect of its client is carried out."""

    @property
    def calls(self) -> dict[str, Callable[[], None]]:
        """By name: what the application calls on its consumer before the next poll."""

    def make_calls(self) -> None:
        """Make these calls."""

    @property
    def listener_fault(self) -> FailListener | None:
        """The fault that makes its listener throw, if there is one."""

    def hold(self, action: Callable[[], None], *, client: bool = False) -> bool:
        """Postpone an action if the process is paused, or one of its *client* while the assignor runs."""

    def assigned(self, envelope: Envelope) -> None:
        """Go on when the assignor has computed: pass the JoinGroup response to the client."""

    def carry_out(self, step: Step[Any]) -> None:
        """Carry out the effects of a step of its client."""

    def stop(self, how: str, cause: int | None, reason: str = "") -> int:
        """End the process; return the event of its end."""

    def polls(self, now: int) -> bool:
        """Poll by arithmetic if the consumer is calm; return whether it is."""

    def polls_in_vain(self, now: int) -> bool:
        """Poll by arithmetic if the consumer waits for a rebalance; return whether it does."""

    def settle(self) -> None:
        """Count the records that the handler has finished by now."""

    def close_client(self) -> None:
        """Call close() on the client."""

    def write_poison_met(self, ranges: Iterable[Handed]) -> None:
        """Write that work on these records begins, if one of them is poisoned."""

    def write_listener_call(self, call: ListenerCalled) -> int:
        """Write a listener call; return its event."""


State = tuple[object, ...]
"""All that decides what a consumer does next while it is calm, with relative times."""


class Mark(NamedTuple):
    """A state that may come again."""

    at_us: int
    shape: tuple[tuple[TopicPartition, int], ...]
    """The number of records of the batch, by partition."""

    state: State
    positions: Mapping[TopicPartition, int]
    fetches: int
    """The number of fetches sent before."""

    late_reads: int
    """How often responses had waited for a poll before."""

    noted: Counts | None
    """How much was collected of its polls before."""

    turn_phase_us: int
    """The time since the heartbeat thread last read responses."""


class Cycle(NamedTuple):
    """What one period of a consumer brings."""

    period_us: int
    records: Mapping[TopicPartition, int]
    fetches: int
    late_reads: bool
    """Whether responses wait for a poll: then it matters when the heartbeat thread read them."""

    notes: Notes | None
    """What is collected of its polls; None: it is unknown."""

    waits: tuple[int, ...]
    """Begin and end of each wait in poll, in turns, since the period began (us)."""

    first_us: Mapping[TopicPartition, int]
    """When the first batch with records of each partition begins, since the period began."""

    since_polled_us: int
    """How long before its end the poll loop took its last turn: ``max.poll.interval.ms`` counts from there."""

    batches: int
    """The number of batches that begin in it."""
