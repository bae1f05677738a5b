"""The commands ``canonry policy``: list the presets, show what a policy holds, check a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec
from rich.markup import escape

from canonry.canon import Policy, PolicyError
from canonry.canon.policies import differences, extended, preset, released
from canonry.crawler.cli.described import DescribedGroup, json_option
from canonry.crawler.cli.exit_codes import USAGE
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.named_policies import WRONG_ENDING, find_policy, policy_file


class PolicyJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A policy."""

    name: str
    version: int
    dialect: str
    fingerprint: str  # of its content
    rules: list[str]  # in the order in which they run
    lists: dict[str, list[str]]  # parameter names and the like


class DifferenceJSON(msgspec.Struct, frozen=True, kw_only=True):
    """How a list differs from that of the preset."""

    added: list[str]
    removed: list[str]


class CheckedPolicyJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A policy file that was checked."""

    file: str
    error: str | None  # null: it can be used
    policy: PolicyJSON | None
    differences: dict[str, DifferenceJSON]  # from the preset that it extends, by list


class PoliciesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The presets."""

    policies: list[PolicyJSON]


class CheckedPoliciesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Files of policies that were checked."""

    policies: list[CheckedPolicyJSON]


@click.group(cls=DescribedGroup)
def policy() -> None:
    """List, show and check policies."""


@policy.command("list", examples=("canonry policy list",))
@json_option
def list_policies(*, as_json: bool) -> int:
    """List the presets and their versions; the last version of each is the current one."""
    every = [preset(f"{name}@{one}") for name, versions in released().items() for one in versions]
    if as_json:
        print_json(PoliciesJSON(policies=[_facts(one) for one in every]))
        return 0
    for name, versions in released().items():
        click.echo("  ".join(f"{name}@{version}" for version in versions))
    return 0


@policy.command("show", examples=("canonry policy show web", "canonry policy show web@1 --json"))
@click.argument("policy_name", metavar="NAME|FILE")
@json_option
def show_policy(policy_name: str, *, as_json: bool) -> int:
    """Show all that a policy holds: its rules in the order in which they run, and its lists."""
    shown_policy = find_policy(policy_name)
    facts = _facts(shown_policy)
    if as_json:
        print_json(facts)
        return 0
    out = render.out()
    _heading(shown_policy)
    out.print("\n  [bold]rules[/]")
    for step in shown_policy.steps():
        kind = "lossless" if step.lossless else "heuristic"
        why = render.hanging(step.why, out, 32)
        out.print(f"  {step.name:<20}{kind:<10}{escape(why)}")
    for key, names in facts.lists.items():
        listed = render.hanging(", ".join(names) or "(empty)", out, 2)
        out.print(f"\n  [bold]{key}[/]\n  {escape(listed)}")
    return 0


@policy.command("check", examples=("canonry policy check mine.toml",))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@json_option
def check_policies(files: tuple[str, ...], *, as_json: bool) -> int:
    """Check policy files, and show how each differs from the preset that it extends."""
    checked = []
    for file in files:
        try:
            _check_name(file)
            file_policy = find_policy(file)
            base = extended(Path(file).read_text(encoding="utf-8"), file)
        except (PolicyError, OSError) as error:
            render.notify(f"canonry: {error}")
            checked.append(
                CheckedPolicyJSON(file=file, error=str(error), policy=None, differences={})
            )
            continue
        beside = {} if base is None else differences(base, file_policy)
        if not as_json:
            _heading(file_policy)
            _show_differences(beside)
        checked.append(
            CheckedPolicyJSON(
                file=file,
                error=None,
                policy=_facts(file_policy),
                differences={
                    key: DifferenceJSON(added=list(added), removed=list(removed))
                    for key, (added, removed) in beside.items()
                },
            )
        )
    if as_json:
        print_json(CheckedPoliciesJSON(policies=checked))
    return USAGE if any(one.error is not None for one in checked) else 0


def _check_name(file: str) -> None:
    """Refuse what is not the name of a policy's file.

    Raises:
        PolicyError: saying what it is.
    """
    if policy_file(file) is not None:
        return
    try:
        preset(file)
    except PolicyError:
        raise PolicyError(f"{file}: {WRONG_ENDING}") from None
    raise PolicyError(f"{file} is a preset, and needs no check; 'canonry policy show' shows it")


def _show_differences(beside: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> None:
    """Print how the lists of a policy differ from those of the preset that it extends."""
    for key, (added, removed) in beside.items():
        parts = [f"+ {', '.join(added)}"] if added else []
        parts += [f"- {', '.join(removed)}"] if removed else []
        render.out().print(f"  {key}: {escape('; '.join(parts))}")


def _heading(shown_policy: Policy) -> None:
    """Print the name of a policy, and what stands beside its rules."""
    facts = f"dialect {shown_policy.dialect}, fingerprint {shown_policy.fingerprint}"
    render.out().print(f"[bold]{shown_policy.name}@{shown_policy.version}[/]: {facts}")


def _facts(shown_policy: Policy) -> PolicyJSON:
    """Return a policy as it is printed."""
    return PolicyJSON(
        name=shown_policy.name,
        version=shown_policy.version,
        dialect=shown_policy.dialect,
        fingerprint=shown_policy.fingerprint,
        rules=[step.name for step in shown_policy.steps()],
        lists={key: sorted(names) for key, names in shown_policy.lists._asdict().items()},
    )
