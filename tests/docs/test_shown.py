"""Examples of pages: the parts of an output that they show."""

from __future__ import annotations

from pathlib import Path

from docs.pages.shown import example_folder, examples, excerpt, write_files

PRINTED = (
    "a crash | seed 0\n\n5 records\n\nWhat happened\n  crash\n\nHints\n  - none\n\nFigures\n  lag 3"
)


def test_an_example_shows_everything():
    """Unless it says otherwise."""
    assert excerpt(PRINTED, "what it printed before") == PRINTED


def test_an_example_names_the_sections_that_it_shows():
    """After the paragraphs before the first section; what is left out is marked."""
    shown = excerpt(PRINTED, "[...]\n\nHints")

    assert shown == "a crash | seed 0\n\n5 records\n\n[...]\n\nHints\n  - none\n\n[...]"
    assert excerpt(PRINTED, shown) == shown


def test_examples_of_a_page_are_commands_with_their_output():
    """Other blocks are none."""
    page = "```sh\nmake\n```\n\n```console\n$ rebalance run quiet\n1\n\n2\n```\n"

    assert examples(page) == [("run quiet", "1\n\n2")]


def test_files_of_a_page_are_written_for_its_commands():
    """Those that are named before their block."""
    page = "Save this as `a.toml`:\n\n```toml\nx = 1\n```\n\nAnother:\n\n```toml\ny = 1\n```\n"
    with example_folder():
        write_files(page)

        assert ["a.toml"] == [path.name for path in Path().glob("*.toml")]
        assert Path("a.toml").read_text() == "x = 1\n"
