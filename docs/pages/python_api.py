"""The page of the Python API, printed from the signatures and docstrings of ``emulator``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import emulator

_OPENING = """\
# Python

This page lists everything that `import emulator` offers. It is printed from the docstrings by `python -m
docs.pages`. The command line calls the same functions.

```python
import emulator

run = emulator.run(emulator.load("member-crashes"), seed=3)
run.ledger.reprocessed, run.metrics["takeover_first_s"]
```
"""

_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_LONGEST_DEFAULT = 30


def python_api_page() -> str:
    """Return the page as text."""
    public = [(name, getattr(emulator, name)) for name in emulator.__all__]
    functions = [_function(name, it) for name, it in public if inspect.isfunction(it)]
    classes = [_class(name, it) for name, it in public if inspect.isclass(it)]
    return "\n".join([_OPENING, "## Functions\n", *functions, "## Values\n", *classes])


def _function(name: str, function: Any) -> str:
    lines = ",\n    ".join(_parameters(inspect.signature(function)))
    returned = inspect.signature(function).return_annotation
    call = f"emulator.{name}(\n    {lines},\n) -> {returned}"
    return f"### {name}\n\n```python\n{call}\n```\n\n{_described(function)}\n"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for each in signature.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        star = "*" if each.kind is each.VAR_POSITIONAL else ""
        yield f"{star}{each.name}: {each.annotation}{default}"


def _default(value: object) -> str:
    written = repr(value)
    return written if len(written) <= _LONGEST_DEFAULT else "..."


def _class(name: str, described: type) -> str:
    rows = [f"| `{member}` | {about} |\n" for member, about in _members(described)]
    table = f"\n| attribute | |\n|---|---|\n{''.join(rows)}" if rows else ""
    return f"### {name}\n\n{_described(described)}\n{table}"


def _members(described: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes and methods of a class, with the first line of their docstrings."""
    if issubclass(described, Exception) or hasattr(described, "model_fields"):
        return
    for name in getattr(described, "__dataclass_fields__", {}):
        yield name, ""
    for name, member in vars(described).items():
        about = inspect.getdoc(member)
        if isinstance(member, property) and not name.startswith("_"):
            yield name, _first_line(about)
        elif inspect.isfunction(member) and not name.startswith("_"):
            yield f"{name}()", _first_line(about)


def _first_line(about: str | None) -> str:
    return _ROLE.sub(r"`\1`", (about or "").partition("\n\n")[0].replace("\n", " "))


def _described(documented: Any) -> str:
    text = _ROLE.sub(r"`\1`", inspect.getdoc(documented) or "").strip()
    return _EXAMPLE.sub(lambda example: f"```python\n{example[0]}\n```", text)
