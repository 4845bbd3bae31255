"""Write the first scenario of a group from a few answers: ``rebalance init``."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.scenario.clients.files import client_file
from emulator.scenario.part import ScenarioSource
from emulator.scenario.problems import ScenarioError
from emulator.scenario.short_forms import PARTY_NAME
from emulator.scenario.toml import toml_value
from emulator.scenario.units import format_rate, parse_rate

COMMITS_AS_SET = '# commit = "sync"            # left out: enable.auto.commit; also "async", "sync per record", …'
COMMITS_ITSELF = (
    'commit = "sync"              # assumed, as enable.auto.commit is false; also "async", …'
)

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

    group: str = "billing"

    settings_from: str | None = None
    """The file of the real client, relative to the scenario; None: Kafka's defaults."""

    commits_itself: bool = False
    """Whether the client's file turns automatic commits off and says nothing else of commits."""


@dataclass(frozen=True, slots=True)
class Client:
    """What the file of the real client says about a group."""

    file: str
    group_id: str
    """Empty: it has none that can be the name of a group."""

    commits_itself: bool
    notes: tuple[str, ...]
    """A note on what is ignored."""

    def answers(self, others: Answers) -> Answers:
        """Return answers with the settings and the group of the file."""
        return replace(
            others,
            group=self.group_id or others.group,
            settings_from=self.file,
            commits_itself=self.commits_itself,
        )


def of_client(config: str, scenario: Path) -> Client:
    """Return what the file of a client says.

    *config*: its path, relative to the folder of *scenario*. Raise RefusedError or ScenarioError if it
    cannot be used.
    """
    try:
        found = client_file(config, ScenarioSource(str(scenario), scenario.parent))
    except ScenarioError as error:
        if error.name != str(scenario):
            raise
        reason = f"{error.problems[0].reason}; the path is relative to the folder of {scenario}"
        raise RefusedError(f"`config={config}`: {reason}") from None
    group = found.group_id if re.fullmatch(PARTY_NAME, found.group_id) else ""
    itself = found.settings.get("enable.auto.commit") is False and "commit" not in found.group
    ignored = f"{config}: ignored, without a part here: {', '.join(found.ignored)}"
    return Client(config, group, itself, (ignored,) * bool(found.ignored))


def first_scenario(answers: Answers) -> str:
    """Return the text of a scenario: a rolling restart, with a crash to try in remarks.

    Raise ValueError if the rate is none.
    """
    settings = '# settings_from = "consumer.properties"   # of the real client'
    if answers.settings_from is not None:
        settings = f"settings_from = {toml_value(answers.settings_from)}"
    commit = COMMITS_ITSELF if answers.commits_itself else COMMITS_AS_SET
    each = _rate_of_one(parse_rate(answers.rate), answers.partitions)
    return f"""# A rolling restart of {answers.members} members.
# How many records are reprocessed, and how long do partitions have no owner?
title = "my group, rolling restart"

[[topic]]
name = "orders"
partitions = {answers.partitions}
rate = {toml_value(each)}               # in each partition; {answers.rate} in all
# backlog = 1000             # in each partition; without commits "latest" skips it, "earliest" reads it

[[group]]
id = {toml_value(answers.group)}
topics = ["orders"]
members = {answers.members}
work = {toml_value(answers.work)}               # of one record
{settings}
# settings.auto.offset.reset = "earliest"   # Kafka's default is "latest"
{commit}

[[act]]
rolling_restart = {toml_value(answers.group)}
between = ["60s", "70s"]      # at random, by the seed
down_time = "5s"             # from a member's end to its start
gap = "10s"                  # from a member's start to the next one's end
grace = "30s"                # kill a member that takes longer: terminationGracePeriodSeconds
# pre_stop = "5s"            # a preStop hook that sleeps; grace counts from its beginning

# [[fault]]                  # or what a crash costs
# crash = {toml_value(f"{answers.group}-1")}
# between = ["60s", "70s"]

[expect]
lost = 0
"""


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
