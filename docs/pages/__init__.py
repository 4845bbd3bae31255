"""The pages of ``docs/`` that are printed from the code they describe."""
