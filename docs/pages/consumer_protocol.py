"""The page of the consumer protocol: each relevant difference, played under both protocols."""

from __future__ import annotations

import re

from emulator.comparison import load_variants, play_variants
from emulator.loading import read_text
from emulator.report.comparison.table import rows_table
from emulator.subjects import columns_of

_PAGE = """\
# What changes with group.protocol=consumer

Printed by `python -m docs.pages`, which runs every table; change the scenarios or the
sentences in `docs/pages/consumer_protocol.py`, not this page. Each table is that of
`rebalance compare NAME`, with seed 0 unless a table gives more seeds. *Reprocessed* counts records
processed more than once, *lost* records that were committed or skipped but never processed,
*dropped out* consumers that lost their membership, *removed* members that the coordinator removed;
*downtime* is the longest time in which one partition had no active owner, *peak lag* the maximum of
unprocessed records. The start-up of a group is not included.

The Java consumer of this protocol (KIP-848) has two threads. The *background thread* owns the network
and the membership; the *application thread* is in `poll()`, in the handler or in the listener. The
differences below result from these two threads, or from the coordinator.

## Commits

**An automatic commit may be ahead of the work.** The background thread reads positions while `poll()`
moves them. If records are buffered when a commit is due, the commit covers the batch that `poll()` is
about to return; a crash then loses records that the classic consumer would reprocess. Explicit
commits prevent this.

{kip848-commit-ahead}

**The consumer stops reading a partition before it commits and revokes it.** A cooperative member
commits when a rebalance begins and processes records until the revocation: those are reprocessed.
The consumer of the new protocol first stops reading the partitions, then commits, then revokes.

{kip848-commit-before-revocation}

**The coordinator checks a commit per partition.** Between join and sync a classic coordinator refuses all
commits of the group. With epochs a commit counts if the member had the partition at its epoch, so
commits in the middle of a rebalance are accepted.

{kip848-commit-in-rebalance}

**close() commits the same offsets.** Both consumers commit all records that `poll()` returned,
processed or not.

{kip848-close-in-mid-batch}

## Leaving, and listeners

**The group waits for a member that closes without leaving.** `CloseOptions` (KIP-1092) define whether
close() leaves the group; here `DEFAULT`, and for *remain* `REMAIN_IN_GROUP`. A dynamic member that
remains blocks its group until its session expires: in a classic group all partitions wait as soon
as another member joins, in a group of the consumer protocol only those of the member. For a static
member, remaining is the default; `LEAVE_GROUP` overrides it.

{kip848-close-options}

**A revocation that throws is not complete.** Under both protocols poll() throws the exception of the
listener. The classic consumer revokes the partitions anyway and continues. The new consumer retries
with every `poll()`, does not read the partitions meanwhile, and is removed from the group after
`max.poll.interval.ms`.

{kip848-revoke-listener-throws}

**An assignment that throws is owned and not read**, under both protocols, for as long as
`onPartitionsAssigned` throws; the coordinator sees a stable group. If the process exits because of
the exception, its partitions wait until its session expires.

{kip848-assign-listener-throws}

**Without a listener a removed member does not wait for its application** (`has_listener = false`). Its background thread
drops the partitions and joins again as soon as it hears of the removal, while the application still works on what it has;
with a listener, both wait for the poll in which `onPartitionsLost` is called (`ConsumerMembershipManager`). Partitions are
taken and revoked in poll either way.

## Polls

**Two batches may count as one.** A `poll()` that finds further buffered fetches sends the
background thread no event, and the timer of `max.poll.interval.ms` continues. With a backlog, set it
to at least twice the longest batch.

{kip848-poll-without-event}

**A revocation takes several polls.** The beginning of a reconciliation, the call of `onPartitionsRevoked`
and that of `onPartitionsAssigned` each wait for a `poll()`, and with buffered records there is a
batch between any two. The coordinator waits for `max.poll.interval.ms` in total, and then removes
the member. Set it to at least four times the longest batch.

{kip848-slow-handover}

**A poll that comes too late** ends the membership under both protocols; records processed since the last
commit are reprocessed, by the next owner or, with a `group.instance.id`, by the member itself.

{kip848-poll-timer}

## Sessions and ids

**The brokers set the session timeout**, for all groups without a group config:
`group.consumer.session.timeout.ms`, 45 s, instead of a consumer's `session.timeout.ms`. A group that
had 10 s no longer loses members that pause, but waits longer for members that crashed.

{kip848-session-by-broker}

**A zombie notices its eviction sooner.** A process that continues after its session has expired sends
the overdue heartbeat first, and usually gets the response before the current batch is done. The
classic consumer processes one more batch, of the records written meanwhile.

{kip848-zombie}

**A static member cannot rejoin before its old session expires**, unless it was closed. The new process
gets UNRELEASED_INSTANCE_ID and exits; a classic coordinator gives it the partitions of the old one.
The platform must restart the process until the session expires.

{kip848-static-crash}

The same happens to a static member that retries its join because the response was lost.

{kip848-join-answer-lost}

## Topics

**subscribe() on a running consumer** causes a rebalance for each member that calls it, and a second
one in a cooperative group. A member of the consumer protocol sends the change with its next
heartbeat.

{kip848-topics-change}

**The broker can match the pattern.** It knows a new topic at once and matches at most every 10 s; a
consumer that matches patterns itself waits for its next metadata refresh (here one minute, by
default five). With `latest`, the records written in this time are lost.

{kip848-pattern-by-broker}
"""


SEEDS = {"kip848-commit-ahead": 6, "kip848-close-in-mid-batch": 6}
"""How many seeds where one says little: what is lost hangs on the moment within a batch."""


def consumer_protocol_page() -> str:
    """Return the page as text, with its tables played."""
    return re.sub(r"^\{([a-z0-9-]+)\}$", lambda match: _table(match[1]), _PAGE, flags=re.MULTILINE)


def _table(name: str) -> str:
    """Return the table of a comparison of the catalogue."""
    seeds = SEEDS.get(name, 1)
    variants = load_variants(read_text(name))
    columns = columns_of(play_variants(variants, range(seeds), 1))
    return "\n".join(rows_table(columns) + ([f"\nMeans of {seeds} seeds."] if seeds > 1 else []))
