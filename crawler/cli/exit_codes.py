"""The exit codes of all commands."""

DONE, FAILED, USAGE, INTERRUPTED, NO_SEED = 0, 1, 2, 3, 4
