"""``rebalance compare``: the same seeds under several settings, in one table."""

from __future__ import annotations

import pytest

import emulator
from emulator.comparison import Variant, read_variants, split_list
from emulator.errors import RefusedError
from emulator.report.wording import WIDTH
from emulator.scenario.load import loads

from ..commands import CRASH, changed, rebalance, written

ROLLING = changed(
    (
        '[[fault]]\ncrash = "billing-1"\nat = "18s"',
        '[[act]]\nrolling_restart = "billing"\nat = "15s"',
    ),
)
SHORT = "short: group[billing].settings[auto.commit.interval.ms]=1s"


def columns(out: str) -> list[str]:
    """Return the titles of the table."""
    head = next(line for line in out.splitlines() if line.startswith("|"))
    return [cell.strip() for cell in head.strip("|").split("|")]


def test_protocols_stand_side_by_side(tmp_path):
    """One column each, and its difference to the first."""
    status, out, err = rebalance("compare", written(tmp_path, ROLLING), "--jobs", 1)

    assert (0, "") == (status, err)
    titles = ["eager", "cooperative", "difference", "static", "difference"]
    assert ["", *titles] == columns(out)
    assert "cooperative: billing: cooperative-sticky (cooperative)" in out
    assert "static: billing: 2 static members" in out
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= WIDTH


def test_the_table_can_be_pasted_into_a_document(tmp_path):
    """It is Markdown, and its lines are whole."""
    _, out, _ = rebalance("compare", written(tmp_path), "--with", "eager", "--with", SHORT)

    table = [line for line in out.splitlines() if line.startswith("|")]
    assert set(table[1]) <= set("|-")
    assert 1 == len({line.count("|") for line in table})


def test_one_setting_alone_is_compared_with_the_scenario_as_written(tmp_path):
    """The usual question: the effect of one setting."""
    path = written(tmp_path)

    document = rebalance("compare", path, "--with", SHORT, "--json").document

    before, after = document["variants"]
    assert ["as-written", "short"] == [before["name"], after["name"]]
    assert 1000 == after["settings"]["group"]["billing"]["auto.commit.interval.ms"]
    difference = after["differences"]["reprocessed"]["mean"]["value"]
    assert difference == after["values"]["reprocessed"][0] - before["values"]["reprocessed"][0] < 0


@pytest.mark.long
def test_every_column_has_the_same_seeds(tmp_path):
    """Differences are paired, and have intervals."""
    path = written(tmp_path, changed(('at = "18s"', 'between = ["15s", "20s"]')))
    arguments = ("--with", SHORT, "--seeds", 4, "--seed", 10, "--jobs", 1)

    _, out, _ = rebalance("compare", path, *arguments)
    document = rebalance("compare", path, *arguments, "--json").document

    before, after = (variant["values"]["reprocessed"] for variant in document["variants"])
    compared = document["variants"][1]["differences"]["reprocessed"]
    assert [10, 11, 12, 13] == document["seeds"]
    assert sum(b < a for a, b in zip(before, after, strict=True)) == compared["less"]
    assert compared["mean"]["low"] < compared["mean"]["value"] < compared["mean"]["high"]
    assert "Differences are from as-written, seed by seed, with the smallest and the largest" in out
    assert "4 seeds, 10 to 13" in out


def test_set_holds_for_all_columns(tmp_path):
    """Common settings are shown once."""
    key = "group[billing].settings[auto.commit.interval.ms]=2s"

    _, out, _ = rebalance("compare", written(tmp_path), "--set", key, "--with", "static")

    assert 1 == out.count("auto commit every 2s")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("eagre", "'eagre' is neither one of eager, cooperative, static"),
        ("consumer", 'did you mean "kip848"?'),
        ("short: nonsense", "'nonsense' is neither one of"),
        ("short: group[nobody].static=true", "no such key"),
        ("short: group[billing].settings[session.timeout.ms]=x", "session.timeout.ms"),
    ],
)
def test_a_column_that_cannot_be_read_is_refused(tmp_path, text, said):
    """With what there is."""
    status, out, err = rebalance("compare", written(tmp_path), "--with", text)

    assert (2, "") == (status, out)
    assert said in err


@pytest.mark.parametrize("text", [":", "a:", ": eager", "a: ,"])
def test_a_column_without_a_name_or_without_keys_is_refused(tmp_path, text):
    """It is a slip of the pen."""
    status, out, err = rebalance("compare", written(tmp_path), "--with", text)

    assert (2, "") == (status, out)
    assert "write a name before the colon, and keys after it" in err


def test_names_of_columns_are_shown_as_they_are(tmp_path):
    """A path in brackets is no markup."""
    key = "group[billing].static=true"

    _, out, _ = rebalance("compare", written(tmp_path), "--with", key)

    assert ["", "as-written", key, "difference"] == columns(out)


def test_many_columns_stand_in_several_tables(tmp_path):
    """Each begins with the column that all are compared with, and fits."""
    names = [f"session of {seconds}s" for seconds in (7, 8, 9, 10, 11)]
    key = "group[billing].settings[session.timeout.ms]"
    texts = [f"{name}: {key}={name.split()[-1]}" for name in names]
    options = [option for text in ["eager", *texts] for option in ("--with", text)]

    status, out, _ = rebalance("compare", written(tmp_path), *options, "--jobs", 1)

    heads = [line for line in out.splitlines() if line.startswith("|") and "difference" in line]
    assert 0 == status
    assert len(heads) > 1
    assert all("| eager |" in head for head in heads)
    assert names == [name for head in heads for name in names if name in head]
    assert max(len(line) for line in out.splitlines() if str(tmp_path) not in line) <= WIDTH


def test_a_scenario_from_the_input_is_read_once(tmp_path):
    """All columns are of the same text."""
    options = ("--with", "eager", "--with", "static", "--jobs", 1, "--json")

    piped = rebalance("compare", "-", *options, given=CRASH)

    assert rebalance("compare", written(tmp_path), *options) == piped


def test_two_columns_of_one_name_are_refused():
    """They could not be distinguished."""
    with pytest.raises(RefusedError, match="two variants are called 'eager'"):
        read_variants(["eager", "eager"], loads(CRASH, "crash.toml"))


def test_a_column_may_join_names_and_keys():
    """The later ones win."""
    scenario = loads(CRASH, "crash.toml")

    _, variant = read_variants(["as-written", "mine: static, network.latency=1ms"], scenario)

    strategy = "group[billing].settings[partition.assignment.strategy]=range"
    overrides = (strategy, "group[billing].static=true", "network.latency=1ms")
    assert Variant("mine", overrides) == variant


def test_a_member_with_a_strategy_of_its_own_gets_that_of_the_column():
    """Otherwise the column would not be what its name says."""
    own = (
        "[[group.member]]\nname = 'billing-0'\nsettings.partition.assignment.strategy = 'sticky'\n"
    )
    text = CRASH.replace("[[fault]]", f"{own}\n[[fault]]")

    _, variant = read_variants(["cooperative"], loads(text, "crash.toml"))

    path = "group[billing].member[billing-0].settings[partition.assignment.strategy]"
    assert f"{path}=cooperative-sticky" in variant.overrides


def test_members_with_ids_of_their_own_cannot_be_made_dynamic():
    """A column called eager with static members would mislead."""
    own = "[[group.member]]\nname = 'billing-0'\nsettings.group.instance.id = 'a'\n"
    scenario = loads(CRASH.replace("[[fault]]", f"{own}\n[[fault]]"), "crash.toml")

    with pytest.raises(RefusedError, match=r"their own group\.instance\.id"):
        read_variants(["eager"], scenario)


def test_lists_are_split_outside_brackets_and_quotes():
    """A value may hold commas."""
    assert ["a=[1, 2]", 'b="x, y"', "c"] == split_list('a=[1, 2], b="x, y", c')


def test_one_text_is_no_list_of_overrides():
    """Each of its letters would be one."""
    with pytest.raises(RefusedError, match="a list is needed; write \\['run_for=5s'\\]"):
        emulator.compare("quiet", overrides="run_for=5s", jobs=1)
