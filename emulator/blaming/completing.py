"""The scenario of one explanation: the group of an incident with a commit policy and what happened to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.blaming.clients import batch_keys, timeout_settings
from emulator.blaming.happening import Happening
from emulator.blaming.policies import Policy
from emulator.blaming.setup import Table, seconds_text
from protocols.consumer.clients import profile_of


def completed(
    base: Table, policy: Policy, happening: Happening, onset_us: int, after_us: int | None = None
) -> Table:
    """Return the scenario of a policy and of a happening that begins at *onset_us*.

    *after_us*: how long the run lasts from then on; None: as long as that of *base*.
    """
    group = base["group"][0]
    topics = [topic | dict(happening.topics.get(topic["name"], {})) for topic in base["topic"]]
    changed = {"member": [*_members(group["member"], happening)]}
    lasting = {} if after_us is None else {"run_for": seconds_text(onset_us + after_us)}
    return (
        base
        | lasting
        | {
            "topic": topics,
            "group": [
                group | changed | _of_client(policy, group["settings"] | dict(happening.settings))
            ],
            "fault": [_from(onset_us, each) for each in happening.faults],
            "act": [_from(onset_us, each) for each in happening.acts],
        }
    )


def _members(members: Sequence[Table], happening: Happening) -> Iterator[Table]:
    """Yield the members with their settings, and those that only the happening has."""
    for each in members:
        own = happening.members.get(each["name"])
        yield each if own is None else each | {"settings": each.get("settings", {}) | own}
    known = {each["name"] for each in members}
    for name, own in happening.members.items():
        if name not in known:
            yield {"name": name, "start": "by act", "settings": own}


def _of_client(policy: Policy, settings: Table) -> Table:
    """Return the keys of a group that its client and commit policy decide."""
    profile = profile_of(policy.client)
    mine = timeout_settings(profile, settings | dict(policy.settings))
    batches = batch_keys(profile, policy.read_with, policy.batch)
    table: Table = {"commit": policy.commit, "client": policy.client, **batches}
    table["settings"] = mine | batches["settings"]
    return table | ({"read_with": policy.read_with} if policy.read_with else {})


def _from(onset_us: int, table: Table) -> Table:
    """Return a fault or act with its time in the run instead of the one since the onset."""
    return table | {"at": seconds_text(onset_us + table["at"])}
