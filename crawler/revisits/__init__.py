"""Recrawls: how often each page changes, what of it is a change, and when it is due."""
