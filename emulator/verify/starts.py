"""When the processes of a captured run begin, in the emulated world."""

from __future__ import annotations

from emulator.verify import facts
from emulator.verify.capture import Capture

LOOKUP_US = 1_500
"""From a consumer's start to its first metadata in the emulated world, at its latencies."""


def start_us(capture: Capture, up: facts.StartUp) -> int:
    """Return when an incarnation starts in the emulated world: at its first metadata.

    One that commits by a clock starts with its process: the clock counts from there. The leader
    of the group at the fault starts where its later refreshes of metadata show.
    """
    member = next(m for m in facts.members(capture) if m.member == up.member)
    if member.commit_every_us is not None:
        return up.started_us
    began = up.metadata_us or up.join_sent_us or up.subscribed_us or up.started_us
    if up.join_sent_us is not None:
        began = min(began, up.join_sent_us - LOOKUP_US)
    refreshed = _refresh_phase(capture, up)
    return max(0, began if refreshed is None else refreshed)


def _refresh_phase(capture: Capture, up: facts.StartUp) -> int | None:
    """Return the first metadata that the last refresh before the fault counts back to."""
    led = facts.group_leaders(capture)
    before = [generation for generation in led if led[generation] == up.member]
    if not before or up.metadata_us is None or up.started_us > capture.fault_us:
        return None
    last = facts.last_metadata_refresh(capture, up.member, capture.fault_us)
    trace = facts.trace_at(capture, up.member, capture.fault_us)
    if last is None or trace is None or trace.incarnation != up.incarnation:
        return None
    age = facts.metadata_max_age_us(trace)
    back = round((last - up.metadata_us) / age)
    return last - back * age - LOOKUP_US
