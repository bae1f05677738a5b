"""The rules of a store: which are in force, what they make of URLs, and how people change them."""
