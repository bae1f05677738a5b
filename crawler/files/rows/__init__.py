"""Whole rows beside their URLs: of CSV and of Parquet."""
