"""Read documents: their links, the base URL of these, and their text."""
