"""Files of URLs: reading them, one line for each distinct resource, and why."""
