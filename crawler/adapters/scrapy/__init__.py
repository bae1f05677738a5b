"""Canonry inside Scrapy: fingerprints, and a dupefilter and a scheduler on a store."""

from canonry.extras import require

require("scrapy", "canonry.scrapy")
