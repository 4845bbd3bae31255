"""The scripts of the standing checks do what they say; they themselves run for minutes or hours."""

from __future__ import annotations

import sys

import pytest

from benchmarks import mutations, soak, warm_tests


def test_a_mutation_changes_one_comparison_or_condition(tmp_path):
    """The rest of the file stays as it is."""
    path = tmp_path / "one.py"
    path.write_text("def f(a, b):\n    # é\n    return not a or b <= (1 if a else 2)\n")

    found = {(each.line, each.source.splitlines()[2].strip()) for each in mutations.mutations(path)}

    assert found == {
        (3, "return ((not a) and (b <= (1 if a else 2)))"),
        (3, "return (a) or b <= (1 if a else 2)"),
        (3, "return not a or (b < (1 if a else 2))"),
    }


def test_the_tests_of_a_room_are_those_that_mirror_it():
    """The nearest folder that exists."""
    path = mutations.ROOT / "protocols" / "consumer" / "classic" / "thread.py"

    assert "tests/protocols/consumer/classic" == mutations.tests_of(path)
    assert mutations.mutations(path)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("def f(a):\n    return a < 1\n", "def f(a):\n    return a <= 1\n", {"f"}),
        (
            "class C:\n    def f(self):\n        return [a for a in self if a]\n",
            "class C:\n    def f(self):\n        return [a for a in self if not a]\n",
            {"C.f.<locals>.<listcomp>"} if sys.version_info < (3, 12) else {"C.f"},
        ),
        ("A = 1 < 2\n", "A = 1 <= 2\n", None),
        (
            "class C:\n    if 1 < 2:\n        a = 1\n",
            "class C:\n    if 1 > 2:\n        a = 1\n",
            None,
        ),
        ("A = lambda a: a\n", "A = lambda a: not a\n", {"<lambda>"}),
    ],
)
def test_a_fork_takes_changes_of_functions_and_not_of_what_runs_at_the_import(
    tmp_path, before, after, changed
):
    """Those need a process of their own."""
    new = warm_tests._new_codes(warm_tests.Change(tmp_path / "one.py", before, after, "tests"))

    assert changed == (None if new is None else {each.name for each in warm_tests._changed(new)})


def test_a_soak_finds_the_tests_of_every_suite():
    """A renamed file would not be run any more without notice."""
    assert set(soak.SUITES) == {name for name, _ in soak._files()}
    assert "120" == soak.TRIED.search("    - 120 passing, 0 failing, and 2 invalid")[1]
