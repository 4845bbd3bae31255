"""Every kind of bad input by name: one clear message, status 2, nothing half-written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..commands import CRASH, changed, rebalance, written

FAULT = '[[fault]]\ncrash = "billing-1"\nat = "18s"'
MEMBER = '[[group.member]]\nname = "billing-0"\n'

FILES = {
    "a file that is not there": (None, "cannot be read: No such file"),
    "an unreadable file": (Path(), "cannot be read: Is a directory"),
    "an empty file": (b"", "empty"),
    "a file of blanks and comments": (b"\n# nothing\n", "empty"),
    "no TOML": (b"title: yaml", "not TOML"),
    "JSON": (b'{"title": "x"}', "not TOML"),
    "an unfinished file": (CRASH.encode()[:-3], "not TOML"),
    "not UTF-8": (CRASH.encode("utf-16"), "not UTF-8"),
    "binary": (b"\x00\x01\x02", "not TOML"),
    "a text with a null": (CRASH.encode() + b"\0", "not TOML"),
    "nested too deeply": (b"a = " + b"[" * 5_000 + b"]" * 5_000, "nested too deeply"),
    "a key twice": (b'title = "a"\ntitle = "b"', "not TOML"),
}

SCENARIOS = {
    "a wrong type: a text for a number": (("partitions = 4", 'partitions = "4"'), "wrong type"),
    "a wrong type: a number for a text": (('title = "one', 'title = 1 #"one'), "title = 1"),
    "a wrong type: a table for a text": (('title = "one', 'title = {} #"one'), "title"),
    "a wrong type: a fraction for a count": (("members = 2", "members = 1.5"), "members = 1.5"),
    "a wrong type: a table for a list": (("[[topic]]", "[topic]"), "topic"),
    "an unknown key at the top": (("run_for", "runs_for"), 'did you mean "run_for"?'),
    "an unknown table": (("[[topic]]", "[[topics]]"), 'did you mean "topic"?'),
    "an unknown key of a topic": (("partitions", "partition"), 'did you mean "partitions"?'),
    "an unknown key of a group": (("topics =", "topic ="), 'did you mean "topics"?'),
    "an unknown key of a member": (
        (FAULT, f'{MEMBER}wrok = "1s"\n{FAULT}'),
        'did you mean "work"?',
    ),
    "an unknown key of a fault": (('at = "18s"', 'att = "18s"'), 'did you mean "at"?'),
    "an unknown fault": (("crash =", "crush ="), 'did you mean "crash"?'),
    "an unknown key of the network": (("run_for", 'network.latencey = "1ms"\nrun_for'), "latency"),
    "an unknown key of the cluster": (("run_for", "cluster.borkers = 3\nrun_for"), "brokers"),
    "an unknown setting of a group": (
        ("session.timeout.ms", "session.timout.ms"),
        "session.timeout.ms",
    ),
    "an unknown setting of a member": (
        (FAULT, f'{MEMBER}settings = {{ "max.pol.records" = 5 }}\n{FAULT}'),
        "max.poll.records",
    ),
    "an unknown setting of the brokers": (
        ("run_for", 'cluster.settings = { "group.max.sise" = 5 }\nrun_for'),
        "group.max.size",
    ),
    "an unknown metric": (("lost = 0", "lots = 0"), "did you mean lost"),
    "an unknown assignor": (('= "range"', '= "rnage"'), "range"),
    "a negative duration": (('"40s"', '"-40s"'), "negative"),
    "a negative rate": (('"20/s"', '"-20/s"'), "negative"),
    "a negative number": (("partitions = 4", "partitions = -4"), "out of range"),
    "a negative setting": (('"6s"', "-6000"), "session.timeout.ms"),
    "an overflowing number": (("partitions = 4", f"partitions = {10**400}"), "partitions"),
    "an overflowing duration": (('"40s"', '"999999999999999999999d"'), "run_for"),
    "an overflowing rate": (('"20/s"', '"99999999999999999999/us"'), "rate"),
    "an overflowing setting": (('"6s"', f"{2**31}"), "session.timeout.ms"),
    "a number that is none: nan": (('"40s"', "nan"), "not a number"),
    "a number that is none: inf": (('"5ms"', "inf"), "not a number"),
    "a text that is none: nan": (('"40s"', '"nans"'), "not understood"),
    "a unit missing": (('"40s"', "40"), 'a unit is missing, write "40s"'),
    "a unit missing in a text": (('"5ms"', '"5"'), "a unit is missing"),
    "a unit of a rate missing": (('"20/s"', "20"), "a unit is missing"),
    "a unit missing in a setting's text": (('"6s"', '"6000"'), "a unit is missing"),
    "an unknown unit": (('"40s"', '"40 fortnights"'), 'unknown unit "fortnights"'),
    "a heartbeat interval not below the session timeout": (
        ('"6s"', '"6s"\n"heartbeat.interval.ms" = "6s"'),
        "heartbeat.interval.ms",
    ),
    "members named twice": (("members = 2", 'members = ["a", "a"]'), "twice"),
    "a member named in two groups": (
        (FAULT, f'[[group]]\nid = "b"\ntopics = ["orders"]\nmembers = ["billing-0"]\n{FAULT}'),
        "twice",
    ),
    "topics named twice": (("[[group]]", '[[topic]]\nname = "orders"\n[[group]]'), "twice"),
    "groups named twice": (
        (FAULT, f'[[group]]\nid = "billing"\ntopics = ["orders"]\nmembers = 1\n{FAULT}'),
        "twice",
    ),
    "a group of a topic that does not exist": (('["orders"]', '["order"]'), '"orders"'),
    "a fault without a valid target": (('crash = "billing-1"', 'crash = "billing-9"'), "billing-9"),
    "a fault that names no broker": (('crash = "billing-1"', "crash_broker = 77"), "77"),
    "a fault after the end": (('at = "18s"', 'at = "41s"'), "after the end of the run"),
    "a window after the end": (('at = "18s"', 'between = ["39s", "41s"]'), "end"),
    "a window that ends before it begins": (('at = "18s"', 'between = ["9s", "8s"]'), "between"),
    "a fault without a time": (('at = "18s"', ""), "when"),
    "an aim at itself": (('at = "18s"', 'id = "one"\nwhen = "one ends"'), "one"),
    "an aim at a fault that does not exist": (('at = "18s"', 'when = "two ends"'), "two"),
    "a scenario of hours of CPU time": (('"40s"', '"36500d"'), "of CPU time; 2 h are"),
}


def refused(*arguments: object) -> str:
    """Return the one message; nothing else may be said, and nothing written."""
    status, out, err = rebalance(*arguments)
    assert (2, "") == (status, out)
    assert "Traceback" not in err
    assert err.strip()
    return err


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_is_no_scenario(tmp_path, kind):
    """Whatever it is instead, the message begins with its name, and with the line if it has one."""
    content, said = FILES[kind]
    path = tmp_path / "bad.toml"
    if isinstance(content, Path):
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)

    err = refused("run", path, "--events", tmp_path / "events.parquet")

    line = r"\d+:" if said == "not TOML" else ""
    assert re.match(rf"{re.escape(str(path))}:{line} .*{said}", err, re.DOTALL)
    assert not list(tmp_path.glob("*.parquet"))


@pytest.mark.parametrize("kind", SCENARIOS)
def test_a_scenario_that_cannot_be_run(tmp_path, kind):
    """The message begins with the file and the line, names the key, and says what is allowed."""
    change, said = SCENARIOS[kind]
    path = written(tmp_path, changed(change))

    err = refused("run", path, "--events", tmp_path / "events.parquet")

    begin = re.compile(rf"{re.escape(str(path))}(:\d+)?: ")
    assert all(begin.match(line) for line in err.splitlines())
    assert said in err
    assert [path] == list(tmp_path.iterdir())


def test_a_session_timeout_outside_the_brokers_bounds_is_kafkas_own_error(tmp_path):
    """Kafka refuses the member when it joins, not before: the run reports it, and decides nothing."""
    status, out, err = rebalance("run", written(tmp_path, changed(('"6s"', '"5s"'))))

    assert (1, "") == (status, err)
    assert "INVALID_SESSION_TIMEOUT" in out


def test_a_scenario_that_is_too_large_runs_if_it_is_meant(tmp_path, monkeypatch):
    """``--yes`` says so."""
    monkeypatch.setattr("emulator.scenario.estimates.cost_text.MAX_S", 1e-6)
    monkeypatch.setattr("emulator.scenario.estimates.cpu_time.MAX_S", 1e-6)
    path = written(tmp_path)

    assert "--yes" in refused("run", path)
    assert 0 == rebalance("run", path, "--yes").status


@pytest.mark.parametrize("command", ["run", "compare"])
def test_so_many_seeds_that_it_would_take_days_are_refused(tmp_path, command):
    """Each is small, but all together are not."""
    err = refused(command, written(tmp_path), "--seeds", 1_000_000)

    assert "of CPU time each" in err
    assert "Take fewer --seeds" in err


@pytest.mark.parametrize("command", ["run", "compare", "verify"])
def test_a_number_of_seeds_beyond_all_reason_is_refused(tmp_path, command):
    """At once, not when the memory is full."""
    assert "--seeds" in refused(command, tmp_path, "--seeds", 10**21)
