"""Expectations for CI: a JUnit file, and annotations of GitHub.

Source of the commands: "Workflow commands for GitHub Actions"; JUnit: the schema that Jenkins, GitLab
and others read. A case has no time: runs are in virtual time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from assignors.values import dataclass
from emulator.metrics.checks import Expected

NO_EXPECTATIONS = "the scenario has no [expect]: nothing was checked"

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The expectations of one scenario, checked under one seed or many."""

    name: str
    """The scenario as the user named it."""

    title: str
    expectations: Sequence[Expected]
    screen: Sequence[str]
    """What was printed."""

    file: Path | None
    """The scenario's file, if the user named one."""


def junit(suite: Suite) -> bytes:
    """Return a JUnit file: one case for each expectation, with the printed report.

    A scenario without expectations is one skipped case.
    """
    failed = [expected for expected in suite.expectations if not expected.ok]
    counts = {
        "tests": str(len(suite.expectations) or 1),
        "failures": str(len(failed)),
        "errors": "0",
        "skipped": "0" if suite.expectations else "1",
    }
    root = ET.Element("testsuites", counts)
    cases = ET.SubElement(root, "testsuite", {"name": _clean(suite.title), **counts})
    for expected in suite.expectations:
        case = _case(cases, suite, f"{expected.name} {expected.relation} {expected.expected:g}")
        if not expected.ok:
            failure = ET.SubElement(case, "failure", {"message": _clean(expected.reported)})
            failure.text = _clean("\n".join(suite.screen))
    if not suite.expectations:
        ET.SubElement(_case(cases, suite, "expect"), "skipped", {"message": NO_EXPECTATIONS})
    ET.SubElement(cases, "system-out").text = _clean("\n".join(suite.screen))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _case(cases: ET.Element, suite: Suite, name: str) -> ET.Element:
    keys = {"classname": _clean(suite.name), "name": _clean(name)}
    if suite.file is not None:
        keys["file"] = _clean(str(suite.file))
    return ET.SubElement(cases, "testcase", keys)


def _clean(text: str) -> str:
    """Return a text without the characters that XML cannot have."""
    return _NOT_IN_XML.sub("?", text)


def github_commands(suite: Suite) -> Iterator[str]:
    """Yield a GitHub command for each failed expectation, at its line of the scenario file.

    >>> failed = Expected("lost", "==", 0, 3, ok=False, message="lost is 3, expected == 0")
    >>> suite = Suite(name="x", title="a: b", expectations=[failed], screen=(), file=None)
    >>> list(github_commands(suite))
    ['::error title=a%3A b::lost is 3, expected == 0']
    """
    text = ""
    if suite.file is not None:
        text = suite.file.read_text(encoding="utf-8", errors="replace")
    for expected in suite.expectations:
        if not expected.ok:
            place = {} if suite.file is None else {"file": suite.file, **_line(text, expected.name)}
            keys = {**place, "title": suite.title}
            written = ",".join(f"{key}={_property(str(value))}" for key, value in keys.items())
            yield f"::error {written}::{_escaped(expected.reported)}"


def _line(text: str, name: str) -> dict[str, object]:
    """Return the line of an expectation in a file's text, or of its table."""
    begin = re.search(r"^\s*(\[\s*expect\b|expect\s*[.=])", text, re.MULTILINE)
    if begin is None:
        return {}
    last = re.escape(name.rpartition(".")[2])
    key = rf"^\s*([\w.]+\.)?[\"']?({re.escape(name)}|{last})[\"']?\s*="
    found = re.compile(key, re.MULTILINE).search(text, begin.start()) or begin
    return {"line": text.count("\n", 0, found.end()) + 1}


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
