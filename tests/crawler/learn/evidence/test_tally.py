"""The tally of a rule: what it counts for the parts of a site."""

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.evidence.tally import RuleTally, Stance


def tally_of(**stances: str) -> RuleTally:
    """Return a tally: for each part of a site a letter for each path, m for moved, o for other."""
    found = RuleTally(Rewrite("h.example", "trailing-slash", new="slash"))
    for part, said in stances.items():
        for n, letter in enumerate(said):
            path = f"/{n}" if part == "root" else f"/{part}/{n}"
            stance = {"m": Stance.MOVED, "o": Stance.OTHER}[letter]
            found.set(f"http://h.example{path}", path, stance)
    return found


def test_a_rule_does_not_hold_where_more_speaks_against_it() -> None:
    one = tally_of(docs="mmmmm", news="mmmmmo", shop="ooom", help="mo")
    assert set(one.parts()) == {"/docs/", "/news/", "/shop/", "/help/"}
    assert one.where_it_holds()[:2] == (11, 2)
    assert tally_of(docs="mmm", shop="oo").where_it_holds()[:2] == (3, 0)
    assert RuleTally(one.rewrite).where_it_holds()[:2] == (0, 0)


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
