"""Commands with examples in their help, and the options that several have."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from canonry import __title__
from canonry.canon.policies import did_you_mean, preset_names
from canonry.crawler.cli.terminal.loudness import LOUDNESS

LOCAL, LAST_PORT = "127.0.0.1", 65_535
_META = f"{__title__}.loudness"
DEFAULT_STORE = f"{__title__}.db"


def policy_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--policy``, whose help says which policy is the default."""
    return click.option(
        "--policy",
        metavar="NAME|FILE",
        help="The policy: a preset (web, or one version: web@1), or a TOML file.  "
        f"[default: {default}]",
    )


# Of commands that read a store, which mostly says itself how its keys were made.
known_policy_option = click.option(
    "--policy",
    metavar="NAME|FILE",
    help="The store's policy, if neither a preset nor its last crawl names it.",
)


def port_option(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--port`` of a server."""
    return click.option(
        "--port",
        type=click.IntRange(0, LAST_PORT),
        default=default,
        show_default=True,
        metavar="N",
        help="0 takes a free one.",
    )


def host_option(needs: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--host`` of a server; other machines need something to be given."""
    return click.option(
        "--host",
        default=LOCAL,
        show_default=True,
        metavar="ADDR",
        help=f"The address to listen on. One that other machines reach needs {needs}.",
    )


def once(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> str | None:
    """Return the value of an option that may be typed several times, but is given once."""
    if len(values) > 1:
        given = " and ".join(values)
        raise click.UsageError(f"{option.opts[0]} is given twice ({given}): give one.", context)
    return values[0] if values else None


base_option = click.option("--base", metavar="URL", help="Resolve relative URLs against this URL.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
store_option = click.option(
    "--store",
    metavar="FILE|URL",
    default=DEFAULT_STORE,
    show_default=True,
    help="The store: a file, or a URL such as postgresql://USER@HOST/DATABASE.",
)
rules_option = click.option(
    "--rules",
    "rules_file",
    metavar="FILE",
    multiple=True,
    callback=once,
    help="Apply the learned rules in FILE, which 'canonry rules export' has written.",
)


class NamedFile(click.ParamType[str]):
    """A text that names a file, or something else that is known; shells complete it."""

    name = "text"

    def __init__(self, kind: str, names: Sequence[str] = ()) -> None:
        """Take what it names, ``file`` or ``dir``, and further names."""
        self._kind, self._names = kind, names

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the text, which is not empty."""
        if value == "":
            self.fail("it is empty; give a name.", param, ctx)
        return str(value)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - as above
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the names that begin so; or let the shell complete the name of a file."""
        found = [CompletionItem(name) for name in self._names if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type=self._kind)]


def _type_named(metavar: str) -> click.ParamType[str]:
    """Return the type of a text, by what the help calls it."""
    if "NAME|FILE" in metavar:
        return NamedFile("file", preset_names())
    if "FILE" in metavar:
        return NamedFile("file")
    return NamedFile("dir") if metavar in {"DIR", "FOLDER"} else click.STRING


def _loudness(context: click.Context, option: click.Parameter, is_given: bool) -> bool:  # noqa: FBT001 - click's signature
    """Note how loud the run is; the options of a group are for its commands, too."""
    option_names = context.meta.setdefault(_META, set())
    if context.parent is None:
        option_names.discard(option.name)
    if is_given:
        option_names.add(option.name)
    if option_names >= {"quiet", "verbose"}:
        raise click.UsageError("-q and -v exclude each other: give one of them.")
    LOUDNESS.set(quiet="quiet" in option_names, verbose="verbose" in option_names)
    return is_given


def _options() -> list[click.Parameter]:
    """Return the options that every command has."""
    return [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_loudness,
            help="Say only what went wrong.",
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_loudness,
            help="Also say what a report of a bug needs: versions, times, where an error arose.",
        ),
    ]


class _Formatter(click.HelpFormatter):
    """Leaves two thirds of a narrow terminal to the texts."""

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        super().write_dl(rows, min(col_max, self.width // 3), col_spacing)


class _Context(click.Context):
    formatter_class = _Formatter


class Described(click.Command):
    """A command with examples, of a function that returns the exit code.

    An example is a line that people can type; each is parsed in a test.
    """

    context_class = _Context

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:  # noqa: ANN401 - click's
        """Make a command; ``examples`` begin with ``canonry``."""
        # The list of commands loads less than this does.
        from canonry.crawler.cli.ending import with_exit_code  # noqa: PLC0415

        super().__init__(*args, **{**more, "callback": with_exit_code(more["callback"])})
        self.examples = tuple(examples)
        self.params += _options()
        for parameter in self.params:
            if parameter.type is click.STRING:
                parameter.type = _type_named(str(parameter.metavar))

    def format_epilog(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples below the options."""
        write_examples(self.examples, formatter)


class DescribedGroup(click.Group):
    """A group of commands with examples: the first of each command."""

    command_class = Described
    context_class = _Context

    def __init__(self, *args: Any, **more: Any) -> None:  # noqa: ANN401 - click's
        """Make a group."""
        super().__init__(*args, **more)
        self.params += _options()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is typed; if there is none, say which is near."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = did_you_mean(args[0], self.list_commands(ctx))
            ctx.fail(f"No such command {args[0]!r}{near}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with its whole first sentence."""
        below = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(limit=300)) for name, one in below if one]
            )

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first example of each command."""
        write_examples(examples_of(self, context), formatter)


def examples_of(command: click.Command, context: click.Context) -> tuple[str, ...]:
    """Return the examples of a command; of a group, the first one of each of its commands."""
    if isinstance(command, click.Group):
        below = (command.get_command(context, name) for name in command.list_commands(context))
        return tuple(one.examples[0] for one in below if isinstance(one, Described))
    return command.examples if isinstance(command, Described) else ()


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """Write examples as they are typed."""
    if not examples:
        return
    with formatter.section("Examples"):
        for example in examples:
            lead = " " * formatter.current_indent
            formatter.write(f"{lead}{example}\n")


def described(
    *examples: str,
    cls: type[Described] = Described,
    **more: Any,  # noqa: ANN401 - what the class takes
) -> Callable[[Callable[..., Any]], Described]:
    """Make a function a command with these examples."""
    return click.command(cls=cls, examples=examples, **more)


def unless_dash(_context: object, _option: object, name: str | None) -> str | None:
    """Return the name of an output; None for "-", which is standard output."""
    return None if name == "-" else name


out_option = click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=unless_dash,
    help="Write to FILE, which appears when it is complete.  [default: stdout]",
)
