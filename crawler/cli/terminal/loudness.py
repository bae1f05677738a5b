"""How much is said to people on standard error: -q, nothing or -v."""

PROBLEM = "canonry: "  # marks messages about what went wrong; people see the name


class Loudness:
    """What the options of this run ask for."""

    quiet = False  # only what went wrong is said
    verbose = False  # also what a report of a bug needs

    def set(self, *, quiet: bool, verbose: bool) -> None:
        """Take what the options of a run say."""
        self.quiet, self.verbose = quiet, verbose

    def allows(self, message: str) -> bool:
        """Return True if a message is to be said."""
        return not self.quiet or message.startswith(PROBLEM)


LOUDNESS = Loudness()
