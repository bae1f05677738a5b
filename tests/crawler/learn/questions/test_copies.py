"""Tests of copies of a directory: where they are likely to differ."""

from collections.abc import Callable

import pytest

from canonry.canon.learned import Rewrite
from canonry.crawler.admission.scope import registrable
from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered, Moved
from canonry.storage.learned.tracked_rule import TrackedRule

H = "http://h.example"
FILES = 30


def knows(contents: dict[str, dict[int, str]]) -> Learner:
    """Return a learner that has met the files of some directories.

    Args:
        contents: by directory what those of its files say that were changed.
    """
    learner = Learner(thresholds.load(), registrable)
    for n in range(FILES):
        for directory, changed in contents.items():
            said = changed.get(n, f"file {n}")
            learner.observe(Answered(f"{H}{directory}{n}.txt", said.encode(), float(n)))
            learner.decide(float(n))
    return learner


def knows_named(old: Callable[[int, str], str]) -> Learner:
    """Return a learner that has met pages of a release, whose links all name the stable ones.

    Args:
        old: makes of a number and the text of a stable page what the release says.
    """
    learner = Learner(thresholds.load(), registrable)
    for n in range(FILES):
        title, text = (
            f"<title>Page {n}</title>",
            "Release 2 " + "".join(f" w{n}x{i}" for i in range(40)),
        )
        for directory, said in (("/stable/", text), ("/v1/", old(n, text))):
            page = (title + said).encode()
            at, is_stable = float(n), directory == "/stable/"
            sketch = encoded_sketch(page, "text/html")
            url = f"{H}{directory}{n}.html"
            learner.observe(
                Answered(url, page, at, sketch=sketch, names=url if is_stable else None)
            )
        for copy in ("/a/", "/b/"):  # pages that are the same to the byte: nothing changes
            learner.observe(Answered(f"{H}{copy}{n}.html", page, at, sketch=sketch))
        learner.observe(Moved(f"{H}/v1/{n}.html", f"{H}/stable/{n}.html", at, "canonical"))
        learner.decide(at)
    return learner


def rule_of(learner: Learner, old: str, new: str) -> TrackedRule:
    """Return the rule that makes one directory another."""
    wanted = Rewrite("h.example", "path-prefix", old=old, new=new)
    return next(rule for rule in learner.rules("h.example") if rule.rewrite == wanted)


def test_what_differs_between_two_copies_may_differ_between_others() -> None:
    learner = knows({"/v1/": {}, "/v2/": {17: "changed"}})
    learner.observe(Answered(f"{H}/v3/0.txt", b"file 0", 50.0))
    rule = rule_of(learner, "/v1/", "/v3/")
    assert rule.state != "active"
    found = learner.likely_exceptions("h.example", [rule])
    assert found == {rule.id: [f"{H}/v1/17.txt", f"{H}/v3/17.txt"]}, (
        "and no others of its thirty files"
    )


def test_what_a_rule_has_met_already_is_no_question() -> None:
    learner = knows({"/v1/": {}, "/v2/": {17: "changed"}, "/v3/": {17: "changed"}})
    rule = rule_of(learner, "/v1/", "/v3/")
    assert (rule.agree, rule.disagree) == (FILES - 1, 1)
    assert learner.likely_exceptions("h.example", [rule]) == {rule.id: []}


@pytest.mark.parametrize("changed", [{}, *(dict.fromkeys(range(n), "other") for n in (10, FILES))])
def test_where_nothing_differs_or_much_does_there_is_nothing_to_look_for(
    changed: dict[int, str],
) -> None:
    """Directories that have little in common are no copies."""
    each = {n: f"{said} {n}" for n, said in changed.items()}
    learner = knows({"/v1/": {}, "/v2/": each})
    learner.observe(Answered(f"{H}/v3/0.txt", b"file 0", 50.0))
    rule = rule_of(learner, "/v1/", "/v3/")
    assert learner.likely_exceptions("h.example", [rule]) == {rule.id: []}


def test_a_directory_that_was_moved_is_no_copy() -> None:
    learner = Learner(thresholds.load(), registrable)
    for n in range(FILES):
        learner.observe(Answered(f"{H}/new/{n}.txt", b"file %d" % n, float(n)))
        learner.observe(Moved(f"{H}/old/{n}.txt", f"{H}/new/{n}.txt", float(n)))
        learner.decide(float(n))
    assert learner.copies("h.example", [rule_of(learner, "/old/", "/new/")]) == []
    copied = knows({"/v1/": {}, "/v2/": {}})
    [rule] = [r for r in copied.rules("h.example") if r.rewrite.family == "path-prefix"]
    assert copied.copies("h.example", [rule]) == [rule]


def test_a_single_directory_that_is_left_out_is_an_alias_but_not_one_of_several() -> None:
    learner = knows({"/docs/": {}, "/docs/index.php/": {}, "/docs/1.0/": {}})
    rules = [rule_of(learner, f"/docs/{name}/", "/docs/") for name in ("index.php", "1.0")]
    assert learner.copies("h.example", rules[:1]) == []
    assert learner.copies("h.example", rules) == rules


@pytest.mark.parametrize(
    ("frame", "change"), [("Release 2", " more"), ("Release 2", " 7"), ("Release 1", " more")]
)
def test_of_releases_whose_links_name_the_stable_one_what_has_changed_counts_against_that(
    frame: str, change: str
) -> None:
    learner = knows_named(
        lambda n, text: text.replace("Release 2", frame) + change * (n in {20, 25})
    )
    rule = rule_of(learner, "/v1/", "/stable/")
    assert (rule.agree, rule.disagree, rule.moved) == (FILES - 2, 2, FILES - 2)
    assert rule.state == "suspended"
    assert learner.copies("h.example", [rule]) == [rule], "they are to be tested by content"
    shown = [url for url, _found in rule.against]
    assert shown == [f"{H}/v1/20.html", f"{H}/v1/25.html"]


def test_of_printer_pages_whose_frame_differs_the_link_alone_tells() -> None:
    learner = knows_named(lambda n, text: "<p>From the press" + text + " more" * (n < 5))
    rule = rule_of(learner, "/v1/", "/stable/")
    assert (rule.agree, rule.disagree, rule.moved) == (FILES, 0, FILES)
    assert rule.state == "active"
    assert learner.copies("h.example", [rule]) == []


@pytest.mark.parametrize(("changed", "state"), [(0, "active"), (2, "probation"), (6, "active")])
def test_what_differs_elsewhere_counts_until_it_is_the_same_here(changed: int, state: str) -> None:
    """Two copies of thirty files are the same, and a third one differs in so many of them.

    If these few are the same in the two, that says little; if six are, one is another name.
    """
    learner = knows(
        {"/a/": {}, "/b/": {}, "/c/": {n: f"changed {n}" for n in range(3, 3 + changed)}}
    )
    both = {"/a/", "/b/"}
    rules = learner.rules("h.example")
    [rule] = [rule for rule in rules if {rule.rewrite.old, rule.rewrite.new} == both]
    assert (rule.agree, rule.disagree) == (FILES, 0)
    assert rule.state == state
