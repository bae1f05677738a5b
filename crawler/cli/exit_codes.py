"""THE table of exit codes: of all commands, as the help, the pages and the tests have it."""

from types import MappingProxyType

DONE, FAILED, USAGE, INTERRUPTED, NO_SEED = range(5)
EXIT_CODES = MappingProxyType(
    {
        DONE: "done",
        FAILED: "failed",
        USAGE: "wrong usage or settings",
        INTERRUPTED: "interrupted: the message says how to go on",
        NO_SEED: "no seed of a crawl gave a page",
    }
)
