"""The page of published numbers: the set-ups with enough detail, played, and why others differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from emulator.comparison import load_variants, play_variants
from emulator.loading import read_text
from emulator.metrics.distribution import summarise
from emulator.report.comparison.columns import Column
from emulator.report.wording import figure
from emulator.subjects import columns_of as columns_of_comparison

PAGE = """\
# Published figures and emulated figures

Printed by `python -m docs.pages`, which runs every set-up; change the scenarios or the
sentences in `docs/pages/published.py`, not this page. Each is a scenario of the catalogue with
a row for each `[[variant]]`: `rebalance compare NAME` shows more of it. Figures are means over the
given number of seeds, with minimum and maximum in brackets where seeds differ.

| set-up | published | emulated | why they differ |
|---|---|---|---|
| 900 partitions added, classic | 103 s | {published-partitions-added|classic, range|downtime_max_s} s | the age of the leader's metadata, 0 to 5 min |
| 900 partitions added, KIP-848 | 5 s | {published-partitions-added|consumer|downtime_max_s} s | no difference: up to one heartbeat interval of the brokers |
| closed without LeaveGroup | 45 to 48 s | {published-leave-on-close|no LeaveGroup|downtime_max_s} s | no difference: the session timeout |
| closed with LeaveGroup | 100 ms | {published-leave-on-close|LeaveGroup|downtime_max_s} s | members notice a rebalance at their next heartbeat, every 3 s |
| a pod killed, session of 10 s | 10 s | {b2-stop-without-leaving|killed|downtime_max_s} s | no difference |
| one eager restart of 40 | 3 s | {published-eager-deploy|eager|time_to_stable_max_s} s | only the wait for heartbeats; no batch delays the rebalance |
| slowest poll, 30 min | 30 min | {published-slowest-poll|eager|member_idle_max_s} s | part of the interval had passed before the rebalance |
| new partitions with latest | records lost | {published-expansion-latest|classic|lost} records | no number was published |

## 10 consumers, and 900 partitions added

Published by [Karafka]({karafka}): 103 s with the classic protocol, 5 s with KIP-848; the assignor,
the client and its settings are not given. `published-partitions-added`, 3 seeds:

{published-partitions-added}

- The 5 s are the longest wait that is possible. The coordinator finds new partitions at the next heartbeat of any member,
  and each member gets its assignment at its own next heartbeat: `group.consumer.heartbeat.interval.ms`, 5 s.
- The 103 s are one sample of a wide range. The leader of a classic group finds partitions when it
  refreshes its metadata, every `metadata.max.age.ms`, and triggers the rebalance only then, which
  takes one more heartbeat interval. With five minutes, any time up to 303 s is equally likely; with
  one minute the emulated ratio is eight. Karafka uses librdkafka; the emulator follows the
  Java consumer, in which only the leader checks for new partitions.
- The factor of twenty therefore compares a setting of clients with a setting of brokers. The
  duration of the rebalance itself has little effect on it.

## One process is replaced by another

Published for [Kafka Streams]({thriving}): 45 s (48 s in the run shown) of downtime while a pod is
replaced, 100 ms once `internal.leave.group.on.close` is set. `published-leave-on-close`, 2 seeds;
static members represent a `close()` that does not leave:

{published-leave-on-close}

- Without LeaveGroup the figures agree: `session.timeout.ms`, 45 s, from the last heartbeat on.
- With LeaveGroup the emulated time is thirty times the published one. A member that leaves triggers
  a rebalance at once, but the others notice it in the response to their next heartbeat, every 3 s.
  Heartbeats every 100 ms reproduce the published figure. It therefore fits an application with such
  a heartbeat interval, or a measurement that starts when the others have noticed the rebalance.
- Under the consumer protocol brokers set the heartbeat interval, by default 5 s, and a partition
  waits for the next heartbeat of its new owner.

## Pods that are killed

Published for [Dapr]({dapr}): about 10 s of downtime for each pod that exits, with a session
of 10 s and no LeaveGroup. `b2-stop-without-leaving`, 2 seeds:

{b2-stop-without-leaving}

## A deploy of forty under an eager assignor

[Published]({notes}): 40 instances on 200 partitions, about 3 s for each rebalance, "roughly two
minutes" for 40 restarts; a pod needs 35 s to restart, and static members with a session of 60 s
reduce it to zero. `published-eager-deploy` runs the first two restarts of the forty, 1 seed:

{published-eager-deploy}

- The two minutes are 40 times 3 s, one rebalance for each restart. The emulator counts the same:
  the next pod leaves at the moment at which the previous one joins, so 40 restarts are 41
  rebalances. With a gap between pods there would be 80.
- Each rebalance lasts until the last member has sent its heartbeat: 3 s at most. All members send
  their heartbeats at the same moment after a rebalance, so the duration is 3 s minus the remainder
  of 35 s divided by 3 s; another restart time of the pod gives another value between 0 and 3 s. If
  each rebalance takes the whole 3 s, a member was also in the middle of a batch.
- A static deploy has no rebalance; instead, each partition of the pod has a downtime of 35 s.
- Under the consumer protocol only partitions that move have downtime: each for longer, but less in
  total than with 40 members that all wait.

## The slowest poll

[Published]({rest}): a consumer behind a REST proxy without clients does not poll, and a
rebalance lasts as long as its `max.poll.interval.ms`, 30 minutes. `published-slowest-poll`, 1 seed:

{published-slowest-poll}

- Under an eager assignor all members wait until the interval of the member that does not poll
  expires. Its last poll was half a minute before the rebalance began.
- The members of a cooperative group keep their partitions: only the new member waits.
- With the consumer protocol only the new owner of the partitions of the member that does not poll
  waits, for the same interval. Healthy members revoke theirs at once.

## New partitions with `auto.offset.reset=latest`

[Reported]({pull}): records written to a new partition before the group finds it are lost with
`latest`; no figure. `published-expansion-latest`, 3 partitions with a record per second, 2 seeds:

{published-expansion-latest}

- The loss is the rate times the time until the partition is found and assigned (see the first
  set-up). The consumer protocol makes it small, but not zero; `earliest` makes it zero.
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


DOWNTIME = {
    "downtime_max_s": "downtime of a partition (s)",
    "member_idle_max_s": "idle time of a member (s)",
}
UNTIL_STABLE = {"rebalances": "rebalances", "time_to_stable_total_s": "until stable (s)"}

SET_UPS = {
    "published-partitions-added": SetUp(
        {"downtime_max_s": "until all are read (s)", "time_to_stable_max_s": "rebalance (s)"}, 3
    ),
    "published-leave-on-close": SetUp({**DOWNTIME, "time_to_stable_max_s": "rebalance (s)"}, 2),
    "b2-stop-without-leaving": SetUp(
        {**DOWNTIME, "reprocessed": "reprocessed"},
        2,
        ("killed: as-written", "closing: act[rolling_restart-1].grace=30s"),
    ),
    "published-eager-deploy": SetUp({**DOWNTIME, **UNTIL_STABLE}),
    "published-slowest-poll": SetUp({**DOWNTIME, **UNTIL_STABLE}),
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
