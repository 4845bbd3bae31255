"""Consumers that assign partitions to themselves: beside a group, with an id of their own, with none."""

from __future__ import annotations

import pytest

import emulator
from emulator import events as ev
from emulator.ledger.entries import Cause
from emulator.scenario.problems import ScenarioError

SCENARIO = """
title = "assigned by hand"
run_for = "25s"
topic = [{{ name = "t", partitions = 2, rate = "4/s" }}]
act = [{act}]

[[group]]
id = "g"
topics = ["t"]
commit = "sync"
settings = {{ {settings} }}
members = [{{ name = "g-0", {start} }}, {{ name = "job", start = "10s", assign = {{ t = [1] }} }}]
"""

ALONE = """
title = "no group id"
run_for = "40s"
topic = [{{ name = "t", partitions = 2, rate = "10/s" }}]
act = [{{ close = "r", at = "20s", restart_after = "5s" }}]

[[group]]
id = "r"
offsets = "none"
settings = {{ "auto.offset.reset" = "{policy}" }}
members = [{{ name = "r", assign = {{ t = "all" }} }}]
"""


def text(act: str = "", settings: str = "", start: str = 'start = "0s"') -> str:
    return SCENARIO.format(act=act, settings=settings, start=start)


def refused(run: emulator.Run) -> list[tuple[str, str]]:
    found = (e.what for e in run.events if isinstance(e.what, ev.CommitAnswered))
    return [(what.consumer, what.error) for what in found if what.error != "NONE"]


@pytest.mark.parametrize("mine", ["classic", "consumer"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_beside_members_its_commits_are_refused_and_both_process(protocol, mine):
    """``validateOffsetCommit``: no member id, generation -1, and the group has members."""
    beside = text(settings=f'"group.protocol" = "{protocol}"')
    beside = beside.replace("[1] }", f'[1] }}, settings = {{ "group.protocol" = "{mine}" }}')
    run = emulator.run(emulator.loads(beside))

    assert set(refused(run)) == {("job", "UNKNOWN_MEMBER_ID")}
    assert 50 <= run.ledger.reprocessed <= 60
    assert {entry.cause for entry in run.ledger.entries} == {Cause.TWO_OWNERS}
    assert {entry.detail for entry in run.ledger.entries} == {"assign()"}
    joined = {e.what.consumer for e in run.events if isinstance(e.what, ev.ListenerCalled)}
    assert joined == {"g-0"}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_without_members_its_commits_move_the_offsets_of_the_group(protocol):
    """The job reads from its first commit on; the group begins behind what the job has read."""
    late = text(
        act='{ close = "job", at = "15s" }, { start = "g-0", at = "18s" }',
        settings=f'"auto.offset.reset" = "earliest", "group.protocol" = "{protocol}"',
        start='start = "by act"',
    )
    run = emulator.run(emulator.loads(late))
    opened = [e.what for e in run.events if isinstance(e.what, ev.EpochOpened)]
    began = {str(each.partition): each.offset for each in opened if each.consumer == "g-0"}

    assert refused(run) == []
    assert 58 <= began["t-1"] <= 60
    assert began["t-0"] == 0
    assert run.ledger.reprocessed == run.ledger.lost == 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_without_a_group_id_the_reset_policy_decides_at_each_start(policy, protocol):
    given = f'"{policy}", "group.protocol" = "{protocol}"'
    run = emulator.run(emulator.loads(ALONE.format(policy=policy).replace(f'"{policy}"', given)))

    assert not any(isinstance(e.what, ev.CommitSent) for e in run.events)
    assert (run.ledger.reprocessed >= 390) == (policy == "earliest")
    assert (run.ledger.lost >= 90) == (policy == "latest")


def test_several_consumers_of_the_same_partitions_break_no_law():
    """Each of them processes every record, without any fault."""
    two = (
        'members = [{ name = "r", assign = { t = "all" } }, { name = "s", assign = { t = "all" } }]'
    )
    text = ALONE.format(policy="earliest")
    kept = [line for line in text.splitlines() if not line.startswith(("act", "members"))]
    run = emulator.run(emulator.loads("\n".join([*kept, two])))

    assert run.ledger.reprocessed > 300
    assert () == run.findings


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_its_fetches_survive_a_broker_and_its_commits_a_move_of_the_coordinator(protocol):
    moved = text(
        act='{ crash_broker = "coordinator of g", at = "12s", restart_after = "5s" }',
        settings=f'"auto.offset.reset" = "earliest", "group.protocol" = "{protocol}"',
        start='start = "by act"',
    )
    run = emulator.run(emulator.loads(moved))
    sent = [e for e in run.events if isinstance(e.what, ev.CommitAccepted) and e.at_us > 20_000_000]
    assert sent
    assert run.ledger.lost == 0
    assert run.digest == emulator.run(emulator.loads(moved), mode="exact").digest


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{ t = [1] }", "{ t = [2] }", "t has 2 partitions, 0 to 1"),
        ("{ t = [1] }", "{ tt = [1] }", 'did you mean "t"'),
        ("{ t = [1] }", "{ t = [] }", "at least one is needed"),
        ("{ t = [1] }", '{ t = "each" }', "all"),
        ("{ t = [1] }", '{ t = [1] }, topics = ["t"]', "mutually exclusive"),
        ('commit = "sync"', 'client = "franz-go"', "invalid direct-partition consuming option"),
        (
            "{ t = [1] }",
            '{ t = [1] }, coordinator_lookup = "once"',
            "looks the coordinator up again",
        ),
        ('commit = "sync"', 'handler = { workers = 2 }\ncommit = "sync"', "serial handler"),
        ('commit = "sync"', 'offsets = "zookeeper"', "with offsets in Kafka"),
        ('commit = "sync"', 'offsets = "none"', "subscribe() needs a group.id"),
        (
            "settings = {",
            'client = "librdkafka"\nsettings = { "group.protocol" = "consumer"',
            "classic consumer only",
        ),
        ("settings = {", 'settings = { "group.instance.id" = "x"', "leave the instance id out"),
    ],
)
def test_what_it_cannot_do_is_refused_with_the_reason(old, new, said):
    with pytest.raises(ScenarioError, match=said.replace("(", r"\(").replace(")", r"\)")):
        emulator.loads(text().replace(old, new))


OWN_GROUP = """
title = "a group of its own"
run_for = "60s"
topic = [{{ name = "t", partitions = 2, rate = "10/s" }}]
act = [{acts}]

[[group]]
id = "j"
client = "{client}"
settings = {{ "auto.offset.reset" = "earliest" }}
members = [{{ name = "j", assign = {{ t = "all" }}{more} }}]
"""
CRASH = '{ crash = "j", at = "22s", restart_after = "5s" }'


def test_under_the_consumer_protocol_it_commits_in_its_own_group_and_sends_no_heartbeat():
    """Two seconds of 20/s since the last automatic commit, and no call of the listener."""
    text = OWN_GROUP.format(client="java", acts=CRASH, more="")
    by_consumer = text.replace('"earliest"', '"earliest", "group.protocol" = "consumer"')
    run = emulator.run(emulator.loads(by_consumer))
    told = (ev.ListenerCalled, ev.MemberAdded)

    assert run.ledger.by_cause() == {Cause.CRASHED: 40}
    assert run.ledger.processed == 1240
    assert not [event for event in run.events if isinstance(event.what, told)]


@pytest.mark.parametrize("client", ["java", "kafka-python", "librdkafka", "aiokafka"])
def test_every_client_commits_in_its_own_group_and_goes_on_there(client):
    """A crash two seconds after an automatic commit repeats those two seconds of 20/s."""
    run = emulator.run(emulator.loads(OWN_GROUP.format(client=client, acts=CRASH, more="")))

    assert run.ledger.by_cause() == {Cause.CRASHED: 40}
    assert run.ledger.lost == 0
    assert run.ledger.processed == 1240
    assert refused(run) == []


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka", "franz-go"])
def test_without_a_group_id_a_start_begins_where_the_policy_says(client):
    text = ALONE.format(policy="earliest").replace('"none"', f'"none"\nclient = "{client}"', 1)
    run = emulator.run(emulator.loads(text))

    assert run.ledger.reprocessed == 400
    assert not any(isinstance(e.what, ev.CommitSent) for e in run.events)


def test_librdkafka_needs_a_group_id():
    text = ALONE.format(policy="earliest").replace('"none"', '"none"\nclient = "librdkafka"', 1)
    with pytest.raises(ScenarioError, match=r"group\.id must be set"):
        emulator.loads(text)


@pytest.mark.parametrize("lookup", ["once", "again"])
def test_a_coordinator_that_moves_is_looked_up_again_or_never(lookup):
    """Old versions of librdkafka commit to the former coordinator until they are restarted."""
    text = OWN_GROUP.format(
        client="librdkafka",
        acts='{ move_coordinator = "j", at = "20s" }, ' + CRASH.replace("22s", "50s"),
        more=f', coordinator_lookup = "{lookup}"',
    )
    run = emulator.run(emulator.loads(text))
    accepted = [e.at_us // 1_000_000 for e in run.events if isinstance(e.what, ev.CommitAccepted)]
    again = [at_us for at_us in accepted if 21 <= at_us < 50]

    assert {error for _, error in refused(run)} == {"NOT_COORDINATOR"}
    assert bool(again) is (lookup == "again")
    assert (run.ledger.reprocessed > 500) is (lookup == "once")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "proposed", "repeated"),
    [
        ("h3-coordinator-not-looked-up", "look-up-coordinator", 100),
        ("a7-close-before-the-answer", "wait-in-close", 500),
    ],
)
def test_the_advice_of_its_incidents_is_confirmed(name, proposed, repeated):
    advice = emulator.advise(name, seeds=1)
    trial = next(each for each in advice.trials if each.proposal.id == proposed)

    assert trial.before[0]["reprocessed"] > repeated
    assert trial.after[0]["reprocessed"] == 0


def test_subscribe_is_refused_for_it():
    act = '{ subscribe = "g", topics = ["t"], at = "5s" }'
    with pytest.raises(ScenarioError, match="throws IllegalStateException"):
        emulator.loads(text(act=act))


@pytest.mark.parametrize("act", ['start = "job"', 'rolling_restart = "g", order = ["job"]'])
def test_an_act_may_not_start_it_with_an_instance_id(act):
    settings = '{ "group.instance.id" = "x" }'
    with pytest.raises(ScenarioError, match="leave the instance id out"):
        emulator.loads(text(act=f'{{ id = "late", {act}, at = "5s", settings = {settings} }}'))


def test_commits_are_refused_without_a_group_id():
    with pytest.raises(ScenarioError, match="InvalidGroupIdException"):
        emulator.loads(ALONE.format(policy="latest").replace('"none"', '"none"\ncommit = "sync"'))


def test_a_hint_recommends_another_group_id_and_the_run_confirms_it():
    beside = emulator.loads(text())
    advice = emulator.advise(beside, seeds=1)
    trial = next(each for each in advice.trials if each.proposal.id == "own-group-id")
    assert trial.after[0]["reprocessed"] == 0
    assert trial.proposal.overrides == ('group[g].member[job].start="by act"',)
