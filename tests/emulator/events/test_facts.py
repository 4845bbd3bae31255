"""Facts of the protocols as events."""

from emulator.events import values_of
from protocols.facts import Departure, MemberAdded, MemberMoved, MemberRemoved
from protocols.values import recorded


def test_an_event_leaves_out_what_only_the_machines_caller_needs():
    """The consumer is filled in; client and instance id get their defaults."""
    fact = MemberAdded(group="g", member_id="g-0-1", client="g-0.1", instance_id="i")

    event = recorded(fact, consumer="g-0")

    assert MemberAdded(group="g", consumer="g-0", member_id="g-0-1") == event
    assert ["group", "consumer", "member_id", "replaced", "protocol"] == list(values_of(event))


def test_fields_of_an_event_keep_their_order():
    """Digests and files are written in this order."""
    moved = MemberMoved(
        group="g",
        member_id="m",
        epoch=2,
        previous_epoch=1,
        state="STABLE",
        assigned=(),
        revoking=(),
    )
    names = ["group", "consumer", "epoch", "state", "assigned", "revoking"]

    assert names == list(values_of(recorded(moved, consumer="g-0")))


def test_the_reason_of_a_departure_is_written_as_text():
    """An event holds plain text, whose representation goes into the digest."""
    fact = MemberRemoved(group="g", member_id="m", why=Departure.LEFT)

    assert "'left'" == repr(values_of(recorded(fact, why=str(fact.why)))["why"])
