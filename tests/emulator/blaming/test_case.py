"""The time around an incident that is compared and played."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import emulator
from emulator.blaming.case import case_of
from emulator.blaming.evidence import Work, evidence_of, grouped, in_order
from emulator.blaming.ranges import taken_apart
from emulator.blaming.setup import formed_us, scenario_of, work_us_of
from emulator.blaming.symptoms import symptoms_of

from .incidents import SECOND, SETUP, evidence, orders, steady


def lasting(**more):
    """Return ten minutes of two consumers; the first one stops at 100 s."""
    commits = [(at, 1, 10 * at) for at in range(5, 600, 5)]
    return evidence(
        steady("a", 0, 1, 100),
        steady("b", 1, 1, 600),
        steady("b", 0, 107, 600, first=980),
        commits=commits,
        generations=(0, 107),
        **more,
    )


def test_quiet_minutes_behind_an_incident_are_left_out():
    """The last sign is the repeat at 107 s; 8 s more are compared."""
    case = case_of(lasting(), SETUP)

    assert 10 == case.seen["repeated"]
    assert 114 <= case.evidence.work[-1].ended_us / SECOND <= 117
    assert case.warm_us < 45 * SECOND


def test_what_follows_much_later_is_not_compared():
    late = lasting()
    again = evidence(steady("b", 1, 500, 510, first=0)).work
    work = tuple(sorted((*late.work, *again), key=lambda done: done.ended_us))
    case = case_of(type(late)(work, late.commits, late.generations_us), SETUP)

    assert 10 == case.seen["repeated"]


def finished(*rows):
    """Return evidence that only has the times at which records were finished."""
    work = [
        Work(name, orders(number), first, end, int(at * SECOND), int(at * SECOND))
        for name, number, first, end, at in rows
    ]
    return evidence(work, generations=(0, 60))


def test_the_time_of_a_record_is_bounded_where_rows_do_not_have_it():
    """From 50 s on a works off a backlog, a record every 20 ms."""
    calm = [("a", 0, at, at + 1, 1 + at / 5) for at in range(245)]
    backlog = [("a", 0, at, at + 1, 50 + (at - 245) * 0.02) for at in range(245, 345)]

    assert 20_000 == work_us_of(case_of(finished(*calm, *backlog), SETUP).base)


def test_a_consumer_that_only_waits_for_records_is_taken_for_half_idle():
    """A record every 200 ms, and nothing says how long it took."""
    calm = [("a", 0, at, at + 1, 1 + at / 5) for at in range(300)]

    assert 100_000 == work_us_of(case_of(finished(*calm), SETUP).base)


def test_rows_for_many_records_bound_the_time_of_one():
    """Those of two partitions end with one commit: ten records each second, then 50 of them in two."""
    calm = [("a", n, 5 * at, 5 * at + 5, 1 + at) for at in range(50) for n in (0, 1)]
    backlog = [
        ("a", n, 250 + 100 * at, 350 + 100 * at, 54 + 4 * at) for at in range(4) for n in (0, 1)
    ]
    seen = finished(*calm, *backlog)
    pieces = sorted(taken_apart(seen.work), key=in_order)
    found = work_us_of(case_of(replace(seen, work=tuple(pieces)), SETUP).base)

    assert 20_000 <= found <= 22_000


def test_a_group_of_the_consumer_protocol_has_one_generation_for_each_epoch():
    """It is stable later, which its log does not say; a run waits until members have heard of their partitions."""
    scenario = emulator.loads("""
        title = "a group forms"
        run_for = "20s"
        [[topic]]
        name = "orders"
        partitions = 4
        rate = "5/s"
        [[group]]
        id = "billing"
        topics = ["orders"]
        members = 2
        work = "10ms"
        settings.group.protocol = "consumer"
        """)
    seen = evidence_of(emulator.run(scenario, seed=3, polls=True).events, "billing", 10_000)
    base = scenario_of(replace(SETUP, protocol="consumer"), seen, symptoms_of(seen))

    assert 2 == len(seen.generations_us)
    assert seen.generations_us[-1] < 1_000_000
    assert SECOND < _last_to_begin_us(seen) < formed_us(base)
    assert {"10.000s"} == {topic["produce_from"] for topic in base["topic"]}


def _last_to_begin_us(seen):
    return max(done[0].began_us for done in grouped(seen.work, attrgetter("consumer")).values())
