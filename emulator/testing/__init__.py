"""Tests of rebalance behaviour: what the pytest plugin of this package uses.

``pytest_rebalance.py``, beside this package, holds pytest's hooks and imports nothing from here
until a test needs it.

``playing.py``
    One seed of a scenario, played and measured.
``figures.py``, ``results.py``
    What the fixture ``scenario`` returns: figures that a test compares with its bounds.
``fixture.py``, ``files.py``
    The fixture, and the collection of ``*.scenario.toml``.
``failure.py``
    What is printed and kept when a test fails.
``shrinking.py``
    The smallest scenario that still fails.
``own_code.py``
    The modules that the configuration allows scenarios to name.
``ledger_files.py``
    Ledgers that are kept in a file and compared.
"""
