"""What the member's own log would say."""

from __future__ import annotations

from protocols.consumer.kip848.membership import Membership
from protocols.consumer.kip848.values import ClientState
from protocols.facts import ClientStateChanged
from protocols.machine import Step, Tell


def changed(state: ClientState, member: Membership) -> Step[ClientState]:
    """Return the state with the member changed, and say so if it stands elsewhere now."""
    after = state.becoming(member)
    before = state.member.state
    if before is member.state:
        return Step(after)
    fact = ClientStateChanged(
        member_id=state.member_id, epoch=member.epoch, before=before.name, after=member.state.name
    )
    return Step(after, (Tell(fact),))
