"""Timers of one client that run out at the same microsecond go by name, folded or not."""

from __future__ import annotations

import pytest

from emulator.scenario.load import loads
from emulator.world.build import play

from .stage import TEXT

LOSING = 'network = { loss = 0.05, latency = "500us" }'
GROUP = 'work = { uniform = ["1ms", "9ms"] }\npoll_timeout = "50ms"'
ROUND = """"auto.commit.interval.ms" = "300ms"
"request.timeout.ms" = "3s"
"retry.backoff.ms" = "50ms"
"metadata.max.age.ms" = "1s"
"""


@pytest.mark.parametrize("seed", range(3))
def test_polls_commits_and_time_outs_that_coincide_keep_their_order(seed):
    """On a grid of round times they often do; polling by arithmetic must not reorder them."""
    text = TEXT.format(
        run=LOSING,
        topic='partitions = 6\nrate = "1/s"',
        group=GROUP,
        settings=ROUND,
        strategy="sticky",
        run_for="30s",
        more="",
    )
    folded, exact = [], []
    for events, folding in ((folded, True), (exact, False)):
        play(loads(text), seed, (events.append,), folding=folding)

    assert exact == folded
