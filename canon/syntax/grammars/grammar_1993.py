"""The grammar of the URL draft of 14 July 1993, in the order of its BNF. It has no section numbers.

``<name>`` stands for another production. Quantifiers over character classes are possessive, so that
matching takes linear time. Since ``xalpha`` holds ``. : @`` and the space, the letter of the BNF
allows nearly everything in a host that begins with a letter, even the port after it. A path neither
begins with a slash nor holds two in a row.
"""

PRODUCTIONS: dict[str, str] = {
    "fragmentaddress": r"<url>(?:\#<fragmentid>)?",
    "url": "<httpaddress>|<ftpaddress>|<newsaddress>|<waisaddress>|<prosperoaddress>"
    "|<gopheraddress>|<telnetaddress>|<afsaddress>|<generic>",
    # A scheme may hold colons, but a text that can be split at one can be split at the first.
    "generic": r"<alpha>(?:(?!:)<xalpha>)*+:<path>(?:\?<search>)?",
    "scheme": "<ialpha>",
    "httpaddress": r"http://<hostport>(?:/<path>)?(?:\?<search>)?",
    "ftpaddress": "ftp://<host>/<path>",
    "newsaddress": "news:<groupart>",
    "groupart": r"\*|<group>|<article>",
    "group": "<ialpha>",  # in the BNF, several with dots between; but each matches dots, too
    # The host begins after the first "@" that a host can follow.
    "article": r"(?><xalpha>+?@(?:<hostname>|<hostnumber>(?!<xalpha>)))",
    "waisaddress": "<waisindex>|<waisdoc>",
    "waisindex": r"wais://<hostport>/<database>(?:\?<search>)?",
    "waisdoc": "wais://<hostport>/<database>/<wtype>/<digits>/<path>",
    "database": "<xalphas>",
    "wtype": "<xalphas>",
    # Prose: "%00" stands before the version and before each attribute; the version may be empty.
    "prosperoaddress": "prospero://<hostport>/<hsoname>(?:%00<version>?<attributes>?)?",
    "hsoname": "<path>",
    "version": "<digits>",
    "attributes": "(?:%00<attribute>)++",
    "attribute": "(?:<alpha>|<digit>)++",
    "gopheraddress": r"gopher://<hostport>(?:/(?:<gtype><selector>)?)?(?:\?<search>)?",
    "gtype": "<xalpha>",
    "selector": "<path>",
    # The pattern of a host that begins with a letter also matches a user before it.
    "telnetaddress": r"telnet://(?:<hostport>"
    r"|(?><xalpha>+?@(?:<hostname>|<hostnumber>(?::<port>)?(?!<xalpha>))))",
    "user": "<xalphas>",
    "afsaddress": "afs://<cellname>/<path>",
    "cellname": "<hostname>",
    "hostport": "<host>(?::<port>)?",
    "host": "<hostname>|<hostnumber>",
    "hostname": "<ialpha>",  # several, with dots between
    "hostnumber": r"<digits>\.<digits>\.<digits>\.<digits>",
    "port": "<digits>",
    "path": "(?:<xpalphas>(?:/<xpalphas>)*+/?)?",
    "search": r"<xalphas>(?:\+<xalphas>)*+",
    "fragmentid": "<xalphas>",
    "xalpha": "<alpha>|<digit>|<safe>|<extra>|<escape>",
    "xalphas": "<xalpha>++",
    "xpalpha": r"<xalpha>|\+",
    "xpalphas": "<xpalpha>++",
    "ialpha": "<alpha><xalpha>*+",
    "alpha": "[A-Za-z]",
    "digit": "[0-9]",
    "safe": r"[$\-_@.&]",
    "extra": r"[!*\"'():;, ]",
    "escape": "%<hex><hex>",
    "hex": "[0-9A-Fa-f]",
    # Characters that are in no URL: the next two.
    "variant": r"[{}|\[\]\\^~]",
    "punctuation": "[<>]",
    "digits": "<digit>++",
}
