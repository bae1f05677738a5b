"""Reading a store for people: what it holds, what is known of one URL, and what was merged."""
