"""How long does a dedup take that keeps whole rows, compared with one of lines?

The same URLs as lines, and as CSV, TSV, JSONL and Parquet with three more columns.
"""

import csv
import json
import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from measure import arguments, corpus, keep, whole_process
from pyarrow import parquet

from canonry.canon.syntax import to_text


def write(folder: Path, urls: list[str]) -> dict[str, Path]:
    """Write the tables; return their files by format."""
    urls = [to_text(url) for url in urls]
    names = ("id", "url", "title", "size")
    rows = [(n, url, f"Page {n}, of many", n * 37 % 65_536) for n, url in enumerate(urls)]
    files = {name: folder / f"in.{name}" for name in ("lines", "csv", "tsv", "jsonl", "parquet")}
    files["lines"].write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    with files["csv"].open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    with files["tsv"].open("w", encoding="utf-8") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in (names, *rows))
    with files["jsonl"].open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    parquet.write_table(pa.table(dict(zip(names, columns, strict=True))), files["parquet"])
    return files


def main() -> None:
    """Measure whole processes and print."""
    given = arguments(str(__doc__))
    urls = corpus(given)
    seconds: dict[str, float] = {}
    processor: dict[str, float] = {}  # seconds of processors, of the mean round
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        for kind, path in write(Path(name), urls).items():
            words = [sys.executable, "-m", "canonry", "dedup", str(path), "--input", kind]
            words += ["-o", f"{name}/out", "--column", "url", "--keep-rows"]
            words = words[:9] if kind == "lines" else words
            seconds[kind], processor[kind] = whole_process(words, given.rounds)
    for kind, taken in seconds.items():
        ratio, busy = seconds["lines"] / taken, processor["lines"] / processor[kind]
        print(
            f"{kind:8} {taken:7.2f} s {len(urls) / taken:12,.0f}/s "
            f"{ratio:6.2f} of lines, {busy:.2f} by processors"
        )
    keep(given, "keep_rows", urls, {"seconds": seconds, "processor_seconds": processor})


if __name__ == "__main__":
    main()
