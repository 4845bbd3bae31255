"""The expected period of a run."""

from __future__ import annotations

import pytest

from emulator.scenario.estimates.periods import period_of_records_us
from emulator.scenario.model import Curve, CurveShape, Ramp, RampShape, RateAt, Steps, Topic


@pytest.mark.parametrize(
    ("rate", "skew", "period_us"),
    [
        (10.0, (), 100_000),
        (3.0, (), 1_000_000),
        (10.0, (0.75,), 400_000),
        (1.0, (3e-155,), 1_000_000),
        (Steps(steps=(RateAt(at=0, rate=10.0), RateAt(at=5, rate=3.0))), (), 1_000_000),
        (Ramp(ramp=RampShape(first=1.0, to=10.0, lasting=5)), (), 100_000),
        (Curve(curve=CurveShape(points=(RateAt(at=0, rate=1.0),), every=9)), (), 1_000_000),
    ],
)
def test_the_arrivals_of_all_partitions_repeat(rate, skew, period_us):
    """To the microsecond; a rate that no record would ever come of does not count."""
    topic = Topic(name="t", partitions=2, rate=rate, skew=skew)

    assert period_us == period_of_records_us(topic)
