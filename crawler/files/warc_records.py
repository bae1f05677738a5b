"""The targets of a WARC file's records (ISO 28500), even if their lengths are wrong.

Only heads are read; bodies are skipped by their length. If no record begins after a body, reading
continues at the next line that begins a record.
"""

import io
import re
from collections.abc import Iterator

_VERSION = re.compile(rb"WARC/[01]\.[0-9]+\s*")
_CAPTURES = frozenset({b"response", b"resource", b"revisit"})
_LONGEST_HEAD = 1 << 20
_SOME = 1 << 16  # bytes
_CUT = "it ends in the middle of a record"


def targets(file: io.BufferedReader) -> Iterator[bytes | None]:
    """Yield the target of each capture, redirects included.

    Args:
        file: the file's content, decompressed.

    Yields:
        A URL for each capture. None for one that names no target, for a record whose head is
        longer than 1 MiB, and for each run of bytes that belong to no record.

    Raises:
        OSError: the file ends in the middle of a record, which was yielded if its head is whole.
    """
    is_between = True
    while line := file.readline(_SOME):
        if not _VERSION.fullmatch(line):
            if is_between and line.strip():
                is_between = False
                if not line.endswith(b"\n") and len(line) < _SOME:
                    raise OSError(_CUT)
                yield None
            continue
        is_between = True
        fields = _fields(file)
        if fields is None:
            yield None
            continue
        if fields.get(b"warc-type", b"").lower() in _CAPTURES:
            yield fields.get(b"warc-target-uri", b"").strip(b"<>") or None
        length = fields.get(b"content-length", b"")
        _skip(file, int(length) if length.isdigit() and len(length) < len(str(1 << 63)) else 0)


def _fields(file: io.BufferedReader) -> dict[bytes, bytes] | None:
    """Return the fields of a record's head, with continued lines joined.

    None if the head is too long.

    Raises:
        OSError: the file ends in it.
    """
    fields: dict[bytes, bytes] = {}
    name, size = b"", 0
    while (line := file.readline(_LONGEST_HEAD)).strip():
        size += len(line)
        if size > _LONGEST_HEAD:
            return None
        if line[:1] in b" \t":
            fields[name] = b" ".join((fields.get(name, b""), line.strip())).strip()
            continue
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        fields[name] = value.strip()
    if not line.endswith(b"\n"):
        raise OSError(_CUT)
    return fields


def _skip(file: io.BufferedReader, size: int) -> None:
    """Skip bytes.

    Raises:
        OSError: there are fewer.
    """
    while size:
        part = file.read(min(size, _SOME))
        if not part:
            raise OSError(_CUT)
        size -= len(part)
