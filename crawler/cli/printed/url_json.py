"""What the commands about URLs print as JSON: ``canon``, ``explain``, ``extract``."""

import msgspec

from canonry.crawler.inquiry.url_answer import StepFacts, URLAnswer


class CanonicalJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A URL of `canonry canon`."""

    url: str  # to request
    identity: str  # the canonical form
    key: str  # 32 hexadecimal digits


class RefusedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is no URL."""

    text: str
    reason: str  # a name, such as relative


class ExplainJSON(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which rules change a URL, and why."""

    text: str  # as given
    policy: str  # name/version
    url: str  # to request
    identity: str  # the canonical form
    key: str  # 32 hexadecimal digits
    cautions: list[str]  # reasons to look twice at the URL
    steps: list[StepFacts]  # from the text to the identity, in order
    store: URLAnswer | None = None  # with --store: what the store knows of the URL


class ExtractJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The URLs of a text, or the links of a page."""

    urls: list[str]
    relative: int  # links left out, since the base is not known
