"""The commands over files: duplicates, files of keys, the keys of other programs."""
