"""What the commands over files and URLs print as JSON."""

import msgspec

from canonry.crawler.batch.summary import MergedLines


class DedupJSON(msgspec.Struct, kw_only=True):
    """What became of the lines of a dedup."""

    lines: int
    blank: int
    distinct: int
    exact: int  # lines that repeat a spelling
    seen: int  # lines whose resource was seen before, as the file of --seen says
    merged: list[MergedLines]  # by the rules that merged them
    refused: dict[str, int]  # invalid lines, by reason
    refused_samples: dict[str, str]  # for each of these, a line with its place
    cut: list[str]  # sources that could not be read to their end
    seconds: float


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


class MigratedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the URLs of another program."""

    mapped: int
    blank: int  # lines
    refused: dict[str, int]  # invalid lines, by reason
    refused_samples: dict[str, str]  # for each of these, a line with its place
    cut: list[str]  # sources that could not be read to their end
