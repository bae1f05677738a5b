"""The text of pages: which of it is stable on a site, and the comparison of two pages."""
