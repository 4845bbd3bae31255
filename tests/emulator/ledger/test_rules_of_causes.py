"""The rules of causes one by one: what each needs, and that it applies to nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from emulator import events as ev
from emulator.events import End, PositionSource, ResetReason
from emulator.ledger import causes
from emulator.ledger.causes import LOADING, Opening
from emulator.ledger.cluster import OffsetsPartition
from emulator.ledger.commits import NONE_COMMITTED, Committed
from emulator.ledger.entries import Link, Step
from emulator.ledger.epochs import Epoch, FailedCommit

from .history import P0

COMMITTED, EARLIEST, LATEST = (
    PositionSource.COMMITTED,
    PositionSource.EARLIEST,
    PositionSource.LATEST,
)
NONE_FITS = "no"


def at(instant: int) -> Link:
    return Link(None, instant, Step.OPENED, (), instant)


def happened(instant: int) -> ev.Event:
    return ev.Event(instant, instant, None, ev.BrokerUp(broker=1), instant)


def failed(offset: int = 90, instant: int = 20, error: str = "E") -> FailedCommit:
    return FailedCommit(offset, at(instant), error)


def epoch(consumer: str, start: int, opened: int, **more: Any) -> Epoch:
    made = Epoch(1, "g", consumer, 1, 1, P0, start, "committed", opened, opened, start, start)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def opening(**changes: Any) -> Opening:
    """Return the start of b at 80, the committed offset; a was at 100 from instant 10 to 30.

    Changes of the committed offset begin with ``c_``, those of the epoch of a with ``a_``.
    """
    own = {name: value for name, value in changes.items() if name[:2] not in ("c_", "a_")}
    committed = {"offset": 80, "accepted": at(25)}
    committed |= {name[2:]: value for name, value in changes.items() if name[:2] == "c_"}
    before = {"cursor": 100, "why": End.REVOKED, "closed_by": happened(30)}
    before |= {name[2:]: value for name, value in changes.items() if name[:2] == "a_"}
    source = before.pop("source", COMMITTED)
    former = epoch("a", 0, 10, **before)
    former.source = source
    given = {
        "epoch": epoch("b", 80, 40),
        "before": former,
        "source": COMMITTED,
        "why": "",
        "committed": Committed(**committed),
        "failover": None,
    }
    return Opening(**{**given, **own})


SOUGHT = {
    "a_source": PositionSource.SEEK,
    "a_cursor": 0,
    "source": LATEST,
    "why": ResetReason.OUT_OF_RANGE,
}
RESET = {"source": EARLIEST, "why": ResetReason.NO_OFFSET}
GONE = {"source": EARLIEST, "why": ResetReason.TRUNCATED, "a_truncation": at(35)}
MOVED = {"failover": at(26), "c_offset": 90}
SPLIT = {"coordinators": OffsetsPartition(stale={1: at(5)}), "c_offset": 90}
LOST = {"a_lost": failed()}
OPEN = {"undecided": failed()}
LOAD = {"a_refused": failed(error=LOADING)}

RULES: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("_seek", {}, {"source": PositionSource.SEEK}, ""),
    ("_seek", {}, {}, NONE_FITS),
    ("_sought_outside", SOUGHT, {}, "outside the log, reset to latest"),
    ("_sought_outside", SOUGHT, {"before": None}, NONE_FITS),
    ("_sought_outside", SOUGHT, {"a_source": COMMITTED}, NONE_FITS),
    ("_sought_outside", SOUGHT, {"a_cursor": 1}, NONE_FITS),
    ("_sought_outside", SOUGHT, {"source": COMMITTED}, NONE_FITS),
    ("_sought_outside", SOUGHT, {"why": ResetReason.NO_OFFSET}, NONE_FITS),
    ("_reset_back_by_admin", {"c_reset_from": 90}, {}, ", 90 to 80"),
    ("_reset_back_by_admin", {"c_reset_from": 80}, {}, NONE_FITS),
    ("_reset_back_by_admin", {"c_reset_from": 70}, {}, NONE_FITS),
    ("_reset_back_by_admin", {"c_reset_from": 90}, {"source": LATEST}, NONE_FITS),
    ("_reset_back_by_admin", {"c_reset_from": 90}, {"c_offset": 81}, NONE_FITS),
    ("_reset_back_by_admin", {}, {}, NONE_FITS),
    ("_reset_forward_by_admin", {"c_reset_from": 70}, {}, ", 70 to 80"),
    ("_reset_forward_by_admin", {"c_reset_from": 80}, {}, NONE_FITS),
    ("_reset_forward_by_admin", {"c_reset_from": 90}, {}, NONE_FITS),
    ("_reset_forward_by_admin", {"c_reset_from": NONE_COMMITTED}, {}, ", to 80"),
    ("_rewind", {"c_rewound_from": 81}, {}, "81 to 80"),
    ("_rewind", {"c_rewound_from": 80}, {}, NONE_FITS),
    ("_rewind", {"c_rewound_from": 81}, {"c_offset": 79}, NONE_FITS),
    ("_rewind", {"c_rewound_from": 81}, {"source": LATEST}, NONE_FITS),
    ("_rewind", {}, {}, NONE_FITS),
    ("_off_by_one", {"c_processed": 81}, {}, ""),
    ("_off_by_one", {"c_processed": 80}, {}, NONE_FITS),
    ("_off_by_one", {"c_processed": 81}, {"source": LATEST}, NONE_FITS),
    ("_of_old_topic", {"c_of_old_topic": True}, {}, ""),
    ("_of_old_topic", {}, {}, NONE_FITS),
    ("_of_old_topic", {"c_of_old_topic": True}, {"source": LATEST}, NONE_FITS),
    ("_committed_ahead", {"c_in_close": True}, {}, "in close()"),
    ("_committed_ahead", {"c_in_close": True}, {"source": LATEST}, ""),
    ("_committed_ahead", {}, {}, ""),
    ("_reset", RESET, {}, "reset to earliest"),
    ("_reset", RESET, {"source": COMMITTED}, NONE_FITS),
    ("_reset", RESET, {"c_offset": NONE_COMMITTED}, NONE_FITS),
    ("_reset", RESET, {"failover": at(26)}, NONE_FITS),
    ("_reset", RESET, {"failover": at(24)}, "reset to earliest"),
    ("_reset", RESET, {"failover": at(26), "c_acknowledged": True}, "reset to earliest"),
    ("_reset", RESET, {"c_dropped_why": ResetReason.DELETED}, "reset to earliest"),
    ("_reset", RESET, {"c_dropped_why": ResetReason.EXPIRED}, "reset to earliest"),
    (
        "_reset",
        RESET,
        {"c_dropped_why": ResetReason.EXPIRED, "c_dropped_members": 1},
        "reset to earliest; no member subscribed to it",
    ),
    (
        "_reset",
        RESET,
        {"c_dropped_why": ResetReason.EXPIRED, "c_dropped_members": 0},
        "reset to earliest",
    ),
    ("_reset_beyond", RESET, {"source": LATEST}, "no offset"),
    ("_reset_beyond", RESET, {"source": PositionSource.BY_DURATION}, "no offset"),
    ("_reset_beyond", RESET, {}, NONE_FITS),
    ("_retention", RESET, {}, "no offset"),
    ("_retention", RESET, {"source": LATEST}, NONE_FITS),
    ("_position_truncated", {"source": PositionSource.TRUNCATED}, {}, "position moved back"),
    ("_position_truncated", {}, {}, NONE_FITS),
    ("_position_not_checked", {"c_truncation": at(5)}, {}, "position not checked"),
    ("_position_not_checked", {"c_truncation": at(5)}, {"source": LATEST}, NONE_FITS),
    ("_position_not_checked", {}, {}, NONE_FITS),
    ("_out_of_truncated_range", GONE, {}, "reset to earliest"),
    ("_out_of_truncated_range", GONE, {"a_truncation": None}, NONE_FITS),
    ("_out_of_truncated_range", GONE, {"before": None}, NONE_FITS),
    ("_out_of_truncated_range", GONE, {"source": COMMITTED}, NONE_FITS),
    ("_out_of_truncated_range", GONE, {"why": ResetReason.NO_OFFSET}, NONE_FITS),
    ("_accepted_by_stale_leader", {"a_stale": failed()}, {}, "E"),
    ("_accepted_by_stale_leader", {"a_stale": failed(80)}, {}, NONE_FITS),
    ("_accepted_by_stale_leader", {"a_stale": failed()}, {"c_offset": 90}, NONE_FITS),
    ("_accepted_by_stale_leader", {"a_stale": failed()}, {"c_offset": 89}, "E"),
    ("_accepted_by_stale_leader", {"a_stale": failed(instant=26)}, {"c_offset": 95}, "E"),
    ("_accepted_by_stale_leader", {"a_stale": failed()}, {"c_accepted": None}, "E"),
    ("_accepted_by_stale_leader", {}, {}, NONE_FITS),
    ("_not_replicated", MOVED, {}, "not on the next leader"),
    ("_not_replicated", MOVED, {"c_offset": 80}, NONE_FITS),
    ("_not_replicated", MOVED, {"failover": at(24)}, NONE_FITS),
    ("_not_replicated", MOVED, {"failover": None}, NONE_FITS),
    (
        "_not_replicated",
        MOVED,
        {"coordinators": OffsetsPartition(unclean=at(26))},
        "unclean election",
    ),
    (
        "_not_replicated",
        MOVED,
        {"coordinators": OffsetsPartition(unclean=at(24))},
        "not on the next leader",
    ),
    ("_fetched_from_stale_leader", SPLIT, {}, "returned an older offset"),
    ("_fetched_from_stale_leader", SPLIT, RESET, "returned an older offset"),
    ("_fetched_from_stale_leader", SPLIT, {**RESET, "why": ResetReason.EXPIRED}, NONE_FITS),
    ("_fetched_from_stale_leader", SPLIT, {"c_offset": 80}, NONE_FITS),
    ("_fetched_from_stale_leader", {"c_offset": 90}, {}, NONE_FITS),
    ("_refused_while_loading", LOAD, {}, ""),
    ("_refused_while_loading", LOAD, {"a_refused": failed()}, NONE_FITS),
    ("_refused_while_loading", LOAD, {"a_refused": failed(80, error=LOADING)}, NONE_FITS),
    ("_refused_while_loading", LOAD, {"coordinators": OffsetsPartition(loaded=at(19))}, ""),
    (
        "_refused_while_loading",
        LOAD,
        {"coordinators": OffsetsPartition(loaded=at(21), load_us=1_500_000)},
        "the load took 1.5 s",
    ),
    ("_refused", {"a_refused": failed()}, {}, "E"),
    ("_refused", {"a_refused": failed(80)}, {}, NONE_FITS),
    ("_message_lost", LOST, {}, "E"),
    ("_message_lost", LOST, {"a_lost": failed(80)}, NONE_FITS),
    ("_message_lost", OPEN, {}, "E"),
    ("_message_lost", OPEN, {"a_closed_by": None}, NONE_FITS),
    ("_message_lost", OPEN, {"a_why": End.CRASHED}, NONE_FITS),
    ("_message_lost", OPEN, {"a_why": End.CRASHED, "outage": at(19)}, NONE_FITS),
    ("_message_lost", OPEN, {"a_why": End.CRASHED, "outage": at(21)}, "E"),
    ("_message_lost", {}, {}, NONE_FITS),
    ("_kept", {}, {"epoch": epoch("a", 80, 40)}, "revoked"),
    ("_kept", {}, {}, NONE_FITS),
    ("_crashed", {}, {"a_why": End.CRASHED}, ""),
    ("_crashed", {}, {"a_why": End.FAILED}, "failed"),
    ("_crashed", {}, {}, NONE_FITS),
    ("_revoked", {}, {}, ""),
    ("_revoked", {}, {"a_why": End.LOST}, "lost"),
]


@pytest.mark.parametrize(("rule", "usual", "changes", "detail"), RULES)
def test_a_rule_applies_where_all_that_it_needs_is_there(rule, usual, changes, detail):
    """Each condition is the only one that is missing in some row."""
    reason = getattr(causes, rule)(opening(**{**usual, **changes}))

    assert detail == (NONE_FITS if reason is None else reason.detail)


@pytest.mark.parametrize(
    ("changes", "outage", "is_shown"),
    [(LOST, 15, True), (LOST, 9, False), (LOST, 21, False), (OPEN, 21, True), (OPEN, 15, True)],
)
def test_an_outage_is_shown_if_it_may_have_lost_the_commit(changes, outage, is_shown):
    """It came after the epoch had opened and before the commit, or while nothing answered that."""
    reason = causes._message_lost(opening(**changes, outage=at(outage)))

    assert reason is not None
    assert is_shown is (reason.evidence[0] is not None)
