"""When the processes of a captured run begin, in the emulated world."""

from __future__ import annotations

from emulator.conformance.captured.capture import Capture
from emulator.conformance.prediction import facts

LOOKUP_US = 1_500
"""From a consumer's start to its first metadata in the emulated world, at its latencies."""


def start_us(capture: Capture, up: facts.StartUp) -> int:
    """Return when an incarnation starts in the emulated world: at its first metadata.

    One that commits by a clock starts with its process: the clock counts from there.
    """
    member = next(m for m in facts.members(capture) if m.member == up.member)
    if member.commit_every_us is not None:
        return up.started_us
    began = up.metadata_us or up.join_sent_us or up.subscribed_us or up.started_us
    if up.join_sent_us is not None:
        began = min(began, up.join_sent_us - LOOKUP_US)
    return max(0, began)
