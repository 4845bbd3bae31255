"""``--install-completion`` and ``--show-completion`` with the name of a shell.

Typer's options are flags: they take the shell that started the process, and read no word after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import typer
from typer.completion import install_callback, show_callback

SHELLS: Final = ("bash", "fish", "powershell", "pwsh", "zsh")
"""Those that Typer has scripts for."""

OPTIONS: Final = {"--install-completion": install_callback, "--show-completion": show_callback}


def complete_for_named_shell(ctx: Any, arguments: Sequence[str]) -> None:
    """Install or print completion, and exit, if the arguments are one of the options and a shell.

    Return if they are anything else. Raise ``BadParameter`` for a word that is no such shell.
    """
    option, equals, shell = arguments[0].partition("=") if arguments else ("", "", "")
    words = [shell, *arguments[1:]] if equals else arguments[1:]
    if option not in OPTIONS or not words:
        return
    if len(words) > 1 or words[0] not in SHELLS:
        raise typer.BadParameter(
            f"{option} {' '.join(words)}: give the name of one shell, {', '.join(SHELLS[:-1])} or "
            f"{SHELLS[-1]}, or none for the current shell"
        )
    OPTIONS[option](ctx, None, words[0])  # type: ignore[arg-type]  # Typer uses no parameter
