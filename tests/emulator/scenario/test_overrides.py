"""--set gives one key another value, at any place."""

from __future__ import annotations

import pytest

from emulator.comparison import load_variants
from emulator.loading import load_named, read_text
from emulator.scenario import catalogue
from emulator.scenario.load import loads
from emulator.scenario.model import (
    CommitPolicy,
    Constant,
    Lognormal,
    LognormalShape,
    Poisson,
    Scenario,
    Step,
)
from emulator.scenario.problems import ScenarioError

from .samples import SMALLEST

ANOTHER_ACT = '[[act]]\npause = "billing-0"\nfor = "1s"\nat = "9s"'


def overridden(*overrides: str, more: str = "") -> Scenario:
    """Load the smallest scenario with some keys overridden."""
    return loads(f"{SMALLEST}\n{more}", "orders.toml", overrides)


def refusal(*overrides: str, more: str = "") -> str:
    """Return what is said of overrides of the smallest scenario."""
    with pytest.raises(ScenarioError) as refused:
        overridden(*overrides, more=more)
    return str(refused.value)


@pytest.mark.parametrize("between", ["; ", ";", " "])
def test_two_changes_in_one_are_refused_with_what_separates_them(between):
    two = f"group[billing].members=24{between}topic[orders].partitions=24"
    with pytest.raises(
        ScenarioError, match=r"topic\[orders\].partitions= begins another; write a comma"
    ):
        loads(SMALLEST, overrides=[two])


def test_a_text_with_an_equals_sign_is_one_change():
    assert "run_for = 5" == loads(SMALLEST, overrides=['title="run_for = 5"']).title
    assert "a b=1" == loads(SMALLEST, overrides=["title=a b=1"]).title


def test_settings_and_names_stand_in_brackets():
    """A setting that is there is replaced, one that is not is added."""
    group = overridden(
        "group[billing].settings[session.timeout.ms]=10s",
        "group[billing].settings[max.poll.records]=50",
    ).group[0]

    assert 10_000 == group.settings["session.timeout.ms"]
    assert 50 == group.settings["max.poll.records"]
    assert ("range",) == group.settings["partition.assignment.strategy"]


@pytest.mark.parametrize(
    ("override", "read"),
    [
        ("run_for=20min", lambda s: s.run_for == 1_200_000_000),
        ("seed = 7", lambda s: s.seed == 7),
        ("title=a = b", lambda s: s.title == "a = b"),
        ("topic[orders].rate=50/s", lambda s: s.topic[0].rate == 50),
        ("topic[orders].rate.poisson=50/s", lambda s: s.topic[0].rate == Poisson(poisson=50)),
        (
            'topic[orders].rate={ steps = [{ at = "0s", rate = "1/s" }, { at = "1s", rate = "2/s" }] }',
            lambda s: [step.rate for step in s.topic[0].rate.steps] == [1, 2],
        ),
        (
            'topic[orders].rate={bursts={rate="9/s", for="1s", at=["5s", "9s"]}}',
            lambda s: s.topic[0].rate.bursts.at == (5_000_000, 9_000_000),
        ),
        ("fault[crash-1].at=3min", lambda s: s.fault[0].at == 180_000_000),
        ("act[crash-1].at=3min", lambda s: s.fault[0].at == 180_000_000),
        ("fault[crash-1].crash=billing-2", lambda s: s.fault[0].member == "billing-2"),
        ("network.latency=2ms", lambda s: s.network.latency == Constant(constant=2_000)),
        ("cluster.settings[group.max.size]=9", lambda s: s.cluster.settings["group.max.size"] == 9),
        ("group[billing].members=5", lambda s: len(s.group[0].members) == 5),
        ('group[billing].members=["billing-1"]', lambda s: len(s.group[0].members) == 1),
        ("group[billing].static=true", lambda s: s.group[0].static),
        ("group[billing].commit=sync", lambda s: s.group[0].commit == CommitPolicy(call="sync")),
        ("expect.lost=>= 1", lambda s: s.expect["lost"].relation == ">="),
        ("expect[reprocessed.p95]=< 9", lambda s: s.expect["reprocessed.p95"].value == 9),
        ("expect.reprocessed.p95=< 9", lambda s: s.expect["reprocessed.p95"].value == 9),
        (
            "group[billing].member[billing-1].work=9ms",
            lambda s: s.group[0].members[1].work is not None,
        ),
    ],
)
def test_a_path_leads_to_its_key(override, read):
    """Every kind of key can be reached, whether the file says it or not."""
    assert read(overridden(override))


def test_a_short_spelling_opens_to_take_a_key():
    """A word in place of a table becomes that table before a key of it is changed."""
    scenario = overridden(
        "group[billing].commit=sync",
        "group[billing].commit.when=every",
        "group[billing].commit.records=100",
        "group[billing].work={ lognormal = { median = '1ms', p99 = '2ms' } }",
        "group[billing].work.lognormal.p99=9ms",
    )

    expected = CommitPolicy(call="sync", when="every", records=100)
    assert expected == scenario.group[0].commit
    work = Lognormal(lognormal=LognormalShape(median=1_000, p99=9_000))
    assert work == scenario.group[0].work


def test_a_moment_in_words_opens_to_take_a_key():
    """A moment written in words can be changed key by key."""
    more = '[[fault]]\nclose = "billing-0"\nwhen = "billing-1 polled"'
    scenario = overridden("fault[close-1].when.nth=3", more=more)

    assert Step(member="billing-1", step="polled", nth=3) == scenario.fault[1].when


def test_a_member_of_a_list_of_names_and_tables_can_be_changed():
    """One that has but a name there gets a table, the others keep theirs."""
    text = catalogue.read("n1-one-member-stalls-all")
    scenario = loads(text, "file", ("group[billing].member[billing-1].work=20ms",))
    members = {member.name: member for member in scenario.group[0].members}

    assert ["billing-1"] == [name for name, member in members.items() if member.work is not None]
    assert "by act" == members["billing-3"].start


def test_tables_of_members_keep_their_other_keys():
    """Overriding one key of a member's table leaves the rest of it alone."""
    more = '[[group]]\nid = "b"\ntopics = ["orders"]\nmember = [{ name = "x", work = "5ms" }]'
    member = overridden("group[b].member[x].start=5s", more=more).group[1].members[0]

    assert (Constant(constant=5_000), 5_000_000) == (member.work, member.start)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("fault[crash-2].at=3min", "no such key; nearest: fault[crash-1].at"),
        ("act[crash-2].at=3min", "no such key; nearest: fault[crash-1].at"),
        ("max.poll.records=9", "no such key; nearest: group[billing].settings[max.poll.records]"),
        (
            "group[billing].max.poll.records=9",
            "no such key; nearest: group[billing].settings[max.poll.records]",
        ),
        ("group[biling].static=true", "no such key; nearest: group[billing].static"),
        ("session.timeout.ms=10s", "nearest: group[billing].settings[session.timeout.ms]"),
        ("group[billing].settings[sesion.timeout.ms]=1s", "settings[session.timeout.ms]"),
        ("rate=10/s", "nearest: topic[orders].rate"),
        ("topic[orders].rte=10/s", "nearest: topic[orders].rate"),
        ("topic.rate=10/s", "no such key; nearest: topic[orders].rate"),
        ("topic[orders]=1", "no such key"),
        ("run_for.x=1", "no such key"),
        ("group[billing].work.normal=1", "no such key"),
        ("run_for", "no value; write path=value"),
        ("=5", "no path"),
        ("a[b=5", "no value"),
        ("a]b=5", "no path"),
        ("topic[orders].rate=5", "a unit is missing"),
        ("run_for=5\nx = 1", "not understood"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_with_the_nearest(override, said):
    """The message has the closest existing paths."""
    assert said in refusal(override)


def test_an_end_of_a_path_is_looked_for_in_the_tables_that_are_written():
    """An autoscaler has a grace period, too, but this group has none."""
    more = '[[act]]\nrolling_restart = "billing"\nat = "20s"'
    with pytest.raises(ScenarioError, match=r"nearest: act\[rolling_restart-1\]\.grace$"):
        overridden("grace=50s", more=more)


@pytest.mark.parametrize("table", ["act", "fault"])
@pytest.mark.parametrize("typed", ["act", "fault"])
def test_errors_name_the_table_of_the_file(table, typed):
    """Either word means it in an override; the file has one. No line is that of a value of an override."""
    more = f'[[{table}]]\nrolling_restart = "billing"\nat = "20s"\ngrace = "5s"'
    wrong = f"{typed}[rolling_restart-1].grcae=1s", f"{typed}[rolling_restart-1].grace=-1s"
    key, value = (refusal(each, more=more) for each in wrong)

    assert f"nearest: {table}[rolling_restart-1].grace" in key
    assert f'orders.toml: {table}[rolling_restart-1].grace = "-1s": negative' in value


def test_all_wrong_paths_are_reported_together():
    """Each wrong override has its line."""
    assert 2 == len(refusal("rte=1", "run_fr=2").splitlines())


SESSION = "group[billing].settings[session.timeout.ms]"
CONSUMER = "group[billing].settings[group.protocol]=consumer"


@pytest.mark.parametrize("order", [1, -1])
def test_a_setting_that_another_override_would_remove_is_refused(order):
    """In any order, as in a file; one of the file may be removed."""
    together = [f"{SESSION}=12s", CONSUMER][::order]

    with pytest.raises(ScenarioError, match="where the coordinator decides"):
        load_named("quiet", together)
    assert (
        "session.timeout.ms"
        not in load_named("m1-session-timeout", [CONSUMER]).scenario.group[0].settings
    )


def test_a_variant_may_change_the_protocol_of_a_setting_of_all_variants():
    """The columns of a comparison differ in it, and each prints what it sets."""
    text = read_text("quiet")
    found = load_variants(text, ["eager", "kip848"], [f"{SESSION}=12s"])

    assert ["session.timeout.ms" in one.scenario.group[0].settings for one in found.values()] == [
        True,
        False,
    ]
    with pytest.raises(ScenarioError, match="where the coordinator decides"):
        load_variants(text, [f"short: {SESSION}=10s, kip848"])


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["group[billing].settings[session.timeout.ms=10s]"], "no value; write path=value"),
        (
            [
                "group[billing].settings[group.remote.assignor]=uniform",
                "group[billing].settings[group.protocol]=clasic",
            ],
            "clasic",
        ),
    ],
)
def test_a_slip_beside_the_check_of_removed_settings_is_told_as_usual(overrides, said):
    """A value inside the brackets; a protocol that does not exist."""
    with pytest.raises(ScenarioError, match=said):
        load_named("member-crashes", overrides)


def test_a_table_is_added_to_a_list():
    """An act among those of the file, with an id of its own; a topic and a group, too."""
    crash = 'act+={ crash = "billing-0", at = "5s" }'
    changed = overridden(
        crash,
        crash,
        'topic+={ name = "refunds", rate = "1/s" }',
        'group+={ id = "audit", topics = ["refunds"], members = 1 }',
    )

    assert ["crash-1", "crash-2", "crash-3"] == [fault.id for fault in changed.fault]
    assert "refunds" == changed.topic[-1].name
    assert ["audit-0"] == [member.name for member in changed.group[-1].members]


@pytest.mark.parametrize("name", ["act", "fault"])
def test_a_list_of_acts_replaces_acts_and_faults(name):
    """They are one list; a later change finds a new act by its id, and a number is no list."""
    changed = overridden(
        f'{name}=[{{ close = "billing-1", at = "5s", id = "c" }}]',
        f"{name}[c].at=6s",
        more=ANOTHER_ACT,
    )

    assert [("c", 6_000_000)] == [(each.id, each.at) for each in changed.fault]
    assert () == overridden(f"{name}=[]").fault
    assert f"{name} = 5: wrong type; allowed is a list" in refusal(f"{name}=5")


@pytest.mark.parametrize("text", ["run_for+=10s", "act+=5", "group[billing].members+={}"])
def test_nothing_else_can_be_added(text):
    assert "+= adds a table to act, fault, group or topic" in refusal(text)


@pytest.mark.parametrize("name", ["session_timeout_ms", "session.timeout.ms"])
@pytest.mark.parametrize("written", ["session_timeout_ms", '"session.timeout.ms"'])
def test_a_setting_of_another_client_may_have_its_own_name_or_kafkas(written, name):
    """Whichever the file has: the advice of a run is given in Kafka's names."""
    scenario = loads(
        f"""
        title = "another client"
        run_for = "30s"
        topic = [{{ name = "orders", rate = "1/s" }}]
        [[group]]
        id = "billing"
        topics = ["orders"]
        members = 1
        client = "kafka-python"
        settings = {{ {written} = 8000 }}
        """,
        "another-client.toml",
        [f"group[billing].settings[{name}]=10s"],
    )

    assert {"session.timeout.ms": 10_000} == dict(scenario.group[0].settings)
