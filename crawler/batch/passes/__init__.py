"""The passes of a dedup: one while the keys fit into memory, else two over partitions."""
