"""Render runs as text, tables, HTML pages and JSON."""
