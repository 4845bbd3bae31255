"""When members read responses in a period: known for those, too, whose own periods are skipped."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from emulator.world.consumer.polling import calm, laps, poll_loop
from emulator.world.periods import marks, upkeep

from ...modes.both_ways import hold_both_ways, play_whole, scenario_from
from .steady_runs import busy, steady


def habits(document: dict, seed: int) -> list[tuple[int, str, list[int]]]:
    """Return the end of each period that is found, and for each process when it waits in it."""
    found = []

    class Noting(marks.Period):
        __slots__ = ()

        def __init__(self, **given: object) -> None:
            super().__init__(**given)
            for name, habit in self.habits.items():
                found.append((self.end.at_us, name, list(habit.waits)))

    with patch.object(marks, "Period", Noting):
        play_whole(scenario_from(document), seed, folding=True)
    return found


@pytest.fixture(params=[False, True], ids=["whole periods", "any batch"])
def any_batch(request, monkeypatch):
    """Let members leave their own periods at any batch, or skip whole ones as they do."""
    if request.param:
        monkeypatch.setattr(calm, "MIN_BATCHES", 2)
        monkeypatch.setattr(laps, "FEWEST", 1)


@pytest.mark.usefixtures("any_batch")
@pytest.mark.parametrize("beat_ms", [200, 300, 400])
def test_waits_are_known_when_a_member_skips_its_own_periods(beat_ms):
    """Members begin to be watched between the beginning and the end of one of their own periods."""
    document = steady(
        members=3,
        partitions=6,
        rate="20/s",
        work="9ms",
        run_for="6s",
        network={"latency": "7ms"},
        **{"heartbeat.interval.ms": beat_ms, "retry.backoff.ms": 50},
    )
    document["lag_every"] = "30s"
    document["topic"][0]["backlog"] = 50
    with patch.object(poll_loop, "cycles_of", return_value=None):
        whole = habits(document, 0)

    assert whole
    assert habits(document, 0) == whole


def test_metadata_requests_in_the_instants_of_synchronous_commits_are_not_played():
    """Each but the first is sent when a commit is: a call of commitSync() read the response before it."""
    with patch.object(upkeep, "_refresh", wraps=upkeep._refresh) as refresh:
        hold_both_ways(busy())

    assert 15 < sum(call.args[2] for call in refresh.call_args_list)
