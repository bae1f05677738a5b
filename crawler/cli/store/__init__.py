"""The commands about a store: what it holds, why, its queue, its exports."""
