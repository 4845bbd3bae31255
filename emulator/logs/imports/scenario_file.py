"""Write the sketch of a real group as a scenario file that ``rebalance run`` can play unchanged.

Every value has a comment on its origin: measured in the log, or assumed because it is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from emulator.logs.errors import NoScenarioError
from emulator.logs.imports.generations import Member
from emulator.logs.imports.notices import clock
from emulator.logs.imports.scenario_sketch import (
    CONSUMER,
    LONGEST_INTERVAL_MS,
    Sketch,
    TopicSketch,
    legal,
)
from emulator.logs.imports.values import GroupFindings
from emulator.report.wording import counted, duration, figure
from emulator.scenario.kafka_settings import ASSIGNORS, JAVA_ASSIGNORS, SERVER_ASSIGNORS
from emulator.scenario.load import loads
from emulator.scenario.problems import ScenarioError
from emulator.scenario.short_forms import HIDDEN
from emulator.scenario.toml import toml_key, toml_value
from emulator.scenario.units import format_duration, format_rate
from protocols.settings import BrokerSettings, ConsumerSettings

ASSUMED_RUN_US: Final = 600_000_000
ASSUMED_PLAYER = "range"
"""The assignor used in place of one that the emulator does not know."""

_BROKERS = BrokerSettings()
_CONSUMERS = ConsumerSettings()
_SESSION, _HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
_POLL = "max.poll.interval.ms"
_MAX_GENERATIONS = 8

Table = Mapping[str, object]


def scenario_text(sketch: Sketch) -> str:
    """Return the file's text; raise NoScenarioError if the group cannot be a scenario."""
    parts = (_head(sketch), _cluster(sketch), _topics(sketch), _group(sketch), _ideas(sketch))
    text = "\n\n".join("\n".join(part) for part in map(list, parts) if part) + "\n"
    try:
        loads(text, sketch.findings.group)
    except ScenarioError as error:
        raise NoScenarioError(f"cannot be written as a scenario: {error}") from None
    return text


# -- the head --------------------------------------------------------------------------------------


def _head(sketch: Sketch) -> Iterator[str]:
    found = sketch.findings
    seen = f"{clock(found.pace.first_ms)} to {clock(found.pace.last_ms)}"
    yield f"# {_comment(found.group)}, from its offsets log of {seen} (UTC)."
    yield "# Each value is marked as measured in the log or as assumed; check the assumed ones first."
    yield "#"
    yield f"# Used: {_generation(sketch)}."
    yield from _others(sketch)
    yield from _past(found)
    yield f"title = {toml_value(_comment(found.group) + ', as imported')}"
    run_for = f"run_for = {toml_value(format_duration(ASSUMED_RUN_US))}"
    yield f"{run_for:<40} # assumed"


def _generation(sketch: Sketch) -> str:
    generation = sketch.chosen.generation
    word = "epoch" if _by_coordinator(sketch) else "generation"
    members = counted(len(sketch.members), "member")
    return f"{word} {generation.epoch} with {members}, {duration(sketch.chosen.for_ms / 1000)} long"


def _others(sketch: Sketch) -> Iterator[str]:
    others = [each for each in sketch.generations if each is not sketch.chosen]
    if not others:
        return
    shown = [
        f"{each.generation.epoch} ({counted(len(each.generation.roster), 'member')}, "
        f"{duration(each.for_ms / 1000)})"
        for each in others[-_MAX_GENERATIONS:]
    ]
    more = len(others) - len(shown)
    left_out = f"{more} older ones and " if more else ""
    yield f"# Others in the log, for --generation: {left_out}{', '.join(shown)}."


def _past(found: GroupFindings) -> Iterator[str]:
    pace = found.pace
    rate = "" if pace.an_hour is None else f", {figure(pace.an_hour)} an hour while it had members"
    yield f"# In that time: {counted(pace.rebalances, 'rebalance')}{rate}; {counted(found.rewound, 'rewind')}."


# -- cluster and topics ----------------------------------------------------------------------------


def _cluster(sketch: Sketch) -> Iterator[str]:
    """Yield settings of the brokers that must differ from Kafka's defaults."""
    if _by_coordinator(sketch):
        session = format_duration(_BROKERS.group_consumer_session_timeout_ms * 1000)
        yield "[cluster.settings]"
        yield from _pair(
            "group.consumer.session.timeout.ms", session, "assumed: Kafka's default, not in the log"
        )
        return
    sessions = [member.session_timeout_ms or 0 for _, member in sketch.members]
    least, most = min(sessions), max(sessions)
    if least < _BROKERS.group_min_session_timeout_ms and least > 0:
        yield "[cluster.settings]"
        yield from _pair("group.min.session.timeout.ms", least, "else the brokers reject it")
    elif most > _BROKERS.group_max_session_timeout_ms:
        yield "[cluster.settings]"
        yield from _pair("group.max.session.timeout.ms", most, "else the brokers reject it")


def _topics(sketch: Sketch) -> Iterator[str]:
    for number, topic in enumerate(sketch.topics):
        if number:
            yield ""
        yield from _topic(topic)


def _topic(topic: TopicSketch) -> Iterator[str]:
    yield "[[topic]]"
    yield f"name = {toml_value(topic.name)}"
    yield from _pair(
        "partitions", topic.partitions, "measured: the highest one assigned or committed"
    )
    rate = format_rate(float(f"{topic.rate:.3g}"))
    words = "measured: committed offsets per second and partition; assumed: the group kept up"
    yield from _pair("rate", rate, words if topic.rate else "measured: nothing was committed")
    if topic.skew:
        yield from _pair("skew", list(topic.skew), "measured: factors, by partition")


# -- the group -------------------------------------------------------------------------------------


def _group(sketch: Sketch) -> Iterator[str]:
    yield "[[group]]"
    yield f"id = {toml_value(legal(sketch.findings.group))}"
    yield f"topics = {toml_value([each.name for each in sketch.topics])}"
    most = sketch.max_work_us
    limit = f"; above {format_duration(most)} it could not keep up" if most else ""
    yield from _pair(
        "work", format_duration(sketch.work_us), f"assumed: time per record, not in the log{limit}"
    )
    policy = sketch.commit.policy
    yield from _pair("commit", policy, _COMMIT_WORDS[policy])
    yield ""
    yield "[group.settings]"
    yield from _settings(sketch)
    for name, member in sketch.members:
        yield ""
        yield from _member(sketch, name, member)


def _member(sketch: Sketch, name: str, member: Member) -> Iterator[str]:
    yield "[[group.member]]"
    at = member.client_host.removeprefix("/")
    yield from _pair("name", legal(name), f"measured: at {_comment(at)}" if at else "measured")
    if member.topics and set(member.topics) != {each.name for each in sketch.topics}:
        yield from _pair("topics", list(member.topics), "measured")
    own = _own_settings(sketch, name, member)
    if own:
        pairs = ", ".join(f"{toml_key(name)} = {toml_value(value)}" for name, value in own.items())
        yield f"settings = {{ {pairs} }}"


_COMMIT_WORDS: Final = {
    "auto": "measured: periodic; whether by poll() or by the application is not in the log",
    "sync": "measured: once per batch; sync or async is not in the log",
    "sync per record": "measured: about one record per commit; sync or async is not in the log",
    "none": "measured: no commits",
}


def _settings(sketch: Sketch) -> Iterator[str]:
    generation = sketch.chosen.generation
    words = "assumed: the run begins without committed offsets"
    yield from _pair("auto.offset.reset", "earliest", words)
    if _by_coordinator(sketch):
        yield from _pair("group.protocol", "consumer", "measured")
        if generation.assignor in SERVER_ASSIGNORS.values():
            yield from _pair("group.remote.assignor", generation.assignor, "measured")
    else:
        yield from _assignor(generation.assignor)
        session = _session(sketch)
        yield from _pair(_SESSION, session, "measured")
        if session <= _CONSUMERS.heartbeat_interval_ms:
            yield from _pair(_HEARTBEAT, _heartbeat(session), "assumed")
    yield from _pair(_POLL, _poll(sketch), "measured: the rebalance timeout")
    if sketch.commit.every_ms is not None:
        times = sum(number for _, number in sketch.findings.intervals_ms)
        words = f"measured: the median of {counted(times, 'time')} between commits of a partition"
        if sketch.commit.every_ms == LONGEST_INTERVAL_MS:
            words = "measured: longer; this is the maximum of the setting"
        yield from _pair("auto.commit.interval.ms", sketch.commit.every_ms, words)


def _assignor(name: str | None) -> Iterator[str]:
    key = "partition.assignment.strategy"
    known = JAVA_ASSIGNORS.get(name or "", name)
    if known in ASSIGNORS:
        words = "measured: the one in use; other supported ones are not in the log"
        yield from _pair(key, known, words)
    else:
        words = (
            f"assumed: the group uses {_comment(name or 'none')}, which the emulator does not know"
        )
        yield from _pair(key, ASSUMED_PLAYER, words)


def _usual(values: Iterable[int | None], otherwise: int) -> int:
    """Return the most frequent value, the smallest if there are several."""
    known = sorted(value for value in values if value is not None and value > 0)
    return max(known, key=known.count) if known else otherwise


def _own_settings(sketch: Sketch, name: str, member: Member) -> Table:
    """Return the settings of a member that differ from those of its group."""
    own: dict[str, object] = {}
    if member.instance_id is not None:
        own["group.instance.id"] = member.instance_id
    if member.client_id and member.client_id != name:
        own["client.id"] = member.client_id
    session, poll = member.session_timeout_ms, member.rebalance_timeout_ms
    if session and session != _session(sketch) and not _by_coordinator(sketch):
        own[_SESSION] = session
        if session <= _CONSUMERS.heartbeat_interval_ms:
            own[_HEARTBEAT] = _heartbeat(session)
    if poll and poll > 0 and poll != _poll(sketch):
        own[_POLL] = poll
    return own


def _by_coordinator(sketch: Sketch) -> bool:
    return sketch.chosen.generation.group_type == CONSUMER


def _session(sketch: Sketch) -> int:
    known = (member.session_timeout_ms for _, member in sketch.members)
    return _usual(known, _CONSUMERS.session_timeout_ms)


def _poll(sketch: Sketch) -> int:
    known = (member.rebalance_timeout_ms for _, member in sketch.members)
    return _usual(known, _CONSUMERS.max_poll_interval_ms)


def _heartbeat(session_ms: int) -> int:
    """Return a heartbeat interval that Kafka's clients accept with a short session timeout."""
    return max(session_ms // 3, 1)


# -- what to try -----------------------------------------------------------------------------------


def _ideas(sketch: Sketch) -> Iterator[str]:
    first = toml_value(legal(sketch.members[0][0]))
    group = toml_value(legal(sketch.findings.group))
    yield "# What if? Uncomment one of these, or write your own."
    yield "#"
    yield "# [[act]]                              # the next deploy"
    yield f"# rolling_restart = {group}"
    yield '# between = ["60s", "70s"]'
    yield '# down_time = "10s"'
    yield '# gap = "30s"'
    yield "#"
    yield "# [[fault]]                            # a member crashes without leaving the group"
    yield f"# crash = {first}"
    yield '# between = ["60s", "90s"]'


# -- TOML ------------------------------------------------------------------------------------------


def _pair(key: str, value: object, words: str) -> Iterator[str]:
    """Yield a key with its value and a comment on its origin."""
    yield f"{toml_key(key)} = {toml_value(value)}".ljust(40) + f" # {words}"


def _comment(text: str) -> str:
    """Return a text for a comment or a title, on one line."""
    return re.sub(f"[{HIDDEN}]", " ", text)
