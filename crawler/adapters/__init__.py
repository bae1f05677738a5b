"""Canonry inside other tools: thin adapters, each for one of them."""
