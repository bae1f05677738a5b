"""Output tables: rows of CSV are those of the standard library."""

import csv
import io

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.files import tables

_TEXTS = st.text(st.sampled_from("ab,\"\n\r;' \té\udce9\0"), max_size=4)
_CELLS = st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS


@given(
    width=st.integers(1, 4), data=st.data(), values=st.sampled_from([_TEXTS, _CELLS]), end=_TEXTS
)
def test_csv_is_that_of_the_standard_library(
    width: int, data: st.DataObject, values: st.SearchStrategy[object], end: str
) -> None:
    cells = st.lists(values, min_size=width, max_size=width)
    rows = [*data.draw(st.lists(cells, max_size=6)), [end] * width]
    names = [f"column {n}" for n in range(width)]
    file, expected = io.BytesIO(), io.StringIO(newline="")
    written = tables.table(file, "csv", dict.fromkeys(names, str))
    written.write(iter(rows))
    written.close()
    shown = [
        [str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows
    ]
    csv.writer(expected, lineterminator="\n").writerows([names, *shown])
    assert file.getvalue() == expected.getvalue().encode("utf-8", "surrogateescape")


def test_lists_in_csv_are_json() -> None:
    file = io.BytesIO()
    written = tables.table(file, "csv", {"url": str, "links": list[str]})
    written.write([("a", ["b", 'c"']), ("d", [])] * 3000)
    found = list(csv.reader(io.StringIO(file.getvalue().decode())))
    assert len(found) == 6001
    assert {(url, *msgspec.json.decode(links)) for url, links in found[1:]} == {
        ("a", "b", 'c"'),
        ("d",),
    }
