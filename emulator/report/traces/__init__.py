"""Traces of a run for other tools: ``perfetto`` (ui.perfetto.dev), ``sequence`` (Mermaid)."""
