"""The page of clients, printed from their profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from emulator.scenario.kafka_settings import OTHER_CLIENTS, RESET_POLICIES
from emulator.scenario.resolution import settings_in_force
from protocols.consumer.clients import CLIENTS, Amount, ClientProfile, profile_of
from protocols.settings import ClientSettings, ConsumerSettings

_OPENING = """\
# Clients

Printed from `protocols/consumer/clients/` by `python -m docs.pages`; change the profiles, not this
page.

`client = "aiokafka"` in a group or a member says which library its consumers are; the default is the
Java consumer. The library decides what a crash costs: when a position is stored, what an automatic
commit covers and who sends it, where a rebalance runs, and what one call hands out. `read_with` names
that call, `read_records` how many records it asks for. Members of one group may have different
clients.

```toml
[[group]]
id = "billing"
topics = ["orders"]
members = 3
client = "librdkafka"
commit = "store"                      # store_offsets() after the work, automatic commits
settings = { "session.timeout.ms" = 6000 }
```

Settings have the client's own names (`session_timeout_ms`, `SessionTimeout`) or Kafka's, and its own values
(`auto.offset.reset=smallest`), also in a file that `settings_from` names. A setting or feature that the
client lacks is refused with the reason. Of clients that work in the background, and of kafka-python, quiet stretches are
skipped in whole periods ([folded and exact runs](../explanation/modes.md)), and the rest is played event by event:
it takes longer than Java's.

Single versions of a client, and clients that have no profile here, do some things differently. `deviates` of a group
or a member names them: `deviates.heartbeats_wait_for = ["work"]`, and the other keys of
[that table](scenario-files.md#deviations). A deviation that the client, its protocol or its store cannot have is refused.
`--advise` plays the run without it.

*Version* is the release whose source was read: another one may differ. franz-go 1.19.5, for example, accepts a
heartbeat interval above the session timeout; 1.21.4 and later refuse it.

## Policies
"""

_COSTS = """
## What a crash costs

With automatic commits every `I`, `rate` records a second and `n` records handed out by one call. Tests
play each row.

| client | read with | repeated | lost |
| --- | --- | --- | --- |
| java, kafka-python | any | what was processed since the last poll that committed: up to `rate * I` and a batch | 0 |
| librdkafka | `poll` | what was processed since the last tick: up to `rate * I` | the record in hand, if a tick came while it was in hand |
| librdkafka | `consume` | the same | the rest of the `n` records in hand |
| librdkafka | any, `commit = "store"` | the same | 0 |
| aiokafka | `getone` | up to `rate * I` | the record in hand |
| aiokafka | `getmany` | up to `rate * I` | the rest of the batch in hand, which has no limit by default |
| franz-go | any | up to `rate * I` and the batch in hand | 0; with `GreedyAutoCommit` the rest of the batch in hand |

`OnPartitionsRevoked = true` in the settings of franz-go is a callback of the application. It takes the place of the commit
that franz-go makes by default before it gives partitions away and when it leaves the group: without a commit in the callback
(`on_revoke` of [`commit`](scenario-files.md#commitpolicy)) each rebalance and each restart repeats what a crash would.
"""


def _reads(profile: ClientProfile) -> str:
    words = {Amount.SETTING: "`max.poll.records`"}
    return ", ".join(
        f"`{call}` ({words.get(amount, amount.value)})" for call, amount in profile.reads.items()
    )


def _notices(profile: ClientProfile) -> str:
    if profile.wakes_for_group:
        return "at once"
    return "after the next fetch response, whose records it returns first"


def _late_joins(profile: ClientProfile) -> str:
    if profile.in_background:
        return "applied at once"
    if profile.takes_late_joins:
        return "applied by the next poll"
    return "dropped: the next poll joins again, and if it leads, the group rebalances again"


def _returns_while_joining(profile: ClientProfile) -> str:
    return "of kept partitions" if profile.records_while_joining else "no"


def _continues(profile: ClientProfile) -> str:
    policy = "`auto.offset.reset`"
    return (
        f"the time of the last record read; without one, {policy}"
        if profile.resets_to_last_read
        else policy
    )


def _first_heartbeat(profile: ClientProfile) -> str:
    first = profile.first_heartbeat.value
    if profile.first_heartbeat_ms is None:
        return first
    return f"{first}; cooperative: {profile.first_heartbeat_ms} ms"


def _looks_at_polls(profile: ClientProfile) -> str:
    return profile.polls_check.value if profile.limits_poll_interval else "never"


def _kept(profile: ClientProfile) -> list[str]:
    return sorted(error.name for error in profile.keeps_id_after)


def _calls_without_partitions(profile: ClientProfile) -> str:
    eager = "all" if profile.calls_at_first_join else "all but the first"
    return eager if profile.calls_unchanged else f"{eager} (eager)"


def _looks_again(profile: ClientProfile) -> str:
    every_ms = profile.lookup_interval_ms
    return "a back-off that grows" if every_ms is None else f"{every_ms} ms"


_ROWS: tuple[tuple[str, Callable[[ClientProfile], str]], ...] = (
    ("known as", lambda p: p.packages),
    ("version", lambda p: p.follows),
    ("group protocols", lambda p: _listed(p.protocols)),
    ("joins, heartbeats, fetches, automatic commits", lambda p: p.works.value),
    ("rebalance callbacks", lambda p: p.listener.value),
    ("automatic commits cover", lambda p: p.covers.value),
    ("the interval of automatic commits counts from", lambda p: p.commit_clock.value),
    ("a cooperative rebalance commits", lambda p: p.revoke_commit.value),
    ("joins if it hears of a rebalance while poll waits", _notices),
    ("a join that ends when no poll waits for it is", _late_joins),
    ("poll returns records while the member joins", _returns_while_joining),
    (
        "failed automatic commits that it repeats after the back-off",
        lambda p: p.repeats_commits.value,
    ),
    ("a commit of the application in a rebalance", lambda p: p.in_rebalance.value),
    ("a commit waits for the response to the one before", lambda p: _yes(on=p.commits_in_turn)),
    ("a commit may name partitions that are not assigned", lambda p: _yes(on=p.commits_unassigned)),
    ("commits carry leader epochs", lambda p: _yes(on=p.commits_epochs)),
    ("never commits a lower offset by itself", lambda p: _yes(on=p.only_forward)),
    (
        "`close()` waits for the fetches in flight (up to `fetch.max.wait.ms`)",
        lambda p: _yes(on=p.awaits_fetches_at_close),
    ),
    ("the broker asked for the coordinator", lambda p: p.asks.value),
    (
        "a lookup waits for the fetch in flight to the same broker",
        lambda p: _yes(on=not p.fetches_apart),
    ),
    (
        "a commit refused for its member or generation ends the membership",
        lambda p: _yes(on=p.commits_cost_membership),
    ),
    (
        "heartbeats and commits wait for the JoinGroup or SyncGroup before them",
        lambda p: _yes(on=not p.joins_apart),
    ),
    ("when its own session expires, the client", lambda p: p.session_end.value),
    ("first heartbeat of a generation", _first_heartbeat),
    (
        "a heartbeat that is due before the last one is answered",
        lambda p: p.unanswered_heartbeat.value,
    ),
    (
        "heartbeats wait for",
        lambda p: _listed(sorted(b.value for b in p.heartbeats_wait_for)) or "-",
    ),
    ("looks whether the application polls", _looks_at_polls),
    ("what delays the next JoinGroup", lambda p: p.next_join.value),
    ("joins once for each of its assignors", lambda p: _yes(on=p.joins_for_each_assignor)),
    ("looks for its coordinator again after", _looks_again),
    ("a removed member joins with its old id after", lambda p: _listed(_kept(p)) or "-"),
    ("heartbeats and commits name the static instance", lambda p: _yes(on=p.names_instance)),
    ("a heartbeat that is fenced ends the consumer", lambda p: _yes(on=p.throws_fenced)),
    ("joins of a member without partitions that call the listener", _calls_without_partitions),
    ("rebalance timeout", lambda p: f"`{_rebalance_timeout(p)}`"),
    (
        "refuses a heartbeat interval that is not below the session timeout",
        lambda p: _yes(on=bool(p.limits_heartbeat)),
    ),
    ("`auto.offset.reset`", lambda p: _listed(p.resets or RESET_POLICIES)),
    ("a position out of range continues at", _continues),
    (
        "knows leader epochs: validates positions, follows the leader that comes with an error (KIP-951)",
        lambda p: _yes(on=p.knows_epochs),
    ),
    (
        "sends no fetch behind the records that end the wait of a poll",
        lambda p: _yes(on=p.fetches_when_drained),
    ),
    ("before its leader assigns partitions,", lambda p: p.leader_metadata.value),
    (
        "each member joins again for new partitions of its topics",
        lambda p: _yes(on=p.every_member_watches),
    ),
    ("`read_with` (records)", _reads),
    ('`commit = "store"`', lambda p: f"`{p.stores}`" if p.stores else "-"),
    ("assignors", lambda p: _listed(p.assignors)),
)


def clients_page() -> str:
    """Return the page as text."""
    profiles = [profile_of(name) for name in CLIENTS]
    head = ["", *(f"`{profile.name}`" for profile in profiles)]
    lines = [_row(head), _row(["---"] * len(head))]
    lines += [_row([title, *map(value, profiles)]) for title, value in _ROWS]
    names = "\n".join(line for profile in profiles[1:] for line in _settings_of(profile))
    return "\n".join([_OPENING, *lines, _COSTS, "## Settings and defaults", names]) + "\n"


def _rebalance_timeout(profile: ClientProfile) -> str:
    own = "rebalance.timeout.ms"
    return own if own in profile.defaults else profile.rebalances_within


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _yes(*, on: bool) -> str:
    return "yes" if on else "no"


def _listed(names: object) -> str:
    return ", ".join(f"`{name}`" for name in names)  # type: ignore[attr-defined]  # an iterable


def _settings_of(profile: ClientProfile) -> Iterator[str]:
    """Yield a client's settings: its own names, and defaults that differ from Java's."""
    usual = settings_in_force(ConsumerSettings()) | _own_defaults()
    yield f"\n### {profile.name}\n"
    yield "| setting | Kafka's name | default | range, if narrower than the Java consumer's |"
    yield "| --- | --- | --- | --- |"
    spelled = {kafkas: own for own, kafkas in profile.names.items()}
    for name in sorted(usual):
        lacks = name in profile.lacks and name not in spelled
        if lacks or (name in OTHER_CLIENTS and name not in profile.own):
            continue
        changed = name in profile.defaults or name in profile.own or name in profile.ranges
        if changed or (name in spelled and spelled[name] != name):
            value = profile.defaults.get(name, usual[name])
            own = f"`{spelled.get(name, name)}`"
            yield _row([own, f"`{name}`", _default(value), _range(profile, name)])


def _range(profile: ClientProfile, name: str) -> str:
    least, most = profile.ranges.get(name, (None, None))
    return "" if least is None else f"{least} to {most}"


def _own_defaults() -> dict[str, object]:
    defaults = ClientSettings()
    named = {f.metadata["setting"].name: f.name for f in fields(ClientSettings)}
    return {name: getattr(defaults, field) for name, field in named.items()}


def _default(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
