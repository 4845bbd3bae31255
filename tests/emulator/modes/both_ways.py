"""A run whose periods are skipped, and the same run played event by event, with all they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple
from unittest.mock import patch

import emulator
from emulator.events import Event
from emulator.events.consumers import Polled
from emulator.playing import EXACT, FOLDED, Run
from emulator.scenario.estimates import periods
from emulator.scenario.load import scenario_of
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource
from emulator.world import build
from emulator.world import run as run_module
from emulator.world.periods.search import Periods
from emulator.world.run import NOTHING_REPLAYED, Replay
from emulator.world.world import World
from protocols.values import replace

from ..brute_force.test_brute_force import hold_against_count, hold_laws, tidy
from ..world.periods.planted_faults import Planted, planted


@dataclass
class Played:
    """What a run leaves."""

    events: list[Event]
    digest: str
    logs: list[Any]
    """Of each offsets partition: what a load reads, its amount, its segments."""

    committed: dict[str, Any]
    files: dict[int, list[tuple[int, bytes]]]
    """By offsets partition: the base offset and the bytes of each segment, if they were asked for."""

    skipped: int
    """The number of periods skipped."""

    scheduled: int
    """The number of events of the kernel."""


@dataclass
class LogsInMemory:
    """Takes the bytes of the offsets log."""

    files: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)

    def spool(self, log_partition: int) -> BytesInMemory:
        """Return the spool for the batches of a partition."""
        del log_partition
        return BytesInMemory()

    def keep(self, log_partition: int, segments: Iterable[tuple[int, Iterable[bytes]]]) -> None:
        """Store each remaining segment."""
        self.files[log_partition] = [(base, b"".join(parts)) for base, parts in segments]


class BytesInMemory:
    """A spool."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> int:
        """Append bytes; return their position."""
        self._data += data
        return len(self._data) - len(data)

    def read(self, position: int, size: int) -> bytes:
        """Return appended bytes."""
        return bytes(self._data[position : position + size])


def scenario_from(document: dict) -> Scenario:
    """Return the scenario of plain values."""
    return scenario_of(tidy(document), ScenarioSource("both ways", None))


def play_whole(
    scenario: Scenario,
    seed: int = 0,
    *,
    folding: bool,
    files: bool = False,
    check: bool = False,
    segment_bytes: int | None = None,
    lags_repeat_us: int = periods.LAGS_REPEAT_US,
) -> Played:
    """Play a run and return all that it leaves.

    *files*: with the bytes of the offsets log. *segment_bytes*: of the offsets topic, also fewer
    than a scenario may have. *lags_repeat_us*: after which time the lags of threads repeat.
    """
    events: list[Event] = []
    worlds: list[World] = []
    searches: list[Periods] = []
    logs = LogsInMemory()
    small = _settings_with(run_module.broker_settings, segment_bytes)
    with (
        patch.object(build, "build", _noting(build.build, worlds)),
        patch.object(run_module, "broker_settings", small),
        patch.object(periods, "LAGS_REPEAT_US", lags_repeat_us),
        patch.object(Periods, "begin", _noting_self(Periods.begin, searches)),
    ):
        replay = Replay(log_files=logs) if files else NOTHING_REPLAYED
        sinks = (events.append,)
        outcome = build.play(scenario, seed, sinks, replay=replay, check=check, folding=folding)
    (world,) = worlds
    return Played(
        events=events,
        digest=outcome.digest,
        logs=_logs_of(world),
        committed={group.id: world.committed(group.id) for group in scenario.group},
        files=logs.files,
        skipped=sum(search.skipped for search in searches),
        scheduled=world.run.kernel.scheduled,
    )


def hold_both_ways(document: dict, seed: int = 0, *, always: bool = True, **how: Any) -> int:
    """Assert that both ways leave the same; return how many periods were skipped.

    *always*: False: a run without skipped periods is not compared.
    """
    scenario = scenario_from(document)
    quick = play_whole(scenario, seed, folding=True, **how)
    if not quick.skipped and not always:
        return 0
    slow = play_whole(scenario, seed, folding=False, **how)
    for ours, theirs in zip(quick.events, slow.events, strict=False):
        assert ours == theirs
    assert len(quick.events) == len(slow.events)
    assert quick.digest == slow.digest
    assert quick.committed == slow.committed
    assert quick.logs == slow.logs
    assert quick.files == slow.files
    return quick.skipped


def hold_whole_run(document: dict, seed: int = 0, *, folded: bool = True) -> Run:
    """Assert all that can be said of any run, and return it, with each poll.

    No law is broken, and the ledger is that of a count by hand, unless a topic has offsets without
    records. *folded*: the folded mode leaves the same events but polls, results and bytes of the
    offsets log, and a folded run without single events, as in studies, the same results.
    """
    scenario, logs = scenario_from(document), LogsInMemory()
    exact = emulator.run(scenario, seed, polls=True, mode=EXACT, log_files=logs)
    if folded:
        _hold_folded(exact, logs)
    hold_laws(exact)
    if not any(topic.has_gaps for topic in scenario.topic):
        hold_against_count(exact)
    return exact


def _hold_folded(exact: Run, logs: LogsInMemory) -> None:
    """Assert that the folded mode leaves the same. It records no polls: with them, nothing is folded."""
    files = LogsInMemory()
    folded = emulator.run(exact.scenario, exact.seed, mode=FOLDED, log_files=files)
    summed = emulator.run(exact.scenario, exact.seed, mode=FOLDED, keep_events=False)
    pairs = zip_longest(_all_but_polls(folded), _all_but_polls(exact))
    assert [] == [(ours, theirs) for ours, theirs in pairs if ours != theirs][:1]
    assert files.files == logs.files
    for name in ("digest", "ledger", "metrics", "findings", "verdicts"):
        results = [getattr(run, name) for run in (folded, summed, exact)]
        assert results[0] == results[1] == results[2], name


def _all_but_polls(run: Run) -> Iterator[tuple[Any, ...]]:
    """Yield each event without its row, which counts polls, too."""
    events = (event for event in run.events if not isinstance(event.what, Polled))
    return ((event.id, event.at_us, event.cause, event.what) for event in events)


class Noticing(NamedTuple):
    """A run that notices faults: its scenario, seed and options, and what it has to leave."""

    document: dict[str, Any]
    seed: int
    how: dict[str, Any]
    right: Played

    def play(self) -> Played:
        """Return what it leaves if periods are skipped."""
        found = play_whole(scenario_from(self.document), self.seed, folding=True, **self.how)
        return replace(found, skipped=0, scheduled=self.right.scheduled)

    def hold(self) -> None:
        """Assert that it leaves what it has to, as long as no fault is planted."""
        assert self.right == self.play()


def noticing_run(document: dict[str, Any], seed: int, how: dict[str, Any]) -> Noticing:
    """Return that run, with what it leaves if each event is played."""
    right = play_whole(scenario_from(document), seed, folding=False, **how)
    return Noticing(document, seed, how, right)


def is_noticed(fault: Planted, run: Noticing) -> bool:
    """Return whether a planted fault changes what a run leaves, or ends it."""
    with planted(fault):
        try:
            found = run.play()
        except Exception:  # noqa: BLE001  whatever it is, it was noticed
            return True
    return found != run.right


def _noting(function: Callable[..., Any], found: list[Any]) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        made = function(*arguments, **named)
        found.append(made)
        return made

    return called


def _noting_self(method: Callable[..., Any], found: list[Any]) -> Callable[..., Any]:
    def called(self: Any) -> Any:
        found.append(self)
        return method(self)

    return called


def _settings_with(function: Callable[..., Any], segment_bytes: int | None) -> Callable[..., Any]:
    def settings(cluster: Any) -> Any:
        made = function(cluster)
        if segment_bytes is None:
            return made
        return replace(made, offsets_topic_segment_bytes=segment_bytes)

    return settings


def _logs_of(world: World) -> list[Any]:
    found: list[Any] = []
    for shard in world.offsets_topic:
        log, end = shard.leaders_log()
        segments = [(each.about, each.records, each.newest, each.cleaned) for each in log._segments]
        found.append((shard.number, end, list(log.read(end)), log.amount(end), segments))
    return found
