"""Changes of a group's members as such: who belongs to it, and which assignors they have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from emulator.advice.drafts import STRATEGY, Draft, Make, consumer
from emulator.advice.situation import Situation
from emulator.advice.store_changes import STORE_CHANGES
from emulator.report.wording import duration, joined
from emulator.scenario.deploys import deployed, renaming_acts, started_by
from emulator.scenario.model import Group, RollingRestart
from emulator.scenario.resolution import INSTANCE_ID, client_of, consumer_settings
from emulator.scenario.tables.cluster import TODAY
from emulator.scenario.tables.groups import CLOSE_TIMEOUT_US
from emulator.scenario.units import format_duration
from protocols.consumer.clients import profile_of

SESSION: Final = "session.timeout.ms"


def own_group_id(situation: Situation) -> Draft | None:
    """Another group id for consumers that call assign(): then they are not part of this group.

    A scenario cannot move a member, so the change plays the group without them.
    """
    group, names = situation.group, situation.facts.by_hand
    if not names or len(names) == len(group.members):
        return None
    beside = [name for name in names if _starts_by_itself(situation, name)]
    if not beside:
        return None
    return Draft(
        f"{', '.join(names)} reads partitions of the members of {group.id}, with its group.id.",
        (f"a group.id of its own for {', '.join(names)} (played: the group without it)",),
        tuple(f'group[{group.id}].member[{name}].start="by act"' for name in beside),
    )


def commits_of_a_reader(situation: Situation) -> Draft | None:
    """A group id, and commits, for consumers that have neither; they keep assign()."""
    group = situation.group
    if situation.facts.has_id:
        return None
    return Draft(
        f"{group.id} commits nothing: each start begins where auto.offset.reset says.",
        ("a group.id, and commits",),
        (f"group[{group.id}].offsets=kafka",),
    )


def _starts_by_itself(situation: Situation, name: str) -> bool:
    return any(m.name == name and m.start != "by act" for m in situation.group.members)


def own_instance_ids(situation: Situation) -> Draft | None:
    """An instance id of its own for each process: its name."""
    group = situation.group
    ids = [(m.name, consumer_settings(group, m).group_instance_id) for m in group.members]
    first = {instance: name for name, instance in reversed(ids)}
    others = [(name, each) for name, each in ids if each and first[each] != name]
    if not others:
        return None
    names = [name for name, _ in others]
    return Draft(
        f"{others[0][0]} has the group.instance.id of {first[others[0][1]]}.",
        (f"group.instance.id: another one for {', '.join(names)}",),
        tuple(f"group[{group.id}].member[{n}].settings[{INSTANCE_ID}]={n}" for n in names),
    )


def assignor_in_two_steps(situation: Situation) -> Draft | None:
    """The old assignor stays in the list of the first restart; a second restart removes it."""
    wrong = list(_without_common_assignor(situation))
    if not wrong:
        return None
    name, old, new = wrong[0]
    why = f"{name} restarts members with {', '.join(new)}, and the others have {', '.join(old)}."
    both = ",".join((*old, *new))
    settings = (f"{STRATEGY}={both} in {name}; the next restart removes {', '.join(old)}",)
    return Draft(why, settings, tuple(_with_both(*each) for each in wrong))


def _with_both(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    names = ", ".join(f'"{each}"' for each in (*old, *new))
    return f"act[{name}].settings[{STRATEGY}]=[{names}]"


def _without_common_assignor(
    situation: Situation,
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield each restart of the group whose members have no assignor in common with the others.

    With the list of the others, and the new one; a restart after it meets both.
    """
    group = situation.group
    old = consumer_settings(group, group.members[0]).partition_assignment_strategy
    for act in situation.restarts:
        started = started_by(act, situation.scenario)
        if STRATEGY not in (act.settings or {}) or not started:
            continue
        new = consumer_settings(*deployed(*started[0], act)).partition_assignment_strategy
        if set(old).isdisjoint(new):
            yield act.id, old, new
            new = (*old, *new)
        old = new


EAGER: Final = ("sticky", "roundrobin", "range")
"""The eager assignors, those first that move fewest partitions and balance over all topics."""


def eager_assignor(group: Group) -> str:
    """Return an eager assignor that the clients of all members have: range and roundrobin are in each."""
    known = [profile_of(client_of(group, member)).assignors.values() for member in group.members]
    return next(each for each in EAGER if all(each in names for names in known))


def common_assignor(situation: Situation) -> Draft | None:
    """One assignor for all members, which each of their clients has."""
    group = situation.group
    lists = {
        member.name: consumer_settings(group, member).partition_assignment_strategy
        for member in group.members
    }
    if situation.facts.by_coordinator or set.intersection(*map(set, lists.values())):
        return None
    named = {", ".join(names): member for member, names in reversed(lists.items())}
    have = joined([f"{member} has {names}" for names, member in reversed(named.items())])
    why = f"No assignor is common to all members: {have}."
    return consumer(situation, STRATEGY, eager_assignor(group), why)


def readiness_of_the_process(situation: Situation) -> Draft | None:
    """A readiness probe that asks whether the process runs, not whether it has a partition."""
    acts = [act.id for act in situation.restarts if act.readiness == "assigned"]
    if not acts:
        return None
    return Draft(
        "The probe waits for a partition, and the group has none left for one more member.",
        ("readiness probe: is the process alive",),
        tuple(f"act[{name}].readiness=started" for name in acts),
    )


def stable_instance_ids(situation: Situation) -> Draft | None:
    """Names, and instance ids, that members keep over a deploy."""
    acts = renaming_acts(situation.group.id, situation.scenario)
    if not acts or not situation.facts.new_ids:
        return None
    surges = [act for act in acts if isinstance(act, RollingRestart) and act.surge]
    beside = [f"act[{act.id}].surge=false" for act in surges]
    return Draft(
        f"Each new id leaves the old one behind for {duration(situation.seconds(SESSION))}.",
        ("group.instance.id: by ordinal (StatefulSet)",),
        (*(f"act[{act.id}].names=ordinal" for act in acts), *beside),
    )


def wait_in_close(situation: Situation) -> Draft | None:
    """The default timeout of close()."""
    group = situation.group
    if group.close_timeout >= CLOSE_TIMEOUT_US:
        return None
    return Draft(
        f"close() gives up after {format_duration(group.close_timeout)}, and its commit with it.",
        ("close() without a timeout of its own",),
        (f"group[{group.id}].close_timeout={format_duration(CLOSE_TIMEOUT_US)}",),
    )


def look_up_again(situation: Situation) -> Draft | None:
    """A client that looks the coordinator up again."""
    group = situation.group
    names = [each.name for each in group.members if each.coordinator_lookup == "once"]
    if not names:
        return None
    return Draft(
        "Its commits go to a broker that is not the coordinator any more.",
        ("librdkafka: a newer version",),
        tuple(f"group[{group.id}].member[{name}].coordinator_lookup=again" for name in names),
    )


def as_the_client_does(situation: Situation) -> Draft | None:
    """A client, or a version of it, that does not deviate."""
    group = situation.group
    members = [each for each in group.members if each.deviates is not None]
    paths = [f"group[{group.id}]"] if group.deviates is not None else []
    paths += [f"group[{group.id}].member[{member.name}]" for member in members]
    keys = ", ".join(situation.facts.deviations)
    return Draft(
        f"Its members deviate from their client in {keys}.",
        ("a client without this error",),
        tuple(f"{path}.deviates={{}}" for path in paths),
    )


OUTDATED: Final[Mapping[str, tuple[str, str]]] = {
    "static_rejoin": ("2.7", "A loaded group has the old member ids."),
    "pending_syncs": ("3.0", "The coordinator waits without end for a SyncGroup."),
    "new_members": ("2.2", "New members that have died stay in the group."),
}
"""For each key that makes coordinators older: the version of Kafka that ends it, and what it does."""


def newer_brokers(situation: Situation) -> Draft | None:
    """Brokers of a version of Kafka in which this is corrected."""
    keys = situation.scenario.cluster.outdated
    if not keys:
        return None
    newest = max(OUTDATED[key][0] for key in keys)
    return Draft(
        " ".join(OUTDATED[key][1] for key in keys),
        (f"brokers: Kafka {newest} or newer",),
        tuple(f"cluster.{key}={TODAY[key]}" for key in keys),
    )


REQUEST_MS: Final = 30_000
"""The default of ``request.timeout.ms`` since Kafka 2.0; JoinGroup has a timeout of its own (KIP-266)."""


def shorter_request_timeout(situation: Situation) -> Draft | None:
    """A client that gives up a lost SyncGroup sooner, and joins again."""
    name = "request.timeout.ms"
    if "pending_syncs" not in situation.scenario.cluster.outdated:
        return None
    if situation.value(name) <= REQUEST_MS:
        return None
    given_up = duration(situation.seconds(name))
    return consumer(situation, name, REQUEST_MS, f"A lost SyncGroup is given up after {given_up}.")


GROUP_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "assignor-in-two-steps": (
        ("assignor-in-two-steps", assignor_in_two_steps),
        ("common-assignor", common_assignor),
    ),
    "as-the-client-does": (("as-the-client-does", as_the_client_does),),
    "newer-brokers": (
        ("newer-brokers", newer_brokers),
        ("shorter-request-timeout", shorter_request_timeout),
    ),
    "look-up-coordinator": (("look-up-coordinator", look_up_again),),
    "wait-in-close": (("wait-in-close", wait_in_close),),
    "own-instance-id": (("own-instance-id", own_instance_ids),),
    "own-group-id": (
        ("own-group-id", own_group_id),
        ("group-id-and-commits", commits_of_a_reader),
    ),
    "readiness-of-the-process": (("readiness-of-the-process", readiness_of_the_process),),
    "stable-instance-ids": (("stable-instance-ids", stable_instance_ids),),
    **STORE_CHANGES,
}
"""For each hint its changes."""
