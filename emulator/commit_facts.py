"""How the members of a group commit, in words and as facts for reports."""

from __future__ import annotations

from emulator.report.subject import Commits
from emulator.scenario.model import CommitPolicy, Group, Member
from emulator.scenario.resolution import client_of, commit_policy, consumer_settings
from emulator.scenario.tables.handlers import OwnHandler
from emulator.scenario.units import US_PER_MS, format_duration
from protocols.consumer.clients import profile_of


def commit_kinds(group: Group, member: Member) -> frozenset[Commits]:
    """Return how a member commits: the call, and more about it."""
    policy = commit_policy(group, member)
    if _is_off(group, member):
        return frozenset({Commits.NONE, *([Commits.STORED_ONLY] if policy.call == "store" else [])})
    return frozenset(_kinds(policy, background=_in_background(group)))


def _is_off(group: Group, member: Member) -> bool:
    """Return whether automatic commits are what a member relies on, and are disabled."""
    automatic = commit_policy(group, member).call in ("auto", "store")
    return automatic and not consumer_settings(group, member).enable_auto_commit


def _kinds(policy: CommitPolicy, *, background: bool) -> list[Commits]:
    found: list[Commits] = [Commits(policy.call)]
    if background and policy.call == "auto":
        found = [Commits.BACKGROUND]
    if policy.call in ("sync", "async"):
        found += [Commits.BEFORE_WORK] if policy.when == "before" else []
        found += [Commits.EACH_RECORD] if policy.when == "record" else []
        found += [] if policy.arguments else [Commits.NO_OFFSETS]
    named = policy.on_revoke or (policy.call in ("sync", "async") and policy.arguments)
    found += [Commits.NO_EPOCH] if named and not policy.leader_epoch else []
    return found + ([Commits.IN_LISTENER] if policy.on_revoke else [])


def describe_commits(group: Group, member: Member) -> str:
    """Return a description of how a member commits, and where."""
    policy, settings = commit_policy(group, member), consumer_settings(group, member)
    if _is_off(group, member):
        stored = f"offsets stored {_when(policy)}, " if policy.call == "store" else ""
        return f"{stored}no commits (enable.auto.commit=false)"
    return _words(policy, settings.auto_commit_interval_ms, group) + _where(group)


def _words(policy: CommitPolicy, interval_ms: int, group: Group) -> str:
    if policy.call == "auto":
        words = f"auto commit every {format_duration(interval_ms * US_PER_MS)}"
    elif policy.call == "none":
        words = "commits of the handler" if isinstance(group.handler, OwnHandler) else "no commits"
    elif policy.call == "store":
        every = format_duration(interval_ms * US_PER_MS)
        words = f"offsets stored {_when(policy)}, auto commit every {every}"
    else:
        call = "commitSync()" if policy.call == "sync" else "commitAsync()"
        words = f"{call} {_when(policy)}"
    if policy.offsets != "frontier":
        words += f", of the {policy.offsets} finished record"
    return f"{words} and in the revoke listener" if policy.on_revoke else words


def _in_background(group: Group) -> bool:
    """Return whether automatic commits are made while the handler works."""
    client = client_of(group, group.members[0])
    return profile_of(client).in_background or group.offsets == "zookeeper"


def _where(group: Group) -> str:
    """Return where the commits go, if not to Kafka."""
    into = {"zookeeper": " to ZooKeeper", "database": " in the transaction of its results"}
    return into.get(group.offsets, "")


def _when(policy: CommitPolicy) -> str:
    if policy.when == "every":
        spans = [format_duration(policy.every)] if policy.every is not None else []
        spans += [f"{policy.records} records"] if policy.records is not None else []
        return f"every {' or '.join(spans)}"
    return {"batch": "after each batch", "record": "after each record"}.get(
        policy.when, "before the work"
    )
