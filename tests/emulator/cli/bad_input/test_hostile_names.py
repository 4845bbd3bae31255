"""Names of somebody else cannot move a cursor, reverse text or write markup."""

from __future__ import annotations

import pytest

from emulator.cli.output import say
from emulator.report.pages.page import Page, render
from emulator.report.wording import visible

from ..commands import CRASH, rebalance, written

HIDDEN = ["\x07", "\x1b[2J", "\x1b[8m", "\x7f", "\x9b2J", "\u202e", "\u2066", "\u200f", "\u2028"]


@pytest.mark.parametrize("text", HIDDEN)
def test_text_that_is_not_seen_is_written_as_an_escape(text, capsys):
    """Also in what is read from logs; colours of our own stay."""
    say(f"group a{text}b \x1b[1;31mred\x1b[0m")
    shown = capsys.readouterr().out

    assert text not in shown
    assert f"a\\u{ord(text[0]):04x}" in shown
    assert "\x1b[1;31mred\x1b[0m" in shown
    assert f"{ord(text[0]):04x}" in visible(text)


@pytest.mark.parametrize("text", HIDDEN)
def test_names_and_titles_of_a_scenario_have_none(tmp_path, text):
    """The message shows which character it is, and does not contain it."""
    written_as = "".join(f"\\u{ord(each):04X}" for each in text)
    for key in ("title", "id"):
        lines = [
            f'{key} = "x{written_as}y"' if line.startswith(f"{key} =") else line
            for line in CRASH.splitlines()
        ]
        status, out, err = rebalance("run", written(tmp_path, "\n".join(lines)))

        assert (2, "") == (status, out)
        assert text not in err
        assert f"x\\u{ord(text[0]):04x}" in err.lower()


def test_notes_have_none(tmp_path):
    """They name what was ignored of the file of a real client."""
    settings = tmp_path / "c.properties"
    settings.write_text("evil\u202e\x1b[2J=1\n", encoding="utf-8")
    path = written(tmp_path, CRASH.replace('id = "', 'settings_from = "c.properties"\nid = "', 1))
    err = rebalance("run", path).err

    assert (
        "note: c.properties: ignored: evil\\u202e\\u001b[2J, which the emulator does not use" in err
    )


def test_a_page_has_none():
    """Titles of parts come from logs, too."""
    html = render(Page(title="a\u202eb <b>\x07"))

    assert "a\\u202eb &lt;b&gt;\\u0007" in html


def test_markdown_and_diagrams_show_markup_as_text(tmp_path):
    """A title is no element, no link and no cell."""
    path = written(tmp_path, CRASH.replace('title = "', 'title = "<script>x</script> [a](b) | '))
    table = rebalance("compare", path, "--with", "eager", "--markdown").out

    assert "&lt;script>x&lt;/script> \\[a\\](b) \\|" in table
