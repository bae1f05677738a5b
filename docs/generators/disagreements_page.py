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
Other disagreements:

- **An empty or fragment-only reference.** Before RFC 3986 it means the current document, whatever
  the base is: pass `document=` to `canonry.resolve`. Since RFC 3986 section 4.4 only the base
  counts (`canonry.same_document`).
- **An empty reference that starts a new request.** In a FORM or an IMG it means the current
  document in the draft of 1997 (section 3): pass `document=`. In a FORM it means the base in the
  draft of 2003 (section 4.2): leave `document` out.
- **More `..` than the path has levels.** The draft of 2003 leaves three choices (section 5.2, step
  6e): to keep them, as its examples do and as is the default here, to drop them, or not to follow
  the reference: `excess="keep"`, `"drop"` or `"refuse"`. RFC 3986 and browsers drop them.
- **A base without a path, in 1997.** By the letter of section 5.2, step 6a, `g` against `http://a`
  is `http://ag`: another host. We follow the later documents: `http://a/g`. The draft of 2003
  begins the path with `/` whatever the authority is (`foo:/g`), RFC 3986 only after one (`foo:g`).
- **A path that begins with two slashes, without authority.** By the letter of the drafts, `..//g`
  against `foo:/a/b` is `foo://g`: a host. In every dialect here it is `foo:/.//g`, as the URL
  Standard writes it.
- **The default base.** It is the empty text in the draft of 1997 (section 5.1.4): against it,
  absolute references resolve to themselves, and others are refused. In the later documents the
  application has to give one (`default=` of `canonry.establish_base`).
- **Runs of slashes.** The draft of 1993 says nothing of three and more slashes: there,
  `url-1993` follows RFC 1630, from which the `magic://` examples come, too.
- **What the draft of 1993 leaves open.** Empty and fragment-only references, `..` above the root,
  bases without a path and the base's search part: `url-1993` does as the draft of 1997 does.
- **Dot segments where the path is no hierarchy.** RFC 3986 removes them from every path (section
  6.2.2.3). In RFC 1738 they are data in gopher, wais and prospero, and so the canonical form keeps
  them ([decision](../decisions/0008-rules-of-single-schemes.md)). Browsers remove them, and with
  them the policies that read URLs as browsers do.
- **A question mark in a file.** It is a part of the name in RFC 1738; RFC 8089 has none, RFC 3986
  takes it for a query. `canonry.interpret` takes it for a part of the name, and so it does in ftp,
  gopher and prospero. In nntp and telnet no document allows it: it is refused.
- **A user or a port in a file.** No document allows them. They are read (`File.user`), and refused
  with `strict=True`.
- **A `?` in a user name.** RFC 1738 allows it; in RFC 3986 and in browsers, it ends the authority:
  in `ftp://a?b@c/`, `a` is the host. We follow these: the host must be the same for everybody.
- **A user in http.** RFC 1738 has none, RFC 9110 tells to be careful with it (section 4.2.4).
  `canonry.interpret` reads it, and refuses it with `strict=True`.
- **What the older grammars exclude.** `strict=True` refuses what every document of the scheme
  excludes. RFC 1738 alone is stricter: no `~`, no `_` in hosts, no empty port, no IPv6, a slash
  before `?` in http, two slashes in file. `document="rfc1738"` reads by its letter.
- **What follows two slashes in `mailto:` and `javascript:`.** A host in the generic syntax, data in
  their own documents: `canonry.interpret` and the rules of hosts and ports leave it alone.
- **`?` and `+` in the schemes of 1993.** There, `?` begins a search in gopher, too, and `+` joins
  the words of any search. Since RFC 1738, `?` is part of a gopher selector, searches follow `%09`,
  and `+` is a character like others. `canonry.interpret` reads them so; `document="url-1993"`
  reads them as in 1993, and the results have `words`.
- **A wais document.** In 1993 its length stands before its path: `/database/type/1024/path`. RFC
  1738 has no length, and no slash in the path. `canonry.interpret` reads both, and each alone if
  `document` names it. A search and a document together are in no grammar: only `strict=True`
  refuses them.
- **A version in prospero.** In 1993 it follows `%00`, and attributes follow it; in RFC 1738 `%00`
  is a character of the name, and a version is the field `OBJECT-VERSION`. `canonry.interpret` reads
  both, and each alone if `document` names it.
- **Ports of telnet, tn3270 and rlogin.** The draft of 1993 names none. RFC 1738 and RFC 6270 have
  23 for the first two; no document has one for rlogin, so it has no default.
- **The base of a MIME part.** The draft of 1997 puts `Content-Base` before `Content-Location`;
  RFC 2557 has only the latter. `canonry.establish_base` accepts both, in the given order.
- **Ports.** Before RFC 3986 every port that is not the scheme's default is to be looked at twice
  (RFC 1738 section 6; 1997 section 7; 2003 section 7.2); RFC 3986 names only 0 to 1023.
  `canonry.cautions` has a name for each: `PORT`, `RESERVED_PORT`.
- **White space inside delimiters.** It is ignored in all documents, and so does
  `canonry.extract`, with two exceptions: where another URL follows it, and where in quotes two
  words follow it, as in `"http://a.example/ is down"`. There the URL ends before it.
- **`~`.** It is unsafe in RFC 1738, and unreserved since RFC 2396: `%7E` and `~` are equal
  (`percent-unreserved`).
- **`!`, `*`, `'`, `(`, `)`, `$`, `,` and `+`.** They equal their escapes in RFC 1738 (section 2.2)
  and, but for `+`, in the draft of 1997 (section 2.3). RFC 2396 reserves `$` and `,`, and RFC 3986
  all of them: `%21` and `!` stay distinct.
- **`%2D` and `%2E`.** The draft of 2003 unescapes only letters, digits, `_` and `~` (section 2.3),
  RFC 3986 `-` and `.`, too. The policy `rfc2396bis-01` follows the draft, all others RFC 3986.
  So `/a/%2E%2E/../` is `/a/` in the draft, and `/` in RFC 3986.
- **The octets of an escape.** They are ISO Latin 1 in 1993, and open in RFC 1738 and the draft of
  1997. Characters are escaped as UTF-8 here, as since RFC 3986 (section 2.5); no octet is changed.
- **A base that is not hierarchical.** The drafts of 1997 and 2003 allow no relative references
  there (section 5). RFC 3986 merges them by its steps; so do all dialects here but `whatwg`.
- **Dot segments in a path without a leading slash.** RFC 3986 removes them from every path (section
  6.2.2.3). In `urn:a/../b` they are data of the scheme, so canonical forms keep them.
- **A relative BASE or Content-Base.** The drafts of 1997 and 2003 want an absolute URL (appendix D,
  section 5.1.1). HTML resolves a relative one against the document's URL, and so do we, in headers,
  too.
- **Hosts in brackets.** They are new in RFC 2732. Browsers refuse them with a zone identifier
  (RFC 6874), and so do we.
"""
