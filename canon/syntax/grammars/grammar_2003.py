"""The grammar of draft-fielding-uri-rfc2396bis-01 (2003), in the order of its sections 2 to 5.

Its collected grammar, appendix A, is empty. ``<name>`` stands for another production. Quantifiers
over character classes are possessive, so that matching takes linear time.
"""

from canonry.canon.syntax.grammars.grammar_3986 import IPV4, IPV6, OCTET

PRODUCTIONS: dict[str, str] = {
    "uric": "<reserved>|<unreserved>|<escaped>",
    "reserved": r"[\[\];/?:@&=+$,]",  # section 2.2
    "unreserved": "<ALPHA>|<DIGIT>|<mark>",  # section 2.3
    "mark": r"[\-_.!~*'()]",
    "escaped": "%<HEXDIG><HEXDIG>",  # section 2.4
    # Characters that are in no URI (section 2.4.3).
    "CTL": r"[\x00-\x1f\x7f]",
    "SP": " ",
    "delims": '[<>#%"]',
    "unwise": r"[{}|\\^`]",
    "absolute-URI": "<scheme>:(?:<hier-part>|<opaque-part>)",  # section 3
    "hier-part": r"(?:<net-path>|<abs-path>)?(?:\?<query>)?",
    "net-path": "//<authority><abs-path>?",
    "abs-path": "/<path-segments>",
    "opaque-part": "<uric-no-slash><uric>*+",
    "uric-no-slash": r"(?!/)<uric>",
    "scheme": r"<ALPHA>(?:<ALPHA>|<DIGIT>|[+\-.])*+",  # section 3.1
    "authority": "<server>|<reg-name>",  # section 3.2
    "reg-name": "(?:<unreserved>|<escaped>|[;:@&=+$,])++",
    "server": "(?:(?:<userinfo>@)?<hostport>)?",
    "userinfo": "(?:<unreserved>|<escaped>|[;:&=+$,])*+",
    "hostport": "<host>(?::<port>)?",
    "host": "<IPv6reference>|<IPv4address>|<hostname>",
    # A label before a final dot is the toplabel, so the loop of "qualified" leaves it.
    "hostname": "<domainlabel><qualified>",
    "qualified": r"(?:\.<domainlabel>(?!\.(?!<alphanum>)))*+(?:\.<toplabel>\.)?",
    "domainlabel": r"(?><alphanum>(?:(?:<alphanum>|-){0,61}<alphanum>)?)",
    "toplabel": "(?=<ALPHA>)<domainlabel>",
    "alphanum": "<ALPHA>|<DIGIT>",
    "IPv4address": IPV4,
    "dec-octet": OCTET,
    "IPv6reference": r"\[<IPv6address>\]",  # no IPvFuture
    "IPv6address": IPV6,
    "ls32": "<h4>:<h4>|<IPv4address>",
    "h4": "<HEXDIG>{1,4}",
    "port": "<DIGIT>*+",
    "path": "(?:<abs-path>|<opaque-part>)?",  # section 3.3
    "path-segments": "<segment>(?:/<segment>)*+",
    "segment": "<pchar>*+",
    "pchar": "<unreserved>|<escaped>|[;:@&=+$,]",
    "query": "(?:<pchar>|[/?])*+",  # section 3.4
    "fragment": "(?:<pchar>|[/?])*+",  # section 4
    "URI-reference": r"(?:<absolute-URI>|<relative-URI>)?(?:\#<fragment>)?",
    "absolute-URI-reference": r"<absolute-URI>(?:\#<fragment>)?",
    "relative-URI": r"(?:<net-path>|<abs-path>|<rel-path>)?(?:\?<query>)?",  # section 5
    "rel-path": "<rel-segment><abs-path>?",
    "rel-segment": "(?:<unreserved>|<escaped>|[;@&=+$,])++",  # no colon
    # RFC 2234 section 6.1
    "ALPHA": "[A-Za-z]",
    "DIGIT": "[0-9]",
    "HEXDIG": "[0-9A-Fa-f]",
}
