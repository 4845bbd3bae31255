"""Write the first scenario of a group from a few answers: ``rebalance init``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.scenario.checks.clients import has_setting
from emulator.scenario.clients.files import client_file
from emulator.scenario.clients.keys import ClientFile
from emulator.scenario.part import ScenarioSource
from emulator.scenario.problems import ScenarioError
from emulator.scenario.resolution import AUTO_COMMIT
from emulator.scenario.short_forms import PARTY_NAME
from emulator.scenario.toml import toml_value
from emulator.scenario.units import US_PER_S, format_rate, parse_duration, parse_rate
from protocols.consumer.clients import CLIENTS, profile_of

LIBRDKAFKA: Final = "librdkafka"

COMMITS_AS_SET = '# commit = "sync"            # left out: as the settings say; also "async", "sync per record", …'
COMMITS_AS_FRAMEWORK = (
    '# commit = "sync"            # left out: as the framework does; also "async", …'
)
COMMITS_ITSELF = (
    'commit = "sync"              # assumed, as enable.auto.commit is false; also "async", …'
)
FRAMEWORK = '# framework = "spring-batch"  # a listener container of Spring; also "faust", "confluent-kafka", …'
GRACE = (
    'grace = "30s"                # kill a member that takes longer: terminationGracePeriodSeconds'
)
GRACE_OF_FILE = (
    '# grace = "30s"              # left out: settings_from has the time until a member is killed'
)

TOPIC: Final = "orders"
GROUP: Final = "billing"
"""The names if the user gives none."""

BACKLOG_S: Final = 180
"""How long the group works on the backlog, about: the crash and the beginning of the deploy meet it."""

MAX_DRAIN_S: Final = 1_800
"""How long it may take at most."""

FULL_BATCH: Final = 500
"""Java's default of ``max.poll.records``: each member has at least one full batch, if it can."""

MAX_BACKLOG: Final = 100_000
"""Records of a partition's backlog, whatever the members can process."""

NO_BACKLOG: Final = "# backlog = 1000             # in each partition; left out: the members cannot process more than arrives"

MAX_ROUNDED = 0.01
"""The largest error of a rate that is rounded to whole records, as a share of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the user says about a group."""

    members: int
    partitions: int
    rate: str
    """Records per time of the whole topic."""

    work: str
    """Processing time of one record."""

    topic: str = TOPIC
    group: str = ""
    """Empty: that of the client's file, or a name for it."""

    settings_from: str | None = None
    """The file of the real client, relative to the scenario; None: Kafka's defaults."""

    client: str = CLIENTS[0]
    commits_itself: bool = False
    """Whether the client's file turns automatic commits off and says nothing else of commits."""

    framework: str = ""
    """With which the client's file says that members are written; empty: it does not."""

    has_grace: bool = False
    """Whether the client's file says how long a member may take to stop."""


@dataclass(frozen=True, slots=True)
class Client:
    """What the file of the real client says about a group."""

    file: str
    name: str
    """The client, of those that can be played."""

    found: ClientFile

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on what is ignored."""
        names = ", ".join(self.found.ignored)
        return (f"{self.file}: ignored, not used by the emulator: {names}",) if names else ()

    @property
    def _group_id(self) -> str:
        """The group of the file, if it is a name; else empty."""
        return self.found.group_id if re.fullmatch(PARTY_NAME, self.found.group_id) else ""

    def answers(self, others: Answers) -> Answers:
        """Return answers with the settings and the group of the file."""
        found = self.found
        has_commits = bool({"commit", "framework"} & found.group.keys())
        return replace(
            others,
            group=others.group or self._group_id,
            settings_from=self.file,
            client=self.name,
            commits_itself=found.settings.get(AUTO_COMMIT) is False and not has_commits,
            framework=str(found.group.get("framework", "")),
            has_grace="grace" in found.stop,
        )


def of_client(config: str, scenario: Path) -> Client:
    """Return what the file of a client says.

    *config*: its path, relative to the folder of *scenario*. Raise RefusedError or ScenarioError if it
    cannot be used.
    """
    source = ScenarioSource(str(scenario), scenario.parent)
    try:
        found = client_file(config, source)
    except ScenarioError as error:
        if error.name != str(scenario):
            return _of_librdkafka(config, source, error)
        reason = f"{error.problems[0].reason}; the path is relative to the folder of {scenario}"
        raise RefusedError(f"`config={config}`: {reason}") from None
    if found.of_librdkafka and _has_all(LIBRDKAFKA, found.settings):
        return Client(config, LIBRDKAFKA, client_file(config, source, LIBRDKAFKA))
    return Client(config, CLIENTS[0], found)


def _of_librdkafka(config: str, source: ScenarioSource, error: ScenarioError) -> Client:
    """Return what a file says that only librdkafka reads, such as ``auto.offset.reset=smallest``.

    Raise *error*, that of Java's client, if librdkafka refuses the file, too.
    """
    try:
        found = client_file(config, source, LIBRDKAFKA)
    except ScenarioError:
        raise error from None
    if not _has_all(LIBRDKAFKA, found.settings):
        raise error
    return Client(config, LIBRDKAFKA, found)


def _has_all(client: str, settings: Iterable[str]) -> bool:
    """Return whether a client has all the settings; it refuses a file with another one."""
    return all(has_setting(profile_of(client), name) for name in settings)


def first_scenario(answers: Answers) -> str:
    """Return the text of a scenario: a crash, and later a rolling restart, of a group with a backlog.

    Raise ValueError if the rate or the work is none.
    """
    each = _rate_of_one(parse_rate(answers.rate), answers.partitions)
    name = answers.group or GROUP
    group, topic = toml_value(name), toml_value(answers.topic)
    return f"""# A crash of one member, and a deploy that restarts all {answers.members}, with a backlog.
# How many records are reprocessed, and how long do partitions have no owner?
title = {toml_value(f"{name}, a crash and a rolling restart")}

[[topic]]
name = {topic}
partitions = {answers.partitions}
rate = {toml_value(each)}               # in each partition; {answers.rate} in all
{_backlog(answers)}

[[group]]
id = {group}
topics = [{topic}]
members = {answers.members}
work = {toml_value(answers.work)}               # of one record
{_client_lines(answers)}

[[fault]]
crash = {toml_value(f"{name}-0")}
between = ["40s", "50s"]      # at random, by the seed
restart_after = "5s"

[[act]]
rolling_restart = {group}
between = ["120s", "130s"]
down_time = "5s"             # from a member's end to its start
gap = "10s"                  # from a member's start to the next one's end
{GRACE_OF_FILE if answers.has_grace else GRACE}
# pre_stop = "5s"            # a preStop hook that sleeps; grace counts from its beginning

[expect]
lost = 0
# reprocessed = "<= 1000"    # what you accept; the first run says what it is
"""


def _client_lines(answers: Answers) -> str:
    """Return the lines of the group about its client: settings, name and commits."""
    settings = '# settings_from = "consumer.properties"   # of the real client'
    if answers.settings_from is not None:
        settings = f"settings_from = {toml_value(answers.settings_from)}"
    reset = 'settings.auto.offset.reset = "earliest"   # nothing is committed yet: "latest" skips the backlog'
    client = [] if answers.client == CLIENTS[0] else [f"client = {toml_value(answers.client)}"]
    commit = COMMITS_ITSELF if answers.commits_itself else COMMITS_AS_SET
    framework = "" if client else FRAMEWORK
    if answers.framework:
        framework = f"framework = {toml_value(answers.framework)}   # as settings_from says"
        commit = COMMITS_AS_FRAMEWORK
    return "\n".join(filter(None, [settings, reset, *client, framework, commit]))


def _backlog(answers: Answers) -> str:
    """Return the line of the backlog of a partition, which the members process in some minutes.

    >>> _backlog(Answers(members=3, partitions=6, rate="60/s", work="4ms"))
    'backlog = 20000              # in each partition, so that the crash and the deploy meet full batches'
    """
    work_s = parse_duration(answers.work) / US_PER_S
    capacity = min(answers.members, answers.partitions) / max(work_s, 1e-6)
    spare = capacity - parse_rate(answers.rate)
    wanted = max(spare * BACKLOG_S, FULL_BATCH * answers.members)
    each = min(wanted, spare * MAX_DRAIN_S) / answers.partitions
    records = int(float(f"{min(each, MAX_BACKLOG):.1g}"))
    if records < 1:
        return NO_BACKLOG
    return f"{f'backlog = {records}':29}# in each partition, so that the crash and the deploy meet full batches"


def _rate_of_one(rate: float, partitions: int) -> str:
    """Return the rate of one partition, per second, minute or hour, in whole records if they fit.

    Arrivals of whole records repeat soon, so that undisturbed periods can be skipped; those of
    4.167/s repeat after 1,000 s.

    >>> _rate_of_one(50, 12), _rate_of_one(100, 7), _rate_of_one(0.01, 10_000)
    ('250/min', '857/min', '0.000001/s')
    """
    each = rate / partitions
    for unit, in_unit_s in (("s", 1), ("min", 60), ("h", 3_600)):
        whole = round(each * in_unit_s)
        if whole and abs(whole / in_unit_s / each - 1) < MAX_ROUNDED:
            return f"{whole}/{unit}"
    return format_rate(each)
