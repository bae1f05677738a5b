"""Reading documents: links and the base they are relative to."""
