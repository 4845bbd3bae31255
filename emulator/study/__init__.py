"""Studies: one scenario under many settings and seeds.

``model`` reads a study file, ``plan`` makes its cells and chunks, ``planning`` loads the scenario of
each cell, ``rows`` and ``store`` run a chunk and write its rows, ``summary``, ``sensitivity`` and
``answer`` compute the findings, ``screen`` and ``page`` report them, and ``running`` does it all.
"""
