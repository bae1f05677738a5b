"""HTTP status codes with a meaning for a crawl (RFC 9110 section 15)."""

OK = 200
NOT_MODIFIED = 304
GONE = frozenset({404, 410})  # there is no such page
FIRST_ERROR = 400  # every status from here on reports an error
PERMANENT_REDIRECTS = frozenset({301, 308})
REDIRECTS = PERMANENT_REDIRECTS | {302, 303, 307}
MAX_REDIRECTS = 100  # in a row, that a crawl may follow and that a store is asked for
MAX_SAME = 5  # redirects to the same resource under other URLs, as cookie walls send them
OVERLOADED = frozenset({429, 503})  # the host is too busy, and not only with this page
RETRIED = frozenset({429, 500, 502, 503, 504})  # another try may succeed
