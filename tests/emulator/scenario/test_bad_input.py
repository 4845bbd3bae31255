"""Bad input gets one clear message each: where, what was given, what is allowed."""

from __future__ import annotations

import re

import pytest

import emulator
from emulator.scenario.load import load, loads
from emulator.scenario.problems import ScenarioError

from .samples import refusal, text

SESSION = '"session.timeout.ms" = 6000'
CRASH = 'crash = "billing-1"'


# -- files -----------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named(tmp_path):
    """The message says which file and why."""
    with pytest.raises(ScenarioError, match=r"orders\.toml: cannot be read: No such file"):
        load(tmp_path / "orders.toml")


def test_a_folder_is_no_scenario(tmp_path):
    """A folder cannot be read as a file."""
    with pytest.raises(ScenarioError, match="cannot be read"):
        load(tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    """The message says at which byte the text ends."""
    file = tmp_path / "orders.toml"
    file.write_bytes(b"title = '\xff'")
    with pytest.raises(ScenarioError, match="not UTF-8 at byte 9"):
        load(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty; a scenario has at least a title"),
        ("# only a comment\n", "empty"),
        ("title = \n", "not TOML: .*line 1"),
        ("{}", "not TOML: .*line 1"),
        (
            "title = 'a'\ntitle = 'b'",
            "not TOML: title is written twice in its table, first in line 1",
        ),
        (f"a = {'[' * 9000}", "nested too deeply"),
        (f"{'a.' * 2000}a = 1", "nested too deeply"),
        (f"seed = {'9' * 9000}", "not TOML"),
        ('title = "x"', "topic: is missing"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(content, said):
    """Empty files, other formats and absurd nesting are refused with the reason."""
    with pytest.raises(ScenarioError, match=said):
        loads(content, "orders.toml")


# -- keys and values -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("members", "membres"),
            'group[billing].membres = 3: unknown key; did you mean "members"?',
        ),
        (("[[topic]]", "[[topics]]"), 'topics: unknown key; did you mean "topic"?'),
        (('title = "one of three crashes"', 'title = ""'), 'title = "": empty; a text is needed'),
        (('title = "one of', 'title = 5 # "'), "title = 5: wrong type; allowed is a text"),
        (("partitions = 6", 'partitions = "6"'), 'topic[orders].partitions = "6": wrong type'),
        (("partitions = 6", "partitions = 6.5"), "wrong type; allowed is a whole number"),
        (("partitions = 6", "partitions = true"), "wrong type; allowed is a whole number"),
        (("partitions = 6", "partitions = -1"), "out of range; allowed is at least 1"),
        (("partitions = 6", f"partitions = {2**70}"), "out of range; allowed is at most 1000000"),
        (("members = 3", "members = 0"), "group[billing].members = 0: allowed are a number from 1"),
        (("members = 3", "members = 3\nstatic = 1"), "static = 1: wrong type; allowed is true or"),
        (
            ('["orders"]', '"orders"'),
            'group[billing].topics = "orders": wrong type; allowed is a l',
        ),
        (
            ("[[fault]]", "[fault]"),
            "fault: a table, but a list of tables is needed; write [[fault]]",
        ),
        (
            ("[[fault]]", "[[group]]\nid = 'other'\npoison = { every = 3 }\n[[fault]]"),
            "a table, but a list of tables is needed; write [[group.poison]]",
        ),
        (
            ('"20/s"', '"400rps"'),
            'rate with a unit such as "20/s" or "3/min"; did you mean "400/s"?',
        ),
        (('"20/s"', '"1000 per min"'), 'did you mean "1000/min"?'),
        (('"20/s"', '"1k/sec"'), 'did you mean "1000/s"?'),
        (('"20/s"', "20"), 'topic[orders].rate = 20: a unit is missing, write "20/s"'),
        (('"20/s"', '"-20/s"'), "negative"),
        (
            ('"10ms"', "10"),
            'group[billing].work = 10: a unit is missing, write "10ms" (or us, s, min',
        ),
        (('"10ms"', "true"), "group[billing].work = true: wrong type"),
        (('"10min"', '"-5s"'), 'run_for = "-5s": negative'),
        (('"10min"', '"99999999999d"'), "too long; the longest time is 36500d"),
        (('"10min"', "nan"), "run_for = nan: not a number"),
        (('"10min"', '"0s"'), "too short"),
        (('"10min"', "2026-05-04"), "run_for = 2026-05-04: wrong type"),
        (("run_for", "start = 2026-05-04\nrun_for"), "start = 2026-05-04: wrong type"),
        (("run_for", "start = 9999-01-01T00:00:00Z\nrun_for"), "allowed are the years 1970 to"),
        (('at = "5min"', 'at = "5min"\nid = "a]b"'), "not a name we can use"),
        (
            ('"<= 200"', '"< 200 records"'),
            'a bound is in the unit of its metric, such as "< 200", not in records',
        ),
        ((CRASH, 'drain_node = "g-1"'), '1].drain_node = "g-1": wrong type'),
        ((CRASH, 'crash = ["billing-1"]'), '1].crash = ["billing-1"]: wrong type'),
        (('"<= 200"', '"<= many"'), 'expect[reprocessed] = "<= many": not understood'),
        (("lost = 0", "lost = true"), "expect[lost] = true: wrong type"),
        (("lost = 0", "lost = inf"), "expect[lost] = inf: out of range; allowed is a finite"),
        (("lost = 0", "lost = [1]"), "expect[lost] = [1]: wrong type"),
    ],
)
def test_a_wrong_key_or_value_has_its_path(change, said):
    """The message has the key's path, the given value, and the allowed ones."""
    assert said in refusal(change)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ('{ lognorml = { median = "5ms" } }', 'no distribution; did you mean "lognormal"?'),
        ('{ orders = "5ms" }', "on the topic are written work_by = { topic = { orders = … } }"),
        ('{ lognormal = { median = "5ms" } }', "group[billing].work.lognormal.p99: is missing"),
        ('{ lognormal = { median = "5ms", p99 = "1ms" } }', "p99 lies below the median"),
        ('{ uniform = ["5ms", "1ms"] }', "reversed: the shorter time comes first"),
        ('{ uniform = ["5ms"] }', "wrong length; allowed are exactly two"),
        ('{ uniform = ["5ms", 6] }', "group[billing].work.uniform[1] = 6: a unit is missing"),
        ('{ pareto = { minimum = "5ms", alpha = 0 } }', "more than 0"),
        ('{ pareto = { minimum = "5ms", alpha = 2, maximum = "1ms" } }', "maximum lies below"),
        ('{ trace = "work.txt" }', "a path needs a scenario file"),
        ("{ trace = [] }", "group[billing].work.trace = []: empty"),
        ('{ constant = "1ms", uniform = [] }', "group[billing].work.uniform = []: unknown key"),
    ],
)
def test_a_wrong_distribution_is_refused(work, said):
    """The message says what is missing or contradictory."""
    assert said in refusal(('work = "10ms"', f"work = {work}"))


def test_independent_problems_are_reported_together():
    """One reading reports all errors."""
    said = refusal(('"20/s"', "20"), ("session.timeout", "sesion.timeout"), ('"5min"', "5"))

    assert [
        'orders.toml:8: topic[orders].rate = 20: a unit is missing, write "20/s" (or /min, /h)',
        'orders.toml:15: group[billing].settings[sesion.timeout.ms] = 6000: unknown setting; did you mean "session.timeout.ms"?',
        'orders.toml:19: fault[crash-1].at = 5: a unit is missing, write "5s" (or us, ms, min, h, d)',
    ] == said.splitlines()


# -- names and places ------------------------------------------------------------------------


def fault(lines: str) -> tuple[str, str]:
    """Return the change that gives the smallest scenario another fault."""
    return f'{CRASH}\nat = "5min"', lines


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("members = 3", 'members = ["a", "a"]'), 'members = "a": member named twice'),
        (('["orders"]', '["orders", "orders"]'), '"orders"]: "orders": topic named twice'),
        (('["orders"]', '["order"]'), 'topics = ["order"]: no such topic; did you mean "orders"?'),
        (
            ('["orders"]', '["orders", "order"]'),
            'topics = ["orders", "order"]: "order": no such topic; did you mean "orders"?',
        ),
        (('topics = ["orders"]', 'pattern = "("'), "no regular expression"),
        (('topics = ["orders"]', 'pattern = "pay.*"'), "matches none of the topics orders"),
        (('topics = ["orders"]', ""), "has no subscription"),
        (('["orders"]', '["orders"]\npattern = ".*"'), 'has both "topics" and "pattern"'),
        (("members = 3", 'members = ["clients"]'), "reserved for another party"),
        (("members = 3", 'static = true\nmembers = ["a b"]'), "not valid as an instance id"),
        (("members = 3", "members = 3\ncoordinator = 4"), "no broker 4; allowed are 1 to 3"),
        (("members = 3", 'members = 3\ncommit = "snyc"'), 'did you mean "sync"?'),
        (("members = 3", 'members = 3\ncommit = { when = "every" }'), "have no meaning with"),
        (("partitions = 6", "partitions = 6\nreplicas = 4"), "more copies than brokers"),
        (("partitions = 6", "partitions = 6\nleaders = [1, 4]"), "no broker 4; allowed are 1 to 3"),
        (("partitions = 6", "partitions = 1\nskew = [1, 2]"), "more entries than partitions"),
        (("partitions = 6", 'produce_from = "2s"\nproduce_until = "1s"'), "reversed"),
        (("partitions = 6", 'produce_from = "10min"'), "after the end of the run"),
        (("partitions = 6", 'created = "by axt"'), 'or "by act"'),
        (
            (CRASH, 'crash = "biling-1"'),
            'fault[crash-1].crash = "biling-1": no such member; did you',
        ),
        (
            (CRASH, 'crash = "billing-7"'),
            'no such member; did you mean "billing-2"? There are "billing-0", "billing-1", ',
        ),
        (
            ("partitions = 6", "partitions = 6\nkeys = { hot = 30 }"),
            "allowed is a table of keys with their shares of all records, such as { big-customer",
        ),
        ((CRASH, 'crsh = "billing-1"'), 'no verb; did you mean "crash"?'),
        ((CRASH, f'{CRASH}\nclose = "billing-1"'), 'two verbs, "crash", "close"'),
        (fault(CRASH), 'fault[crash-1]: no time; set exactly one of "at"'),
        (fault(f'{CRASH}\nat = "1s"\nbetween = ["1s", "2s"]'), 'both "at", "between"'),
        (fault(f'{CRASH}\nat = "10min"'), "comes after the end of the run; run_for is 10min"),
        (fault(f'{CRASH}\nat = "9min"\ndelay = "2min"'), "comes at 11min, after the end"),
        (fault(f'{CRASH}\nbetween = ["9min", "11min"]'), "ends after the end of the run"),
        (fault(f'{CRASH}\nbetween = ["2min", "1min"]'), '"between" is reversed'),
        (
            fault(f'{CRASH}\nwhen = {{ fault = "crash-2" }}'),
            'no such fault; did you mean "crash-1"?',
        ),
        (fault(f'{CRASH}\nwhen = "crash-1 ends"'), "waits for itself: crash-1 → crash-1"),
        (fault(f'{CRASH}\nwhen = "billing-9 polled"'), 'when.member = "billing-9": no such member'),
        (fault(f'{CRASH}\nwhen = "billing-1 pold"'), "not understood"),
        (fault('cut = ["billing-1", "brokrs"]\nat = "1s"\nfor = "1s"'), 'did you mean "brokers"?'),
        (fault('cut = ["billing-1"]\nat = "1s"\nfor = "1s"'), "exactly two"),
        (
            fault('cut = ["brokers", "brokers"]\nat = "1s"\nfor = "1s"'),
            "these two exchange no messages",
        ),
        (fault('pause = "billing-1"\nat = "1s"'), "fault[pause-1].for: is missing"),
        (fault('pause = "billing-1"\nat = "1s"\nfor = "0s"'), "too short"),
        (fault('add_partitions = "orders"\nto = 6\nat = "1s"'), "not above the present number"),
        (fault('create_topic = "orders"\nat = "1s"'), "exists already"),
        (fault('start = "billing-1"\nat = "1s"'), "runs from the start"),
        (fault('crash_broker = "broker-4"\nat = "1s"'), "no such broker"),
        (fault('move_coordinator = "billing"\nto = "broker-0"\nat = "1s"'), "no such broker"),
        (
            fault('cut = ["billing-1", "controller"]\nat = "1s"\nfor = "1s"'),
            "these two exchange no messages",
        ),
        (
            fault('cut = ["broker-1", "broker-1"]\nat = "1s"\nfor = "1s"'),
            "these two exchange no messages",
        ),
        (
            fault('cut = ["broker-1", "controler"]\nat = "1s"\nfor = "1s"'),
            'no such party; did you mean "controller"?',
        ),
        (fault('stop_broker = "broker-4"\nat = "1s"'), "no such broker"),
        (fault('slow_disk = "broker-1"\nat = "1s"\nfor = "1s"'), "by: is missing"),
        (fault('slow_disk = "broker-1"\nby = "0s"\nat = "1s"\nfor = "1s"'), "too short"),
        (fault('fill_disk = "controller"\nat = "1s"\nfor = "1s"'), "no such broker"),
        (fault('rolling_broker_restart = "broker-1"\nat = "1s"'), "unknown word"),
        (fault('rolling_broker_restart = []\nat = "1s"'), "empty"),
        (fault('rolling_broker_restart = ["broker-9"]\nat = "1s"'), "no such broker"),
        (
            fault('rolling_broker_restart = ["broker-1", "broker-1"]\nat = "1s"'),
            "broker named twice",
        ),
        (fault('rolling_restart = "biling"\nat = "1s"'), 'no such group; did you mean "billing"?'),
        (fault('rolling_restart = "billing"\norder = ["x"]\nat = "1s"'), "no such member"),
        (fault('delay_message = { kind = "Heartbeat", member = "billing-1" }'), "exactly one of"),
    ],
)
def test_a_contradiction_between_tables_is_refused(change, said):
    """Names must exist and differ, times must lie in the run, numbers in range."""
    assert said in refusal(change)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[topic]]\nname = "orders"', 'topic[1].name = "orders": topic named twice'),
        ('[[group]]\nid = "billing"\ntopics = ["orders"]\nmembers = ["x"]', "group named twice"),
        ('[[group]]\nid = "b"\ntopics = ["orders"]\nmembers = ["billing-1"]', "member named twice"),
        ("[cluster]\nbrokers = 0", "cluster.brokers = 0: out of range"),
        ('[cluster]\nbrokers = 2\nracks = ["a", "b", "c"]', "more racks than brokers"),
        ("[cluster.settings]\noffsets.topic.replication.factor = 4", "more copies than brokers"),
        (
            "[cluster.settings]\nreplica.lag.time.max.ms = 0",
            "out of range; allowed is a whole number from 1",
        ),
        (
            "[cluster.settings]\nreplica.lag.time.max.ms = 499",
            "brokers do not start: allowed is at least replica.fetch.wait.max.ms, which is 500",
        ),
        (
            '[cluster.settings]\nlog.cleaner.dedupe.buffer.size = "1MiB"',
            "brokers do not start: allowed is more than 1 MiB for the thread of the cleaner",
        ),
        (
            '[cluster]\noffsets_backlog = "1GiB"',
            "loads in no time; set load_bytes",
        ),
        (
            "[cluster]\noffsets_backlog_records = 5",
            "loads in no time; set load_records",
        ),
        ('[cluster]\nload_bytes = "1MiB"', "a unit of time is missing"),
        ("[cluster]\nload_bytes = 5", 'a unit is missing, write "5B/s"'),
        ('[cluster]\nload_records = "0/s"', "out of range; allowed is more than 0"),
        ("[cluster.settings]\nsession.timeout.ms = 6000", "a setting of consumers"),
        ("[network]\nloss = 1.5", "network.loss = 1.5: out of range; allowed is at most 1"),
        (
            '[[network.link]]\nfrom = "x"\nto = "brokers"\nloss = 1',
            'network.link[0].from = "x": no',
        ),
        ('[[network.link]]\nfrom = "clients"\nto = "brokers"', 'neither "latency" nor "loss"'),
        ('[[fault]]\nid = "crash-1"\nclose = "billing-0"\nat = "1s"', "fault named twice"),
        (
            """
            [[fault]]
            crash = "billing-0"
            when = "crash-3 ends"
            [[fault]]
            crash = "billing-2"
            when = "crash-2 begins"
            """,
            "waits for itself: crash-2 → crash-3 → crash-2",
        ),
        (
            """
            [[fault]]
            pause = "billing-0"
            at = "9min"
            for = "2min"
            [[fault]]
            crash = "billing-0"
            when = "pause-1 ends"
            """,
            "fault[crash-2].when: comes at 11min, after the end of the run",
        ),
    ],
)
def test_a_contradiction_with_further_tables_is_refused(more, said):
    """Further tables are checked against the first ones."""
    assert said in refusal(more=more)


def test_a_session_outside_the_brokers_bounds_is_no_bad_input():
    """The coordinator refuses it in the run, as Kafka does."""
    scenario = loads(text((SESSION, '"session.timeout.ms" = 5000')), "orders.toml")

    assert 5000 == scenario.group[0].settings["session.timeout.ms"]


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ('reprocessed = "< 10 s"', 'a time, but reprocessed is counted in records; write "< 10"'),
        ('"rebalances.p95" = "none or <= 2s"', 'rebalances is a count; write "none or <= 2"'),
        ('"lost.by_partition[orders-0]" = "<= 2"', ""),
        ('downtime_max_s = "none or < 2s"', ""),
    ],
)
def test_a_bound_has_the_unit_of_its_metric(bound, said):
    """A number of records is no time."""
    written = text(('lost = 0\nreprocessed = "<= 200"', bound))
    if said:
        with pytest.raises(ScenarioError, match=re.escape(said)):
            emulator.loads(written)
    else:
        assert emulator.loads(written).expect


@pytest.mark.parametrize(
    ("path", "nearest"),
    [("duration=3min", "run_for"), ("group[billing].replicas=3", "group[billing].members")],
)
def test_words_of_other_systems_are_known_in_overrides(path, nearest):
    """Not only in a file."""
    with pytest.raises(ScenarioError, match=re.escape(f"no such key; nearest: {nearest}")):
        emulator.loads(text(), overrides=[path])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("at = ", "time = "), 'unknown key; did you mean "at"'),
        (("at = ", "for = '2s'\nat = "), 'unknown key; did you mean "restart_after"'),
        (("members = 3", 'members = 3\nprotocol = "consumer"'), "write settings.group.protocol = "),
        (("members = 3", "instances = 3"), 'unknown key; did you mean "members"'),
    ],
)
def test_words_that_come_to_mind_name_the_key_that_is_meant(change, said):
    """As first-time users write them."""
    assert said in refusal(change)


def test_a_missing_file_names_the_one_beside_it(tmp_path, monkeypatch):
    """With its ending, or with another spelling."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(text())
    for name in ("mine", "mine.tml", "mein.toml"):
        with pytest.raises(ScenarioError, match=re.escape("did you mean mine.toml?")):
            emulator.load(name)
