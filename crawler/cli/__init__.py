"""The command: its options, its output, its exit codes."""
