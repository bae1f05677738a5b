"""Canonry inside Scrapy: fingerprints, and a dupefilter and a scheduler on a store."""
