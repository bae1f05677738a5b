"""The rules of a store: infer them, apply those in force, and change them."""
