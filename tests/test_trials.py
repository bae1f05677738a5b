"""What judges the trials is itself right, on a tree of four files."""

import json
from pathlib import Path

import pytest
from trials import judging, manuals
from trials.judging import Truth


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    pages = {
        "index.html": '<a href="a.html#x">a</a> <a href="sub">sub</a> <a href="gone.html">gone</a>',
        "a.html": '<a href="../index.html">up</a> <a href="https://other.example/b.html">b</a>'
        '<a rel="external nofollow" href="never-linked.html">no</a>',
        "sub/index.html": '<a href="../other.html">other name</a>',
        "never-linked.html": "nothing",
    }
    for name, body in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<body>{body}</body>", encoding="utf-8")
    (tmp_path / "other.html").symlink_to("a.html")
    return tmp_path


def truth_of(tree: Path, *cut: str) -> Truth:
    linked = manuals.reachable(tree, ["index.html"])
    return Truth(tree, linked, frozenset(tree / name for name in cut))


def test_links_are_followed_on_disk(tree: Path) -> None:
    linked = manuals.reachable(tree, ["index.html"])
    assert linked.files == {tree / name for name in ("index.html", "a.html", "sub/index.html")}
    assert linked.missing == {"/gone.html"}


def logged(tree: Path, *requests: tuple[str, int, str, str]) -> Path:
    log = tree / "access.log"
    keys = ("uri", "status", "file", "part")
    lines = [json.dumps(dict(zip(keys, request, strict=True))) for request in requests]
    log.write_text("\n".join(lines), encoding="utf-8")
    return log


def test_a_fetch_is_wasted_unless_it_brings_a_new_page(tree: Path) -> None:
    log = logged(
        tree,
        ("/robots.txt", 404, f"{tree}/robots.txt", ""),
        ("/", 200, f"{tree}/index.html", ""),
        ("/index.html", 200, f"{tree}/index.html", ""),
        ("/a.html?ref=x", 200, f"{tree}/a.html", ""),
        ("/other.html", 200, f"{tree}/other.html", ""),
        ("/sub", 301, f"{tree}/sub", ""),
        ("/gone.html", 404, f"{tree}/gone.html", ""),
        ("/nonsense", 404, f"{tree}/nonsense", ""),
    )
    found = judging.judged(log, truth_of(tree))
    assert found["fetches"] == 7
    assert (found["repeats"], found["redirects"], found["not_found"]) == (2, 1, 1)
    assert (found["pages"], found["wasted"], found["wasted_a_page"]) == (2, 4, 2.0)
    assert found["lost_pages"] == ["/sub/index.html?part="]


def test_the_parts_of_a_page_are_pages(tree: Path) -> None:
    truth = truth_of(tree, "a.html")
    log = logged(
        tree,
        ("/a.html", 200, f"{tree}/a.html", ""),
        ("/a.html?part=2", 200, f"{tree}/a.html", "2"),
        ("/index.html?part=2", 200, f"{tree}/index.html", "2"),
        ("/sub/", 200, f"{tree}/sub/index.html", ""),
    )
    found = judging.judged(log, truth)
    assert (found["pages"], found["wasted"], found["lost"], found["expected"]) == (4, 0, 2, 6)


def test_merges_are_held_against_the_files(tree: Path) -> None:
    pairs = [
        ("http://h.example/a.html", "https://www.h.example/a.html?ref=x", "rule"),
        ("http://h.example/sub", "http://h.example/sub/index.html", "rule"),
        ("http://h.example/gone.html", "https://h.example/gone.html", "rule"),
        ("http://h.example/a.html", "http://h.example/index.html", "redirect"),
        ("http://h.example/a.html", "http://h.example/index.html", "rule"),
        ("http://h.example/a.html?part=1", "http://h.example/a.html", "rule"),
    ]
    aliases = [{"url": url, "same_as": to, "kind": kind} for url, to, kind in pairs]
    found = judging.merges(aliases, truth_of(tree, "a.html"))
    assert (found["merged"], found["wrongly_merged"], found["parts_merged"]) == (5, 2, 1)


def test_a_long_page_is_cut_in_three(tree: Path) -> None:
    blocks = [f"<p>{' '.join(f'{block}-{n}' for n in range(80))}</p>" for block in range(3)]
    long = tree / "long.html"
    long.write_text(f"<html><body class='x'>{''.join(blocks)}</body></html>", encoding="utf-8")
    cuts = manuals.parts([long, tree / "a.html"])
    assert list(cuts) == [long]
    data, places = long.read_bytes(), cuts[long]
    assert [data[places[n] : places[n + 1]].decode() for n in range(3)] == blocks
    [row] = manuals.as_lua(tree, cuts)
    assert row == f'["{long}"] = {{{", ".join(map(str, places))}}},'
