"""The report of a dedup, as people see it: in a browser, opened from a file."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browsing import axe
from support.browsing.visits import NARROW, WIDE, too_wide, visit
from support.sites import run_command

from canonry.canon import Reason
from canonry.canon.pipeline import RULES
from canonry.crawler.batch import html_report
from canonry.crawler.hold_reason import HoldReason

HOSTILE = [
    b"http://a.example/<script>alert(1)</script>",
    b"http://A.example/<script>alert(1)</script>#x",
    b"http://A.example/<script>alert(1)</script>",
    b"<img src=http://b.example/x.png onerror=alert(1)>",
    b'"><meta http-equiv=refresh content="0;url=http://b.example/">',
    b"javascript:alert(1)",
    b"javascript:alert(1)#x",
    "http://a.example/\u202egnp.exe".encode(),
    "http://a.example/\u202egnp.exe?utm_source=x".encode(),
    b"http://a.example/\xff\xfe",
    b"http://a.example/\xff\xfe#x",
    b"http://u:secret@a.example/1",
    b"HTTP://u:secret@a.example/1",
    b"http://a.example/" + b"long" * 500_000,
    b"http://a.example/" + b"long" * 500_000 + b"?gclid=1#x",
    b"http://a.example/annual_statements.of_subsidiaries?quarterly=consolidated&utm_source=news",
    b"http://a.example:80/annual_statements.of_subsidiaries?quarterly=consolidated",
    b"/relative",
    b"http:///",
    b"",
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report about lines that were written to do harm."""
    folder = tmp_path_factory.mktemp("report")
    file = folder / "<b>urls.txt"
    file.write_bytes(b"\n".join(HOSTILE))
    words = ["dedup", file.name, "-o", "out.txt", "--report", "report.html"]
    done = run_command(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_everybody_can_read_it(browser: Browser, report: Path, width: int, dark: bool) -> None:
    with visit(browser, report.as_uri(), width=width, dark=dark) as page:
        assert axe.findings(page) == []
        assert too_wide(page) == []
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades = [int(n) for n in ground[4:-1].split(", ")]
        assert max(shades) < 64 if dark else min(shades) > 192


def test_words_do_not_break_in_the_middle(browser: Browser, report: Path) -> None:
    with visit(browser, report.as_uri(), width=NARROW) as page:
        broken = page.evaluate(
            r"""() => {
                const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                const broken = [];
                let words = 0;
                while (walker.nextNode()) {
                    for (const word of walker.currentNode.data.matchAll(/\w+/g)) {
                        if (word[0].length > 25) continue;
                        const range = document.createRange();
                        range.setStart(walker.currentNode, word.index);
                        range.setEnd(walker.currentNode, word.index + word[0].length);
                        const tops = [...range.getClientRects()].map(one => one.top);
                        words++;
                        if (new Set(tops).size > 1) broken.push(word[0]);
                    }
                }
                return words > 100 ? broken : ["no words"];
            }"""
        )
        assert broken == []
        line = page.get_by_text("subsidiaries").first.bounding_box()
        assert line is not None
        assert line["height"] > 30, "there is more than fits on one line"


def test_what_lines_hold_is_only_text(browser: Browser, report: Path) -> None:
    with visit(browser, report.as_uri()) as page:
        assert page.evaluate("document.scripts.length + document.images.length") == 0
        assert page.locator("a:not([href^='#'])").count() == 0
        said = page.locator("body").inner_text()
        assert page.title() == "Dedup of <b>urls.txt"
    assert report.stat().st_size < 60_000
    assert "http://a.example/<script>alert(1)</script>" in said
    assert "<img src=http://b.example/x.png onerror=alert(1)>" in said
    assert "\u27e8U+202E\u27e9gnp.exe" in said
    assert "\u202e" not in report.read_text(encoding="utf-8")
    assert "secret" not in report.read_text(encoding="utf-8")
    assert "(2,000,017 characters)" in said


def test_it_says_how_it_was_made_and_what_each_rule_does(browser: Browser, report: Path) -> None:
    with visit(browser, report.as_uri()) as page:
        page.locator("a", has_text="tracking").first.click()
        row = page.locator("b#tracking")
        assert row.evaluate("element => element.matches(':target')")
        sentence = RULES["tracking"].why
        assert sentence in row.locator("xpath=..").inner_text()
        made = datetime.fromisoformat(page.locator("time").get_attribute("datetime") or "")
        assert abs((datetime.now(UTC) - made).total_seconds()) < 600
        assert page.get_by_text("policy web@").count() == 1
        said = page.locator("body").inner_text()
        for part in ("19 lines in", "7 distinct resources", "merged by rules", "u:***@"):
            assert part in said, part
        assert page.get_by_text(Reason.RELATIVE.value).count() == 1


def test_each_reason_has_a_sentence() -> None:
    names = {reason.name.lower() for reason in Reason}
    names |= {HoldReason.RECORD.label, HoldReason.TOO_LONG.label}
    assert all(html_report.REASONS[name].strip() for name in names)
    assert "16 MiB" in html_report.REASONS["too-long"]
