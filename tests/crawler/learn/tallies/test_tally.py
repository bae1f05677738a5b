"""The tally of a rule: what it counts for the parts of a site."""

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.tallies.stances import Stance
from canonry.crawler.learn.tallies.tally import RuleTally


def tally_of(**stances: str) -> RuleTally:
    """Return a tally: for each part of a site a letter for each path, m for moved, o for other.

    And u for what nobody can know.
    """
    found = RuleTally(Rewrite("h.example", "trailing-slash", new="slash"))
    for part, said in stances.items():
        for n, letter in enumerate(said):
            path = f"/{n}" if part == "root" else f"/{part}/{n}"
            stance = {"m": Stance.MOVED, "o": Stance.OTHER, "u": Stance.UNKNOWN}[letter]
            found.set(f"http://h.example{path}", path, stance)
    return found


def test_a_rule_does_not_hold_where_more_speaks_against_it() -> None:
    one = tally_of(docs="mmmmm", news="mmmmmo", shop="ooom", help="mo")
    assert set(one.parts()) == {"/docs/", "/news/", "/shop/", "/help/"}
    assert one.where_it_holds()[:2] == (11, 2)
    assert tally_of(docs="mmm", shop="oo").where_it_holds()[:2] == (3, 0)
    assert RuleTally(one.rewrite).where_it_holds()[:2] == (0, 0)


def test_of_a_part_nothing_can_be_known_if_only_such_pages_lie_there() -> None:
    one = tally_of(docs="m" * 9, news="uuuuum", shop="uuuuuu", root="uuuuu")
    assert [one.is_unknown(part) for part in ("", "/docs/", "/shop/")] == [True, False, True]
    assert not tally_of(docs="m" * 9, news="uuuuuum", shop="uuuuu").is_unknown()


def test_paths_in_no_directory_are_a_part_without_a_name() -> None:
    one = tally_of(docs="mmmmm", root="mmo")
    assert one.parts() == ["/docs/"]
    assert one.where_it_holds()[:2] == (7, 1)


def test_what_spoke_for_parts_is_forgotten_and_what_spoke_against_them_is_not() -> None:
    one = tally_of(docs="mmmmm", news="mmmmmo")
    one.forget_parts()
    assert [one.totals(part)[:2] for part in ("", "/docs/", "/news/")] == [(10, 1), (0, 0), (0, 1)]
    one.set("http://h.example/news/new", "/news/new", Stance.MOVED)
    one.set("http://h.example/news/0", "/news/0", Stance.OTHER)
    assert [one.totals(part)[:2] for part in ("", "/news/")] == [(10, 2), (1, 2)]


def test_a_path_counts_once_until_the_last_of_its_urls_says_otherwise() -> None:
    one = RuleTally(Rewrite("h.example", "scheme-upgrade"))
    for url in ("http://h.example/a/p?x", "http://h.example/a/p?y"):
        one.set(url, "/a/p", Stance.MOVED)
    one.set("http://h.example/a/q", "/a/q", Stance.OTHER)
    assert one.totals()[:2] == one.totals("/a/")[:2] == (1, 1)
    one.set("http://h.example/a/p?x", "/a/p", Stance.OTHER)
    assert one.totals()[:2] == (1, 2), "one of its URLs says the one, one the other"
    one.set("http://h.example/a/p?y", "/a/p", Stance.OTHER)
    assert one.totals()[:2] == (0, 2)
    for url in ("http://h.example/a/p?x", "http://h.example/a/p?y"):
        assert one.stance(url) is Stance.OTHER
        one.set(url, "/a/p", Stance.NOTHING)
    assert one.totals()[:2] == (0, 1)
    assert one.stance("http://h.example/a/p?x") is Stance.NOTHING


def test_the_urls_of_a_class_share_its_text() -> None:
    one = RuleTally(Rewrite("h.example", "trailing-slash", new="bare"))
    for n in range(20):
        one.enter(f"http://h.example/a/?{n}", "http://h.example/" + "a")
    assert len(one.members["http://h.example/a"]) == len(one.results) == 16
    assert len(set(map(id, one.results.values()))) == 1


def test_the_urls_that_speak_against_a_rule_are_known() -> None:
    one = tally_of(docs="mmo", shop="o")
    assert one.contrary() == ["http://h.example/docs/2", "http://h.example/shop/0"]
