"""Published keys: what was seen, in files that others can read by ranges, without a server.

A folder has ``latest.json``, which names a file of keys and its filter. Those never change: another
publication has other names.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from canonry.crawler.files import output
from canonry.crawler.key_files import key_filter, key_writer
from canonry.crawler.key_files.key_file import KeyFile, KeyFileError, opened_keys
from canonry.crawler.key_files.key_filter import FilterIndex, FuseFilter
from canonry.crawler.key_files.sorted_keys import Keys
from canonry.crawler.locations import is_remote, ranges_of

LATEST = "latest.json"
_MOST = 1 << 16  # bytes of that file


class Publication(msgspec.Struct, frozen=True):
    """What a folder of published keys has."""

    policy: str  # name/version of the policy that made the keys
    fingerprint: str  # of the policy's content
    keys: int
    state: str  # the id of the file's state: a hash of all keys
    file: str  # beside this one
    filter: str  # beside this one
    index: FilterIndex  # of the filter


def is_published(name: str) -> bool:
    """Return True for a folder of published keys, or the URL of one."""
    return is_remote(name) or Path(name).is_dir() or Path(name).name == LATEST


def publish(source: KeyFile, chunks: Iterator[Keys], folder: str) -> Publication:
    """Write keys to a folder, and name them there when they are complete.

    Args:
        source: the file of keys.
        chunks: its keys.
        folder: its name, or a URL that can be written to; it need not exist.

    Raises:
        OSError: it cannot be written.
    """
    if not is_remote(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="canonry-", dir=None if is_remote(folder) else folder) as name:
        keys = Path(name) / "keys"
        state = key_writer.write_file(str(keys), source.header, chunks)
        name_of_filter = f"{state.id}.filter"
        filtered = output.atomic(_beside(folder, name_of_filter))
        with ranges_of(str(keys)) as ranges, filtered as file:
            index = key_filter.write(file, KeyFile(ranges).chunks())
        publication = Publication(
            policy=source.header.policy,
            fingerprint=source.header.fingerprint,
            keys=state.keys,
            state=state.id,
            file=f"{state.id}.keys",
            filter=name_of_filter,
            index=index,
        )
        with keys.open("rb") as read, output.atomic(_beside(folder, publication.file)) as file:
            shutil.copyfileobj(read, file, 1 << 20)
    with output.atomic(_beside(folder, LATEST)) as file:
        file.write(msgspec.json.encode(publication) + b"\n")
    return publication


@contextmanager
def opened_publication(name: str) -> Iterator[KeyFile]:
    """Open published keys; only what look-ups need is read.

    Args:
        name: of the folder, or its URL.

    Raises:
        KeyFileError: what is there was not published by ``canonry keys publish``.
        OSError: it cannot be read.
    """
    folder = name.removesuffix(LATEST)
    if not is_remote(folder) and not Path(folder, LATEST).exists():
        raise KeyFileError(f"{name}: this folder has no published keys; name a file")
    with ExitStack() as stack:
        about = stack.enter_context(ranges_of(_beside(folder, LATEST)))
        [content] = about.read([(0, _MOST if about.size is None else about.size)])
        try:
            found = msgspec.json.decode(content, type=Publication)
        except msgspec.DecodeError as error:
            raise KeyFileError(f"{name}: {LATEST} is not of published keys ({error})") from None
        keys, filtered = (
            stack.enter_context(ranges_of(_beside(folder, one)))
            for one in (found.file, found.filter)
        )
        file = KeyFile(keys, FuseFilter(filtered, found.index))
        if file.state.id != found.state:
            raise KeyFileError(f"{name}: {found.file} is not the file that {LATEST} names")
        yield file


@contextmanager
def opened_at(name: str) -> Iterator[KeyFile]:
    """Open a file of keys, or published ones.

    Raises:
        KeyFileError: there are none, or they are damaged.
        OSError: they cannot be read.
    """
    with opened_publication(name) if is_published(name) else opened_keys(name) as file:
        yield file


def _beside(folder: str, name: str) -> str:
    """Return the name of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_remote(folder) else str(Path(folder) / name)
