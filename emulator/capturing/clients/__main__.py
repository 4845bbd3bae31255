"""Run one member; arguments: its settings (JSON), its trace, its log, the brokers' addresses."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

from emulator.capturing.clients.application import Application
from emulator.capturing.clients.tracing import Trace, log_to

MODULES = {"confluent": "librdkafka", "aiokafka": "async_client", "kafkapython": "kafka_python"}


def main() -> int:
    """Run the member until it is closed; return the exit status."""
    settings, trace_path, log, bootstrap = sys.argv[1:]
    conf: dict[str, str] = json.loads(Path(settings).read_text())
    trace = Trace(Path(trace_path), conf["strip"])
    trace.started(conf)
    log_to(Path(log))
    application = Application(conf, trace, bootstrap)
    application.listen_for_orders()
    member = import_module(f"emulator.capturing.clients.{MODULES[conf['lib']]}")
    try:
        member.run(application)
    except Exception as error:  # noqa: BLE001  of any library: the trace has it
        trace.write("exc", t=trace.now(), cls=type(error).__name__, msg=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
