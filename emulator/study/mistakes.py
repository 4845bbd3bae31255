"""Mistakes of a study file: where it has the override that makes the scenario of a cell invalid.

An override is written in ``set``, as a value of a ``[[vary]]``, or is that of a protocol. What the
scenario's loader says of it belongs to the line of the study, not to the scenario.
"""

from __future__ import annotations

from dataclasses import replace

from assignors.values import dataclass
from emulator.scenario.lines import Place, closest_line, key_lines
from emulator.scenario.problems import Problem, ScenarioError
from emulator.study.model import Level, Study
from emulator.study.plan import Choice, Settings

_UNKNOWN_PATH = "`overrides="
"""How the problem of an override begins whose path does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyText:
    """A study with its text."""

    study: Study
    name: str
    """The path of its file."""

    text: str

    def located(self, error: ScenarioError) -> ScenarioError:
        """Return an error of the study's own keys with their lines."""
        problems = []
        for problem in error.problems:
            key, _, rest = problem.path.partition("[")
            names = [axis.name for axis in self.study.vary]
            name = rest.partition("]")[0]
            place = (key, names.index(name)) if key == "vary" and name in names else (key,)
            line = self._line_of(place) if problem.line is None else problem.line
            problems.append(replace(problem, line=line))
        return ScenarioError(error.name, problems)

    def in_set(self, error: ScenarioError) -> ScenarioError:
        """Return the error of the scenario with ``set``: problems of overrides are the study's."""
        found = []
        for problem in error.problems:
            for index, override in enumerate(self.study.set):
                if _is_of(problem, override):
                    line = self._line_of(("set",), override)
                    found.append(_moved(problem, f"set[{index}]", line))
                    break
        return ScenarioError(self.name, found) if found else error

    def in_cell(self, error: ScenarioError, settings: Settings) -> ScenarioError:
        """Return the error of a cell, whose scenario is valid with ``set`` alone."""
        found = []
        for problem in error.problems:
            choice = next((each for each in settings.point if _is_chosen(problem, each)), None)
            if choice is not None:
                is_path = problem.path.startswith(_UNKNOWN_PATH)
                found.append(_moved(problem, *self._axis(choice, "set" if is_path else "values")))
            else:
                found.append(self._of_several(error, problem, settings))
        return ScenarioError(self.name, found)

    def _of_several(self, error: ScenarioError, problem: Problem, settings: Settings) -> Problem:
        """Return a problem of another key of the scenario, which a cell's values have made invalid."""
        values = [f"{each.axis} = {each.label}" for each in settings.point]
        values.append(f"protocol {settings.protocol}")
        place = error.name if problem.line is None else f"{error.name}:{problem.line}"
        path, line = "protocols", self._line_of(("protocols",))
        if settings.point:
            path, line = self._axis(settings.point[0], "values")
        return Problem(path, f"with {', '.join(values)}: {place}: {problem}", line=line)

    def _axis(self, choice: Choice, key: str) -> tuple[str, int | None]:
        """Return the path of an axis, and the line of one of its keys, or of the chosen level."""
        index = next(i for i, axis in enumerate(self.study.vary) if axis.name == choice.axis)
        levels = self.study.vary[index].values or ()
        place: Place = ("vary", index, key)
        for number, level in enumerate(levels):
            if isinstance(level, Level) and level.name == choice.label:
                place = ("vary", index, "values", number, "set")
        return f"vary[{choice.axis}]", self._line_of(place)

    def _line_of(self, place: Place, override: str = "") -> int | None:
        """Return the line of a key, or of the text of an override in its list."""
        first = closest_line(place, key_lines(self.text))
        if first is None or not override:
            return first
        below = enumerate(self.text.splitlines()[first - 1 :], first)
        return next((number for number, line in below if override in _plain(line)), first)


def _is_of(problem: Problem, override: str) -> bool:
    """Return whether an override made a problem; those of the file itself have a line."""
    if problem.path.startswith(_UNKNOWN_PATH):
        return problem.path == f"{_UNKNOWN_PATH}{override}`"
    return problem.line is None and problem.path.startswith(override.partition("=")[0].strip())


def _is_chosen(problem: Problem, choice: Choice) -> bool:
    return any(_is_of(problem, override) for override in choice.overrides)


def _moved(problem: Problem, path: str, line: int | None) -> Problem:
    """Return a problem as one of the study's key *path*."""
    if problem.path.startswith(_UNKNOWN_PATH):
        override = problem.path.removeprefix(_UNKNOWN_PATH).removesuffix("`")
        return Problem(path, f"{override.partition('=')[0]}: {problem.reason}", line=line)
    return Problem(path, str(replace(problem, line=None)), line=line)


def _plain(line: str) -> str:
    return line.replace('\\"', '"')
