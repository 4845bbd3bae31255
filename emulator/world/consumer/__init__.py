"""Consumers: processes with a client, a poll loop and a handler.

``process.py`` hosts a client, ``application.py`` polls it, has records processed and commits. The rooms:

``polling/``
    The poll loop and its fetches, as arithmetic while nothing disturbs the consumer.
``handling/``
    What processes records: serially or in a pool of workers, with failures and deduplication.
``own_code/``
    Handlers that are code of the user.

Modules that few groups need are imported with the first group that needs them: most runs have
classic Java consumers with serial handlers alone and do not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from emulator.world.consumer import assignor_run, async_client, background_client

__all__ = ["assignor_run", "async_client", "background_client"]

__getattr__ = lazy_modules(__name__, __all__)
