"""Dates of sitemaps and feeds: believed where they were right, ignored where they lie."""

from support.tables import each

from canonry.crawler.revisits.change_rates import LastmodTrust, is_moved

Visits = list[tuple[bool, bool, int]]


def after(visits: Visits) -> LastmodTrust:
    """Return the trust after visits: whether the date had moved, the page changed; how often."""
    trust = LastmodTrust()
    for moved, changed, number in visits:
        for _ in range(number):
            trust = trust.after(moved=moved, changed=changed)
    return trust


@each(
    ("visits", "is_believed"),
    [
        ([], False),
        ([(True, True, 2), (False, False, 20)], False),  # too few
        ([(True, True, 4), (False, False, 20)], True),
        ([(True, True, 8), (False, False, 20), (True, False, 1), (False, True, 1)], True),
        ([(True, True, 500)], False),  # always new, and all pages change: it tells nothing
        ([(True, True, 50), (True, False, 50)], False),  # always new
        ([(False, True, 50), (False, False, 50)], False),  # never new
        ([(True, True, 10), (False, True, 10), (False, False, 20)], False),  # half of them
        ([(True, True, 100), (False, False, 100), (True, False, 200)], False),  # lies since
        ([(True, False, 150), (True, True, 900), (False, False, 300)], True),  # better since
    ],
)
def test_trust(visits: Visits, is_believed: bool) -> None:
    assert after(visits).is_believed == is_believed


def test_a_date_has_moved_since_the_last_visit() -> None:
    assert is_moved(10.0, None, 5.0)
    assert not is_moved(10.0, None, 15.0)
    assert is_moved(10.0, 9.0, 15.0), "a day without a time lies before its visits"
    assert not is_moved(10.0, 10.0, 5.0)
