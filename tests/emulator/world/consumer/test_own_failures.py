"""Failing records in code of the user: attempts that fail, and topics that records are sent to."""

from __future__ import annotations

import sys
from itertools import count

import pytest

import emulator
from emulator.errors import HandlerError
from emulator.events import CommitAccepted, FaultBegan, Processed, ProcessingFailed
from emulator.scenario.problems import ScenarioError

from ...brute_force.test_brute_force import hold_laws
from ..stores.store_group import write_class

SCENARIO = """
title = "a handler that forwards"
run_for = "20s"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
produce_until = "10s"
backlog = 200
[[group]]
id = "g"
topics = ["t"]
members = 2
work = "10ms"
commit = "none"
handler = {handler}
settings = {{ "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000 }}
{more}
"""
CRASH = '[[fault]]\ncrash = "g-0"\nat = "{}"\n'
RETRIES = """
def __init__(self, consumer):
    self.consumer = consumer

def handle(self, records):
    for record in records:
        if record.offset % 50 == 7:
            yield Fail(record, ms=30)
            yield Fail(record, ms=40)
            yield Forward(record, delay_ms=500)
        else:
            yield Process(record)
    yield Commit()
"""
IN_THE_BACKGROUND = """
def __init__(self, consumer):
    pass

def handle(self, records):
    for record in records:
        yield Begin(record{ms})
    yield Drain()
"""
DEAD = """
[[topic]]
name = "t-dlt"
partitions = 2
[[group]]
id = "dead"
topics = ["t-dlt"]
members = 1
settings = { "auto.offset.reset" = "earliest" }
"""


MODULES = count()


@pytest.fixture
def retrying(tmp_path):
    """Return a function that loads a handler, by default one which forwards what fails twice."""

    def load(forwards='["t-dlt"]', more=DEAD, body=RETRIES):
        module = f"own_failures_{next(MODULES)}"
        handler = f'{{ code = "{module}:Own", forwards = {forwards} }}'
        scenario = SCENARIO.format(handler=handler, more=more)
        return emulator.load(write_class(tmp_path, module, body, scenario))

    yield load
    for name in [name for name in sys.modules if name.startswith("own_failures_")]:
        del sys.modules[name]


@pytest.mark.parametrize(("ms", "begun"), [("", ["poison-1"]), (", ms=5", [])])
def test_a_slow_record_begins_a_fault_if_the_code_leaves_its_time_to_the_scenario(
    retrying, ms, begun
):
    """A time that the code gives itself is not lengthened, so no rule is met."""
    slow = 'poison = [{ topic = "t", partition = 0, offset = 60, work = "3s" }]'
    run = emulator.run(retrying("[]", slow, IN_THE_BACKGROUND.format(ms=ms)))

    assert begun == [e.what.fault for e in run.events if isinstance(e.what, FaultBegan)]


def test_failed_attempts_take_time_and_forwarded_records_are_read_by_another_group(retrying):
    """Each of them is processed once by its group, and once in the dead-letter topic."""
    run = emulator.run(retrying(), 0)
    ends = [end for tp, end in run.events[-1].what.log_ends if tp.topic == "t"]
    failing = sum(offset % 50 == 7 for end in ends for offset in range(end))
    dead = [e for e in run.events if isinstance(e.what, Processed) and e.what.group == "dead"]

    assert 10 <= failing <= 14
    assert 2 * failing == run.metrics["failed_attempts"]
    assert (failing, 0) == (run.metrics["forwarded"], run.metrics["forwarded_again"])
    assert failing == sum(e.what.next_offset - e.what.first for e in dead)
    assert (0, 0) == (run.ledger.lost, run.ledger.reprocessed)
    assert () == run.findings


def test_a_crash_forwards_again_what_was_not_committed(retrying):
    """The dead-letter topic has such a record twice."""
    plain = emulator.run(retrying(), 0)
    sent = (e.at_us for e in plain.events if isinstance(e.what, ProcessingFailed) and e.what.to)
    run = emulator.run(retrying(more=DEAD + CRASH.format(f"{next(sent) + 200_000}us")), 0)

    assert run.metrics["forwarded_again"] > 0
    hold_laws(run)


@pytest.mark.parametrize(
    ("forwards", "more", "error", "text"),
    [
        ('["t-dlq"]', "", HandlerError, "Allowed are those in forwards of the handler (t-dlq)"),
        ('["t"]', "", ScenarioError, "would come back for ever"),
        ('["t-dl"]', DEAD, ScenarioError, 'did you mean "t-dlt"'),
        (
            '["t-dlt"]',
            DEAD.replace("partitions = 2", "partitions = 1"),
            ScenarioError,
            "2 partitions",
        ),
    ],
)
def test_topics_that_cannot_take_records_are_refused(retrying, forwards, more, error, text):
    """With what is allowed."""
    with pytest.raises(error) as refused:
        emulator.run(retrying(forwards, more), 0)

    assert text in str(refused.value)


def test_commits_pass_offsets_without_records(tmp_path):
    """Of a transactional topic everything is committed in the end, whatever overtakes what."""
    body = """
    def __init__(self, consumer):
        self.consumer = consumer

    def handle(self, records):
        for record in records:
            yield Begin(record, ms=20 if record.offset % 3 else 50)
            yield Drain(at_most=5)
        yield Drain()
        yield Commit()
    """
    module = f"own_failures_{next(MODULES)}"
    scenario = SCENARIO.format(handler=f'"{module}:Own"', more=CRASH.format("9s"))
    gaps = scenario.replace("backlog = 200", "backlog = 70\ntransaction_records = 7")
    run = emulator.run(emulator.load(write_class(tmp_path, module, body, gaps)), 0)
    log_ends = dict(run.events[-1].what.log_ends)
    committed = {}
    for event in run.events:
        if isinstance(event.what, CommitAccepted):
            committed.update(event.what.offsets)

    assert committed.keys() == log_ends.keys()
    assert all(log_ends[tp] - 1 <= offset for tp, offset in committed.items())
    assert run.ledger.reprocessed <= 12
    assert () == run.findings


SOUGHT = """
def __init__(self, consumer):
    pass

def handle(self, records):
    for record in records:
        if record.offset == 20:
            yield Fail(record, ms=9000)
        yield Process(record)

def assigned(self, partitions):
    for pair in partitions:
        yield Seek(pair, 0)
"""


@pytest.mark.usefixtures("retrying")
def test_a_record_that_was_sought_away_from_is_not_in_hand_after_its_attempt(tmp_path):
    """The listener of aiokafka seeks beside the work, during an attempt that fails."""
    module = f"own_failures_{next(MODULES)}"
    late = '[[group.member]]\nname = "late"\nstart = "4s"\n'
    text = SCENARIO.format(handler=f'"{module}:Own"', more=late).replace("6000", "10000")
    text = text.replace("members = 2", 'members = ["g-0", "late"]\nclient = "aiokafka"')
    scenario = emulator.load(write_class(tmp_path, module, SOUGHT, text))

    with pytest.raises(HandlerError, match="offset 20: the record is not in hand"):
        emulator.run(scenario, 0)
