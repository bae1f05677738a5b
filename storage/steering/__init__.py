"""Steering: what people see of a queue and change in it, while a crawl may be running."""
