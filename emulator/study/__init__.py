"""Studies: one scenario under many settings and seeds. Pure, but for the files of a chunk.

``model`` is what a study file says, ``axes`` and ``plan`` make cells and chunks of it, ``rows``
plays a chunk, ``store`` keeps it, ``summary``, ``sensitivity`` and ``pareto`` say what came of all.
Nothing here knows who plays the chunks: a process pool, Spark, or a loop.
"""
