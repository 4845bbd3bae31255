"""Changes of the autoscaler of a group."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from emulator.advice.commit_changes import commit_on_revoke
from emulator.advice.drafts import Draft, Make, sufficient_grace_s
from emulator.advice.situation import Situation, milliseconds
from emulator.report.wording import duration
from emulator.scenario.tables.cluster import LONGEST_WINDOW_US
from emulator.scenario.units import US_PER_S, format_duration

USUAL_WINDOW_US = 300_000_000
"""``stabilizationWindowSeconds`` downwards, unless it is set."""


def _of(situation: Situation, key: str, value: str, why: str) -> Draft:
    group = situation.group.id
    return Draft(
        why,
        (f"autoscaler of {group}: {key} = {value}",),
        (f"group[{group}].autoscaler.{key}={value}",),
    )


def longer_stabilization(situation: Situation) -> Draft | None:
    """The default window, or twice the present one, up to the limit of Kubernetes."""
    scaler = situation.group.autoscaler
    if scaler is None:
        return None
    given = scaler.scale_down.stabilization_window
    now_us = USUAL_WINDOW_US if given is None else given
    if now_us >= LONGEST_WINDOW_US:
        return None
    longer_us = USUAL_WINDOW_US if now_us < USUAL_WINDOW_US else 2 * now_us
    value = min(longer_us, LONGEST_WINDOW_US)
    why = f"A step down waits {duration(now_us / US_PER_S)} at present."
    return _of(situation, "scale_down.stabilization_window", format_duration(value), why)


def no_idle_replicas(situation: Situation) -> Draft | None:
    """No more replicas than partitions."""
    scaler, load = situation.group.autoscaler, situation.load
    if scaler is None or load is None:
        return None
    if scaler.max_replicas > load.partitions:
        why = f"There are {load.partitions} partitions."
        return _of(situation, "max_replicas", str(load.partitions), why)
    return None


def longer_grace_of_replicas(situation: Situation) -> Draft | None:
    """A grace period in which a full batch and calls of the listener end, with a margin of a quarter."""
    scaler = situation.group.autoscaler
    if scaler is None or situation.batch_s == inf:
        return None
    needed_us = milliseconds(sufficient_grace_s(situation.stopping_s)) * 1_000 + scaler.pre_stop
    if scaler.grace >= needed_us:
        return None
    return _of(
        situation,
        "grace",
        format_duration(needed_us),
        f"{situation.batch_text}{situation.listener_text}.",
    )


SCALING_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "commit-before-handover": (
        ("longer-grace-of-replicas", longer_grace_of_replicas),
        ("commit-on-revoke", commit_on_revoke),
    ),
    "longer-stabilization": (("longer-stabilization", longer_stabilization),),
    "no-idle-replicas": (("no-idle-replicas", no_idle_replicas),),
}
"""For each hint about an autoscaler its changes."""
