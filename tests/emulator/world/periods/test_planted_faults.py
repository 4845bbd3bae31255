"""Each planted fault changes code that exists; long tests say that it is noticed."""

from __future__ import annotations

import pytest

from ...modes import planted_polling_faults
from . import planted_background_faults, planted_consumer_faults, planted_faults
from . import planted_request_faults as request_faults
from . import test_heartbeats_apart as heartbeats_apart
from . import test_repeated_stretches as stretches
from . import test_short_periods as short_periods
from .planted_faults import planted

PLANTED = (
    *planted_faults.PLANTED,
    *planted_consumer_faults.PLANTED,
    *planted_background_faults.PLANTED,
    *planted_polling_faults.PLANTED,
    *planted_polling_faults.BY_TIME,
    *request_faults.PLANTED,
    *stretches.PLANTED,
    *short_periods.PLANTED,
    *heartbeats_apart.PLANTED,
)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault):
    """Its function is found, and the code that it replaces stands there once."""
    with planted(fault):
        pass
