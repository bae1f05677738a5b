"""Read documents: their links, and the base URL of these."""
