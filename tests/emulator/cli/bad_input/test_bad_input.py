"""Bad input through the command line: one message, exit status 2, nothing half-written."""

from __future__ import annotations

import re

import pytest

from ..commands import CRASH, changed, rebalance, written

LARGE = changed(('"40s"', '"36500d"'))


def refused(*arguments: object) -> str:
    """Return what is said of bad input; nothing else may be said or written."""
    status, out, err = rebalance(*arguments)
    assert (2, "") == (status, out)
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", " empty; a scenario has at least a title"),
        (b"\xff\xfe\x00", " not UTF-8"),
        (b"title = ", "1: not TOML"),
        (b'{"title": 1}', "1: not TOML"),
        (b"title = 'no more'", " topic: is missing"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(tmp_path, content, said):
    """Whatever it is instead."""
    path = tmp_path / "bad.toml"
    path.write_bytes(content)

    err = refused("run", path)

    assert err.startswith(f"{path}:")
    assert f":{said}" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("partitions = 4", 'partitions = "four"'), 'topic[orders].partitions = "four"'),
        (("members = 2", "membres = 2"), 'did you mean "members"?'),
        (('"session.timeout.ms"', '"session.timout.ms"'), 'did you mean "session.timeout.ms"?'),
        (("partitions = 4", "partitions = -4"), "topic[orders].partitions = -4"),
        (("partitions = 4", f"partitions = {10**30}"), "topic[orders].partitions"),
        (('"40s"', '"99999999999999d"'), "run_for"),
        (('"40s"', "40"), "a unit is missing"),
        (('"40s"', '"40"'), "a unit is missing"),
        (('"6s"', '"3s"'), "heartbeat.interval.ms"),
        (("members = 2", 'members = ["a", "a"]'), "twice"),
        (('crash = "billing-1"', 'crash = "billing-9"'), "billing-9"),
        (('at = "18s"', 'at = "50s"'), "end"),
        (("lost = 0", "lots = 0"), "there is no metric 'lots'; did you mean lost"),
        (("lost = 0", '"reprocessed.median" = 0'), "reprocessed"),
    ],
)
def test_a_scenario_that_is_wrong_is_refused(tmp_path, change, said):
    """The message names the file, the line, the key, what was given and what is allowed."""
    path = written(tmp_path, changed(change))

    err = refused("run", path)

    assert re.match(rf"{re.escape(str(path))}:\d+: ", err)
    assert said in err
    assert err == refused("compare", path)
    assert err == refused("explain", path, "D1")


def test_topics_named_twice_are_refused(tmp_path):
    """Both of them cannot be meant."""
    path = written(tmp_path, changed(more='[[topic]]\nname = "orders"'))

    assert "twice" in refused("run", path)


def test_aims_that_wait_for_each_other_are_refused(tmp_path):
    """None of them would ever come."""
    aims = """
[[fault]]
id = "one"
crash = "billing-0"
when = "two ends"

[[fault]]
id = "two"
pause = "billing-0"
for = "1s"
when = "one ends"
"""

    assert "one" in refused("run", written(tmp_path, changed(more=aims)))


def test_several_things_that_are_wrong_are_said_together(tmp_path):
    """Each on a line of its own, with its line in the file."""
    path = written(tmp_path, changed(("partitions = 4", "partitions = 0"), ('"40s"', "40")))

    assert re.findall(rf"^{re.escape(str(path))}:(\d+): ", refused("run", path), re.MULTILINE) == [
        "3",
        "7",
    ]


@pytest.mark.parametrize(
    "name", ["absent.toml", "no/such/file", "member-crahses", "x" * 5000, "a\0b"]
)
def test_a_scenario_that_is_not_there_is_refused(name):
    """Neither a file nor a name of the catalogue."""
    err = refused("run", name)

    assert 1 == err.count("\n")
    if name == "member-crahses":
        assert 'did you mean "member-crashes"?' in err


def test_a_folder_is_no_scenario(tmp_path):
    """It is named as what cannot be read."""
    assert "cannot be read" in refused("run", tmp_path)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("group[billing].static", "no value"),
        ("=5", "no path"),
        ("group[biling].static=true", "group[billing].static"),
        ("run_for=40", "a unit is missing"),
        ("run_for", "no value"),
    ],
)
def test_a_set_that_leads_nowhere_is_refused_with_the_nearest_paths(tmp_path, override, said):
    """As if the file said it."""
    assert said in refused("run", written(tmp_path), "--set", override)


def test_a_scenario_that_is_too_large_is_refused_with_the_estimate(tmp_path):
    """A month of computing is rarely meant."""
    path = written(tmp_path, LARGE)

    for command in (["run", path], ["compare", path], ["explain", path, "D1"]):
        err = refused(*command)
        assert "of CPU time; 2 h are allowed" in err
        assert "--yes" in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:create", "there is no module 'no_such_module'"),
        ("no_assignor", "is not an assignor"),
        ("never_made", "no licence"),
        ("absent", "does not exist"),
        ("raising", "The assignor 'raising' failed to assign: RuntimeError: out of ideas"),
        ("raising_later", "The assignor 'raising-later' failed to assign: RuntimeError: alone"),
        ("junk", "The assignor 'junk' is wrong: An assignment maps members to partitions"),
        ("stranger", "The assignor 'stranger' is wrong: The assignment contains 'nobody'"),
    ],
)
def test_an_assignor_that_is_wrong_is_refused_by_name(plugin, tmp_path, name, said):
    """It says what the assignor did; also in the middle of a run."""
    path = plugin(name)
    before = set(tmp_path.iterdir())

    err = refused("run", path, "--events", tmp_path / "events.parquet")

    assert said in err
    assert 1 == err.count("\n")
    assert before == {each for each in tmp_path.iterdir() if each.name != "__pycache__"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "failed to be imported: ZeroDivisionError"),
        ("raise ValueError('not today')", "failed to be imported: ValueError: not today"),
        ("raise SystemExit(3)", "failed to be imported: it called sys.exit(3)"),
        ("import sys; sys.exit()", "it called sys.exit(None)"),
        ("class Halt(BaseException): ...\nraise Halt('now')", "Halt: now"),
        ("def broken(:", "SyntaxError"),
        ("import no_such_library", "there is no module 'no_such_library'"),
        ("def create(): raise SystemExit('made nothing')", "it called sys.exit(made"),
        ("import signal\ndef create(): raise RecursionError", "RecursionError"),
        ("create = 7", "is no function"),
    ],
)
def test_an_assignor_that_cannot_be_had_is_refused(tmp_path, code, said):
    """Whatever its module does when it is imported; also when asked without a scenario."""
    module = f"module_{abs(hash(code))}"
    (tmp_path / f"{module}.py").write_text(code)
    path = written(tmp_path, changed(('= "range"', f'= "{module}:create"')))

    for command in (["run", path], ["run", path, "--seeds", 2, "--jobs", 2], ["compare", path]):
        err = refused(*command)
        assert said in err
        assert 1 == err.count("\n")


@pytest.mark.long
def test_an_assignor_that_ends_the_process_in_a_run_is_refused(plugin, tmp_path):
    """As one that raises; also in another process."""
    path = plugin("ending")

    for jobs in (1, 2):
        err = refused("run", path, "--seeds", 2, "--jobs", jobs)
        assert "'ending' failed to assign: it called sys.exit(5)" in err


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_assignor_that_fails_in_another_process_is_refused_too(plugin, jobs):
    """The message comes back."""
    err = refused("run", plugin("raising"), "--seeds", 2, "--jobs", jobs)

    assert "The assignor 'raising' failed to assign" in err


@pytest.mark.parametrize("target", ["absent/events.parquet", "."])
def test_events_that_cannot_be_written_are_refused_before_the_run(tmp_path, target):
    """Not after an hour of work."""
    path = written(tmp_path)

    err = refused("run", path, "--events", tmp_path / target)

    assert "cannot be written" in err
    assert [path] == list(tmp_path.iterdir())


def test_the_same_scenario_is_not_refused(tmp_path):
    """The scenario without the errors is valid."""
    assert 0 == rebalance("run", written(tmp_path, CRASH)).status


def test_a_very_long_name_is_shortened_in_the_message():
    """Its beginning and its end are shown."""
    status, out, err = rebalance("run", "first" + "x" * 100_000 + "last")

    assert (2, "") == (status, out)
    assert len(err) < 1_000
    assert err.startswith("firstx")
    assert "xlast: cannot be read" in err
