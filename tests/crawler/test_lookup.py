"""Looking URLs up in a store, without the command: rules, redirects, and both."""

from pathlib import Path

from support.stores import MAKE, admit, candidate, open_store, visited

from canonry.canon import Canonical, LearnedRule, Refused
from canonry.canon.policies import preset
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.lookup import Lookup
from canonry.storage import Hop, Page, State, Store

H = "http://h.example"
SLASH = LearnedRule(host="h.example", family="trailing-slash", new="bare", state="active")


def redirected(store: Store, source: str, target: str) -> None:
    """Record that a URL redirects to a page."""
    [there] = admit(store, [source])
    hop = Hop("redirect", 301, candidate(target)._replace(hops=1, source=there.url_id))
    [[end]] = store.record([visited(there.url_id, State.REDIRECTED, hops=[hop])], 2.0)
    page = Page(200, 0.1, "text/html", 1, b"x" * 16, None, None, 0)
    store.record([visited(end.url_id, State.FETCHED, page=page)], 3.0)


def test_the_identity_is_where_rules_and_redirects_lead(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    redirected(store, f"{H}/old", f"{H}/new/")
    with store.transaction() as connection:
        rule_store.import_rules(connection, [SLASH], MAKE, 4.0)
    with store.transaction() as connection:
        lookup = Lookup(connection, preset("web"))

        def identity(url: str) -> str:
            found = lookup.canonical(url)
            assert isinstance(found, Canonical)
            assert found.key == MAKE.key_of(found.identity)
            return found.identity

        assert identity(f"{H}/old") == f"{H}/new", "the redirect, and then the rule"
        assert identity(f"{H}/old/") == f"{H}/new", "the rule, and then the redirect"
        assert identity(f"{H}/unseen/") == f"{H}/unseen"
        assert isinstance(lookup.canonical("http://["), Refused)
        steps = [step.name for step in lookup.explain(f"{H}/old").steps]
        assert steps == ["alias-redirect", "learned-trailing-slash"]
    store.close()
