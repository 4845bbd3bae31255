"""Tests of a room that are loaded once, and run in a fork for each change of a source file.

Loading takes longer than most runs. A fork gets the functions of the changed file by their code; what ran
when the file was imported is not run again, so a change there must be tried in a process of its own.
"""

from __future__ import annotations

import functools
import gc
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple

import pytest

CPU_LIMIT_S = 60
"""CPU time after which tests have noticed an endless loop: the slowest room takes 20 s."""

LIMIT_S = 600
"""Time after which tests that wait for something are ended."""

MEMORY_LIMIT = 6 << 30

CO_OPTIMIZED = 1
"""Flag of a function's code; modules and classes do not have it: they run when they are imported."""


class Change(NamedTuple):
    """A source file, as it is and changed, and the folder of the tests that are to notice it."""

    path: Path
    before: str
    after: str
    tests: str


class Function(NamedTuple):
    """Where the code of a function begins."""

    path: str
    line: int
    name: str


class Run(NamedTuple):
    """What a test did when nothing was changed."""

    seconds: float
    called: frozenset[Function] | None
    """None: the test has a profiler of its own, and may have called anything."""


class Warm:
    """One process with some tests, in which no source is changed: its forks are."""

    def __init__(self, tree: Path, *tests: str) -> None:
        """Load tests of the tree, files or folders, and run them once unchanged."""
        forks = multiprocessing.get_context("fork")
        self._ours, theirs = forks.Pipe()
        forks.Process(target=_serve, args=(theirs, tree, tests), daemon=True).start()
        status = self._ours.recv()
        if status != 0:
            named = " ".join(tests)
            raise SystemExit(f"the tests of {named} end with status {status} before any change")

    def status(self, change: Change) -> int | None:
        """Return the exit status of the tests that call what is changed, negative for a signal.

        None: a fork cannot have the change, as it is in what runs at the import.
        """
        self._ours.send(change)
        answer: int | None = self._ours.recv()
        return answer


def _serve(parent: Connection, tree: Path, tests: tuple[str, ...]) -> None:
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    forks = _Forks(parent, tree)
    parent.send(int(pytest.main(["-qx", "-p", "no:cacheprovider", *tests], plugins=[forks])))


class _Forks:
    """A plugin of pytest that runs the collected tests in a fork for each change."""

    def __init__(self, parent: Connection, tree: Path) -> None:
        self._parent = parent
        self._tree = tree
        self._runs: dict[str, Run] = {}
        self._child: Connection | None = None
        """Where the first fork, which watches the tests, says what they call."""

        self._is_fork = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        runs, self._child = multiprocessing.Pipe(duplex=False)
        if (pid := os.fork()) == 0:
            self._is_fork = True
            return None
        self._child.close()
        self._child = None
        self._runs = runs.recv()
        self._end(pid)
        while True:
            change = self._parent.recv()
            _load(change.path.relative_to(self._tree))
            if (new := _new_codes(change)) is None:
                self._parent.send(None)
            elif (pid := os.fork()) == 0:
                self._is_fork = True
                _limit()
                _install(new)
                session.items[:] = self._chosen(session.items, change.tests, _changed(new))
                return None
            else:
                self._end(pid)

    def _end(self, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        self._parent.send(os.waitstatus_to_exitcode(status))

    def _chosen(
        self, items: list[pytest.Item], tests: str, changed: set[Function]
    ) -> list[pytest.Item]:
        """Return the tests of a folder that call a changed function, the shortest first."""
        near = [item for item in items if item.nodeid.startswith(f"{tests}/")]
        runs = {item: self._runs[item.nodeid] for item in near}
        chosen = [item for item, run in runs.items() if run.called is None or changed & run.called]
        return sorted(chosen, key=lambda item: runs[item].seconds)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self._child is None:
            return (yield)
        codes: set[CodeType] = set()

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                codes.add(frame.f_code)

        begin_s = time.process_time()
        sys.setprofile(note)
        try:
            return (yield)
        finally:
            is_alone = sys.getprofile() is note
            sys.setprofile(None)
            ours = frozenset(_function(code) for code in codes if self._is_ours(code))
            seconds = time.process_time() - begin_s
            self._runs[item.nodeid] = Run(seconds, ours if is_alone else None)

    def _is_ours(self, code: CodeType) -> bool:
        return code.co_filename.startswith(str(self._tree))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if self._child is not None:
            self._child.send(self._runs)
        if self._is_fork:
            os._exit(exitstatus)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    signal.alarm(LIMIT_S)


def _load(path: Path) -> None:
    """Import a source file, also one that is imported only when it is used: a fork changes what is loaded."""
    importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))


def _new_codes(change: Change) -> dict[CodeType, CodeType] | None:
    """Return the new code of each function that differs, or None if what runs at the import does."""
    before, after = (
        list(_codes(compile(source, change.path, "exec", dont_inherit=True)))
        for source in (change.before, change.after)
    )
    pairs = list(zip(before, after, strict=False))
    if len(before) != len(after) or any(_at_import(*pair) for pair in pairs):
        return None
    return {old: new for old, new in pairs if old != new}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _at_import(old: CodeType, new: CodeType) -> bool:
    return not old.co_flags & CO_OPTIMIZED and _own(old) != _own(new)


def _changed(new: dict[CodeType, CodeType]) -> set[Function]:
    """Return the functions that differ themselves, not only in what is defined within them."""
    return {_function(old) for old, after in new.items() if _own(old) != _own(after)}


@functools.cache
def _function(code: CodeType) -> Function:
    return Function(code.co_filename, code.co_firstlineno, code.co_qualname)


def _own(code: CodeType) -> tuple[bytes, list[object]]:
    return code.co_code, [each for each in code.co_consts if not isinstance(each, CodeType)]


def _install(new: dict[CodeType, CodeType]) -> None:
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__ in new:
            each.__code__ = new[each.__code__]
    gc.freeze()
