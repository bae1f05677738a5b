"""The passes of a dedup: one if the keys fit into memory, else two over partitions."""
