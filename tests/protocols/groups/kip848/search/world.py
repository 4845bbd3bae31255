"""The small world as a whole: two clients, their coordinator, and the messages between them.

On a connection everything keeps its order, and what was not answered when it breaks is lost,
handled or not. Between connections any order is possible, and each clock runs at its own speed:
each of a client's timers may fire at any time, in its own order. A fault, or an external act,
costs one of few *perturbations*.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from assignors.types import TopicPartition
from protocols.coordinator.dispatch import reject_unavailable
from protocols.machine import Send
from protocols.messages import Header

from .coordinator import Coordinator
from .laws import is_settled, wrong_of_group, wrong_of_owners, wrong_of_step
from .parties import Messages, States, by_name
from .process import Client, Process

NAMES = ("A", "B")

Numbers = tuple[int, ...]


class Whole(NamedTuple):
    """One state of the world; parties and messages by number, the oldest message first."""

    clients: tuple[int, ...]
    coordinator: int
    answers: tuple[Numbers, ...]
    """On their way to each client."""

    astray: tuple[bool, ...]
    """Who will send its next request to the coordinator of before."""

    unsaid: tuple[frozenset[TopicPartition], ...]
    """What each client was to own and did not name when it last listed what it owns.

    Or took over late, from a reconciliation that ended when it was fenced (``ApplyAssignmentEvent``).
    """

    perturbations: int
    """How many are left."""


class Act(NamedTuple):
    """A transition from one state to the next."""

    who: str
    what: Hashable
    sent: Numbers = ()
    is_lost: bool = False
    """What was sent never arrives."""


Acts = Iterator[tuple[Act, Whole]]


class World:
    """Which acts there are in a state, where they lead, and what must hold there."""

    def __init__(self, perturbations: int, *, eager: bool, **settings: Any) -> None:
        self.messages = Messages()
        self.clients = [
            States(Process(name, eager=eager, **settings), self.messages) for name in NAMES
        ]
        self.coordinator = States(Coordinator(), self.messages)
        self.first = Whole(
            clients=(0,) * len(NAMES),
            coordinator=0,
            answers=((),) * len(NAMES),
            astray=(False,) * len(NAMES),
            unsaid=(frozenset(),) * len(NAMES),
            perturbations=perturbations,
        )
        self._eager = eager

    # -- acts ------------------------------------------------------------------------------------

    def after(self, whole: Whole) -> Acts:
        """Yield everything that may happen in a state, and where it leads."""
        for place in range(len(NAMES)):
            client = self.clients[place].seen[whole.clients[place]]
            if client.polls:
                yield from self._moved(whole, place, "polls")
            if client.is_busy:
                yield from self._moved(whole, place, "comes back")
            if client.timer is not None:
                yield from self._moved(whole, place, client.timer)
            if whole.answers[place]:
                first, *rest = whole.answers[place]
                left = whole._replace(answers=_put(whole.answers, place, tuple(rest)))
                yield from self._moved(left, place, first)
            yield from self._time_limits(whole, place, client)
            if whole.perturbations and not client.is_over:
                yield from self._disturbed(_disturbed(whole), place, client)
        if whole.perturbations:
            state = self.coordinator.after(whole.coordinator, "fails over").state
            after = whole._replace(coordinator=state, astray=(True,) * len(NAMES))
            yield Act("the coordinator", "fails over"), _disturbed(after)

    def _time_limits(self, whole: Whole, place: int, client: Client) -> Acts:
        """A time limit of a member that is gone runs out; of another only by a perturbation."""
        if not client.is_over:
            if not whole.perturbations:
                return
            whole = _disturbed(whole)
        for timer in self.coordinator.seen[whole.coordinator].timers:
            if timer.endswith(f"-{NAMES[place]}"):
                state = self.coordinator.after(whole.coordinator, ("timer", timer)).state
                yield Act("the coordinator", ("timer", timer)), whole._replace(coordinator=state)

    def _disturbed(self, whole: Whole, place: int, client: Client) -> Acts:
        if client.waits:
            cut = whole._replace(answers=_put(whole.answers, place, ()))
            yield from self._moved(cut, place, "loses its connection")
        if client.state.in_group and not client.state.leaving:
            yield from self._moved(whole, place, "does not poll in time")
        if client.may_close:
            yield from self._moved(whole, place, "closes")
            if client.state.in_group:
                yield from self._moved(whole, place, "reads t alone")
            if self._eager and not client.is_busy:
                yield from self._moved(whole, place, "is busy")

    def _moved(self, whole: Whole, place: int, move: Hashable) -> Acts:
        """A client makes a move; what it sends is handled at once, or lost with its connection.

        That a request takes its time makes no difference: what the others do meanwhile they
        might as well do before it is sent.
        """
        seen, before = self.clients[place].seen, whole.clients[place]
        state, sent = self.clients[place].after(before, move)
        client = seen[state]
        unsaid = whole.unsaid[place]
        if unsaid:
            unsaid &= client.owns | client.coming
        taken = client.owns - seen[before].owns
        unsaid |= taken & seen[before].late - seen[before].coming
        whole = whole._replace(
            clients=_put(whole.clients, place, state), unsaid=_put(whole.unsaid, place, unsaid)
        )
        if not sent:
            yield Act(NAMES[place], move), whole
            return
        yield Act(NAMES[place], move, sent), self._handled(whole, place, client, sent)
        if whole.perturbations:
            lost = _disturbed(whole)._replace(answers=_put(whole.answers, place, ()))
            for _, after in self._moved(lost, place, "loses its connection"):
                yield Act(NAMES[place], move, sent, is_lost=True), after

    def _handled(self, whole: Whole, place: int, client: Client, sent: Numbers) -> Whole:
        answers, coordinator = whole.answers[place], whole.coordinator
        unsaid = whole.unsaid[place]
        if whole.astray[place]:
            answers += self.messages.numbered(_elsewhere(self.messages[each]) for each in sent)
        else:
            for each in sent:
                coordinator, replies = self.coordinator.after(coordinator, (NAMES[place], each))
                answers += replies
                unsaid |= _unsaid(client, self.messages[each])
        return whole._replace(
            coordinator=coordinator,
            answers=_put(whole.answers, place, answers),
            astray=_put(whole.astray, place, False),
            unsaid=_put(whole.unsaid, place, unsaid),
        )

    # -- laws ------------------------------------------------------------------------------------

    def wrong(self, before: Whole, after: Whole) -> str | None:
        """Say which law is broken by a state, or by the step to it, if one is."""
        group = self.coordinator.seen[after.coordinator]
        clients = dict(zip(NAMES, self._seen(after), strict=True))
        unsaid = dict(zip(NAMES, after.unsaid, strict=True))
        wrong = wrong_of_owners(group, clients, unsaid)
        if wrong is None and before.coordinator != after.coordinator:
            old = self.coordinator.seen[before.coordinator]
            wrong = wrong_of_group(group) or wrong_of_step(old, group)
        return wrong

    def is_settled(self, whole: Whole) -> bool:
        """Say whether nothing is on its way, and all who live own what they shall."""
        if any(whole.answers):
            return False
        group = self.coordinator.seen[whole.coordinator]
        return is_settled(group, dict(zip(NAMES, self._seen(whole), strict=True)))

    def _seen(self, whole: Whole) -> list[Client]:
        return [
            states.seen[state] for states, state in zip(self.clients, whole.clients, strict=True)
        ]


def _disturbed(whole: Whole) -> Whole:
    return whole._replace(perturbations=whole.perturbations - 1)


def _put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _elsewhere(request: Any) -> Any:
    effects = reject_unavailable(Header("c", 0), request, None, loading=False)
    return next(effect.message for effect in effects if isinstance(effect, Send))


def _unsaid(client: Client, request: Any) -> frozenset[TopicPartition]:
    listed = getattr(request, "topic_partitions", None)
    if listed is None:
        return frozenset()
    return (client.owns | client.coming) - by_name(listed)
