"""A run whose periods are skipped, and the same run played event by event, with all they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from emulator.events import Event
from emulator.scenario.load import scenario_of
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource
from emulator.world import build
from emulator.world import run as run_module
from emulator.world.periods.search import Periods
from emulator.world.run import NOTHING_REPLAYED, Replay
from emulator.world.world import World
from protocols.values import replace

from .test_brute_force import tidy


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
) -> Played:
    """Play a run and return all that it leaves.

    *files*: with the bytes of the offsets log. *segment_bytes*: of the offsets topic, also fewer
    than a scenario may have.
    """
    events: list[Event] = []
    worlds: list[World] = []
    searches: list[Periods] = []
    logs = LogsInMemory()
    small = _settings_with(run_module.broker_settings, segment_bytes)
    with (
        patch.object(build, "build", _noting(build.build, worlds)),
        patch.object(run_module, "broker_settings", small),
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
