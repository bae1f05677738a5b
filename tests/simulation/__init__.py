"""Whole crawls in one process, night after night: virtual time, connections in memory, one seed."""
