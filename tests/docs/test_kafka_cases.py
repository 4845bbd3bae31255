"""Every case of Kafka's test classes has a test here or a reason; every named test exists."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from docs.pages.conformance import KafkaClass, kafka_classes, reasons

TESTS = Path(__file__).parents[1]
CLASSES = kafka_classes()


@cache
def functions_of(file: str) -> frozenset[str]:
    """Return the names of the functions of a test file."""
    path = TESTS / file
    tree = ast.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.name)
def test_every_named_test_exists(each: KafkaClass):
    """A test that is renamed or deleted is renamed in the list too, or replaced."""
    named = [test for tests in each.tested.values() for test in tests]
    files = [test.split("::") for test in named]

    assert [] == ["::".join(id_) for id_ in files if id_[1] not in functions_of(id_[0])]


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.name)
def test_every_case_has_tests_or_a_reason(each: KafkaClass):
    """Each case is listed once; ``cases`` is the number of cases of the class in Kafka."""
    left_out = [case for cases in each.left_out.values() for case in cases]
    listed = [*each.tested, *left_out]

    assert [] == [case for case, tests in each.tested.items() if not tests]
    assert (each.cases, each.cases) == (len(listed), len(set(listed)))


def test_every_reason_is_known_and_used():
    """The reasons of all classes are those that the page prints."""
    used = {key for each in CLASSES for key in each.left_out}

    assert used == set(reasons())
