"""Whole rows of CSV and Parquet together with their URLs."""
