"""CDXJ: the index of a WARC file, which replay tools read: where the records of each URL are."""

import json
from pathlib import Path

from canonry.canon import Canonicalizer, InvalidURL, redact
from canonry.canon.policies import preset
from canonry.crawler.fetch.response import Response
from canonry.crawler.files.output import atomic
from canonry.crawler.media_types import media_type

_ENDING = ".cdxj"


class CdxjIndex:
    """The lines of one WARC file: the SURT of the URL, the time, and what there is."""

    def __init__(self, name: str) -> None:
        """Begin the index of a file, given its final name."""
        self._name = name
        self._surt = Canonicalizer(preset("archive")).surt
        self._lines: list[str] = []

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def add(
        self, response: Response, digest: str, date: str, place: tuple[int, int], *, revisit: bool
    ) -> None:
        """Add a response.

        Args:
            response: of one request.
            digest: of its body, as in the record.
            date: in UTC, as in the record.
            place: the offset of its record in the file, and its length; bytes.
            revisit: True if an earlier record has the body.
        """
        url = redact(response.url)
        kind = media_type(response.headers.get("Content-Type"))
        offset, length = place
        about = {
            "url": url,
            "mime": "warc/revisit" if revisit else kind,
            "status": str(response.status),
            "digest": digest.partition(":")[2],
            "length": str(length),
            "offset": str(offset),
            "filename": self._name,
        }
        about = {name: value for name, value in about.items() if value}
        time = "".join(filter(str.isdecimal, date))[:14]
        try:
            key = self._surt(url)
        except InvalidURL:  # as other indexers do
            key = url
        self._lines.append(f"{key} {time} {json.dumps(about)}\n")

    def write(self, folder: Path) -> None:
        """Write the index beside its file, whole or not at all; its lines are in their order."""
        path = folder / f"{self._name.removesuffix('.warc.gz')}{_ENDING}"
        with atomic(str(path)) as file:
            file.writelines(sorted(line.encode() for line in self._lines))
