"""Run a study and return its findings: ``emulator.run_study``.

Runs are played in rounds: the first with ``seeds.count`` seeds, each further one with twice as many
until every stopping rule holds. In each round only chunks that the folder lacks are played, so an
interrupted study continues where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assignors.values import dataclass
from emulator import engines
from emulator.engines import EngineRequest
from emulator.errors import RefusedError, reason_of
from emulator.output_files import is_uri, put
from emulator.report.wording import counted, duration
from emulator.study import store
from emulator.study.answer_text import answer_table, sentences
from emulator.study.attempts import ProcessDiedError
from emulator.study.findings import TABLES, Findings, find, tables, write
from emulator.study.plan import Chunk, Plan, metrics_of
from emulator.study.rows import Task
from emulator.study.screen import study_screen
from emulator.study.summary import read_results, rules_not_met
from emulator.tables import arrow_table, html_table, pandas_frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

from emulator.study.planning import (
    ChunkRunner,
    Engine,
    PlannedStudy,
    Workspace,
    choose_engine,
    open_workspace,
    plan_study,
)

MAX_DEATHS: Final = 12
"""Killed processes in one round after which the study stops."""

PAGE: Final = "report.html"

OnProgress = Callable[[int, int], None]
"""Called with the number of finished runs of the round, and of all its runs."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StudyResult:
    """The findings of a study, and where its rows are."""

    findings: Findings
    """The answer and the tables of the report, as values."""

    folder: str | Path
    """The output: a folder, or the URI of one."""

    engine: Engine
    """What played the runs: processes or Spark."""

    page: str | Path
    """The page with pictures."""

    def __repr__(self) -> str:
        """Return one line with the numbers of runs and cells."""
        findings = self.findings
        title = findings.plan.study.title
        return f"<StudyResult {title!r}: {findings.runs} runs, {len(findings.results)} cells>"

    def _repr_html_(self) -> str:
        """Return the answer, or else the summary, as an HTML table."""
        title = self.findings.plan.study.title
        head, *rows = answer_table(self.findings) or [()]
        if not rows:
            shown = ("cell", "metric", "median", "p95", "maximum", "mean")
            summary = self.tables().get("summary", ())
            head, rows = shown, [tuple(row[name] for name in shown) for row in summary]
        return html_table(title, head, rows)

    @property
    def ok(self) -> bool:
        """Whether no run failed."""
        return self.findings.failed == 0

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer as sentences; empty for a study without a goal."""
        return tuple(sentences(self.findings))

    def tables(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return the rows of all tables by name; tables without rows are left out."""
        return tables(self.findings)

    def lines(self) -> Iterator[str]:
        """Yield the report as text."""
        yield from study_screen(self.findings)
        yield from ("", f"Engine:    {self.engine.words}", f"Folder:    {self.folder}")
        yield f"Page:      {self.page}"

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``rebalance study --json``."""
        head = {"study": self.findings.plan.study.title, "folder": str(self.folder)}
        counts = {"runs": self.findings.runs, "failed": self.findings.failed}
        empty = dict.fromkeys(TABLES, ())
        return {**head, "engine": self.engine.name, **counts, **empty, **self.tables()}

    def to_arrow(self, table: str = "summary") -> pa.Table:
        """Return a table: ``cells``, ``answer``, ``summary``, ``differences``, ``sensitivity``, ``pareto``."""
        return arrow_table(self.tables().get(table, ()))

    def to_pandas(self, table: str = "summary") -> pd.DataFrame:
        """Return one of the tables as a pandas data frame."""
        return pandas_frame(self.to_arrow(table))


# -- running -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rounds:
    """The rounds of a study: its plan, its folder, and its callbacks for progress."""

    plan: Plan
    folder: Path
    progress: OnProgress
    notify: Callable[[str], None]

    def run(self, engine: Engine) -> None:
        """Run rounds until every rule holds or all seeds are used; open no engine for no work."""
        seeds = self.plan.study.seeds
        most = seeds.most or seeds.count
        begin, end = 0, seeds.count
        missing = list(self._missing(begin, end))
        self._announce(missing, engine)
        if not missing and not self._continues(end, most):
            return
        with engine.open() as runner:
            while True:
                self._run_round(list(self._missing(begin, end)), runner)
                if not self._continues(end, most):
                    return
                begin, end = end, min(2 * end, most)

    def _continues(self, end: int, most: int) -> bool:
        """Return whether another round is needed."""
        rules = self.plan.study.until
        if not rules or end >= most:
            return False
        open_rules = rules_not_met(read_results(self.folder, self.plan), rules)
        if open_rules:
            self.notify(f"{counted(end, 'seed')} are not enough yet for {open_rules[0]}")
        return bool(open_rules)

    def _missing(self, begin: int, end: int) -> Iterator[Chunk]:
        for chunk in self.plan.chunks(begin, end):
            if not store.is_done(self.folder, chunk):
                yield chunk

    def _announce(self, missing: list[Chunk], engine: Engine) -> None:
        runs = sum(chunk.runs for chunk in missing)
        if not runs:
            return
        work = duration(self.plan.work_s * runs / self.plan.runs)
        of_all = "" if runs == self.plan.runs else f" of {self.plan.runs:,}; the others exist"
        cells = counted(len(self.plan.cells), "cell")
        self.notify(
            f"{counted(runs, 'run')}{of_all}, in {cells}, about {work} of CPU time: {engine.words}"
        )

    def _run_round(self, chunks: list[Chunk], runner: ChunkRunner) -> None:
        plan, metrics = self.plan, metrics_of(self.plan)
        scenarios = {number: plan.cells[number].scenario for number in {c.cell for c in chunks}}
        tasks = [
            Task(
                chunk,
                scenarios[chunk.cell],
                metrics,
                plan.study.events,
                plan.cells[chunk.cell].run_s * chunk.runs,
            )
            for chunk in chunks
        ]
        total, done = sum(chunk.runs for chunk in chunks), 0
        for chunk in self.run_tasks(tasks, runner):
            done += chunk.runs
            self.progress(done, total)

    def run_tasks(self, tasks: list[Task], runner: ChunkRunner) -> Iterator[Chunk]:
        """Yield each chunk that is complete; continue when a process is killed.

        The chunks in progress are then tried again first, one by one: a run that kills its process
        stops no other chunk, and becomes a row with an error after its last attempt.
        """
        deaths = 0
        while tasks := [task for task in tasks if not store.is_done(self.folder, task.chunk)]:
            suspects = [
                task
                for task in tasks
                if store.seed_in_progress(self.folder, task.chunk) is not None
            ]
            try:
                yield from runner(suspects[:1] or tasks, self.folder)
            except ProcessDiedError as error:
                deaths += 1
                runs = "; ".join(self._in_progress(tasks)) or "unknown"
                if deaths >= MAX_DEATHS:
                    raise RefusedError(
                        f"{deaths} times {error}. Last runs in progress: {runs}. Complete files "
                        "stay; the same command continues from there"
                    ) from None
                self.notify(f"a process was killed and is replaced; runs in progress: {runs}")

    def _in_progress(self, tasks: list[Task]) -> Iterator[str]:
        for task in tasks:
            seed = store.seed_in_progress(self.folder, task.chunk)
            if seed is not None:
                yield f"seed {seed} in {self.plan.cells[task.chunk.cell].settings.name}"


def run_study(
    study: PlannedStudy | str | Path,
    folder: str | Path,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    engine: str | EngineRequest = engines.AUTO,
    progress: OnProgress | None = None,
    notify: Callable[[str], None] | None = None,
) -> StudyResult:
    """Run a study, write its rows and report to *folder*, and return its findings.

    *folder*: a path, or the URI of a folder that Spark reaches, such as ``s3a://bucket/study``.
    *study*: a plan, a path, or the name of a built-in study. *seeds*: replaces the file's number of
    seeds. *jobs*: processes; by default one for each CPU core. *engine*: ``auto``, ``pool``,
    ``spark``, or a request with Spark's master. *progress*: called with the number of finished
    runs of the round, and of all its runs. *notify*: receives messages about rounds and killed
    processes. Only runs that the folder lacks are played.

    Raises ``EmulatorError``. Call it below ``if __name__ == "__main__"`` in a script: worker
    processes import the script.
    """
    planned = study if isinstance(study, PlannedStudy) else plan_study(study, seeds=seeds)
    request = engine if isinstance(engine, EngineRequest) else EngineRequest(engine, jobs=jobs)
    chosen = choose_engine(planned, request, os.environ, folder)
    ignore: Callable[..., None] = lambda *_: None  # noqa: E731  a callback that does nothing
    with open_workspace(planned, chosen, request, folder) as work:
        rounds = _Rounds(planned.plan, work.folder, progress or ignore, notify or ignore)
        try:
            return _run(rounds, work, folder)
        except KeyboardInterrupt:
            store.delete_partial_files(work.folder)  # the runs in progress killed no process
            raise
        except store.OtherStudyError as error:
            raise RefusedError(f"`folder={folder}`: {error}; take another folder") from None
        except OSError as error:
            raise RefusedError(
                f"`folder={folder}`: cannot be written: {reason_of(error)}. Complete files stay; "
                "the same command continues from there"
            ) from None


def _run(rounds: _Rounds, work: Workspace, output: str | Path) -> StudyResult:
    with store.writing(work.folder, store.study_manifest(rounds.plan)):
        return _write_all(rounds, work, output)


def _write_all(rounds: _Rounds, work: Workspace, output: str | Path) -> StudyResult:
    plan = rounds.plan
    work.resume()
    rounds.run(work.engine)
    store.delete_partial_files(work.folder)
    findings = find(work.folder, plan)
    write(findings, work.folder)
    _write_page(findings, work.folder)
    work.publish()
    place = str(output) if is_uri(output) else work.folder
    page = _below(place, PAGE)
    return StudyResult(findings=findings, folder=place, engine=work.engine, page=page)


def _below(folder: str | Path, name: str) -> str | Path:
    return folder / name if isinstance(folder, Path) else f"{folder.rstrip('/')}/{name}"


def _write_page(findings: Findings, folder: Path) -> None:
    """Write the page with pictures."""
    from emulator.study.page import study_page  # noqa: PLC0415  only where results are written

    put(folder / PAGE, study_page(findings).encode())
