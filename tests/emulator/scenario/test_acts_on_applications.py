"""Acts that change what an application does: what a file may ask of them, and what it may not."""

from __future__ import annotations

import pytest

from emulator.scenario.model import FailListener, Subscribe
from emulator.scenario.writing import dump

from .samples import read, refusal

TOPIC = '[[topic]]\nname = "refunds"\n'


def act(text: str) -> str:
    return f"{TOPIC}[[act]]\n{text}\n"


def test_a_subscription_names_the_group_and_its_topics():
    """All members, as listed and at once, if nothing else is said."""
    scenario = read(more=act('subscribe = "billing"\ntopics = ["refunds"]\nat = "1min"'))
    fault = scenario.fault[-1]

    assert isinstance(fault, Subscribe)
    assert ("billing", ("refunds",), "listed", 0) == (
        fault.group,
        fault.topics,
        fault.order,
        fault.gap,
    )
    assert {"subscribe": "billing", "topics": ["refunds"], "at": "1min", "id": "subscribe-1"} == (
        dump(scenario)["fault"][-1]
    )


def test_a_listener_that_fails_is_not_caught_by_itself():
    """Every call throws, and the process dies of it, if nothing else is said."""
    scenario = read(more=act('fail_listener = "billing-1"\nfor = "30s"\nat = "1min"'))
    fault = scenario.fault[-1]

    assert isinstance(fault, FailListener)
    assert (None, False, 1_000_000) == (fault.call, fault.caught, fault.backoff)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('subscribe = "biling"\ntopics = ["refunds"]\nat = "1s"', "no such group"),
        ('subscribe = "billing"\nat = "1s"', "topics"),
        ('subscribe = "billing"\ntopics = []\nat = "1s"', "topics"),
        ('subscribe = "billing"\ntopics = ["refund"]\nat = "1s"', "no such topic"),
        (
            'subscribe = "billing"\ntopics = ["refunds", "refunds"]\nat = "1s"',
            "topic named twice",
        ),
        (
            'subscribe = "billing"\ntopics = ["refunds"]\norder = ["x"]\nat = "1s"',
            "no such member",
        ),
        ('fail_listener = "billing-9"\nfor = "1s"\nat = "1s"', "no such member"),
        ('fail_listener = "billing-1"\nat = "1s"', "for"),
        ('fail_listener = "billing-1"\nfor = "1s"\ncall = "asigned"\nat = "1s"', "assigned"),
    ],
)
def test_impossible_acts_are_refused(text, said):
    """With the error and the possible values."""
    assert said in refusal(more=act(text))


def test_a_way_to_close_is_one_of_kafkas():
    """Kafka's own names, and no others."""
    said = refusal(('work = "10ms"', 'close_operation = "STAY"\nwork = "10ms"'))

    assert "close_operation" in said
    assert "REMAIN_IN_GROUP" in said
