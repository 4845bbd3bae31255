"""Words of other formats and habits: a message names what is allowed, and the nearest right form."""

from __future__ import annotations

import pytest

import emulator
from emulator.errors import EmulatorError

TEXT = """
title = "t"
run_for = "10s"
topic = [{ name = "orders", partitions = 2, rate = "5/s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 2
work = "4ms"
[expect]
lost = 0
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("members = 2", "member = 8", "allowed are [[group.member]] tables, or members = 8"),
        ("members = 2", 'members = 2\nstatic = "yes"', "true or false; did you mean true, without"),
        (
            "members = 2",
            'members = 2\nsettings."enable.auto.commit" = "off"',
            "allowed is true or false; did you mean false, without quotes",
        ),
        (
            "members = 2",
            'members = 2\nframework = "spring"',
            'allowed is one of "spring-record", "spring-batch", "spring-manual", ',
        ),
        ("lost = 0", 'lost = "< 5%"', 'in the unit of its metric, such as "< 5", not in percent'),
        ("lost = 0", 'lost = "less than 5"', 'did you mean "< 5"?'),
        ("lost = 0", 'lost = "≤ 5"', 'did you mean "<= 5"?'),
        (
            "[expect]",
            '[[act]]\nrolling_restart = "billing"\nat = "2s"\nevery = "1s"\n[expect]',
            'did you mean "gap"?',
        ),
        ("lost = 0", 'lost = "few"', 'allowed is a number, or a text such as "<= 200"'),
    ],
)
def test_the_nearest_right_form_is_named(old, new, message):
    """Beside what is allowed."""
    with pytest.raises(EmulatorError) as refused:
        emulator.loads(TEXT.replace(old, new))

    assert message in str(refused.value)
