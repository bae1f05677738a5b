"""What each panel shows: a function from a store to a plain value, a module for each panel."""
