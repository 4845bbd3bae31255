"""The rules of Kafka's group protocols, as machines without clock, I/O or randomness.

A machine takes a message or a timer with a time and returns a ``Step``: its new state and the
effects that its host carries out (``machine.py``). Nothing here waits, sends or draws.

The rooms, from the bottom up; a room imports only from rooms above it in this list:

``messages/``
    Requests, responses and error codes, with Kafka's field names.
``settings/``
    Settings of consumers, groups and brokers, with Kafka's names and defaults.
``offsets_topic/``
    ``__consumer_offsets`` and the partition of a group: ``records/`` (keys and values, byte for
    byte), ``segments/`` (batches, compaction, transactions), ``group_rules.py`` (what a record
    changes in a group, for every reader of the log), and ``replay/`` (what a log says of its groups).
``facts.py``, ``machine.py``, ``values.py``
    What a machine reports, what it returns, and how its state is copied.
``groups/``
    The group side. ``groups/`` itself holds what groups of every type share; ``classic/`` has
    JoinGroup, SyncGroup, Heartbeat and LeaveGroup; ``kip848/`` has ConsumerGroupHeartbeat and does not
    import ``classic/``, nor the reverse; ``migration/`` is the one package that knows both.
``coordinator/``
    The coordinator of one partition of the offsets topic: it dispatches requests and timers to
    ``groups/``, proposes records, and releases responses when the records are durable.
``consumer/``
    The client side: what both Java clients share, ``classic/`` (``ConsumerCoordinator``) and
    ``kip848/`` (``AsyncKafkaConsumer``).

One JoinGroup of a dynamic member, from request to response:

1. ``protocols/coordinator/machine.py`` takes the request from its host, and
   ``protocols/coordinator/dispatch.py`` chooses the handler for the type of the group.
2. ``protocols/groups/classic/join.py`` validates the request, generates a member id on the first
   attempt (``MEMBER_ID_REQUIRED``, ``protocols/groups/responses.py``), and adds the member on the
   second (``protocols/groups/classic/membership.py``, ``protocols/groups/classic/group.py``).
3. ``protocols/groups/classic/rebalance.py`` begins the join phase, parks the request, and ends the
   phase on a timer or with the last member: a new generation, a leader, a response for each.
4. ``protocols/coordinator/replay.py`` applies records to the state, and
   ``protocols/coordinator/durability.py`` keeps a response back while records that it depends on are not durable.

One commit, from the client to the next owner:

1. ``protocols/consumer/committing.py`` selects the offsets; ``protocols/consumer/classic/commits.py``
   (``async_commits.py`` if no call waits for it) creates the OffsetCommit;
   ``protocols/consumer/requests.py`` sends it and keeps it until the response, which
   ``protocols/consumer/classic/responses.py`` hands back.
2. ``protocols/coordinator/dispatch.py`` hands it to ``protocols/groups/offsets.py``; the group's type
   accepts or rejects it (``protocols/groups/classic/kind.py``), and the handler proposes one
   record for each partition (``protocols/offsets_topic/records/``).
3. ``protocols/coordinator/durability.py`` appends the records and releases the responses when they are below the
   high watermark.
4. After a failover ``protocols/coordinator/durability.py`` loads the log, with the function of
   ``protocols/coordinator/replay.py`` that applied the record before.
5. The next owner's ``protocols/consumer/offset_fetcher.py`` fetches the offset, and
   ``protocols/consumer/positions.py`` keeps where it reads.
"""
