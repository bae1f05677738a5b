"""What a store knows of one URL, for people who ask: its state, and what would change that."""
