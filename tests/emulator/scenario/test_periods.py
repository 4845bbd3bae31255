"""The expected period of a run."""

from __future__ import annotations

import pytest

from emulator.scenario.model import Topic
from emulator.scenario.periods import period_of_records_us


@pytest.mark.parametrize(
    ("rate", "skew", "period_us"),
    [
        (10.0, (), 100_000),
        (3.0, (), 1_000_000),
        (10.0, (0.75,), 400_000),
        (1.0, (3e-155,), 1_000_000),
    ],
)
def test_the_arrivals_of_all_partitions_repeat(rate, skew, period_us):
    """To the microsecond; a rate that no record would ever come of does not count."""
    topic = Topic(name="t", partitions=2, rate=rate, skew=skew)

    assert period_us == period_of_records_us(topic)
