"""Canonical forms of the columns of data frames: Arrow arrays, Polars and pandas."""
