"""Plan a study, and choose the engine that runs its chunks: ``emulator.plan_study``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from assignors.values import dataclass
from emulator import engines
from emulator.comparison import NAMED
from emulator.engines import EngineRequest, open_spark
from emulator.errors import ProcessKilledError, RefusedError
from emulator.input_files import file_in, is_there, nearest_file
from emulator.loading import ScenarioText, load_text, read_text
from emulator.output_files import is_uri
from emulator.processes import parallel_map
from emulator.scenario.estimates.cost_text import approximately
from emulator.scenario.estimates.cpu_time import MAX_S
from emulator.scenario.load import text_of
from emulator.scenario.model import Scenario
from emulator.scenario.problems import Problem, ScenarioError, hint, listed
from emulator.study import store
from emulator.study.attempts import ProcessDiedError
from emulator.study.mistakes import StudyText
from emulator.study.model import Study, loads, path_of
from emulator.study.plan import Chunk, Plan, make_plan
from emulator.study.rows import Task

if TYPE_CHECKING:
    from emulator.spark.session import Session
    from emulator.spark.study_output import StudyOutput

ChunkRunner = Callable[[Sequence[Task], Path], Iterator[Chunk]]
"""Runs chunks and writes them to a folder; yields each one that is complete.

Raises ProcessDiedError if a process was killed.
"""


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    """A study whose cells are loaded and checked."""

    plan: Plan
    scenario_folder: Path
    """The folder of the scenario's file, which may also hold the user's own assignors."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that runs the chunks."""

    name: str
    """``pool`` or ``spark``."""

    words: str
    """Description for the user, with the option for the other engine."""

    open: Callable[[], AbstractContextManager[ChunkRunner]]


def _do_nothing() -> None:
    """Copy nothing: the output is on this machine."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder on this machine in which a study runs.

    If the output is a URI, Spark writes all rows there; this folder is temporary and holds the runs,
    the report, and the manifest.
    """

    folder: Path
    engine: Engine
    resume: Callable[[], None] = _do_nothing
    """Copies the manifest to a URI, and the runs of earlier commands from there."""

    publish: Callable[[], None] = _do_nothing
    """Copies the report to a URI."""


# -- planning ----------------------------------------------------------------------------------


def plan_study(
    study: str | Path, *, seeds: int | None = None, allow_large: bool = False
) -> PlannedStudy:
    """Load a study and the scenario of each of its cells.

    *study*: a path, or the name of a built-in study. *seeds*: replaces the file's number of seeds
    and its stopping rules. *allow_large*: also plan more than two hours of CPU time.

    Raises ``ScenarioError`` if the study or a cell is invalid, ``RefusedError`` if it is too large.
    """
    path = path_of(str(study))
    text = text_of(str(path))
    loaded = _with_seeds(loads(text, str(path)), seeds)
    of_study = StudyText(study=loaded, name=str(path), text=text)
    try:
        planned = _planned(of_study, path.parent, allow_large=allow_large)
    except ScenarioError as error:
        raise of_study.located(error) if error.name == str(path) else error from None
    if not allow_large:
        _refuse_large(planned.plan)
    return planned


def _planned(of_study: StudyText, folder: Path, *, allow_large: bool) -> PlannedStudy:
    """Return the plan of a study; raise ScenarioError if it or one of its scenarios is invalid."""
    study, name = of_study.study, of_study.name
    written = _scenario_of(study, folder, name)
    try:
        base = load_text(written, study.set, allow_large=allow_large).scenario
    except ScenarioError as error:
        raise of_study.in_set(error) from None
    protocols = _overrides_of_protocols(study, base, name)

    def load_cell(overrides: Sequence[str]) -> Scenario:
        return load_text(written, overrides, allow_large=allow_large, together=()).scenario

    plan = make_plan(study, protocols, load_cell, name, of_study.in_cell)
    return PlannedStudy(plan, written.folder)


def _with_seeds(study: Study, count: int | None) -> Study:
    if count is None:
        return study
    seeds = study.seeds.model_copy(update={"count": count, "most": None})
    return study.model_copy(update={"seeds": seeds, "until": ()})


def _scenario_of(study: Study, folder: Path, name: str) -> ScenarioText:
    """Read the scenario of a study: a file beside it, or a name of the catalogue.

    *name*: the study, in errors.
    """
    named = Path(study.scenario)
    is_path = named.suffix != "" or len(named.parts) != 1 or _is_file(folder / named)
    if study.scenario == "-":
        reason = "the input; a study needs the name of a file or of the catalogue"
        raise ScenarioError(name, [Problem("scenario", reason, study.scenario)])
    try:
        if not is_path:
            return read_text(study.scenario)
        return read_text(str(_existing(file_in(folder, study.scenario))))
    except ValueError as error:
        raise ScenarioError(name, [Problem("scenario", str(error), study.scenario)]) from None
    except ScenarioError as error:
        if is_path:
            raise
        reasons = [Problem("scenario", each.reason, study.scenario) for each in error.problems]
        raise ScenarioError(name, reasons) from None


def _existing(path: Path) -> Path:
    if not is_there(path):
        raise ValueError(f"there is no file {path}{nearest_file(path)}")
    return path


def _is_file(path: Path) -> bool:
    return is_there(path) and path.is_file()


def _overrides_of_protocols(
    study: Study, base: Scenario, source: str
) -> Mapping[str, Sequence[str]]:
    found = {}
    for name in study.protocols:
        if name not in NAMED:
            near = hint(name, NAMED) or f"; there are {listed(NAMED)}"
            raise ScenarioError(source, [Problem("protocols", f"no protocol {name!r}{near}")])
        found[name] = NAMED[name](base)
    return found


def _refuse_large(plan: Plan) -> None:
    most = plan.study.seeds.most or plan.study.seeds.count
    seconds = plan.work_s * most / plan.study.seeds.count
    if seconds > MAX_S:
        raise RefusedError(
            f"{len(plan.cells) * most:,} runs with about {approximately(seconds)} of CPU time in all; "
            f"allowed are {approximately(MAX_S)}. Take fewer `seeds` or values; `allow_large` plays them "
            "anyway"
        )


# -- engines -----------------------------------------------------------------------------------


def choose_engine(
    planned: PlannedStudy,
    request: EngineRequest,
    environment: Mapping[str, str],
    output: str | Path = "",
) -> Engine:
    """Return the requested engine, else processes; Spark if it has a master or *output* is a URI.

    On one machine processes are at least as fast as Spark, whatever the amount of work.

    Raises ``RefusedError`` if the options contradict each other.
    """
    plan, folder = planned.plan, planned.scenario_folder
    if is_uri(output):
        request = _on_spark(request, str(output))
    choice = engines.choose_engine(request, environment, work_s=plan.work_s, spark_fits=False)
    if choice.name == engines.SPARK:
        opened = partial(_spark_runner, plan.study.title, request.master, folder)
        return Engine(choice.name, choice.words, opened)
    return Engine(choice.name, choice.words, partial(_pool_runner, choice.jobs, folder))


def _on_spark(request: EngineRequest, output: str) -> EngineRequest:
    if request.engine == engines.POOL:
        raise RefusedError(
            f"`folder={output}`: only Spark writes to a URI; leave out `engine=pool`, or give a path"
        )
    return replace(request, engine=engines.SPARK)


@contextmanager
def open_workspace(
    planned: PlannedStudy, engine: Engine, request: EngineRequest, output: str | Path
) -> Iterator[Workspace]:
    """Yield the workspace of a study; for a URI, start Spark and copy its manifest.

    Raises ``RefusedError`` if Spark does not start or the URI cannot be used.
    """
    if not is_uri(output):
        yield Workspace(Path(output), engine)
        return
    from emulator.spark.study_output import StudyOutput  # noqa: PLC0415  Spark is optional

    plan, title = planned.plan, planned.plan.study.title
    with (
        TemporaryDirectory(prefix="rebalance-study-") as folder,
        open_spark(f"rebalance study: {title}", request.master) as session,
    ):
        remote = StudyOutput(session, str(output), Path(folder), plan)
        remote.fetch_manifest()
        runner = _runner_on(session, planned.scenario_folder, remote)
        opened = replace(engine, open=lambda: nullcontext(runner))
        yield Workspace(Path(folder), opened, remote.resume, remote.publish)


@contextmanager
def _pool_runner(jobs: int, scenario_folder: Path) -> Iterator[ChunkRunner]:
    def run_chunks(tasks: Sequence[Task], folder: Path) -> Iterator[Chunk]:
        work = partial(store.keep, folder=folder)
        isolated = any(store.seed_in_progress(folder, task.chunk) is not None for task in tasks)
        done = parallel_map(work, tasks, jobs=jobs, folders=[scenario_folder], isolated=isolated)
        try:
            for task, _ in zip(tasks, done, strict=True):
                yield task.chunk
        except ProcessKilledError as error:
            raise ProcessDiedError(str(error)) from None

    yield run_chunks


@contextmanager
def _spark_runner(title: str, master: str | None, scenario_folder: Path) -> Iterator[ChunkRunner]:
    with open_spark(f"rebalance study: {title}", master) as session:
        yield _runner_on(session, scenario_folder)


def _runner_on(
    session: Session, scenario_folder: Path, output: StudyOutput | None = None
) -> ChunkRunner:
    from emulator.spark.errors import WorkerDiedError  # noqa: PLC0415  Spark is optional
    from emulator.spark.study_runs import play_on_spark  # noqa: PLC0415  Spark is optional

    def run_chunks(tasks: Sequence[Task], folder: Path) -> Iterator[Chunk]:
        try:
            yield from play_on_spark(
                session, tasks, folder, folders=[scenario_folder], output=output
            )
        except WorkerDiedError as error:
            raise ProcessDiedError(str(error)) from None

    return run_chunks
