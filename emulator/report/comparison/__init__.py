"""The same runs with several settings, side by side."""
