"""The text of pages: its blocks, which of them are stable on a site, and the comparison."""
