"""The words for the values of a ledger: the steps of a chain."""

from __future__ import annotations

from emulator.ledger.entries import Link, Step

_STEPS = {
    Step.OPENED: "{} began {} at {} ({})",
    Step.CLOSED: "{} stopped {} at {} ({})",
    Step.COMMITTED: "{} committed {}",
    Step.COMMIT_SENT: "{} sent commit {}",
    Step.COMMIT_REFUSED: "commit {1} of {0} refused: {2}",
    Step.COMMIT_LOST: "commit {1} of {0} lost on its way: {2}",
    Step.COMMIT_TO_STALE_LEADER: (
        "broker {2}, replaced by broker {3}, appended commit {1} of {0} at log offset {4}"
    ),
    Step.OFFSETS_DROPPED: "committed offset of {} {}",
    Step.NOT_PROCESSED: "{} did not process records of {}: {}",
    Step.GAP: "{} continued beyond {}",
    Step.READ_ON: "{} continued to read {} from {}, position not checked",
    Step.IN_FLIGHT: "{} was processing offset {} when it was killed",
    Step.PAUSED: "{} paused",
    Step.REMOVED: "{} removed from {}: {}",
    Step.DROPPED_OUT: "{} dropped out of {}: {}",
    Step.BROKER_DOWN: "broker {} went down",
    Step.COORDINATOR_MOVED: "broker {} became coordinator of {}",
    Step.ELECTED: "broker {} elected to lead {} in epoch {}",
    Step.ELECTED_UNCLEAN: "broker {} elected to lead {} in epoch {}, not in sync",
    Step.TRUNCATED: "broker {} leads {} without {} to {}",
    Step.ROOT: "{} {}",
}


def link_text(link: Link) -> str:
    """Return one step of a chain in words."""
    if link.step is Step.LOADED:
        broker, partition, load_us = link.values
        return f"broker {broker} loaded {partition} in {int(load_us) / 1e6:.1f} s"
    return _STEPS[link.step].format(*link.values).strip()
