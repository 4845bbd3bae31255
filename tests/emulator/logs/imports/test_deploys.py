"""Replaced members in a row are a deploy; comings and goings otherwise are not."""

from __future__ import annotations

import pytest

from .found import Log, found, kept, member

SECOND, MINUTE = 1_000, 60_000


def with_generations(*steps) -> Log:
    """Write generations, a minute apart, of members given by name and incarnation."""
    log = Log()
    for number, names in enumerate(steps):
        members = [member(name[0], member_id=name) for name in names.split()]
        log.generation(number * MINUTE, number, *members)
    return log


@pytest.mark.parametrize(
    ("steps", "renewed"),
    [
        (("a1 b1 c1", "b1 c1", "b1 c1 a2", "c1 a2", "c1 a2 b2", "a2 b2", "a2 b2 c2"), 3),
        (("a1 b1 c1", "a1 b1 c1 x1", "b1 c1 x1", "b1 c1 x1 y1", "c1 x1 y1"), 2),
        (("a1 b1 c1", "", "a2 b2 c2"), 3),
    ],
)
def test_a_deploy_renews_most_members(steps, renewed):
    """One by one, with more than before, or all at once."""
    assert [renewed] == [each.renewed for each in with_generations(*steps).found().deploys]


@pytest.mark.parametrize(
    "steps",
    [
        ("a1", "a1 b1", "a1 b1 c1", "b1 c1", "c1", ""),
        ("a1 b1 c1", "b1 c1", "b1 c1 a2"),
        ("", "a1 b1 c1"),
        ("a1 b1", "a1", "b2", "a2", "b3", "a3", "b4", "a4"),
    ],
)
def test_a_group_that_forms_and_ends_or_loses_one_is_not_deployed(steps):
    """Nor are two members that replace each other again and again."""
    assert () == with_generations(*steps).found().deploys


def test_changes_far_apart_are_no_series():
    """A member a day is no deploy."""
    log = Log()
    for number, names in enumerate(["a1 b1", "b1", "b1 a2", "a2", "a2 b2"]):
        members = [member(name[0], member_id=name) for name in names.split()]
        log.generation(number * 60 * MINUTE, number + 1, *members)

    assert () == log.found().deploys


def test_a_real_group_that_lost_one_is_not_deployed():
    """It formed one by one, lost one, and ended one by one."""
    assert () == found(kept(), "kip848-crash-1-cad7p").deploys
