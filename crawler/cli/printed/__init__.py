"""What the commands print with --json, as types."""
