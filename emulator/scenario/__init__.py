"""Scenario files: what a user writes, validated and checked.

``load.py`` parses a file, ``short_forms.py`` expands it, ``overrides.py`` changes its keys, and
``model.py`` is the scenario as values. The rooms:

``tables/``
    The tables of a file as values: topics, groups, brokers, faults, acts.
``clients/``
    The settings of real clients and frameworks: files, names, keys.
``checks/``
    Checks between the tables of a scenario; each finds problems and reports all of them.
``estimates/``
    What follows from a scenario before it is played: CPU time, load, when members run.
"""
