"""Inference: which rules would explain that two URLs are the same page."""
