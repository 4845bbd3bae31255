"""The page of coordinator failures: the catalogue's scenarios, played, and their results."""

from __future__ import annotations

import re

from emulator.comparison import load_variants, play_variants
from emulator.loading import read_text
from emulator.report.comparison import rows_table
from emulator.subjects import columns_of

_PAGE = """\
# When a coordinator fails

Printed by `python -m docs.pages`, which runs every table; change the scenarios or the
sentences in `docs/pages/coordinator_failures.py`, not this page. Each table is that of
`rebalance compare NAME` without options: a row for each `[[variant]]` of the scenario. *Reprocessed*
counts records processed more than once, *avoided* records that were not, because a commit counted
that its member considered failed, *dropped out* consumers that had to rejoin, *removed* members
that a coordinator removed, *refused* the refused commits. *Downtime* is the longest time in which
one partition had no active owner, *unreadable* the longest time in which brokers had no new records
for its owner, *no commits* the longest time in which no coordinator could accept commits; *peak
lag* is the maximum of unprocessed records. Columns with the same value in every row are left out,
and so are columns that do not fit; `--json` has all.

A commit is *appended* when the coordinator has it in its own log, and *acknowledged* when all
replicas in sync have it, that is, when the high watermark has passed it. `rebalance explain` prints
both for every commit, with log offset, high watermark, leader epoch and broker.

## Killed at a step of a join, a sync or a commit

`coordinator-dies-at-a-step`: a third member joins, the coordinator's broker is killed, and all
other processes continue.

{coordinator-dies-at-a-step}

- No record is reprocessed and no member is evicted at any step: the members commit their work when
  there is a coordinator again, and the new coordinator restarts every session.
- The next coordinator knows the last record of the group that it has in its log. Up to the moment
  at which the leader's assignment is replicated, that is the group before the rebalance: the
  newcomer is unknown, drops out and joins anew, and with it the rebalance begins anew. From then
  on it is the new generation, though followers that were not answered may start one rebalance more.
- The step decides which members own partitions meanwhile. Before the join phase has ended the old
  owners keep their partitions; from its end until positions have been fetched no member owns any,
  for the nine seconds of `broker.session.timeout.ms` and the time of the new join.
- Peak lag is nine seconds' worth at least, in every row: while the dead broker is in sync, no high
  watermark moves, of the offsets or of any topic that it has a copy of. Nothing new is read for
  nine seconds and nothing committed for a little longer, until the log is loaded
  (`unreadable_max_s`, `commits_unavailable_max_s`): the rows do not differ in that.

## Killed in a commit, with the member that sent it

`coordinator-dies-in-commit`: a rack with the coordinator and a member fails.

{coordinator-dies-in-commit}

A commit counts from when the next leader has it, half a replication after it was appended: before,
it is lost with the log of the dead broker (*commit accepted but not replicated*); after, it counts
although no member got a response.

## Two coordinators at once

`h6-stale-coordinator`: the coordinator's broker loses touch with the controller and is replaced,
while members, who reach it as before, go on with it.

{h6-stale-coordinator}

The old coordinator answers heartbeats, and parks commits until they time out: its high watermark
does not move, since its followers follow another. The new coordinator waits one session for the
members it has loaded. A member that finds it in time stays a member and commits its work; any other
member loses its partitions, and its work since the last commit before the election.

`coordinator-goes-on-alone`: the same after the coordinator had lost its only follower. It is then
all that is in sync, it considers its commits safe and acknowledges them, and an
unclean election throws them away.

{coordinator-goes-on-alone}

Eligible leader replicas (KIP-966, on in new clusters since Kafka 4.1) are not modelled: with
`min.insync.replicas=2` nothing was acknowledged without broker 2, which would therefore be elected
cleanly, whatever `unclean.leader.election.enable` says.

`unclean-election-drops-commits`: the controller knows the coordinator all the time, but it dies
after it had been alone in sync, and a member with it. Before it is alone nothing is committed: its
follower counts as in sync until it has lagged for `replica.lag.time.max.ms`.

{unclean-election-drops-commits}

## A rolling restart of the brokers

`h7-rolling-broker-restart`: every broker is restarted, one after the other.

{h7-rolling-broker-restart}

Commits fail while a coordinator moves and are sent again. In order, leaders move before their
broker stops; killed, all wait for its session. Nothing is reprocessed as long as no member
dies or restarts in the same moments.

## A load that takes too long

`slow-load-after-a-year`: the coordinator moves to a broker that has 4 GB to read, and a member
crashes meanwhile.

{slow-load-after-a-year}

A load evicts no member, however much longer than `session.timeout.ms` it takes: heartbeats are
answered during it, and sessions begin anew after it. It refuses every commit and every join,
however. Records processed meanwhile are committed only after it; if a member crashes or restarts
before that, all of them are reprocessed: *coordinator still loading*, with the time that the
load took.

## A commit that timed out, and counts

`coordinator-commit-times-out`: a follower stops for eight seconds; after `offsets.commit.timeout.ms`
members get `COORDINATOR_NOT_AVAILABLE`, and one of them crashes. Its commit is in the log anyway
and counts as soon as the follower is back. The duplicates it avoids are not in the ledger but in
the metric `duplicates_avoided`.
"""


def coordinator_failures_page() -> str:
    """Return the page as text, with its tables played."""
    return re.sub(r"^\{([a-z0-9-]+)\}$", lambda match: _table(match[1]), _PAGE, flags=re.MULTILINE)


def _table(name: str) -> str:
    """Return the table of a comparison of the catalogue."""
    variants = load_variants(read_text(name))
    seed = next(iter(variants.values())).scenario.seed
    return "\n".join(rows_table(columns_of(play_variants(variants, [seed], 1))))
