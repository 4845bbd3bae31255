"""Checks of commit policies, deduplication and the keys of topics against the handler of a group."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.poison import read_by, with_keys
from emulator.scenario.model import CommitPolicy, Group, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import commit_policy
from emulator.scenario.short_forms import COMMITS


def written(policy: CommitPolicy) -> str | None:
    """Return the short form of a commit policy, as in a file; None if it needs a table."""
    return next(
        (name for name, form in COMMITS.items() if CommitPolicy.model_validate(form) == policy),
        None,
    )


def handler_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Yield commits, a deduplication and topics that do not go with the handler."""
    yield from _key_problems(group, scenario)
    seen = group.deduplication
    if seen is not None and seen.mark == "before" and not group.is_serial:
        reason = (
            'only a serial handler asks the set before it begins; leave out "mark" or "handler"'
        )
        yield Problem(f"group[{group.id}].deduplication.mark", reason, seen.mark)
    for member in group.members:
        own = f".member[{member.name}]" if member.commit is not None else ""
        path = f"group[{group.id}]{own}.commit"
        yield from _commit_problems(path, commit_policy(group, member), group)


def _key_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Yield an order by key over a topic with keys: a hot key would be spread over all workers."""
    if group.pool is None or group.pool.order != "key":
        return
    if found := with_keys(read_by(group, scenario), scenario):
        reason = (
            f'the keys of a pool are equally frequent, and {found} has "keys": its hot key would be '
            'spread over all workers; set order = "partition" or "none", or give the topic "skew" '
            'instead of "keys"'
        )
        yield Problem(f"group[{group.id}].handler.order", reason, group.pool.order)


def _commit_problems(path: str, policy: CommitPolicy, group: Group) -> Iterator[Problem]:
    if group.is_serial:
        if policy.offsets != "frontier":
            reason = 'has a meaning only with workers that overtake; set "handler"'
            yield Problem(f"{path}.offsets", reason, policy.offsets)
        if group.handler is not None and policy.when == "record":
            reason = (
                "a batch listener returns once for all records of a poll; allowed are "
                '"batch" (when it has returned), "before" and "every"'
            )
            yield _of_key(path, policy, "when", reason)
    elif group.pool is None:
        return  # code of the user has checks of its own
    elif policy.when in ("record", "before"):
        reason = (
            "a consumer is not safe for use by several threads: with a pool of workers, its "
            'application thread commits; allowed are "batch" (after each poll) and "every"'
        )
        yield _of_key(path, policy, "when", reason)
    elif policy.on_refusal == "discard":
        reason = 'workers have the records already; allowed are "ignore" and "stop"'
        yield Problem(f"{path}.on_refusal", reason, policy.on_refusal)


def _of_key(path: str, policy: CommitPolicy, key: str, reason: str) -> Problem:
    """Return the problem of one key of a policy, or of the short form in which it is written."""
    name = written(policy)
    if name is None:
        return Problem(f"{path}.{key}", reason, getattr(policy, key))
    return Problem(path, reason, name)
