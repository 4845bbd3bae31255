"""Count the files that a request crosses, by the functions that are executed.

    python benchmarks/journeys.py               the three journeys
    python benchmarks/journeys.py --files       with the names of the files
    python benchmarks/journeys.py --ledger      the ledger's journey alone

*join*: JoinGroup of a dynamic member, from the first request to the response: MEMBER_ID_REQUIRED,
the second JoinGroup, the end of the join phase. It counts the files of ``protocols/`` in which a
function is executed.

*commit*: an offset is committed, appended, durable and answered, loaded by the next coordinator and
fetched by the next owner, in a played scenario. It counts the files of ``protocols/`` and
``emulator/`` in which a function receives or returns the commit: its request or response, its
record, or an envelope, effect or fact that carries one of these.

*ledger*: the ledger judges the position at which a new owner starts. It counts the files of
``emulator/ledger/`` in which a function is executed for that event.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

# A file beside this one has the name of a package, and Python searches a script's folder first.
if __package__ is None:
    sys.path.pop(0)

from assignors.types import Subscription
from emulator import events
from emulator.ledger.builder import LedgerBuilder
from emulator.scenario.load import loads
from emulator.world.build import play
from protocols.coordinator.machine import GroupCoordinator
from protocols.facts import CommitAccepted
from protocols.machine import Append, Report, Send, SetTimer, Step
from protocols.messages import (
    Envelope,
    Header,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Protocol,
)
from protocols.offsets_topic.records import OffsetCommitKey, OffsetCommitValue
from protocols.settings import BrokerSettings

ROOT = Path(__file__).parents[1]

BOUNDS = {"join": 13, "commit": 28, "ledger": 9}
"""The maximum number of files of each journey."""

Wanted = Callable[[FrameType, str, Any], bool]
"""Returns whether a call or return counts: the frame, the event and the returned value."""


@contextmanager
def executed(*rooms: str, counts: Wanted = lambda *_: True) -> Iterator[set[str]]:
    """Collect the files below *rooms* in which a function runs for which *counts* is true."""
    files = set[str]()
    prefixes = tuple(f"{ROOT / room}/" for room in rooms)

    def profile(frame: FrameType, event: str, value: Any) -> None:
        if event not in {"call", "return"} or frame.f_code.co_name == "<module>":
            return
        name = frame.f_code.co_filename
        if name.startswith(prefixes) and name not in files and counts(frame, event, value):
            files.add(name)

    sys.setprofile(profile)
    try:
        yield files
    finally:
        sys.setprofile(None)


# -- a JoinGroup -------------------------------------------------------------------------------


def join_journey() -> set[str]:
    """Return the files that the JoinGroup of a dynamic member crosses."""
    coordinator = GroupCoordinator(BrokerSettings(), new_id=lambda prefix: f"{prefix}-1")
    coordinator.loaded(0)
    header = Header("member", 1, "client", "/host")
    with executed("protocols") as files:
        first = coordinator.handle(Envelope(header, _join_request("")), 0)
        coordinator.durable(coordinator.next_log_offset, 1_000)
        member_id = _answer(first).member_id
        second = coordinator.handle(Envelope(header, _join_request(member_id)), 2_000)
        (phase,) = (
            effect
            for effect in second.effects
            if isinstance(effect, SetTimer) and effect.name == "join-group"
        )
        last = coordinator.wake(phase.name, phase.deadline_us)
    assert _answer(last).generation_id == 1
    return files


def _join_request(member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="group",
        member_id=member_id,
        group_instance_id=None,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        protocol_type="consumer",
        protocols=(Protocol("range", Subscription(topics=("topic",))),),
        reason=None,
    )


def _answer(step: Step[Any]) -> JoinGroupResponse:
    (answer,) = (effect.message for effect in step.effects if isinstance(effect, Send))
    assert isinstance(answer, JoinGroupResponse)
    return answer


# -- a commit ----------------------------------------------------------------------------------

_FAILOVER = """
title = "a commit that survives a failover"
run_for = "80s"

[[topic]]
name = "topic"
partitions = 1
rate = "1/s"

[[group]]
id = "group"
topics = ["topic"]
members = 1
work = "10ms"
commit = { call = "sync" }
settings = { "partition.assignment.strategy" = "range", "session.timeout.ms" = "6s" }

[[fault]]
crash_broker = "coordinator of group"
at = "20s"

[[fault]]
crash = "group-0"
at = "40s"
restart_after = "2s"
"""

_COMMIT = (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetCommitKey,
    OffsetCommitValue,
)

_DEPTH = 4
_WIDTH = 40


def commit_journey() -> set[str]:
    """Return the files that a commit crosses until a later owner starts from it."""
    starts = list[events.EpochOpened]()

    def sink(event: events.Event) -> None:
        if isinstance(event.what, events.EpochOpened):
            starts.append(event.what)

    scenario = loads(_FAILOVER, "failover.toml")
    with executed("protocols", "emulator", counts=_carries_commit) as files:
        play(scenario, 0, (sink,), folding=False)
    assert starts[-1].source == "committed"
    return files


def _carries_commit(frame: FrameType, event: str, value: Any) -> bool:
    """Return whether the commit is an argument of a call or the result of a return.

    The module that copies any value, as ``dataclasses.replace`` does, does not count.
    """
    if frame.f_globals["__name__"] == "protocols.values":
        return False
    if event == "return":
        return _is_commit(value, _DEPTH)
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = frame.f_locals
    return any(_is_commit(given.get(name), _DEPTH) for name in names)


def _is_commit(value: Any, depth: int) -> bool:
    if isinstance(value, CommitAccepted):
        return not value.consumer  # with a consumer it is the event that is written
    if isinstance(value, _COMMIT):
        return True
    if depth == 0:
        return False
    if isinstance(value, tuple | list):
        return any(_is_commit(each, depth - 1) for each in value[:_WIDTH])
    if isinstance(value, Envelope):
        return _is_commit(value.body, depth - 1)
    if isinstance(value, Send):
        return _is_commit(value.message, depth - 1)
    if isinstance(value, Append):
        return _is_commit(value.records, depth - 1)
    if isinstance(value, Report):
        return _is_commit(value.fact, depth - 1)
    return isinstance(value, Step) and _is_commit(value.effects, depth - 1)


# -- a new owner's start -----------------------------------------------------------------------

_CRASH = """
title = "a member crashes with work that is not committed"
run_for = "40s"

[[topic]]
name = "topic"
partitions = 1
rate = "10/s"

[[group]]
id = "group"
topics = ["topic"]
members = 1
work = "10ms"
settings = { "partition.assignment.strategy" = "range", "session.timeout.ms" = "6s" }

[[fault]]
crash = "group-0"
at = "14s"
restart_after = "1s"
"""


def ledger_journey() -> set[str]:
    """Return the files by which the ledger judges the position at which a new owner starts.

    It counts the events from the owner's start to the first records that it reprocesses.
    """
    history = list[events.Event]()
    play(loads(_CRASH, "crash.toml"), 0, (history.append,))
    starts = [
        place for place, each in enumerate(history) if isinstance(each.what, events.EpochOpened)
    ]
    works = [place for place, each in enumerate(history) if isinstance(each.what, events.Processed)]
    start = starts[-1]
    first_work = next(place for place in works if place > start)
    builder = LedgerBuilder()
    for event in history[:start]:
        builder.feed(event)
    with executed("emulator/ledger") as files:
        for event in history[start : first_work + 1]:
            builder.feed(event)
    for event in history[first_work + 1 :]:
        builder.feed(event)
    assert builder.close().reprocessed > 0
    return files


# -- printing ----------------------------------------------------------------------------------

JOURNEYS: dict[str, Callable[[], set[str]]] = {
    "join": join_journey,
    "commit": commit_journey,
    "ledger": ledger_journey,
}


def main() -> None:
    """Print the number of files of each journey; exit with status 1 if one is above its maximum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="also print the files' names")
    parser.add_argument("--ledger", action="store_true", help="the ledger's journey alone")
    given = parser.parse_args()
    too_long = False
    for name in ("ledger",) if given.ledger else JOURNEYS:
        files = JOURNEYS[name]()
        too_long = too_long or len(files) > BOUNDS[name]
        print(f"{name:6}  {len(files):2} files, at most {BOUNDS[name]}")
        for file in sorted(files) if given.files else ():
            print(f"        {Path(file).relative_to(ROOT)}")
    if too_long:
        sys.exit(1)


if __name__ == "__main__":
    main()
