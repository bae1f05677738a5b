"""Scope by patterns: what they match, which of them decides, and what is released later."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.crawls import SEED, crawl, page, target_of
from support.servers import ok

from canonry.crawler.admission.scope import Scope, ScopeVerdict
from canonry.crawler.cli.commands import main
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings.url_patterns import URLPatterns


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*/docs/*", "http://a.example/x/docs/y?z", "http://a.example/docs"),
        ("/docs/*", "https://a.example:8443/docs/x?y", "http://a.example/x/docs/y"),
        ("/*.pdf", "http://a.example/x/y.pdf", "http://a.example/y.pdf?z"),
        ("/a?b=1", "http://a.example/a?b=1", "http://a.example/c/a?b=1"),
        ("http://a.example/[ab]", "http://a.example/b", "https://a.example/b"),
        ("https://*.example/", "https://a.b.example/", "http://a.example/"),
        ("http*://a.example/x", "https://a.example/x", "https://b.example/x"),
        (r"re:\.(zip|iso)$", "http://a.example/x.iso", "http://a.example/x.iso/y"),
        ("re:^http:", "http://a.example/", "https://a.example/"),
    ],
)
def test_patterns(pattern: str, matching: str, other: str) -> None:
    found = URLPatterns(["/never", pattern])
    assert found.find(matching) == pattern
    assert found.find(other) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/", ScopeVerdict(None, "seed", "http://a.example/")),
        ("http://a.example/in/x", ScopeVerdict(None, "include", "/in/*")),
        ("http://a.example/x", ScopeVerdict(HoldReason.NOT_INCLUDED, "include", "none matches")),
        ("http://a.example/in/x.zip", ScopeVerdict(HoldReason.EXCLUDED, "exclude", "re:zip$")),
        ("http://b.example/in/x", ScopeVerdict(HoldReason.OUT_OF_SCOPE, "scope", "host")),
    ],
)
def test_exclude_wins_and_seeds_are_always_in(url: str, expected: ScopeVerdict) -> None:
    scope = Scope("host", ["http://a.example/"], ["/in/*", "/too/*"], ["/out", "re:zip$", "/"])
    assert scope.judge(url) == expected


def test_a_url_is_compared_with_few_of_many_directories() -> None:
    compared = 0

    class URL(str):
        """A text that counts what is compared with its beginning."""

        __slots__ = ()

        def startswith(self, *args: Any) -> bool:  # noqa: ANN401 - as str has it
            nonlocal compared
            compared += 1
            return super().startswith(*args)

        def __getitem__(self, *args: Any) -> str:  # noqa: ANN401 - as str has it
            nonlocal compared
            compared += 1
            return super().__getitem__(*args)

    scope = Scope("prefix", [f"http://a.example/{n}/index.html?/x/" for n in range(20_000)])
    assert scope.has_place(URL("http://a.example/19999/a/b?c"))
    assert scope.has_place(URL("http://a.example/7/"))
    for out in ("http://a.example/20000/", "http://a.example/7", "http://a.example/x?/7/", "http:"):
        assert not scope.has_place(URL(out))
    assert compared < 100


def test_what_patterns_hold_is_released_when_they_go(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(head: bytes) -> bytes:
        asked.append(target_of(head))
        if asked[-1] == "/robots.txt":
            return ok(b"", status="404 Not Found")
        return page("/in/1", "/in/2.zip", "/else") if asked[-1] == "/" else ok(b"x")

    found, _ = crawl(tmp_path, answer, include=["/in/*"], exclude=["*.zip"])
    assert found["held"] == {"excluded": 1, "not-included": 1}
    assert asked == ["/robots.txt", "/", "/in/1"]
    found, _ = crawl(tmp_path, answer, include=["/in/*"])
    assert found["held"] == {"not-included": 1}
    found, _ = crawl(tmp_path, answer)
    assert (found["held"], found["urls"]["fetched"]) == ({}, 4)
    assert sorted(asked) == ["/", "/else", "/in/1", "/in/2.zip", "/robots.txt"]


def test_what_a_seed_redirects_to_is_a_seed(tmp_path: Path) -> None:
    def answer(head: bytes) -> bytes:
        if target_of(head) == "/":
            return ok(b"", "Location: /start", status="301 Moved")
        return page("/in/1", "/else") if target_of(head) == "/start" else ok(b"x")

    found, _ = crawl(tmp_path, answer, include=["/in/*"], exclude=["/start"])
    assert found["held"] == {"not-included": 1}
    assert found["urls"]["fetched"] == 2


def run(*words: str) -> Result:
    """Run ``canonry scope test``."""
    return CliRunner().invoke(main, ["scope", "test", *words])


def test_the_command_says_which_setting_decides(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[crawl]\ninclude = ['/in/*']\n[traps]\nmax_url = 40\n")
    (tmp_path / "seeds").write_text("# one\nhttp://a.example/\n")
    more = ["--config", str(tmp_path / "my.toml"), "--seeds", str(tmp_path / "seeds")]
    urls = [SEED, "HTTP://A.example/in/%7Ex", SEED + "else", SEED + "in/" + "y" * 40]
    urls += ["http://u:secret@b.example/", "mailto:u@b", "http://a.example:6379/in/"]
    done = run(*urls, *more, "--exclude", "*zip")
    assert done.exit_code == 0
    assert [line.partition("  (")[2].partition(":")[0] for line in done.stdout.splitlines()] == [
        *("seed", "include", "include", "max_url", "scope", "scheme", "port")
    ]
    assert done.stdout.count("in   ") == 2
    assert "secret" not in done.output
    found = json.loads(run(*urls, *more, "--json").stdout)["urls"]
    assert [one["reason"] for one in found] == [
        *(None, None, "not-included", "too-long", "out-of-scope", "scheme", "port")
    ]
    assert found[1] == {
        "url": "http://a.example/in/%7Ex",
        "in": True,
        "reason": None,
        "setting": "include",
        "value": "/in/*",
    }


def test_the_command_says_what_it_does_not_test() -> None:
    done = run("http://a.example/in/", "nonsense", "--include", "/in/*")
    assert done.exit_code == 1
    assert "without a seed, --scope host is not tested: give --seed URL" in done.stderr
    assert done.stdout.startswith(
        "in   http://a.example/in/  (include: /in/*)\nout  nonsense  (url"
    )
