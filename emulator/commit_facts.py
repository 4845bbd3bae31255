"""How members commit, as reports name it.

Read from a scenario for headings and hints (:mod:`emulator.subjects`).
"""

from __future__ import annotations

from emulator.report.subject import Commits
from emulator.scenario.model import CommitPolicy, Group, Member, OwnHandler
from emulator.scenario.resolution import (
    client_of,
    client_settings,
    commit_policy,
    consumer_settings,
)
from emulator.scenario.units import US_PER_MS, format_duration
from protocols.consumer.clients import Covers, profile_of


def commit_kinds(group: Group, member: Member) -> frozenset[Commits]:
    """Return how a member commits: the call, and more about it."""
    policy = commit_policy(group, member)
    if _is_off(group, member):
        return frozenset({Commits.NONE, *([Commits.STORED_ONLY] if policy.call == "store" else [])})
    lost = [Commits.NONE_AT_REVOCATION] if _loses_its_commit(group, member) else []
    return frozenset([*_kinds(policy, _automatic(group)), *lost])


def _loses_its_commit(group: Group, member: Member) -> bool:
    """Return whether a callback takes the place of the automatic commit at a revocation, and commits nothing."""
    policy = commit_policy(group, member)
    is_automatic = policy.call in ("auto", "store") and not policy.on_revoke
    return is_automatic and client_settings(group, member).on_partitions_revoked


def _is_off(group: Group, member: Member) -> bool:
    """Return whether automatic commits are disabled, and the scenario has no others of a member."""
    is_on = group.offsets == "none" or consumer_settings(group, member).enable_auto_commit
    call = commit_policy(group, member).call
    is_left_out = call == "none" and "commit" not in group.model_fields_set
    return not is_on and (call in ("auto", "store") or is_left_out)


KINDS = {"before": Commits.BEFORE_WORK, "record": Commits.EACH_RECORD, "every": Commits.INTERVAL}


def _kinds(policy: CommitPolicy, automatic: list[Commits]) -> list[Commits]:
    found = automatic if policy.call == "auto" else [Commits(policy.call)]
    if policy.call in ("sync", "async"):
        found += [KINDS[policy.when]] if policy.when in KINDS else []
        found += [] if policy.arguments else [Commits.NO_OFFSETS]
        found += [Commits.KEPT] if policy.on_refusal == "keep" else []
    named = policy.on_revoke or (policy.call in ("sync", "async") and policy.arguments)
    found += [Commits.NO_EPOCH] if named and not policy.leader_epoch else []
    return found + ([Commits.IN_LISTENER] if policy.on_revoke else [])


def describe_commits(group: Group, member: Member) -> str:
    """Return a description of how a member commits, and where."""
    policy, settings = commit_policy(group, member), consumer_settings(group, member)
    if _is_off(group, member):
        if policy.call == "store":
            return f"offsets stored {_when(policy)}, no commits (enable.auto.commit=false)"
        return "no commits (enable.auto.commit=false, and no commit)"
    into = {"zookeeper": " to ZooKeeper", "database": " in the transaction of its results"}
    words = _words(policy, settings.auto_commit_interval_ms, group) + into.get(group.offsets, "")
    return f"{words}, none at revocations" if _loses_its_commit(group, member) else words


def _words(policy: CommitPolicy, interval_ms: int, group: Group) -> str:
    every, when = format_duration(interval_ms * US_PER_MS), _when(policy)
    words = {
        "auto": f"auto commit every {every}",
        "none": "commits of the handler" if isinstance(group.handler, OwnHandler) else "no commits",
        "store": f"offsets stored {when}, auto commit every {every}",
        "sync": f"commitSync() {when}",
        "async": f"commitAsync() {when}",
    }[policy.call]
    if policy.offsets != "frontier":
        words += f", of the {policy.offsets} finished record"
    return f"{words} and in the revoke listener" if policy.on_revoke else words


def _automatic(group: Group) -> list[Commits]:
    """Return when automatic commits are made, and what they cover."""
    profile = profile_of(client_of(group, group.members[0]))
    if profile.covers is Covers.EARLIER_POLLS:
        return [Commits.BACKGROUND, Commits.EARLIER_POLLS]
    in_background = profile.in_background or group.offsets == "zookeeper"
    return [Commits.BACKGROUND if in_background else Commits.AUTO]


def _when(policy: CommitPolicy) -> str:
    if policy.when == "every":
        spans = [format_duration(policy.every)] if policy.every else []
        spans += [f"{policy.records} records"] if policy.records else []
        return f"every {' or '.join(spans)}"
    times = {"batch": "after each batch", "record": "after each record"}
    return times.get(policy.when, "before the work")
