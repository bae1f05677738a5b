"""The grammar of RFC 1738 (1994), in the order of its section 5.

``<name>`` stands for another production. Quantifiers over character classes are possessive, so that
matching takes linear time. Schemes are in lower case; section 2.1 asks readers to ignore case.
"""

PRODUCTIONS: dict[str, str] = {
    "genericurl": "<scheme>:<schemepart>",
    "url": "<httpurl>|<ftpurl>|<newsurl>|<nntpurl>|<telneturl>|<gopherurl>|<waisurl>|<mailtourl>"
    "|<fileurl>|<prosperourl>|<otherurl>",
    "otherurl": "<genericurl>",
    "scheme": r"(?:<lowalpha>|<digit>|[+\-.])++",  # section 2.1
    "schemepart": "<xchar>*+|<ip-schemepart>",
    "ip-schemepart": "//<login>(?:/<urlpath>)?",  # section 3.1
    "login": "(?:<user>(?::<password>)?@)?<hostport>",
    "hostport": "<host>(?::<port>)?",
    "host": "<hostname>|<hostnumber>",
    "hostname": r"(?:<domainlabel>\.)*+<toplabel>",
    "domainlabel": "<alphadigit>++(?:-++<alphadigit>++)*+",
    "toplabel": "(?=<alpha>)<alphadigit>++(?:-++<alphadigit>++)*+",
    "alphadigit": "<alpha>|<digit>",
    "hostnumber": r"<digits>\.<digits>\.<digits>\.<digits>",
    "port": "<digits>",
    "user": "(?:<uchar>|[;?&=])*+",
    "password": "(?:<uchar>|[;?&=])*+",
    "urlpath": "<xchar>*+",
    "ftpurl": "ftp://<login>(?:/<fpath>(?:;type=<ftptype>)?)?",  # section 3.2
    "fpath": "<fsegment>(?:/<fsegment>)*+",
    "fsegment": "(?:<uchar>|[?:@&=])*+",
    "ftptype": "[AIDaid]",
    "fileurl": "file://(?:<host>|localhost)?/<fpath>",  # section 3.10: no user, no port
    "httpurl": r"http://<hostport>(?:/<hpath>(?:\?<search>)?)?",  # section 3.3: no user
    "hpath": "<hsegment>(?:/<hsegment>)*+",
    "hsegment": "(?:<uchar>|[;:@&=])*+",
    "search": "(?:<uchar>|[;:@&=])*+",
    # Section 3.4. A selector may hold escaped tabs, so it also matches what may follow it.
    "gopherurl": "gopher://<hostport>"
    "(?:/(?:<gtype>(?:<selector>(?:%09<search>(?:%09<gopher+_string>)?)?)?)?)?",
    "gtype": "<xchar>",
    "selector": "<xchar>*+",
    "gopher+_string": "<xchar>*+",
    "mailtourl": "mailto:<encoded822addr>",  # section 3.5
    "encoded822addr": "<xchar>++",
    "newsurl": "news:<grouppart>",  # section 3.6
    "grouppart": r"\*|<group>|<article>",
    "group": r"<alpha>(?:<alpha>|<digit>|[\-.+_])*+",
    "article": "(?:<uchar>|[;/?:&=])++@<host>",
    "nntpurl": "nntp://<hostport>/<group>(?:/<digits>)?",  # section 3.7
    "telneturl": "telnet://<login>/?",  # section 3.8
    "waisurl": "<waisdatabase>|<waisindex>|<waisdoc>",  # section 3.9
    "waisdatabase": "wais://<hostport>/<database>",
    "waisindex": r"wais://<hostport>/<database>\?<search>",
    "waisdoc": "wais://<hostport>/<database>/<wtype>/<wpath>",
    "database": "<uchar>*+",
    "wtype": "<uchar>*+",
    "wpath": "<uchar>*+",
    "prosperourl": "prospero://<hostport>/<ppath><fieldspec>*+",  # section 3.11
    "ppath": "<psegment>(?:/<psegment>)*+",
    "psegment": "(?:<uchar>|[?:@&=])*+",
    "fieldspec": ";<fieldname>=<fieldvalue>",
    "fieldname": "(?:<uchar>|[?:@&])*+",
    "fieldvalue": "(?:<uchar>|[?:@&])*+",
    "lowalpha": "[a-z]",
    "hialpha": "[A-Z]",
    "alpha": "<lowalpha>|<hialpha>",
    "digit": "[0-9]",
    "safe": r"[$\-_.+]",  # section 2.2
    "extra": r"[!*'(),]",
    "national": r"[{}|\\^~\[\]`]",
    "punctuation": '[<>#%"]',
    "reserved": "[;/?:@&=]",
    "hex": "[0-9A-Fa-f]",
    "escape": "%<hex><hex>",
    "unreserved": "<alpha>|<digit>|<safe>|<extra>",
    "uchar": "<unreserved>|<escape>",
    "xchar": "<unreserved>|<reserved>|<escape>",
    "digits": "<digit>++",
}
