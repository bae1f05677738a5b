"""The commands ``canonry keys``: files of keys, as ``dedup --seen`` makes them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import click
import msgspec

from canonry.canon.policies import versioned_name
from canonry.crawler.cli.described import DescribedGroup, json_option, store_option
from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.render import print_json
from canonry.crawler.files.output import check_distinct
from canonry.crawler.key_files import published_keys
from canonry.crawler.key_files.key_file import KeyFile, opened_keys
from canonry.crawler.key_files.key_writer import write_file
from canonry.crawler.key_files.published_keys import opened_at
from canonry.crawler.key_files.seen_file import check_header, policy_of_keys
from canonry.crawler.key_files.sorted_keys import KEY_BYTES, Keys, aligned, among, merged
from canonry.crawler.markup import named
from canonry.crawler.plurals import counted
from canonry.crawler.settings import SettingsError

_SIDES = ("first", "second", "both")
_file_option = click.option("-o", "out", metavar="FILE", required=True, help="The file to write.")


class KeysInfoJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A file of keys."""

    file: str
    policy: str  # name/version
    keys: int
    bytes: int
    parts: list[int]  # keys in each
    checked: bool  # True: every checksum is right


class MergedKeysJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Files of keys that were merged."""

    keys: int
    of: int  # keys in all files


class ComparedKeysJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Two files of keys, compared."""

    only_first: int
    only_second: int
    both: int


class AddedKeysJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that were added to a store."""

    keys: int  # in the file
    new: int  # of these, how many the store did not have


class WrittenKeysJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that were written to a file."""

    keys: int


class PublishedKeysJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that were published."""

    keys: int
    file: str  # of the keys, in the folder
    filter_bits: float  # of the filter, for each key


@click.group(cls=DescribedGroup)
def keys() -> None:
    """Show, merge and compare files of keys; move keys into and out of a store.

    'canonry dedup --seen FILE' makes such a file.
    """


@keys.command("info", examples=("canonry keys info seen.keys --check",))
@click.argument("file", metavar="FILE")
@click.option("--check", is_flag=True, help="Read all keys, and compare all checksums.")
@json_option
def info(file: str, *, check: bool, as_json: bool) -> int:
    """Show how many keys a file has, and the policy that made them."""
    with opened_at(file) as key_file:
        if check:
            key_file.check_states()
            with _progress([key_file], "check") as read:
                for _chunk in read(key_file):
                    pass
        facts = KeysInfoJSON(
            file=file,
            policy=key_file.header.policy,
            keys=len(key_file),
            bytes=key_file.state.end,
            parts=[part.keys for part in key_file.state.parts],
            checked=check,
        )
    if as_json:
        print_json(facts)
        return 0
    parts = counted(len(key_file.state.parts), "part")
    number = counted(len(key_file), "key")
    told = ", and every checksum is right" if check else ""
    policy = versioned_name(key_file.header.policy)
    click.echo(f"{number} of policy {policy}, in {parts}{told}")
    return 0


@keys.command("merge", examples=("canonry keys merge monday.keys tuesday.keys -o week.keys",))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_file_option
@json_option
def merge(files: tuple[str, ...], out: str, *, as_json: bool) -> int:
    """Write all keys of some files as one file, which appears when it is complete.

    It may have the name of one of them.
    """
    with ExitStack() as stack:
        opened = _opened(files, stack)
        read = stack.enter_context(_progress(opened, "merge"))
        state = write_file(out, opened[0].header, merged([read(one) for one in opened]))
        given = sum(map(len, opened))
    number = counted(state.keys, "key")
    return _report(
        f"{number}, of {given:,}",
        MergedKeysJSON(keys=state.keys, of=given),
        as_json,
    )


@keys.command(
    "diff",
    examples=(
        "canonry keys diff monday.keys tuesday.keys",
        "canonry keys diff monday.keys tuesday.keys --only second -o new.keys",
    ),
)
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@click.option(
    "--only",
    "side",
    type=click.Choice(_SIDES),
    help="With -o: which keys to write: those that only FIRST has, those that only SECOND has, or "
    "those that both have.",
)
@click.option("-o", "out", metavar="FILE", help="Write keys to a file of keys; see --only.")
@json_option
def diff(first: str, second: str, side: str | None, out: str | None, *, as_json: bool) -> int:
    """Count the keys that only one of two files has, and those that both have."""
    if (side is None) != (out is None):
        raise SettingsError("--only and -o belong together: which keys to write, and where")
    check_distinct([("-o", out)], (first, second))
    counts = dict.fromkeys(_SIDES, 0)

    def compared(streams: Sequence[Iterator[Keys]]) -> Iterator[Keys]:
        """Yield the keys that are wanted, and count all."""
        for one, other in aligned(streams):
            shared, is_new = among(one, other), ~among(other, one)
            found = {"first": one[~shared], "second": other[is_new], "both": one[shared]}
            for name, some in found.items():
                counts[name] += len(some)
            if side is not None and len(found[side]):
                yield found[side]

    with ExitStack() as stack:
        opened = _opened((first, second), stack)
        read = stack.enter_context(_progress(opened, "diff"))
        chunks = compared([read(one) for one in opened])
        if out is None:
            for _chunk in chunks:
                pass
        else:
            write_file(out, opened[0].header, chunks)
    text = "\n".join(
        f"{counts[name]:>15,} {place}"
        for name, place in zip(
            _SIDES, (f"only in {first}", f"only in {second}", "in both"), strict=True
        )
    )
    facts = ComparedKeysJSON(
        only_first=counts["first"], only_second=counts["second"], both=counts["both"]
    )
    return _report(text, facts, as_json)


@keys.command("publish", examples=("canonry keys publish seen.keys -o s3://bucket/seen",))
@click.argument("file", metavar="FILE")
@click.option("-o", "out", metavar="DIR|URL", required=True, help="The folder to write to.")
@json_option
def publish(file: str, out: str, *, as_json: bool) -> int:
    """Write keys to a folder that others can read over https or s3, without a server.

    'canonry dedup FILE --seen https://…' leaves out what is there: it reads a filter of a byte a
    key, and the pages of what may be there. The folder gets files that never change, and
    latest.json, which names them; those of earlier times may be deleted.
    """
    with ExitStack() as stack:
        [opened] = _opened([file], stack)
        read = stack.enter_context(_progress([opened], "publish"))
        made = published_keys.publish(opened, read(opened), out)
    bits = round(8 * made.index.at / max(made.keys, 1), 2)
    return _report(
        f"{made.keys:,} keys in {made.file}, with a filter of {bits:.2f} bits a key",
        PublishedKeysJSON(keys=made.keys, file=made.file, filter_bits=bits),
        as_json,
    )


@keys.command("to-store", examples=("canonry keys to-store seen.keys --store crawl.db",))
@click.argument("file", metavar="FILE")
@store_option
@click.option("--policy", metavar="FILE", help="The policy, if it is one of your own.")
@json_option
def to_store(file: str, store: str, policy: str | None, *, as_json: bool) -> int:
    """Add the keys of a file to what a store has seen, so that no crawl fetches their URLs.

    The URL of a key is not known, nor are its host, its depth and where it was found. Its row says
    so: its URL is urn:canonry:key:KEY, and it is held. A store keeps them until its policy changes:
    keys cannot be converted. The command may be stopped, and run again.
    """
    from canonry.crawler.key_files import store_keys  # noqa: PLC0415 - loads SQLAlchemy

    found = policy_of_keys(file, policy)
    counted, new = 0, 0
    with opened_keys(file) as opened, render.byte_progress(len(opened) * KEY_BYTES, "keys") as tell:
        for several, fresh in store_keys.to_store(opened, store, found):
            counted, new = counted + several, new + fresh
            tell(several * KEY_BYTES)
    facts = AddedKeysJSON(keys=counted, new=new)
    return _report(f"{new:,} keys added, of {counted:,}", facts, as_json)


@keys.command("from-store", examples=("canonry keys from-store --store crawl.db -o seen.keys",))
@store_option
@_file_option
@json_option
def from_store(store: str, out: str, *, as_json: bool) -> int:
    """Write the keys of all URLs that a store has seen, fetched or not, as a file of keys."""
    from canonry.crawler import opening  # noqa: PLC0415 - loads SQLAlchemy
    from canonry.crawler.key_files import store_keys  # noqa: PLC0415 - as above

    check_distinct([("-o", out)], [opening.file_of_store(store)])
    header = store_keys.header_of_store(store)
    state = write_file(out, header, store_keys.keys_of_store(store))
    return _report(f"{state.keys:,} keys", WrittenKeysJSON(keys=state.keys), as_json)


def _opened(files: Sequence[str], stack: ExitStack) -> list[KeyFile]:
    """Open files of keys, which have to be of one policy."""
    opened = [stack.enter_context(opened_at(file)) for file in files]
    for one in opened:
        check_header(one, opened[0].header)
    return opened


@contextmanager
def _progress(files: Iterable[KeyFile], what: str) -> Iterator[Callable[[KeyFile], Iterator[Keys]]]:
    """Show a progress bar; yields a function that reads the keys of a file."""
    with render.byte_progress(sum(map(len, files)) * KEY_BYTES, what) as tell:

        def read(file: KeyFile) -> Iterator[Keys]:
            for chunk in file.chunks():
                tell(chunk.nbytes)
                yield chunk

        yield read


def _report(text: str, facts: msgspec.Struct, as_json: bool) -> int:  # noqa: FBT001 - the option
    """Print what was done."""
    if as_json:
        print_json(facts)
    else:
        click.echo(named(text))
    return 0
