"""The consumer client: the parts shared by both group protocols, ``classic/`` and ``kip848/``.

``positions`` (``SubscriptionState``), ``fetching`` (``Fetcher``),
``offset_fetcher`` and ``validation`` (``OffsetFetcher``), ``metadata`` (``Metadata``), ``requests``
(``NetworkClient``), ``lookup`` (FindCoordinator), ``committing`` (the offsets of a commit), ``fetch_session``
(``FetchSessionHandler``), ``reader`` (shared state, back-off), ``calls`` (results of calls),
``administration`` (the admin client), ``zookeeper`` and ``offset_table`` (offsets
outside Kafka). Each client is a ``machine.Client``.
"""
