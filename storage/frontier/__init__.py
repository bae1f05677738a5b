"""The frontier of another engine: its queues, which URLs are out, and when they come back."""
