"""The page of the Python API, printed from the signatures and docstrings of ``emulator``."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import emulator
from emulator.comparison import VariantRuns
from emulator.events import Event
from emulator.ledger.entries import Entry, Ledger, Owner, Root
from emulator.metrics.checks import Expected
from emulator.metrics.distribution import Comparison as Difference
from emulator.metrics.distribution import Estimate, Summary
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.report.hints.cases import GivenHint
from emulator.report.proposals import Proposal, Trial
from emulator.scenario.schema import field_notes
from emulator.study.planning import PlannedStudy
from emulator.sweeps import SeedRun
from emulator.verdicts.verdict import Verdict

_OPENING = """\
# Python

This page lists everything that `import emulator` offers. It is printed from the docstrings by `python -m
docs.pages`. The command line calls the same functions.

```python
import emulator

run = emulator.run(emulator.load("member-crashes"), seed=3)
run.ledger.reprocessed, run.metrics["takeover_first_s"]
for entry in run.ledger.entries:
    print(entry.id, entry.topic_partition, entry.first, entry.last, entry.cause)
```

Times whose name ends in `_us` are whole microseconds from the start of the run, `_s` and `_ms` are seconds and
milliseconds. [Metrics](metrics.md) are called by the names that `[expect]` has, and
[events](events.md) have a page of their own. A function that takes a scenario takes a loaded one; if its
signature has `str | Path`, also the path or the catalogue name of one.
"""

INSIDE: Final = {
    "Difference": Difference,
    "Entry": Entry,
    "Estimate": Estimate,
    "Event": Event,
    "Expected": Expected,
    "Finding": Finding,
    "GivenHint": GivenHint,
    "Ledger": Ledger,
    "Metrics": Metrics,
    "Owner": Owner,
    "PlannedStudy": PlannedStudy,
    "Proposal": Proposal,
    "Root": Root,
    "SeedRun": SeedRun,
    "Summary": Summary,
    "Trial": Trial,
    "VariantRuns": VariantRuns,
    "Verdict": Verdict,
}
"""What the attributes of results consist of."""

_KEYS = """\
Its attributes are the keys of [scenario files](scenario-files.md), with times in whole microseconds and a default for
each key that is left out; it cannot be changed.
"""

_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_LONGEST_DEFAULT = 30


def python_api_page() -> str:
    """Return the page as text."""
    public = [(name, getattr(emulator, name)) for name in emulator.__all__]
    functions = [(name, it) for name, it in public if inspect.isfunction(it)]
    classes = [(name, it) for name, it in public if inspect.isclass(it)]
    linked = {**INSIDE, **dict(classes)}
    return "\n".join(
        [
            _OPENING,
            "## Functions\n",
            _contents(functions),
            *(_function(name, it) for name, it in functions),
            "## Results and errors\n",
            *(_class(name, it, linked) for name, it in classes),
            "## Inside results\n",
            *(_class(name, it, linked) for name, it in INSIDE.items()),
        ]
    )


def _contents(functions: list[tuple[str, Any]]) -> str:
    rows = [
        f"| [{name}](#emulator{name}) | {_first_line(inspect.getdoc(it))} |"
        for name, it in functions
    ]
    return "\n".join(["| function | what it does |", "|---|---|", *rows]) + "\n"


def _function(name: str, function: Any) -> str:
    lines = ",\n    ".join(_parameters(inspect.signature(function)))
    returned = inspect.signature(function).return_annotation
    call = f"emulator.{name}(\n    {lines},\n) -> {returned}"
    described = re.sub(rf"(?m)^(>>> .*?)\b{name}\(", rf"\1emulator.{name}(", _described(function))
    return f"### emulator.{name}\n\n```python\n{call}\n```\n\n{described}\n"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        kind = "" if each.annotation is each.empty else f": {each.annotation}"
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        star = "*" if each.kind is each.VAR_POSITIONAL else ""
        yield f"{star}{each.name}{kind}{default}"


def _default(value: object) -> str:
    written = repr(value)
    return written if len(written) <= _LONGEST_DEFAULT else "..."


def _class(name: str, described: type, linked: Mapping[str, type]) -> str:
    module = sys.modules[described.__module__]
    known = {each for each in linked if getattr(module, each, linked[each]) is linked[each]}
    rows = [
        f"| `{_escaped(member)}` | {_type(kind, known)} | {about} |\n"
        for member, kind, about in _members(described)
    ]
    table = f"\n| attribute | type | meaning |\n|---|---|---|\n{''.join(rows)}" if rows else ""
    if hasattr(described, "model_fields"):
        table = f"\n{_KEYS}"
    return f"### {name}\n\n{_described(described)}\n{table}"


def _type(kind: str, linked: set[str]) -> str:
    """Return a type; the sections of the page in it are links."""
    named = re.split(r"(\w+)", _escaped(kind))
    if not linked.intersection(named):
        return f"`{_escaped(kind)}`" if kind else ""
    return "".join(f"[{word}](#{word.lower()})" if word in linked else word for word in named)


def _members(described: type) -> Iterator[tuple[str, str, str]]:
    """Yield the attributes and methods of a class: name or call, type, and what it is."""
    if issubclass(described, Exception) or hasattr(described, "model_fields"):
        return
    notes = field_notes(described)
    for name, kind in described.__annotations__.items():
        if not name.startswith("_"):
            written = str(getattr(kind, "__forward_arg__", kind))
            yield name, written, _escaped(notes.get(name, ""))
    for name, member in vars(described).items():
        about = _first_line(inspect.getdoc(member))
        if isinstance(member, property) and not name.startswith("_"):
            yield name, str(inspect.signature(member.fget).return_annotation), about  # type: ignore[arg-type]
        elif inspect.isfunction(member) and not name.startswith("_"):
            signature = inspect.signature(member)
            called = [each for each in _parameters(signature) if each != "self"]
            yield f"{name}({', '.join(called)})", str(signature.return_annotation), about


def _first_line(about: str | None) -> str:
    text = _ROLE.sub(r"`\1`", (about or "").partition("\n\n")[0].replace("\n", " "))
    return _escaped(text.replace("``", "`"))


def _escaped(text: str) -> str:
    """Return text for a cell of a table."""
    return text.replace("|", "\\|")


def _described(documented: Any) -> str:
    text = _ROLE.sub(r"`\1`", inspect.getdoc(documented) or "").strip()
    return _EXAMPLE.sub(lambda example: f"```python\n{example[0]}\n```", text)
