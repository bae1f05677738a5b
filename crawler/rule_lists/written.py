"""Rules as the configuration of other programs: ClearURLs, StormCrawler and Nutch, nginx.

Their patterns are regular expressions over whole URLs. A rule that needs more, such as exactly
which other parameters are there, is not written; nor is one that makes no URL of the site.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from html import escape

import msgspec

from canonry.canon.learned import Rewrite

# By family: what matches, with the groups a and b, and what is put there.
_HOST = "^(?<a>https?://%(host)s"
_PATTERNS = {
    "scheme-upgrade": [("^http://(?<a>%(host)s%(below)s.*)$", "https://%(a)s")],
    "www": [("^(?<a>https?://)%(host)s(?<b>%(below)s.*)$", "%(a)s%(new)s%(b)s")],
    "path-prefix": [(_HOST + ")%(old)s(?<b>.*)$", "%(a)s%(new)s%(b)s")],
    "index-file": [(_HOST + "%(below)s(?:[^?#]*/)?)%(old)s$", "%(a)s")],
    # Names without a dot are no files.
    "slash": [(_HOST + r"/(?:[^?#]*/)?[^/?#.]+)(?<b>(?:\?.*)?)$", "%(a)s/%(b)s")],
    "bare": [(_HOST + r"/(?:[^?#]*/)?[^/?#.]+)/(?<b>(?:\?.*)?)$", "%(a)s%(b)s")],
    "parameter-anywhere": [
        (_HOST + r"%(below)s[^?#]*)\?%(old)s(?:=[^&#]*)?$", "%(a)s"),
        (_HOST + r"%(below)s[^?#]*\?(?:[^#]*&)?)%(old)s(?:=[^&#]*)?&(?<b>.*)$", "%(a)s%(b)s"),
        (_HOST + r"%(below)s[^?#]*\?[^#]*)&%(old)s(?:=[^&#]*)?$", "%(a)s"),
    ],
}
_PATTERNS["host-alias"] = _PATTERNS["www"]
_IN_PLACES = {"scheme-upgrade", "www", "host-alias", "index-file", "parameter-anywhere"}
_NGINX = """\
# In http: this map. In server: if ($canonry_url) { return 301 $canonry_url; }
map "$scheme://$host$request_uri" $canonry_url {
    default "";
"""
FORMATS = ("clearurls", "stormcrawler", "nginx")


def _patterns(rule: Rewrite, a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield what matches and what is put there, with names of the groups; none if nothing can."""
    kind = rule.new if rule.family == "trailing-slash" else rule.family
    if rule.but or (rule.below != "/" and kind not in _IN_PLACES):
        return
    host = (r"(?:[^/?#]+\.)?" if rule.subdomains else "") + re.escape(rule.host)
    old = f"(?i:{re.escape(rule.old)})" if rule.new == "any-case" else re.escape(rule.old)
    said = {"host": host, "below": re.escape(rule.below), "old": old, "new": rule.new}
    for pattern, put in _PATTERNS.get(kind, ()):
        yield pattern % said, put % {"a": a, "b": b, "new": rule.new}


def _clearurls(rules: Iterable[Rewrite]) -> str:
    names: defaultdict[str, set[str]] = defaultdict(set)
    for rule in rules:
        wide = r"(?:[a-z0-9-]+\.)*?" if rule.subdomains else ""
        scope = f"^https?://{wide}{re.escape(rule.host)}{re.escape(rule.below)}"
        names[scope].add(re.escape(rule.old))
    providers = {
        scope: {"urlPattern": scope, "completeProvider": False, "rules": sorted(found)}
        for scope, found in names.items()
    }
    return msgspec.json.format(msgspec.json.encode({"providers": providers})).decode() + "\n"


def written(output_format: str, rules: Iterable[Rewrite]) -> tuple[str, int, Counter[str]]:
    """Return rules in another program's format, how many these are, and the others by family.

    Args:
        output_format: one of `FORMATS`. In ClearURLs' patterns, letter case means nothing.
        rules: in the order in which they run.
    """
    every = list(rules)
    said = [rule for rule in every if any(_patterns(rule, "", ""))]
    if output_format == "clearurls":
        said = [rule for rule in said if rule.family == "parameter-anywhere"]
        text = _clearurls(said)
    elif output_format == "nginx":
        lines = [
            f'    "~{p}" "{put}";\n' for rule in said for p, put in _patterns(rule, "${a}", "${b}")
        ]
        text = f"{_NGINX}{''.join(lines)}}}\n"
    else:
        text = "<regex-normalize>\n"
        for pattern, put in (one for rule in said for one in _patterns(rule, "$1", "$2")):
            plain = escape(re.sub(r"\(\?<[ab]>", "(", pattern), quote=False)
            text += f"<regex><pattern>{plain}</pattern><substitution>{put}</substitution></regex>\n"
        text += "</regex-normalize>\n"
    left = Counter(rule.family for rule in every) - Counter(rule.family for rule in said)
    return text, len(said), left
