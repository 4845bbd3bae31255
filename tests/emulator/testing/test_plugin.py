"""The pytest plugin: the fixture, the marker, scenario files as tests, and what a failure prints."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import emulator.testing.failure
import emulator.testing.files
import emulator.testing.shrinking
from tests.emulator.small_scenario import SMALL

pytest_plugins = ["pytester"]

PRELOADED = (
    emulator.testing.failure,
    emulator.testing.files,
    emulator.testing.shrinking,
)
"""pytester forgets modules that were first imported in its runs."""

ROOT = Path(__file__).parents[3]


@pytest.fixture
def ran(pytester, monkeypatch):
    """Return a function that runs pytest with the plugin on some files."""
    monkeypatch.chdir(pytester.path)
    # pytest does not shorten its summary where CI or BUILD_NUMBER is set.
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    (pytester.path / "small.toml").write_text(SMALL, encoding="utf-8")

    def run(*arguments, python="", **files):
        for name, text in files.items():
            path = pytester.path / f"{name}.scenario.toml"
            path.write_text(text, encoding="utf-8")
        if python:
            pytester.makepyfile(test_it=python)
        options = ("-p", "pytest_rebalance", "-p", "no:cacheprovider", "--strict-markers")
        return pytester.runpytest_inprocess(*options, "--rebalance-shrink=0", *arguments)

    return run


def test_a_test_states_bounds_in_the_words_of_the_domain(ran):
    """On a file, a name of the catalogue, tables, and a function; with changes and seeds."""
    result = ran(
        python="""
        import tomllib
        from pathlib import Path
        import pytest

        def test_a_file(scenario):
            run = scenario("small.toml")
            assert run.lost == 0 and run.reprocessed == 15
            assert run.reprocessed.by_cause["crashed while uncommitted"] == 15
            assert run.rebalances_per("crash") <= 1
            assert run.never("two owners")
            assert run.ok and run.seeds == (0,)

        @pytest.mark.seeds(2)
        def test_tables_from_a_function(scenario):
            def built():
                return tomllib.loads(Path("small.toml").read_text())

            run = scenario(built, {"fault[crash-1].at": "10s", "run_for": "11s"})
            assert run.seeds == (0, 1)
            assert run.reprocessed.values == (0, 0)

        @pytest.mark.seeds([5])
        def test_the_catalogue(scenario):
            assert scenario("quiet", ["run_for=5s"]).seeds == (5,)
        """
    )

    result.assert_outcomes(passed=3)


FAILING = """
import pytest

@pytest.mark.seeds(2)
def test_duplicates(scenario):
    run = scenario("small.toml", {"run_for": "29s"})
    assert run.reprocessed.p95 <= 10
"""


def test_a_failure_prints_causes_sequence_seed_and_commands_and_keeps_a_folder(ran, pytester):
    """And pytest's own line has the measured value."""
    result = ran(python=FAILING)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *assert reprocessed.p95 over 2 runs is 15, expected <= 10",
            "*- rebalance-emulator -*",
            "small, seeds 0 to 1",
            "seed *: 15 records reprocessed, 0 lost",
            "       15  reprocessed: crashed while uncommitted",
            "D1  orders-1, offsets 55 to 69: 15 records were reprocessed",
            "* fault crash-1: billing-1 crashes",
            "replay:  rebalance run small.toml --set run_for=29s --seed 0",
            "         rebalance explain small.toml D1 --set run_for=29s --seed 0",
            "kept in: rebalance-failures/test_it.py-test_duplicates",
        ]
    )
    kept = pytester.path / "rebalance-failures" / "test_it.py-test_duplicates"
    assert {"scenario.toml", "run.txt", "run.html", "D1.txt"} == {
        path.name for path in kept.iterdir()
    }
    assert 'run_for = "29s"' in (kept / "scenario.toml").read_text()


def test_a_failure_names_the_problems_of_the_run_and_what_its_end_cut_short(ran):
    """As the screen of the run does, with what to do about it."""
    python = """
    def test_problem(scenario):
        assert scenario("small.toml", {"group[billing].work": "500ms"}).lag_processed_peak <= 20

    def test_cut(scenario):
        assert scenario("small.toml", {"run_for": "18s"}).takeover_first_s <= 60
    """
    result = ran(python=python)

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "PROBLEMS",
            "  - * records arrive for billing per second (rate is that of each of *",
            "INCONCLUSIVE: when the run ended,",
            "  - * partition* of billing had no owner*",
            "Increase run_for, or remove it: *",
        ]
    )


def test_an_error_in_building_the_report_is_a_line_of_it(ran):
    """The next test still runs."""
    result = ran(
        python="""
        def test_one(scenario, monkeypatch):
            monkeypatch.setattr("emulator.testing.failure.failure_lines", lambda *_: [][0])
            assert scenario("small.toml").processed == 0

        def test_two():
            pass
        """
    )

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["The report of this failure could not be made: IndexError: *"])


def test_a_ledger_is_kept_in_a_file_and_compared(ran, pytester):
    """The option writes it; without it, differences are said."""
    python = """
    def test_it(scenario):
        assert scenario("small.toml").matches_ledger("small.json")
    """
    ran("--rebalance-update", python=python).assert_outcomes(passed=1)
    ran().assert_outcomes(passed=1)
    path = pytester.path / "small.json"
    path.write_text(path.read_text().replace("crashed while", "revoked while"))
    result = ran()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*the ledger differs from small.json; *", "*cause is crashed while *, was revoked while *"]
    )


def test_a_scenario_file_with_expectations_is_a_test(ran):
    """One without is not; one that fails says which expectation, without a traceback."""
    files = {
        "good": SMALL + "[expect]\nlost = 0\n",
        "bad": SMALL + '[expect]\nreprocessed = "<= 3"\n',
        "plain": SMALL,
        "unknown": SMALL + "[expect]\nlots = 0\n",
    }
    result = ran("-v", **files)

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "good.scenario.toml::expect PASSED*",
            "reprocessed is 15, expected <= 3",
            "replay:  rebalance run bad.scenario.toml --seed 0",
            "*there is no metric 'lots'; did you mean lost*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*def runtest*")
    assert "  reprocessed is 15, expected <= 3" not in result.stdout.str()


def test_an_inconclusive_file_says_each_reason_once(ran):
    """Before its expectations are compared again in other words; problems stay."""
    short = SMALL.replace('run_for = "30s"', 'run_for = "16s"')
    result = ran("-r", "N", short=short + "[expect]\nlost = 0\nreprocessed = 0\n")

    said = result.stdout.str()
    assert "inconclusive: lost is 0, expected == 0: " in said
    assert "inconclusive: reprocessed is 0, expected == 0" in said
    assert said.count("had no owner") == 1
    assert "INCONCLUSIVE: when the run ended," in said


def test_a_file_that_is_not_toml_is_an_error_of_collection(ran):
    """With the line."""
    result = ran(broken="[expect\n")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*broken.scenario.toml:1: not TOML: *"])


@pytest.mark.parametrize(
    ("arguments", "marker", "message"),
    [
        (["--rebalance-seeds=none"], "", "rebalance_seeds: 'none' is not a number of seeds*"),
        ([], "@pytest.mark.seeds(0)", "seeds: 0 is not a number of seeds; give 1 or more"),
        ([], "@pytest.mark.seeds(first=3)", "*write @pytest.mark.seeds(20), or the seeds:*"),
    ],
)
def test_seeds_that_are_none_are_refused(ran, arguments, marker, message):
    """With what to write instead, and no code of the plugin."""
    python = f"import pytest\n{marker}\ndef test_it(scenario):\n    scenario('quiet')\n"
    result = ran(*arguments, python=python)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{message}"])
    assert "fixture.py" not in result.stdout.str()


@pytest.mark.long
def test_the_smallest_scenario_that_fails_is_printed_and_kept(ran, pytester):
    """It fails by itself: its bound is in the file."""
    bound = '[expect]\nreprocessed = "<= 3"\n'
    ran("--rebalance-shrink=2", small=SMALL.replace("30s", "24s") + bound)

    kept = pytester.path / "rebalance-failures" / "small.scenario.toml-expect" / "smallest.toml"
    smallest = emulator.load(kept)
    assert not emulator.run(smallest).ok
    assert len(smallest.fault) == 1


def test_pytest_starts_without_the_packages():
    """Coverage sees their import, and other tests do not wait for them."""
    program = "import pytest_rebalance, sys; print({'emulator', 'assignors'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_the_plugin_is_registered_by_the_name_of_its_module():
    """Pytest then takes ``-p pytest_rebalance`` and the entry point as one plugin."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["entry-points"]["pytest11"] == {
        "pytest_rebalance": "pytest_rebalance"
    }
    assert "pytest_rebalance" in project["tool"]["setuptools"]["py-modules"]


@pytest.mark.long
def test_it_works_under_xdist(ran):
    """Workers play the scenarios and send the report."""
    result = ran("-n2", python=FAILING)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["replay:  rebalance run small.toml --set run_for=29s --seed 0"])


def test_modules_elsewhere_are_allowed_by_the_configuration_alone(ran):
    """One that does not exist is refused before any test."""
    result = ran("-o", "rebalance_plugins=absent_module")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*rebalance_plugins: *there is no module 'absent_module'*")


def test_a_missing_scenario_is_named_with_its_folder_and_the_nearest_one(ran, pytester):
    """The traceback ends in the test: that the plugin looked for it is no news."""
    result = ran(
        python="""
        def test_a_name(scenario):
            scenario("member-crashs")

        def test_a_file(scenario):
            scenario("smal.toml")
        """
    )
    text = result.stdout.str()

    assert f"no such file in {pytester.path}, and no such scenario in the catalogue" in text
    assert 'did you mean "member-crashes"?' in text
    assert f"did you mean {pytester.path / 'small.toml'}?" in text
    assert "_load" not in text
    result.assert_outcomes(failed=2)


@pytest.mark.long
def test_errors_of_results_end_in_the_test(ran):
    """Our source is not printed for a wrong name or a missing file."""
    calls = (
        *("run.never('two owner at')", "run.rebalances_per('crsh')", "run.reprocesed == 0"),
        *("run.matches_ledger('none.json')", "run['reprocesed']", "run.lost.p9x", "run.lost"),
    )
    tests = [
        f"def test_{number}(scenario):\n    run = scenario('small.toml')\n    assert {call}\n"
        for number, call in enumerate(calls)
    ]
    result = ran(python="\n".join(tests))
    text = result.stdout.str()

    result.assert_outcomes(failed=len(calls))
    assert "emulator/testing" not in text
    assert "emulator/metrics" not in text


def test_overrides_may_be_lists_of_tables(ran):
    """As TOML has them; a closed member is no crash."""
    result = ran(
        python="""
        def test_it(scenario):
            run = scenario("small.toml", {"act": [{"close": "billing-1", "at": "14s"}]})
            assert run.rebalances_per("close") <= 1
        """
    )

    result.assert_outcomes(passed=1)


def test_keyword_arguments_are_keys_at_the_top(ran):
    """Another key is refused with its nearest path and the way to write it."""
    result = ran(
        python="""
        def test_it(scenario):
            run = scenario("small.toml", "group[billing].members=3", run_for="20s", seed=7)
            assert run.seeds == (7,)
            assert run.scenario.run_for == 20_000_000
            assert len(run.scenario.group[0].members) == 3

        def test_another(scenario):
            scenario("small.toml", members=3)

        def test_the_value(scenario):
            scenario("small.toml", run_for=20)
        """
    )

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *no such key; nearest: group?billing?.members",
            'E *Write the path of any other key: scenario(?, {"group?billing?.settings*',
            'E *run_for = 20: a unit is missing, write "20s"*',
        ]
    )
    assert 1 == result.stdout.str().count("Write the path of any other key")


def test_one_override_may_be_a_string(ran):
    result = ran(
        python="""
        def test_it(scenario):
            run = scenario("small.toml", "group[billing].members=3")
            assert len(run.scenario.group[0].members) == 3
        """
    )

    result.assert_outcomes(passed=1)
