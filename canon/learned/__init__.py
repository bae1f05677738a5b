"""Learned rules: their families, sets of them, and the checks that such a set has to pass."""
