"""What a member was about to own and did not name: the coordinator takes it for given up.

Kafka's members list what they own after every error, and until ``onPartitionsAssigned`` has ended
what is just being assigned is not in that list (``currentAssignment`` of
``AbstractMembershipManager``). If another member joined meanwhile, the coordinator sees no need to
have it revoked. The search of all interleavings found this way to two owners. Random worlds found
another, without an error: a heartbeat that acknowledges an older assignment lists what the member
owned then, and the member applies the next one meanwhile (``Law.TAKEN_UNHEARD``).
"""

from __future__ import annotations

from typing import Any

from ...groups.kip848.driver import IDS, ConsumerGroupDriver, topic
from .driver import Beat, ClientDriver


def being_assigned() -> tuple[ConsumerGroupDriver, ClientDriver]:
    """Return a group of A, whose listener is being called with both partitions of its topic."""
    group = ConsumerGroupDriver(topic(partitions=2))
    client = ClientDriver(member_id="A", topics={"t": 2}, enable_auto_commit=False)
    client.topic_ids = dict(IDS)
    client.hold_calls = True
    client.joining()
    answer(group, client)
    client.poll()
    assert [("assigned", (0, 1))] == client.calls
    return group, client


def answer(group: ConsumerGroupDriver, client: ClientDriver) -> Any:
    """Let the coordinator answer the client's heartbeat, and return that."""
    request = client.one(Beat)
    client.answer(Beat, group.send(request, "A").answer)
    return request


def left_out() -> tuple[ConsumerGroupDriver, ClientDriver, Any]:
    """B has joined, A's connection broke and was made anew; return also what A then said."""
    group, client = being_assigned()
    client.beat_due()
    group.join("B")
    client.disconnect()
    client.beat_due()
    return group, client, answer(group, client)


def test_a_list_made_during_an_assignment_gives_away_what_is_being_assigned():
    """After a lost connection the member owns nothing, it says: a newcomer gets its share at once."""
    group, client, said = left_out()
    given = group.beat("B")
    client.end_call()

    assert () == said.topic_partitions
    assert {"t": {1}} == given.assignment
    assert [0, 1] == client.owned()


def test_the_member_learns_of_it_with_the_same_answer():
    """Two own the partition until the application has polled: the next target lacks it."""
    _, client, _ = left_out()
    client.hold_calls = False
    client.end_call()
    for _ in range(3):
        client.poll()

    assert [0] == client.owned()
    assert ("revoked", (1,)) in client.calls
