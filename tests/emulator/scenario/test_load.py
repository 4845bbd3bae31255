"""A file becomes the scenario it describes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from emulator.scenario.load import load, loads
from emulator.scenario.model import (
    AddPartitions,
    After,
    Bound,
    Bursts,
    BurstShape,
    Close,
    CommitPolicy,
    Constant,
    Crash,
    Curve,
    CurveShape,
    Cut,
    Lognormal,
    LognormalShape,
    LoseMessage,
    Member,
    MessageMatch,
    Poisson,
    Ramp,
    RampShape,
    RateAt,
    Start,
    Step,
    Steps,
    Topic,
    Trace,
)
from emulator.scenario.problems import ScenarioError

from .samples import SMALLEST, read


def test_the_smallest_useful_scenario_reads_as_it_is_written():
    """Every key of the smallest scenario means what its comment says."""
    scenario = read()

    assert 600_000_000 == scenario.run_for
    assert (Topic(name="orders", partitions=6, rate=20.0),) == scenario.topic
    group = scenario.group[0]
    assert ["billing-0", "billing-1", "billing-2"] == [member.name for member in group.members]
    assert Constant(constant=10_000) == group.work
    assert 6000 == group.settings["session.timeout.ms"]
    assert ("range",) == group.settings["partition.assignment.strategy"]
    assert (Crash(id="crash-1", member="billing-1", at=300_000_000),) == scenario.fault
    assert Bound(relation="==", value=0) == scenario.expect["lost"]
    assert Bound(relation="<=", value=200) == scenario.expect["reprocessed"]


@pytest.mark.parametrize(
    "spelled",
    [
        'settings = { "session.timeout.ms" = "6s", "partition.assignment.strategy" = ["range"] }',
        'settings.session.timeout.ms = 6000\nsettings.partition.assignment.strategy = "range"',
        """
        [group.settings]
        "session.timeout.ms" = 6000
        "partition.assignment.strategy" = "org.apache.kafka.clients.consumer.RangeAssignor"
        """,
        '[group.settings]\nsession.timeout.ms = 6000\n"partition.assignment.strategy" = "range,"',
    ],
)
def test_settings_can_be_quoted_or_dotted(spelled):
    """All spellings of Kafka's settings give the same scenario."""
    written = (
        'settings = { "partition.assignment.strategy" = "range", "session.timeout.ms" = 6000 }'
    )

    assert read() == read((written, spelled))


def test_members_can_be_named_and_refined():
    """A table says more about a counted member, or adds one with a new name."""
    scenario = read(
        ("members = 3", 'members = ["a", "b"]'),
        ('crash = "billing-1"', 'crash = "a"'),
        (
            "[[fault]]",
            """
            [[group.member]]
            name = "b"
            start = "5s"
            [[group.member]]
            name = "c"
            start = "by act"
            [[fault]]
            """,
        ),
    )

    expected = (
        Member(name="a"),
        Member(name="b", start=5_000_000),
        Member(name="c", start="by act"),
    )
    assert expected == scenario.group[0].members


def test_acts_stand_among_faults_in_the_order_of_the_file():
    """[[act]] is another word for [[fault]]; ids count each verb in the order of the file."""
    scenario = read(
        more='[[act]]\nclose = "billing-0"\nat = "1min"\n'
        '[[fault]]\ncrash = "billing-2"\nbetween = ["1min", "2min"]\n'
        '[[act]]\nid = "back"\nstart = "billing-1"\nwhen = "crash-1 ends"\ndelay = "2s"\n'
    )

    assert ["crash-1", "close-1", "crash-2", "back"] == [fault.id for fault in scenario.fault]
    assert Close(id="close-1", member="billing-0", at=60_000_000) == scenario.fault[1]
    back = Start(
        id="back", member="billing-1", when=After(fault="crash-1", phase="ends"), delay=2_000_000
    )
    assert back == scenario.fault[3]


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (
            'cut = ["billing-0", "coordinator of billing"]\nat = "1s"\nfor = "5s"\none_way = true',
            Cut(
                id="cut-1",
                parties=("billing-0", "coordinator of billing"),
                at=1_000_000,
                lasting=5_000_000,
                one_way=True,
            ),
        ),
        (
            'add_partitions = "orders"\nto = 9\nat = "1s"',
            AddPartitions(id="add_partitions-1", topic="orders", to=9, at=1_000_000),
        ),
        (
            'lose_message = { kind = "OffsetCommit", member = "billing-2", nth = 3 }',
            LoseMessage(
                id="lose_message-1",
                message=MessageMatch(kind="OffsetCommit", member="billing-2", nth=3),
                at=0,
            ),
        ),
        (
            'close = "billing-0"\nwhen = { member = "billing-1", step = "sent SyncGroup", nth = 2 }',
            Close(
                id="close-1",
                member="billing-0",
                when=Step(member="billing-1", step="sent SyncGroup", nth=2),
            ),
        ),
        (
            'close = "billing-0"\nwhen = "billing-1 batch done"',
            Close(
                id="close-1", member="billing-0", when=Step(member="billing-1", step="batch done")
            ),
        ),
    ],
)
def test_the_verb_of_a_fault_is_its_key(written, fault):
    """A fault's verb is a key whose value is its target."""
    assert fault == read(more=f"[[fault]]\n{written}").fault[-1]


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        ('"none"', CommitPolicy(call="none")),
        ('"sync per record"', CommitPolicy(call="sync", when="record")),
        (
            '{ call = "async", when = "every", every = "5s", records = 100 }',
            CommitPolicy(call="async", when="every", every=5_000_000, records=100),
        ),
    ],
)
def test_a_commit_policy_is_a_word_or_a_table(written, policy):
    """The usual policies have names; tables say the rest."""
    assert policy == read(("members = 3", f"members = 3\ncommit = {written}")).group[0].commit


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ('"3/min"', 0.05),
        ('{ poisson = "20/s" }', Poisson(poisson=20.0)),
        (
            '{ bursts = { rate = "100/s", for = "1s", every = "10s" } }',
            Bursts(bursts=BurstShape(rate=100.0, lasting=1_000_000, every=10_000_000)),
        ),
        (
            '{ bursts = { rate = "9/s", for = "1s", at = ["5s", "6s"] } }',
            Bursts(bursts=BurstShape(rate=9.0, lasting=1_000_000, at=(5_000_000, 6_000_000))),
        ),
        (
            '{ steps = [{ at = "1s", rate = "9/s" }] }',
            Steps(steps=(RateAt(at=1_000_000, rate=9.0),)),
        ),
        (
            '{ ramp = { from = "1/s", to = "9/s", for = "1s" } }',
            Ramp(ramp=RampShape(first=1.0, to=9.0, lasting=1_000_000)),
        ),
        (
            '{ curve = { points = [{ at = "0s", rate = "9/s" }], every = "24h" } }',
            Curve(curve=CurveShape(points=(RateAt(at=0, rate=9.0),), every=86_400_000_000)),
        ),
    ],
)
def test_producers_are_steady_random_or_in_bursts(written, rate):
    """A plain rate comes at equal distances; tables name the other patterns."""
    assert rate == read(('rate = "20/s" ', f"rate = {written} ")).topic[0].rate


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ('{ step = [{ at = "1s", rate = "9/s" }] }', 'did you mean "steps"'),
        ('{ steps = [{ at = "2s", rate = "9/s" }, { at = "1s", rate = "9/s" }] }', "in order"),
        ("{ steps = [] }", "at least one is needed"),
        ('{ bursts = { rate = "9/s", for = "1s" } }', 'exactly one of "every" and "at"'),
        (
            '{ bursts = { rate = "9/s", for = "2s", at = ["1s", "2s"] } }',
            "before the one before it",
        ),
        ('{ curve = { points = [{ at = "9s", rate = "1/s" }], every = "9s" } }', "in the period"),
        ('{ curve = { points = [{ at = "9s", rates = "1/s" }] } }', 'did you mean "rate"'),
    ],
)
def test_a_rate_that_makes_no_sense_is_refused(written, reason):
    """With what is allowed, and the nearest name."""
    with pytest.raises(ScenarioError) as refused:
        read(('rate = "20/s" ', f"rate = {written} "))

    assert reason in str(refused.value)


@pytest.mark.parametrize("written", ['"1"', "1"])
def test_producers_may_trust_the_leader_alone(written):
    """In a word or a number."""
    trusting = read(("partitions = 6", f"partitions = 6\nacks = {written}"))

    assert "1" == trusting.topic[0].acks
    assert "all" == read().topic[0].acks


def test_work_times_have_distributions():
    """A plain time is a constant; a table names a distribution."""
    table = 'work = { lognormal = { median = "5ms", p99 = "1s" } }'
    shape = LognormalShape(median=5_000, p99=1_000_000)

    assert Lognormal(lognormal=shape) == read(('work = "10ms"', table)).group[0].work


def test_a_trace_of_work_times_is_read_from_a_file_beside_the_scenario(tmp_path):
    """A path means one time a line, comments and empty lines left out."""
    (tmp_path / "work.txt").write_text("# measured on Monday\n5ms\n\n1.5s  # slow\n")
    file = tmp_path / "scenario.toml"
    file.write_text(SMALLEST.replace('work = "10ms"', 'work = { trace = "work.txt" }'))

    assert Trace(trace=(5_000, 1_500_000)) == load(file).group[0].work


def test_bounds_have_relations_units_and_figures_over_seeds():
    """Expectations take a number, a relation, a unit of time, and a figure over seeds."""
    scenario = read(
        ("lost = 0", 'takeover_first_s = "< 45s"\n"overlap_records.p95" = ">= 1"'),
        ('reprocessed = "<= 200"', 'reprocessed.p95 = "<= 200"'),
    )

    assert {
        "takeover_first_s": Bound(relation="<", value=45),
        "overlap_records.p95": Bound(relation=">=", value=1),
        "reprocessed.p95": Bound(relation="<=", value=200),
    } == scenario.expect


def test_a_run_can_have_a_start_on_the_clock():
    """A date and time of TOML is where the clock begins."""
    scenario = read(("run_for", "start = 2026-05-04T09:00:00Z\nrun_for"))

    assert datetime(2026, 5, 4, 9, tzinfo=UTC) == scenario.start


def test_a_start_in_quotes_is_the_same_moment():
    """JSON and ``--set`` have no times of their own; bad ones are still refused."""
    plain = read(("run_for", "start = 2026-05-04T09:00:00Z\nrun_for"))
    quoted = read(("run_for", 'start = "2026-05-04T09:00:00Z"\nrun_for'))

    assert plain == quoted
    with pytest.raises(ScenarioError, match='start = "2026-15-04": wrong type; allowed is a date'):
        read(("run_for", 'start = "2026-15-04"\nrun_for'))


def test_a_start_without_a_zone_is_utc():
    """Every machine takes a local time alike."""
    scenario = read(("run_for", "start = 2026-05-04 09:00:00\nrun_for"))

    assert datetime(2026, 5, 4, 9, tzinfo=UTC) == scenario.start


def test_a_file_may_have_a_byte_order_mark_and_carriage_returns(tmp_path):
    """Files from other systems read the same."""
    file = tmp_path / "scenario.toml"
    file.write_bytes(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode())

    assert loads(SMALLEST, "") == load(file)
