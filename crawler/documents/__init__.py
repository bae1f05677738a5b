"""Reading documents: their links, and the base that these are relative to."""
