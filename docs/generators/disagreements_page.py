"""The page of disagreements: a table of answers, and what no table can show."""

from generators.disagreements import DISAGREEMENTS, answers
from generators.table_cells import code

from canonry.canon.references.resolve import DIALECTS


def disagreements_page() -> str:
    """Return the page of disagreements, with the answer of every dialect."""
    lines = [
        "# Where the specifications disagree",
        "",
        "`make docs` makes this page: each answer is the result of `canonry.resolve` in that",
        "`dialect`.",
        "",
        "The default is `rfc3986`. References found in web pages are resolved in `whatwg`, as",
        "browsers do. The other dialects resolve references as documents of their time meant them.",
        "",
        "| | base | reference |" + "".join(f" `{dialect}` |" for dialect in DIALECTS),
        "|---|---|---|" + "---|" * len(DIALECTS),
    ]
    for row in DISAGREEMENTS:
        cells = [code(text) if text else "(empty)" for text in (row.base, row.reference)]
        cells += [text if text.startswith("refused") else code(text) for text in answers(row)]
        lines.append(f"| {row.question} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" + _OTHER_DISAGREEMENTS


_OTHER_DISAGREEMENTS = """
Other disagreements, and what Canonry does:

- **An empty or fragment-only reference.** Before RFC 3986 it means the current document: pass
  `document=` to `canonry.resolve`. Since then only the base counts (`canonry.same_document`).
- **An empty reference in a FORM or an IMG.** In 1997 the current document (pass `document=`); in
  a FORM the base in 2003 (leave it out).
- **More `..` than the path has levels.** `excess="keep"` (the default, as in the draft of 2003),
  `"drop"` (RFC 3986 and browsers) or `"refuse"`.
- **A base without a path, in 1997.** By the letter `g` against `http://a` is `http://ag`: another
  host. We follow the later documents: `http://a/g`. The draft of 2003 begins the path with `/`
  whatever the authority is (`foo:/g`), RFC 3986 only after one (`foo:g`).
- **A path that begins with two slashes, without authority.** In the drafts, `..//g` against
  `foo:/a/b` is `foo://g`, a host. Here it is `foo:/.//g`, as in the URL Standard.
- **The default base.** The empty text in 1997. Later, the application has to give one (`default=`).
- **What the draft of 1993 leaves open.** Runs of slashes are read as in RFC 1630, empty references
  and `..` above the root as in 1997.
- **Dot segments where the path is no hierarchy** (gopher, wais, prospero, `urn:a/../b`). RFC 3986
  removes them; they are data there, and stay in canonical forms
  ([decision](../decisions/0008-rules-of-single-schemes.md)). Browsers remove them where there are
  slashes, and so do policies that read URLs as browsers do.
- **A question mark in a file.** A part of the name in RFC 1738, a query in RFC 3986.
  `canonry.interpret` takes it for a part of the name, also in ftp, gopher and prospero; in nntp
  and telnet it is refused.
- **A user or a port in a file, a user in http.** Read, and refused with `strict=True`.
- **A `?` in a user name.** RFC 1738 allows it; in RFC 3986 and browsers it ends the authority. We
  follow these: the host must be the same for everybody.
- **What the older grammars exclude.** `strict=True` refuses what every document of the scheme
  excludes; `document="rfc1738"` reads by its letter: no `~`, no `_` in hosts, no empty port, no
  IPv6.
- **What follows two slashes in `mailto:` and `javascript:`.** Data, no host.
- **`?` and `+` in the schemes of 1993.** `?` began a search in gopher, and `+` joined words. Since
  RFC 1738 both are characters. `document="url-1993"` reads them as in 1993.
- **A wais document, a version in prospero.** 1993 and RFC 1738 write them differently.
  `canonry.interpret` reads both, and each alone if `document` names it.
- **Ports.** Telnet and tn3270 have 23, rlogin none. Before RFC 3986 every port that is not the
  default is to be looked at twice; RFC 3986 names only 0 to 1023. `canonry.cautions` has a name
  for each: `PORT`, `RESERVED_PORT`.
- **The base of a MIME part.** The draft of 1997 puts `Content-Base` before `Content-Location`; RFC
  2557 has only the latter. `canonry.establish_base` accepts both. A relative one, or a relative
  BASE, is resolved against what is around it, as in HTML.
- **White space inside delimiters** is ignored, except where another URL follows it, and where in
  quotes two words follow it, as in `"http://a.example/ is down"`.
- **`~`** is unsafe in RFC 1738, unreserved since RFC 2396: `%7E` and `~` are equal.
- **`!`, `*`, `'`, `(`, `)`, `$`, `,` and `+`** equal their escapes in RFC 1738, and but for `+` in
  1997. RFC 3986 reserves them: `%21` and `!` stay distinct.
- **`%2D` and `%2E`.** The draft of 2003 unescapes only letters, digits, `_` and `~`, RFC 3986 `-`
  and `.`, too. Policy `rfc2396bis-01` follows the draft: `/a/%2E%2E/../` is `/a/` there, `/` in all
  others.
- **The octets of an escape.** ISO Latin 1 in 1993; characters are escaped as UTF-8 here.
- **A base that is not hierarchical.** The drafts of 1997 and 2003 allow no relative references
  there. RFC 3986 merges them; so do all dialects but `whatwg`.
- **Hosts in brackets** are new in RFC 2732. A zone identifier (RFC 6874) is refused, as in
  browsers.
"""
