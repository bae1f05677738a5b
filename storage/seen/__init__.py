"""The seen set: claims of keys, the Bloom filter in front of the table and its file."""
