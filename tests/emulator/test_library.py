"""The public functions: what they accept, return and raise, without the command line."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import emulator
from emulator.scenario import catalogue
from emulator.scenario.model import Group, Member, Topic
from emulator.scenario.problems import ScenarioError
from emulator.scenario.toml import to_toml
from tests.emulator.small_scenario import SMALL


@pytest.fixture(scope="module")
def scenario():
    """Return a small scenario with a crash."""
    return emulator.loads(SMALL)


@pytest.fixture(scope="module")
def run(scenario):
    """Return a run of it."""
    return emulator.run(scenario, seed=3)


def test_all_public_names_are_listed_in_alphabetical_order_and_can_be_imported():
    """A name is imported when it is first used."""
    assert sorted(emulator.__all__) == emulator.__all__
    for name in emulator.__all__:
        assert getattr(emulator, name).__doc__, name
        assert name in dir(emulator)
    with pytest.raises(AttributeError, match="no attribute 'lods'"):
        _ = emulator.lods


def test_the_package_itself_imports_almost_nothing():
    """``rebalance --help`` must start at once."""
    program = "import emulator, sys; print('pydantic' in sys.modules, 'simpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "False False" == done.stdout.strip()


@pytest.mark.parametrize("name", ["reprocesed", "lost.p955x", "downtime.by_partitoin[a]"])
def test_a_misspelt_metric_in_expect_is_refused_when_the_scenario_is_loaded(name):
    """Not after the run; the message offers the closest match."""
    text = f'{SMALL}\n[expect]\n"{name}" = 0\n'

    with pytest.raises(emulator.ScenarioError, match="did you mean"):
        emulator.loads(text)


def test_a_name_of_the_catalogue_is_loaded_with_overrides():
    """As the command line does it."""
    assert 7_000_000 == emulator.load("quiet", ["run_for=7s"]).run_for
    with pytest.raises(emulator.EmulatorError, match='did you mean "quiet"'):
        emulator.load("quite")


def test_lists_are_accepted_where_the_model_has_tuples():
    """Also inside other tables; values keep tuples, so that scenarios stay hashable parts."""
    group = Group(id="billing", topics=["orders"], members=[Member(name="a"), Member(name="b")])
    made = emulator.Scenario(
        title="small", run_for=5_000_000, topic=[Topic(name="orders", rate=5)], group=[group]
    )

    assert ("orders",) == made.group[0].topics
    assert 2 == len(made.group[0].members)


def test_errors_of_pydantic_are_translated():
    """The message names the key, the value and what is allowed."""
    with pytest.raises(emulator.ScenarioError) as caught:
        Topic(name="orders", partitions="4", rat=3)

    assert str(caught.value).splitlines() == [
        'Topic: partitions = "4": wrong type; allowed is a whole number',
        'Topic: rat = 3: unknown key; did you mean "rate"?',
    ]


@pytest.mark.parametrize("name", catalogue.names())
def test_every_scenario_can_be_written_as_toml_and_read_again(name):
    """Reading the written text gives an equal scenario."""
    loaded = emulator.load(name)

    assert loaded == emulator.loads(to_toml(loaded), name, folder=catalogue.FOLDER)


def test_a_run_is_a_table_of_its_events(run):
    """One row for each event."""
    table = run.to_arrow()

    assert len(run.events) == table.num_rows == len(run.to_pandas())
    assert [event.id for event in run.events] == table["id"].to_pylist()
    assert "<table>" in run._repr_html_()


def test_a_sweep_gives_the_figures_of_each_seed(scenario):
    """Seeds count from the first; progress is reported after each run."""
    done = []

    swept = emulator.sweep(
        scenario, 2, first=3, jobs=1, progress=lambda *counts: done.append(counts)
    )

    assert ((3, 4), [(1, 2), (2, 2)], True) == (swept.seeds, done, swept.ok)
    assert [3, 4] == swept.to_arrow()["seed"].to_pylist()
    assert 2 == swept.summary()["lost"].runs
    assert "<Sweep of 'small', 2 seeds: reprocessed p50=" in repr(swept)
    assert "<td>reprocessed</td>" in swept._repr_html_()


def test_a_sweep_has_the_digests_of_single_runs(scenario, run):
    """Both are the same run."""
    (one,) = emulator.sweep(scenario, [3], jobs=1).runs

    assert run.digest == one.digest


def test_a_comparison_plays_every_variant_under_the_same_seeds(scenario):
    """A scenario built in Python can be compared like a file."""
    compared = emulator.compare(scenario, ["eager", "short: run_for=15s"], seeds=[5, 6], jobs=1)

    assert ["eager", "short"] == [variant.name for variant in compared.variants]
    assert [5, 6, 5, 6] == compared.to_arrow()["seed"].to_pylist()
    assert -15.0 == compared.difference("short", "run_s").mean.value
    assert "<td>short</td>" in compared._repr_html_()


def test_an_entry_is_explained(run):
    """From a finished run or from a scenario."""
    entry = run.ledger.entries[0]

    explained = emulator.explain(run, entry.id.lower())

    assert entry == explained.entry
    assert str(explained) == str(emulator.explain(run.scenario, entry.id, seed=3))
    with pytest.raises(emulator.EmulatorError, match="seed 3: "):
        emulator.explain(run, "D99")


def test_an_assignor_is_asked_without_a_cluster():
    """A wrong question is refused with the closest match."""
    given = emulator.assign("range", {"t": 2}, [{"id": "A", "topics": ["t"]}])

    assert {"A": (("t", 0), ("t", 1))} == {member: tuple(run) for member, run in given.items()}
    with pytest.raises(emulator.EmulatorError, match="range"):
        emulator.assign("rnge", {"t": 2}, {"A": ["t"]})


def test_a_changed_copy_of_a_scenario_is_loaded_swept_and_compared():
    """The overrides apply to a scenario as they do to a file; the scenario itself is not changed."""
    quiet = emulator.load("quiet")

    assert 7_000_000 == emulator.load(quiet, ["run_for=7s"]).run_for
    swept = emulator.sweep(quiet, [1], jobs=1, overrides=["run_for=7s"])
    assert 7_000_000 == swept.scenario.run_for != quiet.run_for


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("reprocessed.by_cause[two owners]", 'did you mean "two owners at once"?'),
        ("lost.by_member[member-7]", "has no entry 'member-7' in this scenario"),
        ("lag_processed_peak.by_group[biling]", "has no entry 'biling'"),
        ("lost.by_partition[orders-99]", "has no entry 'orders-99'"),
        ("evictions.by_reason[expired].max", "has no entry 'expired'"),
    ],
)
def test_an_entry_that_no_run_can_have_is_refused_at_load(name, closest):
    """It would be 0 for ever, and so would its expectation hold."""
    with pytest.raises(ScenarioError, match=re.escape(closest)):
        emulator.loads(SMALL + f'[expect]\n"{name}" = 0\n')


def test_entries_that_a_run_may_have_are_accepted():
    """Of causes, members, groups, partitions and reasons."""
    names = (
        "reprocessed.by_cause[two owners at once]",
        "lost.by_member[billing-0]",
        "lost.by_member[no owner]",
        "lag_processed_peak.by_group[billing]",
        "lost.by_partition[orders-0]",
        "evictions.by_reason[session expired]",
        "rebalances.by_reason[anything]",
    )
    bounds = "".join(f'"{name}" = "none or <= 1"\n' for name in names)
    scenario = emulator.loads(f"{SMALL}[expect]\n{bounds}")

    assert set(names) <= set(scenario.expect)
    assert "none or <=" == scenario.expect[names[0]].relation
