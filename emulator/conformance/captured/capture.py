"""Read and check one captured run of a real Kafka (format: tests/captures/README.md).

Times are microseconds since the run's first instant, the creation of its first topic.
Topics have their real names, prefix included: the hash order of a Java map depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.actions import Action, read_action
from emulator.conformance.captured.client_logs import LogLine, read_client_log
from emulator.conformance.captured.coordinator_log import CoordinatorLine, read_coordinator_log
from emulator.conformance.captured.production import (
    Addition,
    Former,
    Production,
    deleted,
    read_additions,
    read_formers,
    read_productions,
)
from emulator.conformance.captured.reading import CaptureError, Fields, read_object
from emulator.conformance.captured.traces import LIBRARIES, Trace, Units, read_trace

MODES = (
    "auto",
    "sync-per-poll",
    "async-per-poll",
    "sync-per-record",
    "noargs-per-record",
    "sync-before",
    "timer",
    "timer-sync-on-revoke",
    "store",
    "none",
)
"""The commit modes of the captures' application."""

CONSUMER_SESSION_US = 6_000_000
"""``group.consumer.session.timeout.ms`` of captures whose ``meta.json`` has no broker settings."""

KAFKAS_CONSUMER_SESSION_US = 45_000_000
"""Kafka's default of it."""

QUIET_FROM = 21
"""Runs from this number on were recorded on a quiet machine."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Capture:
    """A captured run. Compared and hashed by identity: the facts taken from it are cached."""

    path: Path
    scenario: str
    run: int
    group: str
    prefix: str
    origin: int
    """The run's first instant in epoch microseconds."""

    members_start_us: int
    formed_us: int
    fault_us: int
    """The time of the first action, or the planned time if there is none."""

    end_us: int
    """The time when all records were read; the final closes after it are not part of the run."""

    actions: tuple[Action, ...]
    productions: tuple[Production, ...]
    additions: tuple[Addition, ...]
    formers: tuple[Former, ...]
    """In order of time."""

    coordinator: int
    """Broker that coordinated the group in the steady state."""

    orphaned: tuple[TopicPartition, ...]
    """Partitions without a reader at the end."""

    noisy: bool | None
    """Whether other work disturbed the machine; None if that was not measured."""

    consumer_session_us: int
    """``group.consumer.session.timeout.ms`` of the brokers."""

    drained: bool
    failure: str | None
    """The failure of the run itself."""

    traces: tuple[Trace, ...]
    """In order of member and incarnation."""

    client_logs: Mapping[str, tuple[LogLine, ...]]
    """By trace name."""

    coordinator_log: tuple[CoordinatorLine, ...]
    summary: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The scenario and the run, such as ``crash-range-auto/run-1``."""
        return f"{self.scenario}/run-{self.run}"

    @property
    def quiet(self) -> bool:
        """Whether the run was recorded on a quiet machine."""
        return self.run >= QUIET_FROM if self.noisy is None else not self.noisy

    @property
    def has_epochs(self) -> bool:
        """Whether the members use the consumer protocol, so that the group has epochs."""
        return any(trace.protocol == "consumer" for trace in self.traces)

    @property
    def without_epochs(self) -> frozenset[str]:
        """Return the members of the consumer protocol whose library does not show their epoch."""
        return frozenset(
            trace.member
            for trace in self.traces
            if trace.protocol == "consumer" and "lib" in trace.conf
        )

    @property
    def broker_failed(self) -> bool:
        """Whether a broker was killed or stopped in the run."""
        return any(action.verb in ("crash_broker", "pause_broker") for action in self.actions)

    @property
    def coordinator_killed(self) -> bool:
        """Whether the broker of the group's coordinator was killed."""
        killed = (a.broker for a in self.actions if a.verb == "crash_broker")
        return any(broker in (self.coordinator, None) for broker in killed)

    def ends(self) -> tuple[tuple[TopicPartition, int], ...]:
        """Return the end offset of each partition."""
        return tuple(
            (TopicPartition(produced.topic, partition), end)
            for produced in self.productions
            for partition, end in enumerate(produced.ends)
        )

    def shown(self, partition: TopicPartition) -> str:
        """Return a partition as the capture writes it, such as ``t0-3``."""
        return str(partition).removeprefix(self.prefix)


def find_runs(path: Path) -> tuple[Path, ...]:
    """Return the run folders at *path*: itself, those of a scenario, or of all scenarios in it.

    They are in order of scenario and number. Raise CaptureError if there are none.
    """
    if not path.is_dir():
        raise CaptureError(str(path), no_folder(path))
    if (path / "meta.json").exists() or path.name.startswith("run-"):
        return (path,)
    runs = _numbered(path.glob("run-*"))
    for scenario in sorted(child for child in path.iterdir() if child.is_dir()):
        runs += _numbered(scenario.glob("run-*"))
    if not runs:
        raise CaptureError(
            str(path), "no captured run here; expected meta.json or folders run-1, …"
        )
    return tuple(runs)


def _numbered(paths: Iterable[Path]) -> list[Path]:
    runs = [path for path in paths if path.is_dir() and path.name[4:].isdecimal()]
    return sorted(runs, key=lambda path: int(path.name[4:]))


def why_not_comparable(capture: Capture) -> str | None:
    """Return why this version cannot be compared with a capture, or None if it can."""
    libraries = {trace.conf["lib"] for trace in capture.traces if "lib" in trace.conf}
    if unmodelled := libraries - LIBRARIES.keys():
        return f"not modelled in this version: members that run {', '.join(sorted(unmodelled))}"
    unknown = {trace.conf.get("mode", "") for trace in capture.traces} - {*MODES}
    if unknown:
        return f"not modelled in this version: commit mode {', '.join(sorted(unknown))}"
    undone = {action.do for action in capture.actions if action.verb is None}
    if undone:
        return f"not modelled in this version: action {', '.join(sorted(undone))}"
    if not _knows_former_topics(capture):
        return "the capture does not say how records were produced to a topic before it was deleted"
    if capture.failure is not None or not capture.drained:
        return f"the captured run itself failed: {capture.failure or 'not drained to its end'}"
    return None


def _knows_former_topics(capture: Capture) -> bool:
    """Return whether the production to each topic that was created again is known from its beginning."""
    for produced in capture.productions:
        acts = [action.do for action in capture.actions if action.topic == produced.topic]
        begins = acts.count("maketopic") + (acts[:1] != ["maketopic"])
        if begins != 1 + sum(former.topic == produced.topic for former in capture.formers):
            return False
    return True


def read_capture(path: Path) -> Capture:
    """Read a run folder; raise CaptureError if a part of it is missing or invalid."""
    if not path.is_dir():
        raise CaptureError(str(path), no_folder(path))
    meta, plan = read_object(path / "meta.json"), read_object(path.parent / "scenario.json")
    summary = read_object(path / "summary.json")
    units = _units(meta)
    traces = _traces(path, units, meta, plan)
    capture = Capture(
        path=path,
        scenario=meta.text("scenario"),
        run=meta.count("run"),
        group=meta.text("group"),
        prefix=units.prefix,
        origin=units.origin,
        members_start_us=units.time(meta, "t_members_start"),
        formed_us=units.time(meta, "t_formed"),
        fault_us=units.time(meta, "t_fault"),
        end_us=units.time(meta, "t_end"),
        actions=tuple(read_action(fields, units) for fields in meta.tables("actions")),
        productions=read_productions(meta, units, plan),
        additions=read_additions(meta, units),
        formers=read_formers(meta, units),
        coordinator=meta.table("coord").count("coord"),
        orphaned=units.partitions(meta, "orphaned"),
        noisy=meta.table("noise").flag("noisy") if "noise" in meta else None,
        consumer_session_us=_consumer_session_us(meta),
        drained=meta.flag("drained"),
        failure=summary.text("error") if "error" in summary else None,
        traces=traces,
        client_logs={trace.name: _client_log(path, trace, units) for trace in traces},
        coordinator_log=read_coordinator_log(path / "coordinator.log.gz", units.origin),
        summary=summary.values,
    )
    _check_times(capture, meta)
    return capture


def _consumer_session_us(meta: Fields) -> int:
    """Return the brokers' session of the consumer protocol; older captures do not have it."""
    if "broker_settings" not in meta:
        return CONSUMER_SESSION_US
    given = meta.table("broker_settings")
    name = "group.consumer.session.timeout.ms"
    return int(given.text(name)) * 1000 if name in given else KAFKAS_CONSUMER_SESSION_US


def _units(meta: Fields) -> Units:
    """Return the run's first instant and the prefix of its topics' names."""
    produce = meta.table("produce")
    created = [produce.table(t).whole("t_created") for t in produce if not t.endswith("+")]
    if not created:
        raise meta.wrong("produce", "at least one topic")
    created += [former.whole("t_created") for former in deleted(meta)]
    return Units(min([meta.whole("t_members_start"), *created]), meta.text("prefix"))


def _client_log(path: Path, trace: Trace, units: Units) -> tuple[LogLine, ...]:
    started = trace.started_us + units.origin
    return read_client_log(path / f"{trace.name}.log.gz", started, units.origin)


def _traces(path: Path, units: Units, meta: Fields, plan: Fields) -> tuple[Trace, ...]:
    """Read the traces; every started member of the scenario must have its own."""
    found = [read_trace(file, units) for file in sorted(path.glob("*.jsonl.gz"))]
    traces = sorted(found, key=lambda trace: (trace.member, trace.incarnation))
    starts = [a.text("member") for a in meta.tables("actions") if a.text("do") == "start"]
    for member in plan.tables("members"):
        name = member.text("id")
        wanted = starts.count(name) + (not member.flag("late"))
        have = [trace.incarnation for trace in traces if trace.member == name]
        for incarnation in range(1, wanted + 1):
            if incarnation not in have:
                raise CaptureError(
                    str(path / f"{name}.{incarnation}.jsonl.gz"), "the file is missing"
                )
    return tuple(traces)


def _check_times(capture: Capture, meta: Fields) -> None:
    known = [capture.members_start_us, capture.formed_us, capture.fault_us, capture.end_us]
    if known != sorted(known):
        raise meta.place.error(
            "inconsistent times: t_members_start, t_formed, t_fault and t_end must follow"
            " one another"
        )
    for action in capture.actions:
        if action.at_us > capture.end_us:
            raise meta.place.error(f"inconsistent times: {action.do} was done after t_end")


def no_folder(path: Path) -> str:
    """Return why *path* is no folder of captured runs."""
    if not path.exists():
        return "no such folder"
    return (
        "a file; give the folder of a captured run. For a log of what consumers processed: rebalance "
        "audit, or with an offsets log rebalance blame"
    )
