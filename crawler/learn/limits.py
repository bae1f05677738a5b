"""The numbers of learning: how much evidence a rule needs, and what may be requested for it.

See ``docs/explanation/learning.md``.
"""

from typing import NamedTuple


class Needed(NamedTuple):
    """How many pages have to be the same under the names that a rule makes one before it acts."""

    own_word: int  # by the site's own word alone: a permanent redirect or a canonical link
    content: int  # in all, also by what they say


ORDINARY = Needed(8, 12)
PARAMETER = Needed(8, 16)  # a parameter that selects nothing ...
SELECTING = Needed(16, 25)  # ... with a name that mostly selects something
SELECTING_NAMES = frozenset(["page", "p", "q", "id", "lang", "sort", "n", "start", "offset", "s"])
MOVED = Needed(20, 25)  # a directory or a host that is another one
UNTESTED = 2.0  # so many times as much where nobody can ask again: in an archive
# Names of one page that are the same, before a parameter selects nothing on that page alone.
NAMES_OF_PAGE = 50

# Of how many pages it need not be known what they are: as a share of those that are the same.
UNKNOWN = 0.15
# Which share of a rule's pages may turn out to be others, and never more than one page: the first
# one ends a rule, and the second one where 100 pages are the same.
WRONG = 0.01
# By what pages say, a rule acts only if this many URLs wait that it would hold.
WORTHWHILE = 12
# A parameter of which fewer values were seen selects nothing only if no other value waits.
VALUES = 5
# Two directories that are the same on this many pages, and then are not, are releases of a manual:
# no directory of that site is taken for another by what pages say.
COPIES = 12
# A rule that was mined or imported acts after a crawl has seen that this many pages are the same.
CONFIRMED = 3

# Requests for learning alone: as many as the rules of a site have suppressed so far, and ahead of
# that this share of its answers, or the least and as many for each page that is the same (up to
# the base).
LEAST_REQUESTS, BASE_REQUESTS, SHARE_OF_ANSWERS = 6, 40, 0.01
# For a rule with half of the evidence that it needs: this share of the URLs that wait, up to so
# many requests.
SHARE_OF_QUEUE, MOST_AHEAD = 0.05, 200
FOR_TESTS = 0.5  # of these, for one rule that acts
# URLs that are fetched although a rule that acts would hold them: this many, and this share of the
# pages whose URLs it would hold; each URL with this chance.
BASE_TESTS, SHARE_TESTED, CHANCE_TESTED = 4, 0.08, 0.08
