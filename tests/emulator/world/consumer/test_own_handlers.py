"""Handlers that are code of the user: actions, listener calls, errors, and which code is run."""

from __future__ import annotations

import re
import sys
from itertools import count
from pathlib import Path
from textwrap import dedent, indent

import pytest

import emulator
from emulator.errors import HandlerError
from emulator.events import CommitSent, NotProcessed, Processed, ProcessedOutOfOrder
from emulator.ledger.entries import Cause
from emulator.loading import load_named
from emulator.scenario.problems import ScenarioError
from emulator.world.consumer.own_code import script as own_script

from ...brute_force.test_brute_force import hold_against_count, hold_laws
from ..stores.store_group import write_class

EXAMPLE = Path(__file__).parents[4] / "examples" / "handlers" / "chunks.toml"
SCENARIO = """
title = "a handler of one's own"
run_for = "30s"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
backlog = 200
[[group]]
id = "g"
topics = ["t"]
members = {members}
work = "10ms"
commit = {commit}
handler = {handler}
settings = {{ "enable.auto.commit" = false, "auto.offset.reset" = "earliest", {settings} }}
{more}
"""
CRASH = '[[fault]]\ncrash = "g-0"\nat = "{}"\n'
LATE = '[[group.member]]\nname = "late"\nstart = "12s"\n'
MODULES = count()
IMPORTS = "from emulator.handlers import *\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a class beside a scenario, and loads the scenario."""

    def load(body: str, **changes: object) -> emulator.Scenario:
        module = f"own_handler_{next(MODULES)}"
        values = {
            "members": 2,
            "commit": '"none"',
            "more": "",
            "handler": f'"{module}:Own"',
            "settings": '"session.timeout.ms" = 6000',
        } | changes
        return emulator.load(write_class(tmp_path, module, body, SCENARIO.format(**values)))

    yield load
    for name in [name for name in sys.modules if name.startswith("own_handler_")]:
        del sys.modules[name]


CHUNKS = """
def __init__(self, consumer):
    pass
def handle(self, records):
    for number, record in enumerate(records, 1):
        yield Process(record)
        if number % 25 == 0:
            yield Commit()
    yield Commit()
"""


def facts(run: emulator.Run, *kinds: type) -> list:
    """Return the events of some kinds."""
    return [event.what for event in run.events if isinstance(event.what, kinds)]


# -- what it does --------------------------------------------------------------------------------


def test_a_crash_repeats_what_the_code_had_not_committed(write):
    """What was finished before the crash, less what was committed; both counted from the events."""
    restart = f'{CRASH.format("6.7s")}[[act]]\nstart = "g-0"\nat = "7s"\n'
    run = emulator.run(write(CHUNKS, members=1, more=restart))

    before = [event.what for event in run.events if event.at_us <= 6_700_000]
    done = sum(what.next_offset - what.first for what in before if isinstance(what, Processed))
    committed = {}
    for what in before:
        if isinstance(what, CommitSent):
            committed |= dict(what.offsets)

    assert 0 < done - sum(committed.values()) < 25
    assert run.ledger.reprocessed == done - sum(committed.values())
    assert run.ledger.lost == 0
    assert {entry.cause for entry in run.ledger.entries if entry.cause} == {Cause.CRASHED}


ASYNCHRONOUS = """
def __init__(self, consumer):
    self.consumer = consumer
def handle(self, records):
    for record in records:
        yield Begin(record, ms=5 + 100 * self.consumer.random(record))
    if self.consumer.in_flight > 30:
        yield Drain(at_most=10)
    yield Commit(sync=False)
def revoked(self, partitions):
    yield Drain()
    yield Commit()
def closing(self):
    yield Drain()
    yield Commit()
"""


CLASSIC = '"session.timeout.ms" = 6000, "partition.assignment.strategy" = "{}"'


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        CLASSIC.format("range"),
        CLASSIC.format("cooperative-sticky"),
        '"group.protocol" = "consumer"',
    ],
)
def test_begun_records_overtake_one_another_and_the_commit_stays_before_the_first(write, settings):
    """Drained and committed in the listener: a join repeats nothing, a crash a few records."""
    run = emulator.run(write(ASYNCHRONOUS, more=LATE, settings=settings))
    assert facts(run, ProcessedOutOfOrder)
    assert (run.ledger.reprocessed, run.ledger.lost) == (0, 0)

    crashed = emulator.run(
        write(ASYNCHRONOUS, more=CRASH.format("8.05s"), settings=settings), polls=True
    )
    assert crashed.ledger.lost == 0
    hold_laws(crashed)
    hold_against_count(crashed)


@pytest.mark.long
def test_closing_finishes_what_is_in_flight(write):
    """Without it, records in flight are cut off; with it nothing is repeated."""
    soon = CLASSIC.format("range") + ', "fetch.max.wait.ms" = 1'  # for which close() waits
    close = '[[fault]]\nclose = "g-0"\nat = "7.303s"\n'
    without = ASYNCHRONOUS[: ASYNCHRONOUS.index("def closing")].replace("yield Drain()", "pass")

    assert emulator.run(write(without, more=close, settings=soon)).ledger.partial > 0
    drained = emulator.run(write(ASYNCHRONOUS, more=close, settings=soon)).ledger
    assert (drained.partial, drained.reprocessed, drained.lost) == (0, 0, 0)


ROWS = """
def __init__(self, consumer):
    self.consumer, self.rows, self.written = consumer, [], 0
def handle(self, records):
    self.rows += records
    if self.consumer.now_us - self.written > 2_000_000:
        self.written = self.consumer.now_us
        for row in self.rows:
            yield Process(row, ms=0)
        self.rows = []
        yield Commit()
"""


def test_records_in_hand_stay_before_the_commit_over_polls(write):
    """Rows are written every 2 s; if they are not dropped in revoked(), they are written twice."""
    forgets = f"{ROWS}def revoked(self, partitions):\n    self.rows = []\n"
    run = emulator.run(write(forgets, more=LATE))
    assert (run.ledger.reprocessed, run.ledger.lost) == (0, 0)
    assert len(facts(run, CommitSent)) < 40

    kept = emulator.run(write(ROWS, more=LATE), polls=True)
    assert kept.ledger.reprocessed > 0
    hold_laws(kept)
    hold_against_count(kept)


def test_pause_stops_one_partition_and_resume_goes_on(write):
    """For 5 s no record of t-0 is returned, and all of them are in the end."""
    body = """
    def __init__(self, consumer):
        self.consumer = consumer
    def handle(self, records):
        second = self.consumer.now_us // 1_000_000
        if 10 <= second < 15:
            yield Pause([("t", 0)])
        elif self.consumer.paused:
            yield Resume()
        for record in records:
            yield Process(record)
        yield Commit()
    """
    run = emulator.run(write(body, members=1))
    done = [
        event.at_us / 1e6
        for event in run.events
        if isinstance(event.what, Processed) and event.what.partition.partition == 0
    ]

    assert not [at for at in done if 10.5 < at < 15]
    assert [at for at in done if at > 15]
    assert (run.ledger.backlog < 10, run.ledger.lost) == (True, 0)


def test_skip_loses_a_record_and_seek_repeats_some(write):
    """The code leaves out offset 7 of each partition; at offset 50 it seeks back by 20, once."""
    body = """
    def __init__(self, consumer):
        self.sought = False
    def handle(self, records):
        for record in records:
            if record.offset == 7:
                yield Skip(record)
            else:
                yield Process(record)
            if record.offset == 50 and not self.sought:
                self.sought = True
                yield Seek((record.topic, record.partition), 31)
                return
        yield Commit()
    """
    run = emulator.run(write(body, members=1))

    assert run.ledger.lost == len(facts(run, NotProcessed)) == 2
    assert {entry.cause for entry in run.ledger.entries} == {Cause.SKIPPED, Cause.SOUGHT}
    assert run.ledger.reprocessed == 20


def test_exit_ends_the_process(write):
    """It raises at offset 20, as does each next owner: nothing behind it is processed."""
    body = """
    def __init__(self, consumer):
        pass
    def handle(self, records):
        for record in records:
            if record.offset == 20:
                yield Exit("bad record")
            yield Process(record)
    """
    run = emulator.run(write(body))

    assert max(what.next_offset for what in facts(run, Processed)) == 20


def test_a_refused_commit_is_what_the_action_yields(write):
    """The code sleeps longer than max.poll.interval.ms: CommitFailedException."""
    body = """
    def __init__(self, consumer):
        self.consumer = consumer
    def handle(self, records):
        for record in records:
            yield Process(record)
        if records and self.consumer.name == "g-0":
            yield Wait(ms=9_000)
        error = yield Commit()
        if error is not None:
            yield Exit(error)
    """
    settings = '"session.timeout.ms" = 6000, "max.poll.interval.ms" = 7000'
    run = emulator.run(write(body, settings=settings))

    stopped = [event.what for event in run.events if type(event.what).__name__ == "ConsumerStopped"]
    assert stopped[0].reason == "CommitFailedException"


def test_the_policy_of_the_group_commits_behind_the_code(write):
    """``commit = "sync"``: after handle() has returned, up to the first record that is not done."""
    body = """
    def __init__(self, consumer):
        pass
    def handle(self, records):
        return [Process(record) for record in records]
    """
    run = emulator.run(write(body, commit='"sync"'))

    assert (run.ledger.to_reprocess, run.ledger.in_hand) == (0, 0)
    assert len(facts(run, CommitSent)) > 10


@pytest.mark.long
@pytest.mark.parametrize("code", ["Chunks", "Asynchronous", "Rows"])
def test_the_examples_keep_their_bounds_record_by_record(code):
    """At most 20 records are reprocessed, nothing is lost; no period of user's code is skipped."""
    change = [f'group[billing].handler="chunks:{code}"', "run_for=30s", "topic[orders].backlog=300"]
    run = emulator.run(load_named(str(EXAMPLE), change).scenario, 3, keep_events=False)

    assert run.ledger.lost == 0
    assert run.ledger.reprocessed <= 20
    assert not run.findings
    assert run.folded.folded_us == 0
    assert "code of the user processes its records" in run.folded.live_shares()


# -- errors ----------------------------------------------------------------------------------------

EACH = """
def __init__(self, consumer):
    self.consumer = consumer
def handle(self, records):
    for record in records:
        {}
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "yield Process(record); 1 / (record.offset - 5)",
            "ZeroDivisionError: division by zero (own",
        ),
        ("yield 7", "yielded 7, which is no action"),
        ("yield 'Proces'", "Did you mean 'Process'?"),
        ("yield Process(record, ms=-1)", "needs a time in milliseconds, 0 or more; got ms=-1"),
        ("yield Process(record); yield Process(record)", "the record is not in hand"),
        ('yield Pause([("t", 9)])', "names t-9, which is not assigned (assigned: t-"),
        ("yield Pause()\n        while True: yield Resume()", "1,000 actions at one instant"),
        ("import sys; sys.exit(3); yield", "called sys.exit(3)"),
        ('yield Commit({("t", 0): -1})', "needs offsets of 0 or more"),
    ],
)
def test_an_error_says_whose_it_is_at_which_record_and_when(write, line, text, monkeypatch):
    """There is no result: the run ends with the error."""
    monkeypatch.setattr(own_script, "MAX_AT_AN_INSTANT", 1_000)
    scenario = write(EACH.format(line))

    with pytest.raises(HandlerError) as caught:
        emulator.run(scenario)

    message = str(caught.value)
    assert text in message
    assert "Own' of g-" in message
    assert "(group g) failed at 0:00:0" in message
    assert ", at the record t-" in message
    assert " raised " not in message or re.search(r"\(own_handler_\d+\.py, line 8\)$", message)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"handler": '"nowhere:Own"'}, "there is no module 'nowhere' beside the scenario file"),
        ({"handler": '"json:loads"'}, "a scenario may not run code from elsewhere"),
        ({"handler": '"seriel"'}, 'did you mean "serial"'),
        ({"handler": '{ code = "x:Y", argument = {} }'}, 'did you mean "arguments"'),
    ],
)
def test_only_a_class_beside_the_scenario_is_loaded(write, changes, text):
    """Anything else is refused before anything of it is run."""
    with pytest.raises(ScenarioError) as caught:
        write(CHUNKS, **changes)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("body", "handler", "text"),
    [
        (CHUNKS, "Ow", "Did you mean 'Own'?"),
        ("def handel(self, records): pass", "Own", "Did you mean 'handel'?"),
        ("def handle(self, records): pass", "Own", "cannot be made"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_when_the_scenario_is_read(
    write, body, handler, text, tmp_path
):
    """The nearest name; a method handle; a constructor that takes the consumer."""
    (tmp_path / f"own_handler_{handler}_{len(body)}.py").write_text(
        f"{IMPORTS}class Own:\n{indent(dedent(body), '    ')}\n"
    )
    with pytest.raises(ScenarioError) as caught:
        write(CHUNKS, handler=f'"own_handler_{handler}_{len(body)}:{handler}"')
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"commit": '"sync per record"'}, "commits where it yields Commit()"),
        (
            {"more": 'poison = [{ every = 5, error = "retry", attempts = 2 }]'},
            "write it in handle()",
        ),
    ],
)
def test_keys_that_the_code_decides_are_refused(write, changes, text):
    """A commit after each record, what happens to a record that fails."""
    with pytest.raises(ScenarioError) as caught:
        write(CHUNKS, **changes)
    assert text in str(caught.value)
