"""The page of published numbers: the set-ups with enough detail, played, and why others differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from emulator.cli.compare import columns_of as columns_of_comparison
from emulator.comparison import load_variants, play_variants
from emulator.loading import read_text
from emulator.metrics.distribution import summarise
from emulator.report.comparison import Column
from emulator.report.wording import figure

PAGE = """\
# Published numbers, and what the emulator gives

Printed by `python -m docs.pages`, which plays every set-up anew; change the scenarios or the
sentences in `docs/pages/published.py`, not this page. Each is a scenario of the catalogue with
a row for each `[[variant]]`: `rebalance compare NAME` shows more of it. Figures are means over as
many seeds as is said, with the least and the most in brackets where seeds differ.

| set-up | published | emulated | why they differ |
|---|---|---|---|
| 900 partitions added, classic | 103 s | {published-partitions-added|classic, range|downtime_max_s} s | the age of the leader's metadata, anything up to 5 min |
| 900 partitions added, KIP-848 | 5 s | {published-partitions-added|consumer|downtime_max_s} s | not: one heartbeat interval of the brokers |
| closed without LeaveGroup | 45 to 48 s | {published-leave-on-close|no LeaveGroup|downtime_max_s} s | not: it is the session timeout |
| closed with LeaveGroup | 100 ms | {published-leave-on-close|LeaveGroup|downtime_max_s} s | heartbeats: members hear of a rebalance every 3 s |
| a pod killed, session of 10 s | 10 s | {b2-stop-without-leaving|killed|downtime_max_s} s | not |
| one eager restart of 40 | 3 s | {published-eager-deploy|eager|time_to_stable_max_s} s | the wait for heartbeats alone; no batch is awaited |
| slowest poll, 30 min | 30 min | {published-slowest-poll|eager|member_idle_max_s} s | by what had passed of the interval before |
| new partitions with latest | records lost | {published-expansion-latest|classic|lost} records | no number was published |

## 10 consumers, and 900 partitions added

Published by [Karafka]({karafka}): 103 s with the classic protocol, 5 s with KIP-848; the assignor,
the client and its settings are not said. `published-partitions-added`, 3 seeds:

{published-partitions-added}

- The 5 s are reproduced. The coordinator sees new partitions at the next heartbeat of any member,
  and each member hears of its share at its own next one: `group.consumer.heartbeat.interval.ms`, 5 s.
- The 103 s are one draw of a wide spread. The leader of a classic group finds partitions when it
  renews its metadata, each `metadata.max.age.ms`, and the rebalance begins only then; it takes one
  heartbeat interval more. With five minutes, 103 s are as likely as any other time up to 303 s, and
  with one minute the ratio is not twenty but five. Karafka stands on librdkafka; the emulator has
  the rules of the Java consumer, where the leader alone looks.
- So the factor of twenty compares a setting of clients with a setting of brokers. How long the
  rebalance itself takes hardly shows in it.

## One process is replaced by another

Published for [Kafka Streams]({thriving}): 45 s (48 s in the run shown) without work while a pod is
replaced, 100 ms once `internal.leave.group.on.close` is set. `published-leave-on-close`, 2 seeds;
static members stand for a `close()` that does not leave:

{published-leave-on-close}

- Without LeaveGroup the numbers agree: `session.timeout.ms`, 45 s, since the last heartbeat.
- With it the emulator gives thirty times the published time. A member that leaves makes the group
  rebalance at once, but the others hear of it from the answer to their next heartbeat, 3 s apart.
  With heartbeats every 100 ms the published figure comes out. It therefore fits an application
  whose heartbeats are set so, or a figure that is counted from when the others have heard.
- Under the consumer protocol brokers say when heartbeats come, by default every 5 s, and a partition
  waits for the next one of whoever shall have it. (The time that a member is idle is here, and in
  the tables below, that of the group's first seconds: who joins waits for the others' heartbeats.)

## Pods that are killed

Published for [Dapr]({dapr}): about 10 s without consumption for each pod that ends, with a session
of 10 s and no LeaveGroup. `b2-stop-without-leaving`, 2 seeds:

{b2-stop-without-leaving}

## A deploy of forty under an eager assignor

[Published]({notes}): 40 instances on 200 partitions, about 3 s for each rebalance, "roughly two
minutes" for 40 restarts; a pod needs 35 s to restart, and static members with a session of 60 s
bring it down to nothing. `published-eager-deploy` plays the first two restarts of the forty, 1 seed:

{published-eager-deploy}

- The two minutes are 40 times 3 s, one rebalance for each restart. That is what the emulator counts,
  too: the next pod leaves in the moment in which the one before it joins, so that 40 restarts are 41
  rebalances. With a gap between pods there would be 80.
- Each lasts until the last member has had its heartbeat: 3 s at most. All members have their
  heartbeats at the same moment after a rebalance, so what is left is 3 s less what is over when 35 s
  are divided by 3 s; a pod that is back earlier or later moves it anywhere between 0 and 3 s. Where
  the whole 3 s are measured each time, somebody was in the middle of a batch besides.
- A static deploy has no rebalance at all; each partition of the pod stands still for the 35 s instead.
- Under the consumer protocol only what moves stands still, longer each, fewer together than 40
  members that all wait.

## The slowest poll

[Published]({rest}): a consumer behind a REST proxy that nobody asks for records does not poll, and a
rebalance lasts as long as its `max.poll.interval.ms`, 30 minutes. `published-slowest-poll`, 1 seed:

{published-slowest-poll}

- Under an eager assignor everybody stands still until the interval of the silent member is over. It
  had not polled for half a minute when the rebalance began.
- A cooperative group keeps what it has: only the newcomer waits.
- With the consumer protocol nobody waits for the silent one but who shall have its partitions, for
  as long as the same interval. Healthy members give theirs up at once.

## New partitions with `auto.offset.reset=latest`

[Reported]({pull}): what is written to a new partition before somebody looks there is lost with
`latest`; no number. `published-expansion-latest`, 3 partitions, a record a second each, 2 seeds:

{published-expansion-latest}

- What is lost is the rate times the time until the partition is found and assigned, for which see the
  first set-up. The consumer protocol makes it small, not nothing; `earliest` makes it nothing.
"""

LINKS = {
    "karafka": "https://karafka.io/docs/Kafka-New-Rebalance-Protocol",
    "thriving": (
        "https://thriving.dev/blog/reduce-rebalance-downtime-for-stateless-kafka-streams-apps"
    ),
    "dapr": "https://github.com/dapr/components-contrib/issues/3887",
    "notes": "https://www.engineering-notes.com/posts/kafka-rebalance-static-membership.html",
    "rest": "https://github.com/confluentinc/kafka-rest/issues/611",
    "pull": "https://github.com/apache/kafka/pull/22784",
}


@dataclass(frozen=True, slots=True)
class SetUp:
    """A published set-up: its figures, each with the head of its column, and its seeds."""

    figures: Mapping[str, str]
    seeds: int = 1
    rows: tuple[str, ...] = ()
    """As for ``--with``; empty: those of the scenario."""


STILL = {
    "downtime_max_s": "a partition still (s)",
    "member_idle_max_s": "a member idle (s)",
}
UNTIL_STABLE = {"rebalances": "rebalances", "time_to_stable_total_s": "until stable (s)"}

SET_UPS = {
    "published-partitions-added": SetUp(
        {"downtime_max_s": "until all are read (s)", "time_to_stable_max_s": "rebalance (s)"}, 3
    ),
    "published-leave-on-close": SetUp({**STILL, "time_to_stable_max_s": "rebalance (s)"}, 2),
    "b2-stop-without-leaving": SetUp(
        {**STILL, "reprocessed": "again"},
        2,
        ("killed: as-written", "closing: act[rolling_restart-1].grace=30s"),
    ),
    "published-eager-deploy": SetUp({**STILL, **UNTIL_STABLE}),
    "published-slowest-poll": SetUp({**STILL, **UNTIL_STABLE}),
    "published-expansion-latest": SetUp(
        {"lost": "lost", "downtime_max_s": "until all are read (s)"}, 2
    ),
}
"""By the name of the scenario."""

PLACE = re.compile(r"\{([a-z0-9-]+)(?:\|([^|}]+)\|([a-z_]+))?\}")
"""A link, the table of a set-up, or one figure: set-up, row, metric."""


def published_page() -> str:
    """Return the page as text, with its set-ups played."""
    return PLACE.sub(_filled, PAGE)


def _filled(place: re.Match[str]) -> str:
    name, row, metric = place.groups()
    if name in LINKS:
        return LINKS[name]
    if row is None:
        return "\n".join(_table(name))
    return _spread(next(column for column in columns_of(name) if column.name == row), metric)


@cache
def columns_of(name: str) -> Sequence[Column]:
    """Play a set-up; return the results of each of its rows."""
    set_up = SET_UPS[name]
    variants = load_variants(read_text(name), set_up.rows, allow_large=True)
    return columns_of_comparison(play_variants(variants, list(range(set_up.seeds)), 1))


def _table(name: str) -> list[str]:
    figures = SET_UPS[name].figures
    heads = ["", *figures.values()]
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * len(figures) + "|"]
    for column in columns_of(name):
        cells = [_spread(column, metric) for metric in figures]
        lines.append(f"| {' | '.join([column.name, *cells])} |")
    return lines


def _spread(column: Column, metric: str) -> str:
    """Return a mean, with the minimum and maximum if seeds differ."""
    values = [run[metric] for run in column.metrics]
    mean = figure(summarise(values).mean.value)
    least, most = figure(min(values)), figure(max(values))
    return mean if least == most else f"{mean} ({least} to {most})"
