"""The page of coordinator failures: the catalogue's scenarios, played, and their results."""

from __future__ import annotations

import re

from emulator.comparison import load_variants, play_variants
from emulator.loading import read_text
from emulator.report.comparison.table import rows_table
from emulator.subjects import columns_of

_PAGE = """\
# When a coordinator fails

Printed by `python -m docs.pages`, which runs every table; change the scenarios or the
sentences in `docs/pages/coordinator_failures.py`, not this page. Each table is that of
`rebalance compare NAME` without options: a row for each `[[variant]]` of the scenario. *Reprocessed*
counts records processed more than once, *avoided* records that were not reprocessed because a commit
took effect that its member considered failed, *dropped out* consumers that had to rejoin, *removed*
members that a coordinator removed, *refused* the rejected commits. *Downtime* is the longest time in which
one partition had no active owner, *unreadable* the longest time in which brokers had no new records
for its owner, *no commits* the longest time in which no coordinator could accept commits; *peak
lag* is the maximum of unprocessed records. Columns with the same value in every row are omitted,
and so are columns that do not fit; `--json` has all.

A commit is *appended* when the coordinator has it in its own log, and *acknowledged* when all
in-sync replicas have it, that is, when the high watermark has passed it. `rebalance explain` prints
both for every commit, with log offset, high watermark, leader epoch and broker.

## Killed at a step of a join, a sync or a commit

`coordinator-dies-at-a-step`: a third member joins, the coordinator's broker is killed, and all
other processes continue.

{coordinator-dies-at-a-step}

- No record is reprocessed and no member is evicted at any step: the members commit their work when
  there is a coordinator again, and the new coordinator restarts every session.
- The next coordinator restores the group from the last record of the group in its log. If the leader's
  assignment was not replicated yet, that record shows the group before the rebalance: the new member is
  unknown and joins again, so the rebalance begins again. If it was replicated, the record shows the new
  generation; followers that got no response may cause one more rebalance.
- The step decides which members own partitions in the meantime. Until the join phase ends, the old
  owners keep their partitions. From then on no member owns any until positions have been fetched. This
  takes the nine seconds of `broker.session.timeout.ms` and the time of the new join.
- Peak lag is at least the production of nine seconds in every row. While the dead broker counts as in
  sync, the high watermark of each partition with a replica on it does not advance; this includes the
  offsets topic. No new record is read for nine seconds. Commits are accepted a little later, when the log
  is loaded (`unreadable_max_s`, `commits_unavailable_max_s`).

## Killed in a commit, with the member that sent it

`coordinator-dies-in-commit`: a rack with the coordinator and a member fails.

{coordinator-dies-in-commit}

A commit survives once the next leader has it, half the replication time after it was appended. Before
that, it is lost with the log of the dead broker (*commit accepted but not replicated*); after that, it
takes effect although no member got a response.

## Two coordinators at once

`h6-stale-coordinator`: the coordinator's broker loses its connection to the controller and is
replaced, while members can still reach it and continue to use it.

{h6-stale-coordinator}

The old coordinator answers heartbeats, and parks commits until they time out: its high watermark
does not advance, since its followers follow the new leader. The new coordinator waits one session
timeout for the loaded members. A member that finds it in time remains a member and commits its work;
any other member loses its partitions, and its work since the last commit before the election.

`coordinator-goes-on-alone`: the same after the coordinator has lost its only follower. Then it is the
only replica in sync, so it acknowledges commits alone, and an unclean election discards them.

{coordinator-goes-on-alone}

Eligible leader replicas (KIP-966, enabled in new clusters since Kafka 4.1) are not modelled. With
them and `min.insync.replicas=2`, nothing is acknowledged without broker 2, which would therefore be
elected cleanly, whatever the value of `unclean.leader.election.enable`.

`unclean-election-drops-commits`: the coordinator keeps its connection to the controller, but crashes
together with a member after it has been the only replica in sync. Before it is alone, no commit is
acknowledged: its follower counts as in sync until it has lagged for `replica.lag.time.max.ms`.

{unclean-election-drops-commits}

## A rolling restart of the brokers

`h7-rolling-broker-restart`: every broker is restarted, one after the other.

{h7-rolling-broker-restart}

Commits fail while a coordinator moves and are retried. In a controlled shutdown (*in order*), leaders
move before their broker stops; after a kill, all wait for its session to expire. Nothing is
reprocessed as long as no member crashes or restarts at the same time.

## A load that takes too long

`slow-load-after-a-year`: the coordinator moves to a broker that has 3 GB to read, and a member
crashes meanwhile.

{slow-load-after-a-year}

A load evicts no member, even if it takes longer than `session.timeout.ms`: heartbeats are answered
during the load, and sessions restart after it. But every commit and every join is rejected. Records
processed in this time are committed only after the load; if a member crashes or restarts before
that, all of them are reprocessed: *coordinator still loading*, with the duration of the load.

## A commit that timed out, but takes effect

`coordinator-commit-times-out`: a follower stops for eight seconds; after `offsets.commit.timeout.ms`
members get `COORDINATOR_NOT_AVAILABLE`, and one of them crashes. Its commit is in the log anyway
and takes effect as soon as the follower is back. The avoided duplicates are not in the ledger but
in the metric `duplicates_avoided`.
"""


def coordinator_failures_page() -> str:
    """Return the page as text, with its tables played."""
    return re.sub(r"^\{([a-z0-9-]+)\}$", lambda match: _table(match[1]), _PAGE, flags=re.MULTILINE)


def _table(name: str) -> str:
    """Return the table of a comparison of the catalogue."""
    variants = load_variants(read_text(name))
    seed = next(iter(variants.values())).scenario.seed
    return "\n".join(rows_table(columns_of(play_variants(variants, [seed], 1))))
