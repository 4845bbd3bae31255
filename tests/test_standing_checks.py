"""The scripts of the standing checks do what they say; they themselves run for minutes or hours."""

from __future__ import annotations

from benchmarks import mutations, soak


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
    path = mutations.ROOT / "protocols" / "consumer" / "classic" / "turn.py"

    assert "tests/protocols/consumer/classic" == mutations.tests_of(path)
    assert mutations.mutations(path)


def test_a_soak_finds_the_tests_of_every_suite():
    """A renamed file would not be run any more without notice."""
    assert set(soak.SUITES) == {name for name, _ in soak._files()}
    assert "120" == soak.TRIED.search("    - 120 passing, 0 failing, and 2 invalid")[1]
