"""Recrawls: which pages are due again, which were not there, and what a run has found."""
