"""Bodies of responses: how far they are read, and how many of them at the same time."""
