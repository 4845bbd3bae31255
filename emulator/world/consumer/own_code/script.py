"""Run code of the user in virtual time: a generator that yields actions, one after the other.

Whatever goes wrong in it ends the run with an error that says whose code it was, at which record, and
when; nothing of such a run is reported.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assignors import values
from assignors.errors import EmulatorError, did_you_mean
from emulator.errors import HandlerError
from emulator.scenario.units import format_moment
from emulator.world.consumer.own_code.actions import ACTIONS
from emulator.world.kernel import Then

MAX_AT_AN_INSTANT = 100_000
"""Actions that a script may take without that time passes."""

Result = Callable[[object], None]
Perform = Callable[["Script", object, Result], None]


class Guard:
    """Turns what goes wrong in code of the user into an error with its place."""

    def __init__(self, code: str, consumer: str, group: str, now: Callable[[], int]) -> None:
        self._code = code
        self._owner = f"{consumer} (group {group})"
        self.now = now
        self.at = ""
        """The record that the code named last."""

    def error(self, what: str) -> HandlerError:
        """Return the error, with the owner of the code, the virtual time and the record."""
        at = f", at the record {self.at}" if self.at else ""
        when = format_moment(self.now())
        return HandlerError(
            f"The handler {self._code!r} of {self._owner} failed at {when} of the run{at}: {what}"
        )

    @contextmanager
    def __call__(self, doing: str) -> Iterator[None]:
        """Raise exceptions of the user's code as :class:`HandlerError`; Ctrl-C passes."""
        try:
            yield
        except (EmulatorError, KeyboardInterrupt):
            raise
        except SystemExit as error:
            raise self.error(f"{doing} called sys.exit({error.code})") from error
        except BaseException as error:
            raise self.error(f"{doing} raised {_described(error)}") from error


_FOLDERS_OF_ACTIONS = {Path(__file__).parent, Path(values.__file__).parent}
"""Of the code that makes an action of what the user gave, and refuses it."""


def _described(error: BaseException) -> str:
    """Return an exception of the user's code with the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame for frame in frames if frame.filename[:1] != "<"]
    own = [frame for frame in files if Path(frame.filename).parent not in _FOLDERS_OF_ACTIONS]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{place}"


class Script:
    """One call of a method of the user, action by action."""

    def __init__(self, guard: Guard, name: str, perform: Perform, then: Then) -> None:
        self._guard = guard
        self.name = name
        self._perform = perform
        self._then = then
        self._actions: Iterator[object] = iter(())
        self._results: list[object] = []
        self._running = False
        self._count = 0
        self._last_us = -1
        self.is_over = False

    def begin(self, call: Callable[[], object]) -> None:
        """Call the method, and take its first action."""
        with self._guard(f"{self.name}()"):
            made = call()
        if made is None:
            made = ()
        if not isinstance(made, Iterable) or isinstance(made, str | dict):
            raise self._guard.error(
                f"{self.name}() returned {made!r:.100}; it yields actions, or returns a list of them"
            )
        self._actions = iter(made)
        self.go_on(None)

    def go_on(self, result: object) -> None:
        """Take the next action; *result*: what the last one yields."""
        self._results.append(result)
        if self._running:
            return
        self._running = True
        try:
            while self._results and not self.is_over:
                self._step(self._results.pop())
        finally:
            self._running = False

    def end(self) -> None:
        """Take no further action: the consumer closes, or does not exist any more."""
        self.is_over = True
        close = getattr(self._actions, "close", None)
        if close is not None:
            with self._guard(f"{self.name}()"):
                close()

    def _step(self, result: object) -> None:
        with self._guard(f"{self.name}()"):
            try:
                send = getattr(self._actions, "send", None)
                action = next(self._actions) if send is None else send(result)
            except StopIteration:
                self.is_over = True
        if self.is_over:
            self._then()
            return
        self._check(action)
        self._perform(self, action, self.go_on)

    def _check(self, action: object) -> None:
        now = self._guard.now()
        self._count = self._count + 1 if now == self._last_us else 1
        self._last_us = now
        if self._count > MAX_AT_AN_INSTANT:
            raise self._guard.error(
                f"{self.name}() has yielded {MAX_AT_AN_INSTANT:,} actions at one instant; let time pass, "
                "with Process or Wait"
            )
        if not isinstance(action, ACTIONS):
            names = [kind.__name__ for kind in ACTIONS]
            wrong = action.__name__ if isinstance(action, type) else str(action)
            raise self._guard.error(
                f"{self.name}() yielded {action!r:.100}, which is no action."
                f"{did_you_mean(wrong, names)} Yield one of {', '.join(names)}"
            )
