"""From a study file to a study; all that is wrong with it is said at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from emulator.scenario.document import read_toml
from emulator.scenario.load import text_of
from emulator.scenario.problems import Problem, ScenarioError, hint, listed
from emulator.scenario.wrong_values import wrong_value
from emulator.study.model import Level, Study, Vary

FOLDER = Path(__file__).parent.parent / "studies"
"""The studies that come with the emulator."""


def names() -> list[str]:
    """Return the names of the studies that come with the emulator."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def path_of(name: str) -> Path:
    """Return the file of a study: a path, or a name of those that come with the emulator."""
    path = Path(name)
    if path.suffix or len(path.parts) != 1 or path.exists():
        return path
    if name in names():
        return FOLDER / f"{name}.toml"
    near = hint(name, names()) or f"; there are {listed(names())}"
    raise ScenarioError(name, [Problem("", f"no such file, and no such study{near}")])


def load(path: Path) -> Study:
    """Read a study file; raise ScenarioError with all that is wrong with it."""
    return loads(text_of(str(path)), str(path))


def loads(text: str, name: str = "study") -> Study:
    """Read the text of a study; *name* stands in errors."""
    document = _tuples(read_toml(text, name))
    try:
        return Study.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        problems = [_problem(dict(each), document) for each in error.errors(include_url=False)]
        raise ScenarioError(name, list(dict.fromkeys(problems))) from None


def _tuples(value: Any) -> Any:
    match value:
        case list():
            return tuple(map(_tuples, value))
        case dict():
            return {key: _tuples(below) for key, below in value.items()}
    return value


def _problem(details: dict[str, Any], document: Any) -> Problem:
    place = [step for step in details["loc"] if not str(step).startswith("=")]
    return Problem(_path(place, document), _reason(details, place))


def _path(place: list[str | int], document: Any) -> str:
    """Return the path of a key: axes by their names, other items of lists by their numbers."""
    path, node = "", document
    for step in place:
        node = _step(node, step)
        if isinstance(step, int):
            named = node.get("name") if isinstance(node, dict) else None
            path += f"[{named if isinstance(named, str) else step}]"
        else:
            path += f".{step}" if path else step
    return path


def _step(node: Any, step: str | int) -> Any:
    try:
        return node[step]
    except (LookupError, TypeError):
        return None


def _reason(details: dict[str, Any], place: list[str | int]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if value_wrong := wrong_value(kind, context):
        return value_wrong
    if kind == "extra_forbidden":
        known = _known(place)
        return f"unknown key{hint(place[-1], known) or f'; allowed here are {listed(known)}'}"
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        return f"unknown word; allowed is {context['expected']}"
    return str(context.get("error") or details["msg"])


def _known(place: list[str | int]) -> list[str]:
    """Return the keys of the table that a place lies in."""
    table: Any = {"vary": Vary, "values": Level}.get(
        next((str(step) for step in reversed(place[:-1]) if isinstance(step, str)), ""), Study
    )
    if table is Study and len(place) > 1:
        field = Study.model_fields[str(place[0])].annotation
        table = next((one for one in _models(field)), Study)
    return [field.alias or name for name, field in table.model_fields.items()]


def _models(annotation: Any) -> list[Any]:
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [one for argument in getattr(annotation, "__args__", ()) for one in _models(argument)]
