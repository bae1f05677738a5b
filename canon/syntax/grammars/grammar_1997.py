"""The grammar of draft-fielding-url-syntax-05 (1997), in the order of its appendix A.

``<name>`` stands for another production. Quantifiers over character classes are possessive, so that
matching takes linear time. By the letter, some productions allow more than the prose: a
``rel_path`` may begin with slashes or hold a colon, since a segment may be empty and ``pchar`` has
the colon.
"""

PRODUCTIONS: dict[str, str] = {
    "URL-reference": r"(?:<absoluteURL>|<relativeURL>)?(?:\#<fragment>)?",  # section 3
    "absoluteURL": "<generic-URL>|<opaque-URL>",  # section 4
    "opaque-URL": "<scheme>:<urlc>*+",
    "generic-URL": "<scheme>:<relativeURL>",
    "relativeURL": "<net_path>|<abs_path>|<rel_path>",
    "net_path": "//<site><abs_path>?",
    "abs_path": "/<rel_path>",
    "rel_path": r"<path_segments>?(?:\?<query>)?",
    "scheme": r"(?:<alpha>|<digit>|[+\-.])++",  # section 4.3: it may begin with any of them
    "site": "(?:(?:<user>(?::<password>)?@)?<hostport>)?",  # section 4.3: no IPv6 addresses
    "user": "(?:<unreserved>|<escaped>|[;&=+])*+",
    "password": "(?:<unreserved>|<escaped>|[;&=+])*+",
    "hostport": "<host>(?::<port>)?",
    "host": "<hostname>|<hostnumber>",
    "hostname": r"(?:<domainlabel>\.)*+<toplabel>",
    "domainlabel": "<alphanum>++(?:-++<alphanum>++)*+",
    "toplabel": "(?=<alpha>)<alphanum>++(?:-++<alphanum>++)*+",
    "hostnumber": r"<digit>++\.<digit>++\.<digit>++\.<digit>++",  # numbers of any size
    "port": "<digit>*+",
    "path_segments": "<segment>(?:/<segment>)*+",  # section 4.3
    "segment": "<pchar>*+(?:;<param>)*+",
    "param": "<pchar>*+",
    "pchar": "<unreserved>|<escaped>|[:@&=+]",
    "query": "<urlc>*+",  # section 4.3
    "fragment": "<urlc>*+",
    "urlc": "<reserved>|<unreserved>|<escaped>",
    "reserved": "[;/?:@&=+]",  # section 2.2
    "unreserved": "<alpha>|<digit>|<mark>",  # section 2.3
    "mark": r"[$\-_.!~*'(),]",
    "escaped": "%<hex><hex>",  # section 2.4
    "hex": "[0-9A-Fa-f]",
    "alphanum": "<alpha>|<digit>",
    "alpha": "<lowalpha>|<upalpha>",
    "lowalpha": "[a-z]",
    "upalpha": "[A-Z]",
    "digit": "[0-9]",
    # Characters that are in no URL (section 2.4.3).
    "control": r"[\x00-\x1f\x7f]",
    "space": " ",
    "delims": '[<>#%"]',
    "unwise": r"[{}|\\^\[\]`]",
}
