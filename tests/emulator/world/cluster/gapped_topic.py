"""Two members read a topic with offsets that hold no record; one of them crashes and comes back."""

from __future__ import annotations

CRASH = """
[[fault]]
crash = "g-1"
at = "17s"
restart_after = "1s"
"""

WORLD = """
title = "gaps"
run_for = "{run_for}"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
produce_until = "30s"
{topic}
[[group]]
id = "g"
topics = ["t"]
members = 2
work = "1ms"
{group}
[group.settings]
"auto.offset.reset" = "{reset}"
{settings}
{fault}
"""


def gapped(topic, group, settings, *, run_for="40s", reset="earliest", fault=CRASH):
    """Return the scenario with more keys of the topic, of the group and of its settings."""
    return WORLD.format(
        run_for=run_for, topic=topic, group=group, reset=reset, settings=settings, fault=fault
    )
