"""Turn rows into Arrow tables, pandas data frames and HTML, for results in notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from emulator.errors import RefusedError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows with the same keys as an Arrow table."""
    import pyarrow as pa  # noqa: PLC0415  a run does not need Arrow

    return pa.Table.from_pylist([dict(row) for row in rows])


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a pandas data frame.

    Raises ``RefusedError`` if pandas is not installed.
    """
    try:
        import pandas  # noqa: F401, ICN001, PLC0415  it is an optional dependency
    except ImportError:
        raise RefusedError(
            "pandas is not installed; pip install pandas, or use to_arrow()"
        ) from None
    return table.to_pandas()


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return an HTML table; everything is escaped."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_shown(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _shown(cell: object) -> str:
    return f"{cell:,.6g}" if isinstance(cell, float) else str(cell)
