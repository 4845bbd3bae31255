"""Feeds a history to one meter."""

from __future__ import annotations


def read(meter, history, ended_us=None):
    handlers = meter.handlers()
    for event in history.events:
        if type(event.what) in handlers:
            handlers[type(event.what)](event, event.what)
    return meter.read(history.now_us if ended_us is None else ended_us)
