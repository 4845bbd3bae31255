"""The page of conformance: Kafka's own test cases, and the tests here of the same behaviour.

The data are in ``tests/kafka_cases``: one file for each test class of Kafka, and the reasons why a
case has no test here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).parents[2] / "tests" / "kafka_cases"

_OPENING = """\
# Conformance with Kafka's own tests

Printed by `python -m docs.pages` from `tests/kafka_cases`; change the tests or those files, not this
page. It compares the test classes of the group coordinator and of the consumer of Apache Kafka 4.4
with the tests of this project. Each case of a class has a test here of the same behaviour, or a reason why
it has none. A test checks that every named test exists and that no case is missing. Cases of metrics,
transactional commits, share groups and streams groups are left out. [Captured runs](captured-runs.md) compares runs of
a real cluster with their emulation.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaClass:
    """One test class of Kafka: its cases with tests here, and those without, by reason."""

    name: str
    path: str
    cases: int
    tested: dict[str, list[str]]
    left_out: dict[str, list[str]]


def kafka_classes() -> tuple[KafkaClass, ...]:
    """Return the test classes of Kafka, sorted by name."""
    return tuple(
        KafkaClass(name=file.stem, **tomllib.loads(file.read_text(encoding="utf-8")))
        for file in sorted(CASES.glob("*Test.toml"))
    )


def reasons() -> dict[str, str]:
    """Return the reasons why a case has no test here, by key."""
    text = (CASES / "reasons.toml").read_text(encoding="utf-8")
    return {key: str(reason) for key, reason in tomllib.loads(text).items()}


def conformance_page() -> str:
    """Return the page as text."""
    classes = kafka_classes()
    parts = [_OPENING, *_summary(classes)]
    for each in classes:
        parts += _section(each)
    return "\n".join(parts)


def _summary(classes: tuple[KafkaClass, ...]) -> Iterator[str]:
    yield "| test class | cases | with a test here | left out |\n|---|---|---|---|"
    for each in classes:
        left = ", ".join(f"{key} {len(cases)}" for key, cases in each.left_out.items())
        link = f"[{each.name}](#{each.name.lower()})"
        yield f"| {link} | {each.cases} | {len(each.tested)} | {left or 'none'} |"
    cases = sum(each.cases for each in classes)
    yield f"| all | {cases} | {sum(len(each.tested) for each in classes)} | |"
    yield "\n| left out | because |\n|---|---|"
    for key, reason in reasons().items():
        yield f"| {key} | {reason} |"


def _section(each: KafkaClass) -> Iterator[str]:
    yield f"\n## {each.name}\n\n`{each.path}`\n"
    yield "| case | tests here |\n|---|---|"
    for case, tests in each.tested.items():
        yield f"| {case} | {'<br>'.join(f'`{test}`' for test in tests)} |"
    for key, cases in each.left_out.items():
        yield f"\nLeft out ({key}): {', '.join(cases)}."
