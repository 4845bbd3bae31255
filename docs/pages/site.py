"""A hook of mkdocs: links to files outside ``docs/`` become their names, since a site has only pages."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

DOCS = Path(__file__).parents[1]

_LINK = re.compile(r"\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the text of a page without links to files that the site does not have."""
    folder = (DOCS / page.file.src_uri).parent

    def shown(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(DOCS):
            return link[0]
        name = PurePosixPath(target.relative_to(DOCS.parent)).as_posix()
        return f"`{name}`" if link[1].strip("`") == name else f"{link[1]} (`{name}`)"

    return _LINK.sub(shown, markdown)
