"""Canonry inside other tools: a thin adapter for each."""
