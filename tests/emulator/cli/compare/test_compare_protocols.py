"""``rebalance compare`` across both group protocols: one word is one column."""

from __future__ import annotations

from emulator.comparison import Variant, read_variants
from emulator.scenario.load import loads

from ..commands import CRASH, rebalance, written

PROTOCOL = "group[billing].settings[group.protocol]"


def test_both_protocols_are_columns(tmp_path):
    """Settings of the classic one only are dropped; those in force are shown above the table."""
    path = written(tmp_path)
    status, out, err = rebalance("compare", path, "--with", "eager", "--with", "kip848")

    assert (0, "") == (status, err)
    assert "uniform (group.protocol=consumer)" in out
    assert "group.consumer.session.timeout.ms=45000" in out


def test_the_consumer_protocol_is_one_override_for_each_table_that_says_something():
    """A member's own settings may have what only the classic protocol has, too."""
    text = f'{CRASH}\n[[group.member]]\nname = "billing-0"\nsettings."session.timeout.ms" = "9s"\n'
    scenario = loads(text)
    (_, ours) = read_variants(["kip848"], scenario)

    assert (
        Variant(
            "kip848",
            (
                f"{PROTOCOL}=consumer",
                "group[billing].member[billing-0].settings[group.protocol]=consumer",
            ),
        )
        == ours
    )


def test_a_scenario_of_the_consumer_protocol_is_played_under_the_classic_one():
    """``eager`` names an assignor of members, so they speak the protocol that has one."""
    scenario = loads(CRASH, "test.toml", [f"{PROTOCOL}=consumer"])
    (_, ours) = read_variants(["eager"], scenario)
    loads(CRASH, "test.toml", [f"{PROTOCOL}=consumer", *ours.overrides])

    assert f"{PROTOCOL}=classic" == ours.overrides[0]
