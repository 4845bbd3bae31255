"""How records arrive is told from what busy consumers processed, and when they had to wait."""

from __future__ import annotations

import pytest

from emulator.blaming.arrivals import arrivals_behind, caught_up_us

from .incidents import SECOND, steady

FORMED_US = 4 * SECOND

CATCHING_UP = steady("a", 0, 1, 6, every_s=0.01)
"""500 records, one after the other."""

CAUGHT_UP = steady("a", 0, 6, 16, first=500, every_s=0.05)
"""200 records, of which each is waited for."""


def test_a_backlog_ends_where_consumers_begin_to_wait():
    assert caught_up_us([*CATCHING_UP, *CAUGHT_UP]) == pytest.approx(6 * SECOND, abs=SECOND)
    assert caught_up_us(CAUGHT_UP) == CAUGHT_UP[0].began_us


def test_what_arrives_later_is_the_rate_and_the_rest_was_there():
    """20 a second for 15 s are 300 of the 700."""
    work = [*CATCHING_UP, *CAUGHT_UP]
    found = arrivals_behind(work, caught_up_us(work), FORMED_US)

    assert 20 == pytest.approx(float(str(found["rate"]).removesuffix("/s")), rel=0.01)
    assert 400 == pytest.approx(found["backlog"], abs=5)
    assert "4.000s" == found["produce_from"]


def test_a_log_without_a_wait_shows_no_rate():
    """Nor does one that ends soon after."""
    assert {"rate": "0.01/s", "backlog": 500} == arrivals_behind(
        CATCHING_UP, caught_up_us(CATCHING_UP), FORMED_US
    )
    short = [*CATCHING_UP, *CAUGHT_UP[:40]]

    assert {"rate": "0.01/s", "backlog": 540} == arrivals_behind(
        short, caught_up_us(short), FORMED_US
    )
