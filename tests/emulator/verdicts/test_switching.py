"""What deploys change in how a group assigns."""

from __future__ import annotations

import emulator
from emulator.verdicts.switching import Switched, Switching
from emulator.verdicts.verdict import VerdictId

DEPLOYED = """
title = "a group id with parentheses"
run_for = "3min"
topic = [{ name = "orders", partitions = 4, rate = "5/s" }]
[[group]]
id = "billing (eu)"
topics = ["orders"]
members = 3
work = "1ms"
settings = { "partition.assignment.strategy" = "range" }
[[fault]]
rolling_restart = "billing (eu)"
at = "1min"
settings = { "partition.assignment.strategy" = "range,cooperative-sticky" }
[[fault]]
rolling_restart = "billing (eu)"
at = "2min"
settings = { "partition.assignment.strategy" = "cooperative-sticky" }
"""


def test_a_change_before_the_first_deploy_is_not_its_own():
    """Only what the group had when the deploy began counts as before."""
    followed = Switching()
    followed.assign("range")
    followed.assign("sticky")
    followed.deploy(running=3)
    followed.assign("sticky")

    assert followed.switched is None


def test_several_deploys_are_compared_with_the_time_before_the_first():
    followed = Switching()
    followed.assign("range")
    followed.deploy(running=3)
    followed.assign("sticky")
    followed.deploy(running=2)
    followed.assign("cooperative-sticky")

    assert followed.switched == Switched("range", "cooperative-sticky", 2, running_before=3)


def test_a_group_that_had_no_assignor_before_its_deploy_changed_none():
    followed = Switching()
    followed.deploy(running=0)
    followed.assign("range")

    assert followed.switched is None


def test_the_group_of_a_deploy_is_found_if_its_id_has_parentheses_too():
    run = emulator.run(emulator.loads(DEPLOYED), 1)
    said = [each for each in run.verdicts if each.id is VerdictId.ASSIGNOR_CHANGED]

    assert [("billing (eu)", 2)] == [(each.group, each.numbers["restarts"]) for each in said]
