"""The timers of one machine, against a plain dictionary looked at in every microsecond."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from emulator.world.kernel import Deadlines, Kernel, Rank

NAMES = "abc"
UNTIL = 30

acts = st.tuples(
    st.integers(0, 25),
    st.sampled_from(["set", "set", "set", "cancel"]),
    st.sampled_from(NAMES),
    st.integers(0, 12),
)
reactions = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from(["set", "cancel"]), st.sampled_from(NAMES), st.integers(0, 4)),
)


@dataclass
class Machine:
    """Wakes at deadlines; a wake-up of some names sets or cancels others."""

    kernel: Kernel
    reacts: dict = field(default_factory=dict)
    woken: list = field(default_factory=list)

    def __post_init__(self):
        self.deadlines = Deadlines(self.kernel, Rank.CLIENT_TIMER, 0, self.wake)

    def wake(self, name, now):
        assert now == self.kernel.now
        self.woken.append((now, name))
        if name in self.reacts and len(self.woken) < 40:
            verb, other, length = self.reacts[name]
            self.act(verb, other, now + length)

    def act(self, verb, name, deadline):
        if verb == "set":
            self.deadlines.set(name, deadline)
        else:
            self.deadlines.cancel(name)


def by_machine(planned, reacts=None):
    kernel = Kernel()
    machine = Machine(kernel, reacts or {})
    for when, verb, name, length in planned:

        def act(_, verb=verb, name=name, deadline=when + length):
            machine.act(verb, name, deadline)

        kernel.at(when, Rank.FAULT, 0, act)
    kernel.run(UNTIL)
    return machine.woken


def by_dictionary(planned):
    due = {}
    woken = []
    for now in range(UNTIL):
        for when, verb, name, length in planned:
            if when == now and verb == "set":
                due[name] = now + length
            elif when == now:
                due.pop(name, None)
        for _, name in sorted((deadline, name) for name, deadline in due.items()):
            if due[name] <= now:
                del due[name]
                woken.append((now, name))
    return woken


@given(st.lists(acts, max_size=20))
def test_a_machine_wakes_at_exactly_its_latest_deadlines(planned):
    """However often they are set, earlier or later, and cancelled; ties by name."""
    planned.sort(key=lambda act: act[0])

    assert by_dictionary(planned) == by_machine(planned)


@given(st.lists(acts, max_size=10), reactions)
def test_no_wake_up_is_lost_or_doubled_when_wake_ups_set_others(planned, reacts):
    """Each wake-up has a deadline of its own that was in force; none stays behind."""
    kernel = Kernel()
    machine = Machine(kernel, reacts)
    force = {}
    set_, cancel, wake = machine.deadlines.set, machine.deadlines.cancel, machine.wake

    def noted_set(name, deadline):
        force[name] = deadline
        set_(name, deadline)

    def noted_cancel(name):
        force.pop(name, None)
        cancel(name)

    def noted_wake(name, now):
        assert force.pop(name) == now
        wake(name, now)

    machine.deadlines.set, machine.deadlines.cancel = noted_set, noted_cancel
    machine.deadlines._wake = noted_wake
    for when, verb, name, length in planned:
        kernel.at(when, Rank.FAULT, 0, lambda _, a=(verb, name, when + length): machine.act(*a))
    kernel.run(UNTIL + 200)

    assert {} == force


def test_a_renewed_lease_does_not_fire_at_its_old_deadline():
    """Only the last deadline counts."""
    assert [(14, "a")] == by_machine([(0, "set", "a", 5), (3, "set", "a", 5), (6, "set", "a", 8)])


def test_a_deadline_set_earlier_wakes_earlier_and_only_then():
    """The event queued for the later one finds nothing."""
    assert [(4, "a")] == by_machine([(0, "set", "a", 20), (1, "set", "a", 3)])


def test_a_deadline_that_has_passed_wakes_at_once():
    """Time does not go back for it."""
    kernel = Kernel()
    machine = Machine(kernel)
    kernel.at(10, Rank.FAULT, 0, lambda _: machine.deadlines.set("a", 3))
    kernel.run(UNTIL)

    assert [(10, "a")] == machine.woken


def test_a_wake_up_that_cancels_another_of_the_same_instant_prevents_it():
    """The first to run may take the second back."""
    planned = [(0, "set", "a", 5), (0, "set", "b", 5)]

    assert [(5, "a"), (5, "b")] == by_machine(planned)
    assert [(5, "a")] == by_machine(planned, {"a": ("cancel", "b", 0)})


def test_a_wake_up_that_puts_another_of_the_same_instant_off_delays_it():
    """It then wakes at its new deadline alone."""
    planned = [(0, "set", "a", 5), (0, "set", "b", 5)]

    assert [(5, "a"), (8, "b")] == by_machine(planned, {"a": ("set", "b", 3)})


def test_a_deadline_precedes_the_request_of_its_client_at_that_instant():
    """Its earlier request began it; requests of others, and those before the deadline, do not."""
    for client, expected in (("billing-0", [(5, "revoke")]), ("billing-1", [])):
        kernel = Kernel()
        machine = Machine(kernel)
        machine.deadlines.set("revoke", 5, "billing-0")
        machine.deadlines.set("session", 5)
        found = {}

        def arrives(_, machine=machine, client=client, found=found):
            machine.deadlines.fire_before(client)
            found[machine.kernel.now] = list(machine.woken)

        for when in (4, 5):
            kernel.at(when, Rank.AT_BROKER, 0, arrives)
        kernel.run(UNTIL)

        assert {4: [], 5: expected} == found
        assert [(5, "revoke"), (5, "session")] == sorted(machine.woken)


def test_a_deadline_that_another_request_set_again_is_no_longer_of_the_client():
    """Nor is one that the wake-up before it has cancelled."""
    kernel = Kernel()
    machine = Machine(kernel, {"a": ("cancel", "b", 0)})
    for name in "abc":
        machine.deadlines.set(name, 5, "billing-0")
    machine.deadlines.set("c", 5)
    kernel.at(5, Rank.AT_BROKER, 0, lambda _: machine.deadlines.fire_before("billing-0"))
    kernel.at(5, Rank.AT_BROKER, 1, lambda _: machine.woken.append((5, "request")))
    kernel.run(UNTIL)

    assert [(5, "a"), (5, "request"), (5, "c")] == machine.woken


def test_a_machine_that_is_gone_is_never_woken():
    """Nor by deadlines set afterwards."""
    kernel = Kernel()
    machine = Machine(kernel)
    machine.deadlines.set("a", 5)
    kernel.at(3, Rank.FAULT, 0, lambda _: machine.deadlines.close())
    kernel.at(4, Rank.FAULT, 0, lambda _: machine.deadlines.set("b", 9))
    kernel.run(UNTIL)

    assert [] == machine.woken


def test_a_thousand_renewals_cost_a_handful_of_events():
    """A lease of 50, renewed every microsecond for a thousand, wakes the kernel 20 times."""
    kernel = Kernel()
    machine = Machine(kernel)

    def renew(_):
        machine.deadlines.set("session", kernel.now + 50)
        if kernel.now < 1_000:
            kernel.at(kernel.now + 1, Rank.FAULT, 0, renew)

    kernel.at(0, Rank.FAULT, 0, renew)
    kernel.run(2_000)
    renewals = 1_001

    assert [(1_050, "session")] == machine.woken
    assert kernel.scheduled - renewals <= 1_050 // 50 + 1
