"""Streams of bytes: texts of other systems, whole lines, reading ahead."""
